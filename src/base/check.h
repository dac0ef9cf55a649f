/* check.h: CHECK finds bugs in loam itself; release builds check too. Mistakes of the user and failures of the machine
 * are not bugs but GErrors (error.h). */
#pragma once

#include <stdio.h>
#include <stdlib.h>

/* If the condition is false, prints file, line, the condition and a printf-style message, and aborts. The message
 * should contain the values that broke the condition. */
#define CHECK(cond, ...)                                                                                               \
    do {                                                                                                               \
        if (__builtin_expect(!(cond), 0)) {                                                                            \
            fprintf(stderr, "loam: bug: %s:%d: %s: ", __FILE__, __LINE__, #cond);                                      \
            fprintf(stderr, __VA_ARGS__);                                                                              \
            fputc('\n', stderr);                                                                                       \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)
