/* error.h: errors as GErrors. A function that can fail takes GError **error as its last argument. It returns false
 * (bool) or NULL (pointer) exactly if it failed, and then it has set *error. The message is one line: what failed,
 * where, and what would be right. The comment of a function in a header says so if the function departs from this; it
 * names only the errors that a caller would not expect. */
#pragma once

#include <glib.h>
#include <stdbool.h>

G_BEGIN_DECLS

/* The code of an error is the exit status of the program that ends with it. */
typedef enum LoamError {
    LOAM_ERROR_USER = 1,    /* a user's error: the user can correct it (usage, configuration, input) */
    LOAM_ERROR_MACHINE = 2, /* a machine's error: disk, memory, device */
    LOAM_ERROR_STOPPED = 75 /* stopped on request with a checkpoint written: the same command continues */
} LoamError;

#define LOAM_ERROR loam_error_quark()
GQuark loam_error_quark(void);

/* Set *error, unless `error` is NULL, to an error of the class in their name, and return NULL, which is false, too:
 * `return fail_user(error, …)` ends a function of either kind. */
#define fail_user(error, ...)    fail_as(error, LOAM_ERROR_USER, __VA_ARGS__)
#define fail_machine(error, ...) fail_as(error, LOAM_ERROR_MACHINE, __VA_ARGS__)
#define fail_stopped(error)      fail_as(error, LOAM_ERROR_STOPPED, "stopped on request")
void *fail_as(GError **error, LoamError code, const char *format, ...) G_GNUC_PRINTF(3, 4);
/* Sets an error with the message "ACTION PATH: strerror(errno)" and returns NULL. ENOENT, EACCES, EISDIR, ENOTDIR and
 * EEXIST are user's errors, all other values of errno machine's errors. */
void *fail_errno(GError **error, const char *action, const char *path);
/* Sets *error to the error that another function has set, and takes it over. Returns NULL. */
void *fail_with(GError **error, GError *problem);
/* Puts "CONTEXT: " before the message of an error that is already set. Returns NULL. */
void *fail_context(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* The exit status of a program that ends with this error; NULL means success, 0. */
int error_status(const GError *error);

G_END_DECLS
