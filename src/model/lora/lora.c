#include "model/lora/lora.h"

#include "base/text.h"
#include "model/params/params.h"

#include <string.h>

#define LAYER(name, member, ...)                                                                                       \
    {                                                                                                                  \
        name, offsetof(BlockW, member.lora),                                                                           \
        {                                                                                                              \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }
const LoraLayer lora_layers[LORA_LAYERS] = {
    LAYER("self.q", self.qkv.part[0], "self.q"),
    LAYER("self.k", self.qkv.part[1], "self.k"),
    LAYER("self.v", self.qkv.part[2], "self.v"),
    LAYER("self.qkv", self.qkv, "self.q", "self.k", "self.v"),
    LAYER("self.o", self.o, "self.o"),
    LAYER("cross.q", cross.q, "cross.q"),
    LAYER("cross.k", cross.kv.part[0], "cross.k"),
    LAYER("cross.v", cross.kv.part[1], "cross.v"),
    LAYER("cross.o", cross.o, "cross.o"),
    LAYER("mlp.wi_0", mlp.wi.part[0], "mlp.wi_0"),
    LAYER("mlp.wi_1", mlp.wi.part[1], "mlp.wi_1"),
    LAYER("mlp.wi", mlp.wi, "mlp.wi", "mlp.wi_0", "mlp.wi_1"),
    LAYER("mlp.wo", mlp.wo, "mlp.wo"),
};

double lora_scale(const LoraConfig *lora)
{
    return lora->rank > 0 ? lora->alpha / (double)lora->rank : 0;
}

static const LoraLayer *layer_named(const char *name, size_t bytes)
{
    for (const LoraLayer *layer = lora_layers; layer < lora_layers + LORA_LAYERS; layer++)
        if (strlen(layer->name) == bytes && strncmp(layer->name, name, bytes) == 0)
            return layer;
    return NULL;
}

bool lora_check(const LoraConfig *lora, GError **error)
{
    g_auto(GStrv) targets = text_list(lora->targets);
    if (lora->rank == 0)
        return true;
    for (char **target = targets; *target; target++)
        if (layer_named(*target, strlen(*target)) == NULL)
            return fail_user(error, "lora.targets: \"%s\" is no linear layer of a block", *target);
    return *targets != NULL || fail_user(error, "lora.targets names no linear layer");
}

bool lora_has(const LoraConfig *lora, const char *layer)
{
    g_auto(GStrv) targets = text_list(lora->targets);
    return lora->rank > 0 && g_strv_contains((const char *const *)targets, layer);
}

/* Rows of the layer's matrix, 0 if the block lacks the layer; *cols becomes its columns, *split how it is divided. */
static int64_t layer_rows(const LoraLayer *layer, const ParamSpec *block, int n, size_t prefix, int64_t *cols,
                          Split *split)
{
    int64_t rows = 0;
    *split = SPLIT_NONE;
    for (size_t m = 0; m < G_N_ELEMENTS(layer->members) && layer->members[m]; m++)
        for (int i = 0; i < n; i++)
            if (strcmp(block[i].name + prefix, layer->members[m]) == 0) {
                rows += block[i].rows;
                *cols = block[i].cols;
                *split = block[i].split;
            }
    return rows;
}

int lora_add_specs(const LoraConfig *lora, ParamSpec *block, int n, const char *name_prefix)
{
    ParamSpec *end = block + n;
    const LoraLayer *layers_end = lora_layers + (lora->rank > 0 ? LORA_LAYERS : 0);
    for (const LoraLayer *layer = lora_layers; layer < layers_end; layer++) {
        Split split;
        int64_t cols = 0, rows = layer_rows(layer, block, n, strlen(name_prefix), &cols, &split);
        if (rows == 0 || !lora_has(lora, layer->name))
            continue;
        ParamSpec a = { .bucket = block->bucket, .group = -1, .decay = true, .size = 1, .rate = 1 }, b = a;
        g_snprintf(a.name, sizeof a.name, "%s%s" LORA_A, name_prefix, layer->name);
        g_snprintf(b.name, sizeof b.name, "%s%s" LORA_B, name_prefix, layer->name);
        a.field = layer->field + offsetof(LoraW, a);
        b.field = layer->field + offsetof(LoraW, b);
        a.rows = b.cols = lora->rank;
        a.cols = cols;
        b.rows = rows;
        a.split = split == SPLIT_COLS ? SPLIT_COLS : SPLIT_SHARED;
        b.split = split == SPLIT_ROWS || split == SPLIT_COPIED ? split : SPLIT_SHARED;
        a.init = INIT_UNIFORM;
        a.std = 1 / sqrt((double)cols);
        b.init = INIT_ZEROS;
        *end++ = a;
        *end++ = b;
    }
    return (int)(end - block) - n;
}

bool lora_is_adapter(const char *name)
{
    return g_str_has_suffix(name, LORA_A) || g_str_has_suffix(name, LORA_B);
}

bool lora_trains(const ModelConfig *config, const ParamSpec *spec)
{
    bool head = spec->bucket == BUCKET_LM_HEAD || spec->bucket == BUCKET_POOLER;
    return config->lora.rank == 0 || lora_is_adapter(spec->name) || (head && config->classifier != LABELS_NONE);
}

const LoraLayer *lora_layer_of(const char *name, size_t *prefix_bytes)
{
    const char *block = strchr(name, '.'), *member = block ? strchr(block + 1, '.') : NULL;
    if (member == NULL || !lora_is_adapter(name))
        return NULL;
    *prefix_bytes = (size_t)(member + 1 - name);
    return layer_named(member + 1, strlen(member + 1) - strlen(LORA_A));
}
