/* task_labels.c: writes an example's encoded labels (data/objectives/labelled.c), and finds the names of classes. */
#include "base/text.h"
#include "data/objectives/objectives.h"
#include "data/task/special.h"

#include <math.h>
#include <string.h>

#define MOST_LABELS 65536

static bool class_number(const TaskEncoder *encoder, const char *where, const char *name, int64_t *label,
                         GError **error)
{
    *label = labels_find(encoder->labels, name);
    return *label >= 0 || label_fail(encoder->config, encoder->labels, where, name, error);
}

/* The first and last token, within the sequence, of the first answer in window s; 0 and 0 if it is in another. */
static void find_span(const TaskExample *example, const TaskInputs *inputs, int32_t s, int32_t span[2])
{
    const int32_t first = g_array_index(inputs->cu, int32_t, s), end = g_array_index(inputs->cu, int32_t, s + 1);
    span[0] = span[1] = 0;
    if (example->targets->len == 0)
        return;
    int64_t from = g_array_index(example->starts, int64_t, 0), to = from + (int64_t)strlen(example->targets->pdata[0]);
    int32_t begin = -1, last = -1;
    for (int32_t i = first; i < end; i++) {
        const TokenRange *token = &g_array_index(inputs->ranges, TokenRange, i);
        if (token->end <= token->begin)
            continue;
        if (begin < 0 && token->before <= from && from < token->end)
            begin = i - first;
        if (token->begin < to && to <= token->after)
            last = i - first;
    }
    if (begin < 0 || last < begin)
        return;
    span[0] = begin;
    span[1] = last;
}

/* label and label_end of sequence s. */
static bool find_label(const TaskEncoder *encoder, const char *where, const TaskExample *example,
                       const TaskInputs *inputs, int32_t s, int32_t label[2], GError **error)
{
    const char *target = example->targets->len ? example->targets->pdata[0] : NULL;
    int64_t found;
    label[0] = -1;
    label[1] = 0;
    switch (encoder->task->learns) {
    case LABELS_SPAN:
        find_span(example, inputs, s, label);
        return true;
    case LABELS_VALUE: {
        float value;
        if (!label_parse_value(where, target, &value, error))
            return false;
        memcpy(label, &value, sizeof value);
        return true;
    }
    case LABELS_CHOICE:
        label[0] = (int32_t)g_ascii_strtoll(target, NULL, 10);
        return true;
    case LABELS_SEQUENCE:
        if (!class_number(encoder, where, target, &found, error))
            return false;
        label[0] = (int32_t)found;
        return true;
    default:
        return true;
    }
}

/* Appends a number per token: class + 1 for the first token of a word; 0 for others and words without a tag. */
static bool append_tags(const TaskEncoder *encoder, const char *where, const TaskExample *example,
                        const TaskInputs *inputs, GArray *encoded, GError **error)
{
    g_auto(GStrv) tags = g_strsplit(example->targets->pdata[0], " ", -1);
    guint first = encoded->len;
    g_array_set_size(encoded, first + inputs->ids->len);
    memset(&g_array_index(encoded, int32_t, first), 0, inputs->ids->len * sizeof(int32_t));
    for (guint i = 0; i < inputs->words->len; i++) {
        int32_t token = g_array_index(inputs->words, int32_t, i);
        int64_t label = -1;
        if (!label_is_none(encoder->labels, tags[i]) && !class_number(encoder, where, tags[i], &label, error))
            return false;
        if (token >= 0)
            g_array_index(encoded, int32_t, first + (guint)token) = (int32_t)label + 1;
    }
    return true;
}

bool task_encode_labels(const TaskEncoder *encoder, const char *where, const TaskExample *example,
                        const TaskInputs *inputs, int32_t s, GArray *encoded, GError **error)
{
    LabelKind kind = encoder->task->learns;
    int32_t label[2], n = kind == LABELS_CHOICE ? task_inputs_count(inputs) : 1;
    if (kind != LABELS_SPAN && example->targets->len == 0)
        return fail_user(error, "%s: it has no label", where);
    if (!find_label(encoder, where, example, inputs, s, label, error))
        return false;
    labelled_append(encoded, (uint32_t)label[0]);
    labelled_append(encoded, (uint32_t)label[1]);
    labelled_append(encoded, (uint32_t)n);
    for (int32_t i = s; i < s + n; i++) {
        int32_t length = g_array_index(inputs->cu, int32_t, i + 1) - g_array_index(inputs->cu, int32_t, i);
        labelled_append(encoded, (uint32_t)length);
        labelled_append(encoded, (uint32_t)g_array_index(inputs->second, int32_t, i));
    }
    return kind != LABELS_TOKENS || append_tags(encoder, where, example, inputs, encoded, error);
}

