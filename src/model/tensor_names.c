#include "model/tensor_names.h"

#include "base/check.h"
#include "model/lora/lora.h"
#include "model/params/params.h"

#include <string.h>

#define AT_ONCE     (1 << 22) /* elements of a parameter that are read at once, or those of a row */
#define MOST_LISTED 4         /* largest number of unexpected tensors that a message names */

/* Whether a name matches a pattern with # and *; appends the texts that these match to `words`. */
static bool fits_pattern(const char *pattern, const char *name, GPtrArray *words)
{
    g_ptr_array_set_size(words, 0);
    for (; *pattern; pattern++) {
        size_t n = *pattern == '#' ? strspn(name, "0123456789") : *pattern == '*' ? strcspn(name, ".") : 0;
        if (n > 0)
            g_ptr_array_add(words, g_strndup(name, n));
        else if (*pattern != *name)
            return false;
        name += MAX(n, 1);
    }
    return *name == '\0';
}

/* A pattern in which each # and * is replaced by one of the words. g_free. */
static char *filled(const char *prefix, const char *pattern, const GPtrArray *words)
{
    GString *name = g_string_new(prefix);
    for (guint used = 0; *pattern; pattern++)
        if (*pattern == '#' || *pattern == '*')
            g_string_append(name, g_ptr_array_index(words, used++));
        else
            g_string_append_c(name, *pattern);
    return g_string_free(name, FALSE);
}

/* The name of the module ("encoder.layer.3.attention.self.query") that is the adapter's layer: its only member, or all
 * members of a fusion group together. NULL means that the architecture has no such module. g_free. */
static char *adapted_module(const TensorNames *names, const char *ours)
{
    size_t prefix;
    const LoraLayer *layer = lora_layer_of(ours, &prefix);
    char *module = NULL;
    if (layer == NULL)
        return NULL;
    const char *const *members = layer->members;
    for (size_t m = 0; m < G_N_ELEMENTS(layer->members) && members[m] && module == NULL; m++) {
        g_autofree char *member = g_strdup_printf("%.*s%s", (int)prefix, ours, members[m]), *weight = NULL;
        const TensorName *name = tensor_name_of(names, member, &weight);
        bool group = strcmp(members[m], layer->name) != 0;
        if (name && (name->n_parts > 0) == group && name->part == 0)
            module = g_strndup(weight, strlen(weight) - strlen(".weight"));
    }
    return module;
}

static const TensorName *adapter_name(const TensorNames *names, const char *ours, char **theirs)
{
    static const TensorName plain = { 0 };
    g_autofree char *module = adapted_module(names, ours);
    *theirs =
        module ? g_strconcat(module, g_str_has_suffix(ours, LORA_A) ? ".lora_A.weight" : ".lora_B.weight", NULL) : NULL;
    return module ? &plain : NULL;
}

const TensorName *tensor_name_of(const TensorNames *names, const char *ours, char **theirs)
{
    if (lora_is_adapter(ours))
        return adapter_name(names, ours, theirs);
    g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
    const TensorName *const lists[] = { names->body, names->heads };

    for (int i = 0; i < 2; i++)
        for (const TensorName *name = lists[i]; name && name->ours; name++)
            if (fits_pattern(name->ours, ours, words)) {
                *theirs = filled(i == 0 ? names->prefix : "", name->theirs, words);
                return name;
            }
    *theirs = NULL;
    if (!g_str_has_suffix(ours, ".bias"))
        return NULL;
    g_autofree char *linear = g_strndup(ours, strlen(ours) - strlen(".bias")), *weight = NULL;
    const TensorName *name = tensor_name_of(names, linear, &weight);
    if (name)
        *theirs = g_strdup_printf("%.*s.bias", (int)(strlen(weight) - strlen(".weight")), weight);
    return name;
}

bool tensor_name_is_head(const TensorNames *names, const char *theirs)
{
    for (const TensorName *name = names->heads; name && name->ours; name++) {
        size_t module = (size_t)(strrchr(name->theirs, '.') - name->theirs) + 1;
        if (strncmp(name->theirs, theirs, module) == 0 && strchr(theirs + module, '.') == NULL)
            return true;
    }
    return false;
}

const IgnoredTensor *tensor_name_ignored(const TensorNames *names, const char *theirs)
{
    g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
    for (const IgnoredTensor *ignored = names->ignored; ignored && ignored->theirs; ignored++)
        if (fits_pattern(ignored->theirs, theirs, words))
            return ignored;
    return NULL;
}

