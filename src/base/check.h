/* check.h: CHECK, for bugs in loam itself; it stays on in release builds. Mistakes of the user and failures of the
 * machine are GErrors (error.h). */
#pragma once

#include <stdio.h>
#include <stdlib.h>

/* Aborts if the condition is false, with file, line, the condition and a printf-style message, which should give the
 * values that are wrong. */
#define CHECK(cond, ...)                                                                                               \
    do {                                                                                                               \
        if (__builtin_expect(!(cond), 0)) {                                                                            \
            fprintf(stderr, "loam: bug: %s:%d: %s: ", __FILE__, __LINE__, #cond);                                      \
            fprintf(stderr, __VA_ARGS__);                                                                              \
            fputc('\n', stderr);                                                                                       \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)
