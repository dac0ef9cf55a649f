/* options/options.h: tables of options. One row of a table describes an option: its type, default, range and help. The
 * row decides how the option is read from YAML and from group.key=value, and its lines in docs/options and in the
 * configuration that is saved with a run. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

typedef enum OptionType {
    OPT_BOOL,   /* bool */
    OPT_I64,    /* int64_t */
    OPT_F64,    /* double */
    OPT_STRING, /* char *, owned by the configuration */
    OPT_ENUM,   /* int: index into `choices` */
    OPT_AMOUNT, /* Amount (amount.h) */
    OPT_LIST    /* char *, owned by the configuration: "ITEM,ITEM" (text_list); in YAML a list is accepted too */
} OptionType;

/* What a resumed run does if an option's value differs from the saved one. */
typedef enum OptionClass {
    OPT_IDENTITY = 1, /* refuses: the model's shape, tokenizer, data, seed */
    OPT_LEARNING = 2, /* continues and logs the change; it decides what a step computes, so checkpoints record it */
    OPT_TUNABLE = 4,  /* continues and logs the change */
    OPT_FREE = 8,     /* continues silently */
    OPT_LOGGED = OPT_LEARNING | OPT_TUNABLE
} OptionClass;

extern const char *const option_auto[]; /* "auto", NULL */
extern const char
    *const option_steps[]; /* "steps", NULL: of an OPT_I64 that counts steps, as this unit may follow it */
extern const char *const option_files[]; /* NULL: of an OPT_STRING that is a file, in YAML also a list of files */

typedef struct OptionRow {
    const char *name; /* GROUP.KEY, such as "optim.lr" */
    OptionType type;
    size_t offset;             /* byte offset of the option's field in the struct of its module (OptionGroup) */
    const char *default_value; /* written as in YAML; "" for an empty string. A number may have the value "auto", which
                                  is stored as 0, if its default is "auto" or if `choices` is option_auto */
    double min, max;           /* limits of numbers and amounts, inclusive; min == max means no limits */
    OptionClass class;
    /* NULL-terminated. OPT_ENUM: the names of the values. OPT_LIST: in YAML each item may be a map with these keys; as
     * text an item is the values of these keys in this order, joined by colons. A key written "weight?" may be left
     * out. NULL means that items are plain values. */
    const char *const *choices;
    const char *help; /* one line, lower case, no full stop */
} OptionRow;

/* A name that an option had in earlier versions. */
typedef struct OptionRename {
    const char *former, *name;
    const char *const *values; /* former and present values alternating, NULL-terminated; a value that is not listed
                                  stays the same. NULL means that all values stay the same */
} OptionRename;

/* The name that another program has for an option of loam; used in messages about unknown options. */
typedef struct OptionForeignName {
    const char *foreign, *name; /* foreign: the other program's name without a group, words joined by underscores:
                                   "learning_rate", or "train_file=.csv .tsv" for values that end so; name: the name in
                                   loam, NULL means that no option does it */
    const char *example; /* how the value is written in loam, such as "{3} epochs": the number in braces is replaced by
                            the one that was given, by 100 times it with "{6*100}%"; NULL means as it was given. If
                            `name` is NULL: what to type instead */
} OptionForeignName;

/* The options of one module: their rows, the offset of the module's struct in the whole configuration, and their former
 * names (NULL means none; the last row has former NULL). */
typedef struct OptionGroup {
    const OptionRow *rows;
    int n_rows;
    size_t offset;
    const OptionRename *renames;
} OptionGroup;

typedef struct OptionTable {
    const OptionGroup *groups;
    int n_groups;
    const OptionForeignName *foreign_names; /* NULL means none; the last row has foreign NULL */
} OptionTable;

/* ---- settings: names with values from a file, a preset or the command line, not yet checked ---- */

typedef struct OptionSetting {
    char *name, *value;
    char *origin;     /* where the setting comes from, for messages: "run.yaml:12" or "command line" */
    GPtrArray *items; /* a YAML list, used instead of `value`: one GStrv per item, with keys and values alternating; an
                         item that is a plain value has the key "". NULL means that the setting is not a list */
} OptionSetting;

