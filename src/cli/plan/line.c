/* line.c: lines of a plan. */
#include "cli/plan/plan.h"

#include <stdarg.h>

void plan_line(GString *plan, const char *what, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_string_append_printf(plan, "%-16s ", what);
    g_string_append_vprintf(plan, format, args);
    g_string_append_c(plan, '\n');
    va_end(args);
}
