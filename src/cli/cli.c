#include "cli/cli.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* GLib says "Unknown option --foo"; a person wants the name they meant. */
static bool explain_unknown(const GOptionEntry *entries, char **argv, const char *usage, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (const GOptionEntry *entry = entries; entry->long_name; entry++)
        g_ptr_array_add(names, (char *)entry->long_name);
    g_ptr_array_add(names, NULL);
    for (char **arg = argv + 1; *arg; arg++) {
        if (!g_str_has_prefix(*arg, "--") || strcmp(*arg, "--") == 0 || strcmp(*arg, "--help") == 0)
            continue;
        g_autofree char *name = g_strndup(*arg + 2, strcspn(*arg + 2, "="));
        if (g_strv_contains((const char *const *)names->pdata, name))
            continue;
        const char *nearest = text_nearest(name, (const char *const *)names->pdata);
        if (nearest)
            return fail_user(error, "unknown option --%s, did you mean --%s?", name, nearest);
        return fail_user(error, "unknown option --%s; usage: %s", name, usage);
    }
    return false;
}

bool cli_parse(int *argc, char ***argv, const GOptionEntry *entries, const char *usage, const char *about,
               GError **error)
{
    g_autoptr(GOptionContext) context = g_option_context_new(NULL);
    g_option_context_add_main_entries(context, entries, NULL);
    g_option_context_set_help_enabled(context, false);
    for (int i = 1; i < *argc && strcmp((*argv)[i], "--") != 0; i++)
        if (strcmp((*argv)[i], "--help") == 0 || strcmp((*argv)[i], "-h") == 0) {
            g_autofree char *help = g_option_context_get_help(context, true, NULL);
            const char *options = strstr(help, "Options:");
            g_print("usage: %s\n\n%s\n%s", usage, about,
                    options && entries->long_name ? strchr(options, '\n') + 1 : "");
            return false;
        }
    g_autoptr(GError) parse_error = NULL;
    if (g_option_context_parse(context, argc, argv, &parse_error))
        return true;
    if (g_error_matches(parse_error, G_OPTION_ERROR, G_OPTION_ERROR_UNKNOWN_OPTION))
        explain_unknown(entries, *argv, usage, error);
    if (error == NULL || *error == NULL)
        fail_user(error, "%s; usage: %s", parse_error->message, usage);
    return false;
}

json_t *json_finite(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

bool print_json_line(json_t *object, GError **error)
{
    char *line = object ? json_dumps(object, JSON_COMPACT) : NULL;
    json_decref(object);
    if (line == NULL)
        return fail_user(error, "a name or a text is not UTF-8, which JSON must be: leave --json out");
    puts(line);
    free(line);
    return true;
}