/* Lists of OptionSetting *, freed with their array. The last of several settings of one option counts. */
GPtrArray *option_settings_new(void);
/* Appends a setting, whose strings are copied. origin: as in OptionSetting. */
void option_settings_add(GPtrArray *settings, const char *name, const char *value, const char *origin);
/* Appends the settings of a YAML file, which is a map of groups, each a map of keys to scalars or lists. With `extends:
 * OTHER.yaml`, a path relative to the file, the settings of that file come first; a chain may have at most 16
 * `extends`, and a cycle is an error. Names are checked later, by options_apply. */
bool option_settings_read_yaml(GPtrArray *settings, const char *path, GError **error);
/* Appends a setting written as "group.key=value". */
bool option_settings_parse(GPtrArray *settings, const char *assignment, GError **error);
/* Replaces former names of options by the present ones. To be called after reading settings that an earlier version may
 * have written, and before any name is looked up. */
void option_settings_rename(GPtrArray *settings, const OptionTable *table);
/* The value of the last setting of an option; NULL means that there is none. */
const char *option_settings_find(const GPtrArray *settings, const char *name);

/* ---- configurations: zeroed structs ---- */

/* Sets every option of a configuration to its default. */
void options_set_defaults(const OptionTable *table, void *config);
/* Writes settings into a configuration. Errors name a setting's origin and the type, the range or the nearest name. */
bool options_apply(const OptionTable *table, void *config, const GPtrArray *settings, GError **error);
/* Copies the value of one option from one configuration to another; a string is not copied, both have it. */
void options_copy_value(const OptionTable *table, void *to, const void *from, const OptionRow *row);
void options_clear(const OptionTable *table, void *config);                /* frees the strings of a configuration */
const OptionRow *options_find(const OptionTable *table, const char *name); /* NULL if there is no such option */
const OptionRow *options_at(const OptionTable *table, int i); /* option number i, group by group; NULL after the last */
/* Translates the name that another program has for an option, with or without a group ("learning_rate",
 * "--lr-decay-style"), to "optim.lr" or, with an example, "train.length='3 epochs'". value: what the name was given;
 * NULL means nothing, and the example's own number is told. NULL means that OptionTable.foreign_names does not have the
 * name. Free with g_free. */
char *options_find_foreign(const OptionTable *table, const char *name, const char *value);
/* An option's value: options_plain_value as on a command line, options_value as in YAML (quoted if needed). g_free. */
char *options_plain_value(const OptionTable *table, const void *config, const OptionRow *row);
char *options_value(const OptionTable *table, const void *config, const OptionRow *row);
/* The whole configuration as YAML that reads back to the same values; free with g_free. */
char *options_to_yaml(const OptionTable *table, const void *config);
/* Options of the classes, joined by |, that differ between two configurations (const OptionRow *); free with
 * g_ptr_array_unref. */
GPtrArray *options_differences(const OptionTable *table, const void *a, const void *b, unsigned classes);

/* ---- lists of all options: docs/options, man page, completion ---- */

/* docs/options/GROUP.md: the options of a group as a list in Markdown; group NULL means all groups, a list for each.
 * by_model (NULL-terminated): names of options whose default depends on the model; their default is shown as a link to
 * docs/defaults.md. Returns NULL if there is no such group. Free with g_free. */
char *options_to_markdown(const OptionTable *table, const char *group, const char *const *by_model);
/* The options of a group ("optim"), or the one option of this name, as text for a terminal of `width` columns; group
 * NULL means all options. Returns NULL if there is no such group or option. Free with g_free. */
char *options_to_text(const OptionTable *table, const char *group, const char *const *by_model, int width);
/* Calls `visit` for every option, group by group; `accepts` describes the values that it may have. */
void options_each(const OptionTable *table, void (*visit)(const OptionRow *row, const char *accepts, gpointer data),
                  gpointer data);
