/* error.h: errors as GErrors. A function that can fail takes GError **error as its last argument; it returns false
 * (bool) or NULL (pointer) exactly if it failed, and has then set *error. The message is one line: what failed, where,
 * and what would be right. This convention holds in all of loam, so other headers only say which errors there are. */
#pragma once

#include <glib.h>
#include <stdbool.h>

G_BEGIN_DECLS

/* The code of an error is the exit status of the program that ends with it. */
typedef enum LoamError {
    LOAM_ERROR_USER = 1,    /* the user can correct it: usage, configuration, input */
    LOAM_ERROR_MACHINE = 2, /* disk, memory, device */
    LOAM_ERROR_STOPPED = 75 /* stopped on request with a checkpoint written: the same command continues */
} LoamError;

#define LOAM_ERROR loam_error_quark()
GQuark loam_error_quark(void);

/* Each of these sets *error (if error is not NULL) and returns false: `return fail_user(error, …)`. */
#define fail_user(error, ...)    fail_as(error, LOAM_ERROR_USER, __VA_ARGS__)
#define fail_machine(error, ...) fail_as(error, LOAM_ERROR_MACHINE, __VA_ARGS__)
#define fail_stopped(error)      fail_as(error, LOAM_ERROR_STOPPED, "stopped on request")
bool fail_as(GError **error, LoamError code, const char *format, ...) G_GNUC_PRINTF(3, 4);
/* Message "ACTION PATH: strerror(errno)". It is a user's error for ENOENT, EACCES, EISDIR, ENOTDIR and EEXIST,
 * otherwise the machine's. Returns false. */
bool fail_errno(GError **error, const char *action, const char *path);
/* Puts "CONTEXT: " before the message of an error that is already set. Returns false. */
bool fail_context(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

G_END_DECLS
