#include "model/hf/tensors.h"

#include "base/check.h"

#include <string.h>

/* A copy of `text` whose `from`, if there, is replaced by `to`. */
static char *replace_once(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    if (at == NULL)
        return g_strdup(text);
    return g_strdup_printf("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

/* The name with # for its first part that is a number, which goes to *number if wanted. */
static char *pattern_of(const char *name, char **number)
{
    g_auto(GStrv) parts = g_strsplit(name, ".", -1);
    for (int i = 0; parts[i]; i++)
        if (parts[i][0] && strspn(parts[i], "0123456789") == strlen(parts[i])) {
            if (number)
                *number = parts[i];
            else
                g_free(parts[i]);
            parts[i] = g_strdup("#");
            break;
        }
    return g_strjoinv(".", parts);
}

const HfName *hf_name_of(const HfArchitecture *arch, const char *ours, char **theirs)
{
    g_autofree char *number = NULL;
    g_autofree char *pattern = pattern_of(ours, &number);
    for (size_t i = 0; i < arch->n_names; i++)
        if (strcmp(arch->names[i].ours, pattern) == 0) {
            *theirs = replace_once(arch->names[i].theirs, "#", number ? number : "#");
            return &arch->names[i];
        }
    CHECK(false, "parameter %s has no name in %s", ours, arch->class_name);
}

int hf_shape_of(const HfName *name, const ParamSpec *spec, int64_t shape[2])
{
    int64_t out = spec->rows * MAX(name->n_parts, 1);
    shape[0] = name->transposed ? spec->cols : out;
    shape[1] = name->transposed ? out : spec->cols;
    return spec->cols ? 2 : 1;
}

bool hf_tensor_read(const SafeTensor *tensor, const HfName *name, const ParamSpec *spec, float *out, GError **error)
{
    int64_t rows = spec->rows, cols = MAX(spec->cols, 1), wide = rows * MAX(name->n_parts, 1);
    if (!name->transposed)
        return safetensors_read_f32(tensor, name->part * rows * cols, rows * cols, out, error);
    g_autofree float *line = g_new(float, (gsize)rows);
    for (int64_t c = 0; c < cols; c++) {
        if (!safetensors_read_f32(tensor, c * wide + name->part * rows, rows, line, error))
            return false;
        for (int64_t r = 0; r < rows; r++)
            out[r * cols + c] = line[r];
    }
    return true;
}

void hf_tensor_put(float *tensor, const HfName *name, const ParamSpec *spec, const float *in)
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

static bool in_table(const HfArchitecture *arch, const char *name)
{
    g_autofree char *pattern = pattern_of(name, NULL);
    for (size_t i = 0; i < arch->n_names; i++)
        if (strcmp(arch->names[i].theirs, pattern) == 0)
            return true;
    return false;
}

static bool has_prefix(const HfArchitecture *arch, const SafeTensors *file)
{
    for (int i = 0; i < safetensors_count(file); i++)
        if (g_str_has_prefix(safetensors_get(file, i)->name, arch->prefix))
            return true;
    return false;
}

/* BERT's norms as TensorFlow named them. */
static char *modern_spelling(const char *name)
{
    g_autofree char *weight = replace_once(name, "LayerNorm.gamma", "LayerNorm.weight");
    return replace_once(weight, "LayerNorm.beta", "LayerNorm.bias");
}

GHashTable *hf_tensors_by_name(const HfArchitecture *arch, const SafeTensors *file, GError **error)
{
    g_autoptr(GHashTable) tensors = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    bool bare = !has_prefix(arch, file);
    for (int i = 0; i < safetensors_count(file); i++) {
        const SafeTensor *tensor = safetensors_get(file, i);
        char *name = modern_spelling(tensor->name);
        if (bare && !in_table(arch, name)) {
            char *whole = g_strconcat(arch->prefix, name, NULL);
            g_free(name);
            name = whole;
        }
        if (!g_hash_table_insert(tensors, name, (gpointer)tensor)) {
            fail_user(error, "tensor %s is there twice, once under an old name", tensor->name);
            return NULL;
        }
    }
    return g_steal_pointer(&tensors);
}

bool hf_tensor_ignored(const HfArchitecture *arch, const char *name)
{
    g_autofree char *pattern = pattern_of(name, NULL);
    return g_strv_contains(arch->ignored, name) || g_strv_contains(arch->ignored, pattern);
}
