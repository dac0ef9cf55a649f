/* arguments.h: something for each argument of an operation, for tests that wrap every entry of device/op_list.inc. */
#pragma once

/* what(x) for each x of a list of up to 27. */
#define PARENTHESES             ()
#define EXPAND(...)             EXPAND_3(EXPAND_3(EXPAND_3(__VA_ARGS__)))
#define EXPAND_3(...)           EXPAND_1(EXPAND_1(EXPAND_1(__VA_ARGS__)))
#define EXPAND_1(...)           __VA_ARGS__
#define EACH(what, ...)         __VA_OPT__(EXPAND(EACH_NEXT(what, __VA_ARGS__)))
#define EACH_NEXT(what, x, ...) what(x) __VA_OPT__(EACH_AGAIN PARENTHESES(what, __VA_ARGS__))
#define EACH_AGAIN()            EACH_NEXT
#define EACH_OF(what, ...)      EACH(what, __VA_ARGS__)
#define AFTER_DEVICE(dev, ...)  __VA_ARGS__
