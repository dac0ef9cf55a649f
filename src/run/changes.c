#include "run/changes.h"

#include "base/options/options.h"
#include "run/config/config.h"
#include "run/metric_lines.h"

#include <inttypes.h>
#include <string.h>

#define MOST_SHOWN 4

typedef struct Change {
    char *name, *was, *is;
    int64_t step;
} Change;

static void change_free(void *memory)
{
    Change *change = memory;
    g_free(change->name);
    g_free(change->was);
    g_free(change->is);
    g_free(change);
}

/* Whether the schedule of a run goes by train.length. */
static bool follows_length(const GPtrArray *settings)
{
    static const char *const endless[] = { "constant", "inverse_sqrt", "plateau", NULL };
    const char *schedule = option_settings_find(settings, "optim.schedule"),
               *until = option_settings_find(settings, "optim.decay_until");
    return !(schedule && g_strv_contains(endless, schedule)) && (until == NULL || *until == '0');
}

static bool decides(const char *name, const GPtrArray *settings)
{
    return strcmp(name, "train.length") == 0 ? follows_length(settings) : config_is_learning(name);
}

/* Adds an event's change, "optim.lr changed from 0.001 to 0.002". One that is taken back at the same step is none. */
static void take_change(GPtrArray *changes, const char *what, int64_t step, const GPtrArray *settings)
{
    static const char middle[] = " changed from ";
    const char *from = strstr(what, middle), *to = from ? strstr(from + strlen(middle), " to ") : NULL;
    g_autofree char *name = to ? g_strndup(what, (gsize)(from - what)) : NULL;
    if (name == NULL || !decides(name, settings))
        return;
    from += strlen(middle);
    for (guint i = 0; i < changes->len; i++) {
        Change *before = changes->pdata[i];
        if (before->step != step || strcmp(before->name, name) != 0)
            continue;
        g_free(before->is);
        before->is = g_strdup(to + strlen(" to "));
        if (strcmp(before->is, before->was) == 0)
            g_ptr_array_remove_index(changes, i);
        return;
    }
    Change *change = g_new(Change, 1);
    *change =
        (Change){ g_steal_pointer(&name), g_strndup(from, (gsize)(to - from)), g_strdup(to + strlen(" to ")), step };
    g_ptr_array_add(changes, change);
}

char *run_changes_read(const char *dir, const GPtrArray *settings)
{
    MetricReader reader;
    g_autoptr(GPtrArray) changes = g_ptr_array_new_with_free_func(change_free);
    g_autoptr(GString) text = g_string_new(NULL);
    if (!metric_reader_open(&reader, dir, NULL))
        return NULL;
    while (metric_reader_next(&reader)) {
        const char *what = json_string_value(json_object_get(reader.record.json, "what"));
        if (reader.record.kind == METRIC_EVENT && what && reader.record.step > 0)
            take_change(changes, what, reader.record.step, settings);
    }
    metric_reader_close(&reader, NULL);
    for (guint i = 0; i < MIN(changes->len, MOST_SHOWN); i++) {
        const Change *change = changes->pdata[i];
        g_string_append_printf(text, "%s%s from %s to %s at step %" PRId64, i ? ", " : "", change->name, change->was,
                               change->is, change->step);
    }
    if (changes->len > MOST_SHOWN)
        g_string_append_printf(text, ", and %u more", changes->len - MOST_SHOWN);
    return text->len ? g_string_free(g_steal_pointer(&text), FALSE) : NULL;
}