int tensor_name_shape(const TensorName *name, const ParamSpec *spec, int64_t shape[2])
{
    int64_t out = spec->rows * MAX(name->n_parts, 1);
    bool transposed = name->transposed && spec->cols > 0;
    shape[0] = transposed ? spec->cols : out;
    shape[1] = transposed ? out : spec->cols;
    return spec->cols ? 2 : 1;
}

bool tensor_name_read(const FileTensor *tensor, const TensorName *name, const ParamSpec *spec, int64_t first, int64_t n,
                      float *out, GError **error)
{
    int64_t rows = spec->rows, cols = MAX(spec->cols, 1), wide = rows * MAX(name->n_parts, 1);
    if (!name->transposed)
        return file_tensor_read_f32(tensor, (name->part * rows + first) * cols, n * cols, out, error);
    g_autofree float *line = g_new(float, (gsize)n);
    for (int64_t c = 0; c < cols; c++) {
        if (!file_tensor_read_f32(tensor, c * wide + name->part * rows + first, n, line, error))
            return false;
        for (int64_t r = 0; r < n; r++)
            out[r * cols + c] = line[r];
    }
    return true;
}

void tensor_name_write(float *tensor, const TensorName *name, const ParamSpec *spec, const float *in)
{
    int64_t rows = spec->rows, cols = MAX(spec->cols, 1), wide = rows * MAX(name->n_parts, 1);
    if (!name->transposed) {
        memcpy(tensor + name->part * rows * cols, in, sizeof(float) * (size_t)(rows * cols));
        return;
    }
    for (int64_t c = 0; c < cols; c++)
        for (int64_t r = 0; r < rows; r++)
            tensor[c * wide + name->part * rows + r] = in[r * cols + c];
}

GHashTable *tensor_names_select(const TensorFile *file, const char *prefix)
{
    GHashTable *tensors = g_hash_table_new(g_str_hash, g_str_equal);
    for (int i = 0; i < tensor_file_count(file); i++) {
        const FileTensor *tensor = tensor_file_get(file, i);
        if (g_str_has_prefix(tensor->name, prefix))
            g_hash_table_insert(tensors, (char *)tensor->name, (gpointer)tensor);
    }
    return tensors;
}

/* ---- a model from tensors ---- */

static char *shape_text(int rank, const int64_t *shape)
{
    GString *text = g_string_new("(");
    for (int i = 0; i < rank; i++)
        g_string_append_printf(text, "%s%" G_GINT64_FORMAT, i ? ", " : "", shape[i]);
    g_string_append_c(text, ')');
    return g_string_free(text, FALSE);
}

static bool check_tensor_shape(const FileTensor *tensor, int rank, const int64_t *shape, const char *shaped_by,
                               GError **error)
{
    if (tensor->rank == rank && memcmp(tensor->shape, shape, sizeof *shape * (size_t)rank) == 0)
        return true;
    g_autofree char *found = shape_text(tensor->rank, tensor->shape), *wanted = shape_text(rank, shape);
    return fail_user(error, "tensor %s is %s, but %s %s", tensor->name, found, shaped_by, wanted);
}

/* Fails unless every parameter has a tensor of its shape. Adds the names of these tensors to `wanted`. */
static bool check_present(const TensorNames *names, GHashTable *tensors, const char *shaped_by,
                          const ModelConfig *config, GHashTable *wanted, GError **error)
{
    int n;
    g_autofree ParamSpec *specs = model_param_specs(config, stage_whole(config), &n);
    for (int i = 0; i < n; i++) {
        char *theirs;
        int64_t shape[2];
        const TensorName *name = tensor_name_of(names, specs[i].name, &theirs);
        CHECK(name, "parameter %s has no name in %s", specs[i].name, names->model);
        g_hash_table_add(wanted, theirs);
        const FileTensor *tensor = g_hash_table_lookup(tensors, theirs);
        if (tensor == NULL)
            return fail_user(error, "tensor %s is missing", theirs);
        if (!check_tensor_shape(tensor, tensor_name_shape(name, &specs[i], shape), shape, shaped_by, error))
            return false;
    }
    return true;
}

/* Whether a tensor has the values of COUNTS_UP. */
static bool counts_up(const FileTensor *tensor)
{
    const int64_t n = (int64_t)(tensor->bytes / sizeof(int64_t));
    bool good = true;
    for (int64_t i = 0, value; good && strcmp(tensor->dtype, "I64") == 0 && i < n; i++) {
        memcpy(&value, (const char *)tensor->data + i * (int64_t)sizeof value, sizeof value);
        good = value == i % MAX(tensor->shape[MAX(tensor->rank, 1) - 1], 1);
    }
    return good;
}

