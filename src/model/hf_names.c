#include "model/hf.h"

#include "base/check.h"

#include <string.h>

/* One row per logical tensor; # stands for the number of a block, the same on both sides. */
static const struct {
    const char *ours, *theirs;
} names[] = {
    { "shared", "shared.weight" },
    { "lm_head", "lm_head.weight" },
    { "encoder.relpos", "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight" },
    { "encoder.#.self.norm", "encoder.block.#.layer.0.layer_norm.weight" },
    { "encoder.#.self.q", "encoder.block.#.layer.0.SelfAttention.q.weight" },
    { "encoder.#.self.k", "encoder.block.#.layer.0.SelfAttention.k.weight" },
    { "encoder.#.self.v", "encoder.block.#.layer.0.SelfAttention.v.weight" },
    { "encoder.#.self.o", "encoder.block.#.layer.0.SelfAttention.o.weight" },
    { "encoder.#.mlp.norm", "encoder.block.#.layer.1.layer_norm.weight" },
    { "encoder.#.mlp.wi", "encoder.block.#.layer.1.DenseReluDense.wi.weight" },
    { "encoder.#.mlp.wi_0", "encoder.block.#.layer.1.DenseReluDense.wi_0.weight" },
    { "encoder.#.mlp.wi_1", "encoder.block.#.layer.1.DenseReluDense.wi_1.weight" },
    { "encoder.#.mlp.wo", "encoder.block.#.layer.1.DenseReluDense.wo.weight" },
    { "encoder.final_norm", "encoder.final_layer_norm.weight" },
    { "decoder.relpos", "decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight" },
    { "decoder.#.self.norm", "decoder.block.#.layer.0.layer_norm.weight" },
    { "decoder.#.self.q", "decoder.block.#.layer.0.SelfAttention.q.weight" },
    { "decoder.#.self.k", "decoder.block.#.layer.0.SelfAttention.k.weight" },
    { "decoder.#.self.v", "decoder.block.#.layer.0.SelfAttention.v.weight" },
    { "decoder.#.self.o", "decoder.block.#.layer.0.SelfAttention.o.weight" },
    { "decoder.#.cross.norm", "decoder.block.#.layer.1.layer_norm.weight" },
    { "decoder.#.cross.q", "decoder.block.#.layer.1.EncDecAttention.q.weight" },
    { "decoder.#.cross.k", "decoder.block.#.layer.1.EncDecAttention.k.weight" },
    { "decoder.#.cross.v", "decoder.block.#.layer.1.EncDecAttention.v.weight" },
    { "decoder.#.cross.o", "decoder.block.#.layer.1.EncDecAttention.o.weight" },
    { "decoder.#.mlp.norm", "decoder.block.#.layer.2.layer_norm.weight" },
    { "decoder.#.mlp.wi", "decoder.block.#.layer.2.DenseReluDense.wi.weight" },
    { "decoder.#.mlp.wi_0", "decoder.block.#.layer.2.DenseReluDense.wi_0.weight" },
    { "decoder.#.mlp.wi_1", "decoder.block.#.layer.2.DenseReluDense.wi_1.weight" },
    { "decoder.#.mlp.wo", "decoder.block.#.layer.2.DenseReluDense.wo.weight" },
    { "decoder.final_norm", "decoder.final_layer_norm.weight" },
};

/* A copy of `text` whose `from`, if there, is replaced by `to`. */
static char *replace_once(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    if (at == NULL)
        return g_strdup(text);
    return g_strdup_printf("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

char *hf_tensor_name(const char *name)
{
    size_t digits_at = strcspn(name, "."), n_digits;
    digits_at += name[digits_at] == '.';
    n_digits = strspn(name + digits_at, "0123456789");
    g_autofree char *number = g_strndup(name + digits_at, n_digits);
    g_autofree char *pattern =
        n_digits ? g_strdup_printf("%.*s#%s", (int)digits_at, name, name + digits_at + n_digits) : g_strdup(name);
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        if (strcmp(names[i].ours, pattern) == 0)
            return replace_once(names[i].theirs, "#", number);
    CHECK(false, "parameter %s has no name in Hugging Face's T5", name);
}
