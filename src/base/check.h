/* check.h: CHECK for bugs of ours. It stays on in release builds; the mistakes of users and machines are GErrors
 * (error.h). */
#pragma once

#include <stdio.h>
#include <stdlib.h>

/* Aborts with file, line, the condition and a printf-style message that should name the offending values. */
#define CHECK(cond, ...)                                                                                               \
    do {                                                                                                               \
        if (__builtin_expect(!(cond), 0)) {                                                                            \
            fprintf(stderr, "loam: bug: %s:%d: %s: ", __FILE__, __LINE__, #cond);                                      \
            fprintf(stderr, __VA_ARGS__);                                                                              \
            fputc('\n', stderr);                                                                                       \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)