/* Fails unless an ignored tensor, `name`, is the copy that it should be. */
static bool check_copy(const TensorNames *names, GHashTable *tensors, const char *name, GError **error)
{
    const IgnoredTensor *ignored = tensor_name_ignored(names, name);
    const FileTensor *tensor = g_hash_table_lookup(tensors, name);
    g_autofree char *theirs = NULL;
    if (ignored->copy_of == NULL)
        return true;
    if (strcmp(ignored->copy_of, COUNTS_UP) == 0)
        return counts_up(tensor) || fail_user(error, "tensor %s is not " COUNTS_UP, name);
    tensor_name_of(names, ignored->copy_of, &theirs);
    const FileTensor *original = theirs ? g_hash_table_lookup(tensors, theirs) : NULL;
    const bool same = original && file_tensor_equal(tensor, original);
    file_tensor_leave(tensor);
    return same || fail_user(error, "tensor %s differs from %s, and loam has one matrix for both", name,
                             theirs ? theirs : ignored->copy_of);
}

/* Fails if there is any other tensor, except a separate lm_head with tied embeddings. */
static bool check_expected(const TensorNames *names, GHashTable *tensors, const ModelConfig *config, GHashTable *wanted,
                           GError **error)
{
    g_autofree char *head = NULL;
    g_autoptr(GString) unexpected = g_string_new(NULL);
    g_autoptr(GList) found = g_list_sort(g_hash_table_get_keys(tensors), (GCompareFunc)strcmp);
    int n = 0;
    tensor_name_of(names, "lm_head", &head);
    for (const GList *link = found; link; link = link->next) {
        const char *name = link->data;
        if (g_hash_table_contains(wanted, name) || (config->tie_embeddings && g_strcmp0(name, head) == 0))
            continue;
        if (tensor_name_ignored(names, name)) {
            if (!check_copy(names, tensors, name, error))
                return false;
            continue;
        }
        if (n++ < MOST_LISTED)
            g_string_append_printf(unexpected, "%s%s", n > 1 ? ", " : "", name);
    }
    if (n > MOST_LISTED)
        g_string_append_printf(unexpected, " and %d more", n - MOST_LISTED);
    return n == 0 || fail_user(error, "no place in this %s for %s", names->model, unexpected->str);
}

static bool check_tensors(const TensorNames *names, GHashTable *tensors, const char *shaped_by,
                          const ModelConfig *config, GError **error)
{
    g_autoptr(GHashTable) wanted = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    return model_config_check(config, error) && check_present(names, tensors, shaped_by, config, wanted, error) &&
           check_expected(names, tensors, config, wanted, error);
}

/* Reads the rows of a parameter that this rank holds, some at a time. */
static bool read_param(const TensorNames *names, GHashTable *tensors, ParamStore *params, int index, GError **error)
{
    const ParamSpec *spec = params_spec(params, index);
    const Box held = params_held(params, index);
    g_autofree char *theirs = NULL;
    const TensorName *name = tensor_name_of(names, spec->name, &theirs);
    const int64_t cols = MAX(spec->cols, 1), most = CLAMP(AT_ONCE / cols, 1, MAX(held.shape[0], 1)),
                  end = held.shape[1] > 0 ? held.start[0] + held.shape[0] : 0;
    g_autofree float *values = g_new(float, (gsize)(most * cols));
    const FileTensor *tensor = g_hash_table_lookup(tensors, theirs);
    for (int64_t row = held.start[0]; row < end; row += most) {
        const Box box = { .start = { row, 0 }, .shape = { MIN(most, end - row), cols } };
        if (!tensor_name_read(tensor, name, spec, row, box.shape[0], values, error))
            return false;
        params_write(params, index, &box, DT_F32, values);
    }
    file_tensor_leave(tensor);
    return true;
}

static bool read_params(const TensorNames *names, GHashTable *tensors, Model *model, GError **error)
{
    for (int i = 0; i < params_count(model_params(model)); i++)
        if (!read_param(names, tensors, model_params(model), i, error))
            return false;
    return true;
}

bool tensor_names_load(const TensorNames *names, GHashTable *tensors, const char *shaped_by, Model *model,
                       GError **error)
{
    return check_tensors(names, tensors, shaped_by, model_config(model), error) &&
           read_params(names, tensors, model, error);
}

Model *tensor_names_open_model(const TensorNames *names, GHashTable *tensors, const char *shaped_by, Device *dev,
                               const ModelConfig *config, bool gradients, GError **error)
{
    if (!check_tensors(names, tensors, shaped_by, config, error))
        return NULL;
    Model *model = model_open(dev, config, gradients, error);
    if (model && !read_params(names, tensors, model, error))
        g_clear_pointer(&model, model_close);
    return model;
}
