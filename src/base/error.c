#include "base/error.h"

#include <errno.h>
#include <stdarg.h>

GQuark loam_error_quark(void)
{
    return g_quark_from_static_string("loam-error");
}

void *fail_as(GError **error, LoamError code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_propagate_error(error, g_error_new_valist(LOAM_ERROR, (gint)code, format, args));
    va_end(args);
    return NULL;
}

void *fail_errno(GError **error, const char *action, const char *path)
{
    int number = errno;
    bool user = number == ENOENT || number == EACCES || number == EISDIR || number == ENOTDIR || number == EEXIST;
    return fail_as(error, user ? LOAM_ERROR_USER : LOAM_ERROR_MACHINE, "%s %s: %s", action, *path ? path : "\"\"",
                   g_strerror(number));
}

void *fail_with(GError **error, GError *problem)
{
    g_propagate_error(error, problem);
    return NULL;
}

void *fail_context(GError **error, const char *format, ...)
{
    if (error == NULL || *error == NULL)
        return NULL;
    va_list args;
    va_start(args, format);
    g_autofree char *context = g_strdup_vprintf(format, args);
    va_end(args);
    g_prefix_error(error, "%s: ", context);
    return NULL;
}

int error_status(const GError *error)
{
    if (error == NULL)
        return 0;
    return error->domain == LOAM_ERROR ? error->code : LOAM_ERROR_USER;
}