/* ---- names of classes ---- */

/* Numbers by their size, before other names in the order of their bytes. */
static gint compare_class_names(gconstpointer a, gconstpointer b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    char *x_end, *y_end;
    double i = g_ascii_strtod(x, &x_end), j = g_ascii_strtod(y, &y_end);
    bool x_number = x_end != x && *x_end == '\0' && !isnan(i), y_number = y_end != y && *y_end == '\0' && !isnan(j);
    if (x_number != y_number)
        return x_number ? -1 : 1;
    return x_number && i != j ? (i < j ? -1 : 1) : strcmp(x, y);
}

static bool add_name(GHashTable *names, const char *where, const char *name, GError **error)
{
    g_hash_table_add(names, g_strdup(name));
    return g_hash_table_size(names) <= MOST_LABELS ||
           fail_user(error, "%s: more than %d classes: is the label the right field?", where, MOST_LABELS);
}

/* The classes found so far. */
typedef struct ClassNames {
    const Task *task;
    GHashTable *names; /* char * */
} ClassNames;

static bool add_names(void *context, const TaskExample *example, const Record *record, GError **error)
{
    const ClassNames *found = context;
    const Task *task = found->task;
    if (example->targets->len == 0)
        return true;
    g_auto(GStrv) all = label_names(task, example);
    for (char **name = all; *name; name++)
        if (!label_is_none(NULL, *name) && !add_name(found->names, record->where, *name, error))
            return false;
    return true;
}

/* Names that a reader takes for one are probably the same class. */
static bool check_classes_alike(const char *path, const GPtrArray *names, GError **error)
{
    g_autofree char *a = NULL, *b = NULL;
    return !labels_find_alike(names, &a, &b) ||
           fail_user(error,
                     "%s: are %s and %s one class? Labels may not differ only in case, white space, characters that "
                     "look alike or how a number is written, unless model.labels names the classes",
                     path, a, b);
}

/* A classifier needs two classes. */
static bool check_names(const char *path, const GPtrArray *names, GError **error)
{
    if (names->len == 0)
        return fail_user(error, "%s: it has no example to take the names of the classes from", path);
    return names->len > 1 ||
           fail_user(error, "%s: every label is \"%s\", and a classifier needs two classes: model.labels names them",
                     path, (const char *)names->pdata[0]);
}

char *task_collect_labels(const Task *task, const TaskConfig *config, GError **error)
{
    g_autoptr(GHashTable) names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GPtrArray) sorted = g_ptr_array_new();
    g_auto(TaskFile) train = { 0 }, valid = { 0 };
    if (task->labels)
        return g_strdup(task->labels);
    if (!task_files(task, config, &train, &valid, error))
        return NULL;
    train.part = TASK_PART_ALL;
    train.quiet = true;
    g_autoptr(TaskReader) reader = train.path ? task_reader_open(task, config, &train, true, error) : NULL;
    bool good = reader && task_reader_each(reader, add_names, &(ClassNames){ task, names }, error);
    if (train.path == NULL)
        fail_user(error, "model.labels is not set, and there is no task.data to take the names of the classes from");
    GHashTableIter each;
    gpointer name;
    g_hash_table_iter_init(&each, names);
    while (g_hash_table_iter_next(&each, &name, NULL))
        g_ptr_array_add(sorted, name);
    g_ptr_array_sort(sorted, compare_class_names);
    good = good && check_names(config->data, sorted, error) && check_classes_alike(config->data, sorted, error);
    g_ptr_array_add(sorted, NULL);
    return good ? text_list_join((const char *const *)sorted->pdata) : NULL;
}
