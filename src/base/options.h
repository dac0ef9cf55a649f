/* options.h: one table of options drives defaults, YAML, key=value overrides, range errors, nearest-name hints, help,
 * the generated reference (docs/options.md) and the copy saved with a run. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum OptionType {
    OPT_BOOL,   /* bool */
    OPT_I64,    /* int64_t */
    OPT_F64,    /* double */
    OPT_STRING, /* char *, owned by the Config */
    OPT_ENUM,   /* int: index into `choices` */
    OPT_AMOUNT, /* Amount (amount.h) */
    OPT_LIST    /* char *, owned by the Config: ITEM,ITEM; from YAML also a list of maps */
} OptionType;

/* What a resumed run does when the option changed. */
typedef enum OptionClass {
    OPT_IDENTITY, /* refuses: model shape, tokenizer, data, seed */
    OPT_TUNABLE,  /* goes on and logs the change */
    OPT_FREE      /* silent */
} OptionClass;

/* Where the default of a number is "auto", that word stands for 0: it is read as 0 and 0 is written as it. */
typedef struct OptionRow {
    const char *name; /* "optim.lr" */
    OptionType type;
    size_t offset;        /* into the struct of its group */
    const char *standard; /* the default, as it would be written in YAML; "" for an empty string */
    double min, max;      /* numbers and amounts; inclusive; equal: no limits */
    OptionClass class;
    const char *help; /* one line, lower case, no full stop */
    /* NULL-terminated. OPT_ENUM: names. OPT_LIST: the keys of a map, whose values an item has in this order with colons
     * between; "weight?" may be left out. */
    const char *const *choices;
} OptionRow;

/* The rows a module owns and where its struct lies within the whole configuration. */
typedef struct OptionGroup {
    const OptionRow *rows;
    int n_rows;
    size_t offset;
} OptionGroup;

typedef struct OptionTable {
    const OptionGroup *groups;
    int n_groups;
    size_t config_size;
} OptionTable;

/* One wish about one option, not yet checked: from a file, a preset or the command line. */
typedef struct OptionSetting {
    char *name, *value, *origin; /* origin: "run.yaml:12" or "command line", for messages */
    GPtrArray
        *items; /* NULL, or a list instead of the value: a GStrv an item: key, value, …; a bare value's key is "" */
} OptionSetting;

/* Lists of OptionSetting *; freeing the array frees its elements. A later setting of the same option wins. */
GPtrArray *option_settings_new(void);
void option_settings_add(GPtrArray *settings, const char *name, const char *value, const char *origin);
/* Appends what a YAML file sets (maps of maps of scalars or lists; `extends: other.yaml`, relative to the file, comes
 * first; at most 16 deep, cycles refused). Any well-formed file is accepted here: options_apply knows the names. */
bool option_settings_read_yaml(GPtrArray *settings, const char *path, GError **error);
/* The same from memory; `path` names the text in messages and is what `extends` is relative to. */
bool option_settings_read_yaml_text(GPtrArray *settings, const char *text, size_t bytes, const char *path,
                                    GError **error);
/* Appends "group.key=value". */
bool option_settings_parse(GPtrArray *settings, const char *assignment, GError **error);
const char *option_settings_find(const GPtrArray *settings, const char *name); /* the last value, or NULL */

/* A configuration in memory is a zeroed struct of config_size bytes; these fill and free it. */
void options_set_defaults(const OptionTable *table, void *config);
/* Errors name the origin, an unknown key's nearest name, the range, the type wanted. */
bool options_apply(const OptionTable *table, void *config, const GPtrArray *settings, GError **error);
void options_clear(const OptionTable *table, void *config);                /* frees the strings */
const OptionRow *options_find(const OptionTable *table, const char *name); /* NULL if unknown */
/* As it would be typed on the command line, and as YAML text; g_free. */
char *options_plain_value(const OptionTable *table, const void *config, const OptionRow *row);
char *options_value(const OptionTable *table, const void *config, const OptionRow *row);
/* The whole configuration as YAML that option_settings_read_yaml reads back to the same values. g_free. */
char *options_to_yaml(const OptionTable *table, const void *config);
/* Every option as a Markdown table (docs/options.md); the defaults of those in `by_model` (ends with NULL) are in
 * docs/defaults.md. g_free. */
char *options_to_markdown(const OptionTable *table, const char *const *by_model);
/* Rows that differ, of the given class. Element type const OptionRow *; free with g_ptr_array_unref. */
GPtrArray *options_differences(const OptionTable *table, const void *a, const void *b, OptionClass class);
