/* options/options.h: tables of options. One row of a table gives an option's default, its reading from YAML and from
 * group.key=value, its range, its help, its line in docs/options.md and in the configuration saved with a run. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum OptionType {
    OPT_BOOL,   /* bool */
    OPT_I64,    /* int64_t */
    OPT_F64,    /* double */
    OPT_STRING, /* char *, owned by the configuration */
    OPT_ENUM,   /* int: index into `choices` */
    OPT_AMOUNT, /* Amount (amount.h) */
    OPT_LIST    /* char *, owned by the configuration: "ITEM,ITEM"; in YAML a list of maps is accepted too */
} OptionType;

/* What a resumed run does if the option's value is not the saved one. */
typedef enum OptionClass {
    OPT_IDENTITY, /* refuses: the model's shape, tokenizer, data, seed */
    OPT_TUNABLE,  /* goes on and logs the change */
    OPT_FREE      /* goes on silently */
} OptionClass;

typedef struct OptionRow {
    const char *name; /* "optim.lr" */
    OptionType type;
    size_t offset;             /* of the field in its group's struct */
    const char *default_value; /* as in YAML; "" for an empty string. A number whose default is "auto" accepts that word
                                  as a value and keeps 0 for it */
    double min, max;           /* of numbers and amounts, inclusive; equal values mean no limits */
    OptionClass class;
    const char *help; /* one line, lower case, no full stop */
    /* NULL-terminated. OPT_ENUM: the names of its values. OPT_LIST: the keys of an item's map; an item's text is the
     * values of these keys in this order, joined by colons; a key written "weight?" may be left out. */
    const char *const *choices;
} OptionRow;

/* A name that an option had in earlier versions. */
typedef struct OptionRename {
    const char *former, *name;
    const char *const
        *values; /* NULL, or alternating former and present values, NULL-terminated; others are the same */
} OptionRename;

/* A name that another program gives to what an option says; messages about unknown names use it. */
typedef struct OptionForeignName {
    const char *foreign, *name; /* foreign: without a group, words joined by underscores: "learning_rate" */
    const char *example;        /* NULL, or a value that shows how it is written here: "3 epochs" */
} OptionForeignName;

/* The rows that a module owns, the offset of its struct in the whole configuration, and the former names of its options
 * (NULL means none; ends with former NULL). */
typedef struct OptionGroup {
    const OptionRow *rows;
    int n_rows;
    size_t offset;
    const OptionRename *renames;
} OptionGroup;

typedef struct OptionTable {
    const OptionGroup *groups;
    int n_groups;
    size_t config_size;                     /* bytes of the whole configuration */
    const OptionForeignName *foreign_names; /* NULL means none; ends with foreign NULL */
} OptionTable;

/* ---- settings: names with values from a file, a preset or the command line, not yet checked ---- */

typedef struct OptionSetting {
    char *name, *value, *origin; /* origin, for messages: "run.yaml:12" or "command line" */
    GPtrArray *items;            /* NULL, or a YAML list in place of `value`: one GStrv an item, alternating keys and
                                    values; an item that is a plain value has the key "" */
} OptionSetting;

/* Lists of OptionSetting *; freeing the array frees its elements. Of two settings of one option the later one counts.
 */
GPtrArray *option_settings_new(void);
void option_settings_add(GPtrArray *settings, const char *name, const char *value, const char *origin);
/* Appends the settings of a YAML file: maps of maps of scalars or lists. `extends: OTHER.yaml`, relative to the file,
 * puts that file's settings first; at most 16 deep, no circles. Names are not checked here but by options_apply. */
bool option_settings_read_yaml(GPtrArray *settings, const char *path, GError **error);
/* Appends the settings of YAML text in memory; messages name `path`, and `extends` is relative to it. */
bool option_settings_read_yaml_text(GPtrArray *settings, const char *text, size_t bytes, const char *path,
                                    GError **error);
/* Appends a setting written as "group.key=value". */
bool option_settings_parse(GPtrArray *settings, const char *assignment, GError **error);
/* Gives settings with a former name the present one. To be called after reading what an earlier version may have
 * written, and before anything looks for a name. */
void option_settings_rename(GPtrArray *settings, const OptionTable *table);
/* The value of the last setting of an option; NULL means there is none. */
const char *option_settings_find(const GPtrArray *settings, const char *name);

/* ---- configurations: zeroed structs of config_size bytes ---- */

void options_set_defaults(const OptionTable *table, void *config);
/* Writes the settings into a configuration. Errors tell the origin, the nearest existing name, the range, the type. */
bool options_apply(const OptionTable *table, void *config, const GPtrArray *settings, GError **error);
void options_clear(const OptionTable *table, void *config);                /* frees the strings */
const OptionRow *options_find(const OptionTable *table, const char *name); /* NULL if there is no such option */
/* What another program's name ("learning_rate", "--lr-decay-style", with or without a group before it) means here:
 * "optim.lr", or "train.length='3 epochs'". NULL means that no program of the list has the name. g_free. */
char *options_find_foreign(const OptionTable *table, const char *name);
/* The value of an option as on the command line, and as in YAML; g_free. */
char *options_plain_value(const OptionTable *table, const void *config, const OptionRow *row);
char *options_value(const OptionTable *table, const void *config, const OptionRow *row);
/* The whole configuration as YAML that reads back to the same values; g_free. */
char *options_to_yaml(const OptionTable *table, const void *config);
/* The rows of a class whose values differ between two configurations: const OptionRow *, to be freed with
 * g_ptr_array_unref. */
GPtrArray *options_differences(const OptionTable *table, const void *a, const void *b, OptionClass class);

/* ---- lists of all options: docs/options.md, man page, completion ---- */

/* docs/options.md: all options as Markdown tables. For the options in `by_model` (NULL-terminated) the default is a
 * link to docs/defaults.md. g_free. */
char *options_to_markdown(const OptionTable *table, const char *const *by_model);
/* The options of a group ("optim"), or the one option of this name, to be read in a terminal of `width` columns; group
 * NULL means all options. NULL means that there is no such group or option. g_free. */
char *options_to_text(const OptionTable *table, const char *group, const char *const *by_model, int width);
/* Calls `visit` for every option, group by group; `accepts` tells the values that it may have. */
void options_each(const OptionTable *table, void (*visit)(const OptionRow *row, const char *accepts, gpointer data),
                  gpointer data);
