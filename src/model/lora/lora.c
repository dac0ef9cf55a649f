#include "model/lora/lora.h"

#include "model/params/params.h"

#include <math.h>
#include <string.h>

#define LAYER(name, member, ...)                                                                                       \
    {                                                                                                                  \
        name, offsetof(BlockW, member.lora),                                                                           \
        {                                                                                                              \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }
const LoraLayer lora_layers[LORA_SITES] = {
    [LORA_SELF_Q] = LAYER("self.q", self.q, "self.q"),
    [LORA_SELF_K] = LAYER("self.k", self.k, "self.k"),
    [LORA_SELF_V] = LAYER("self.v", self.v, "self.v"),
    [LORA_SELF_QKV] = LAYER("self.qkv", self.qkv, "self.q", "self.k", "self.v"),
    [LORA_SELF_O] = LAYER("self.o", self.o, "self.o"),
    [LORA_CROSS_Q] = LAYER("cross.q", cross.q, "cross.q"),
    [LORA_CROSS_K] = LAYER("cross.k", cross.k, "cross.k"),
    [LORA_CROSS_V] = LAYER("cross.v", cross.v, "cross.v"),
    [LORA_CROSS_O] = LAYER("cross.o", cross.o, "cross.o"),
    [LORA_WI_0] = LAYER("mlp.wi_0", mlp.wi_0, "mlp.wi_0"),
    [LORA_WI_1] = LAYER("mlp.wi_1", mlp.wi_1, "mlp.wi_1"),
    [LORA_WI] = LAYER("mlp.wi", mlp.wi, "mlp.wi", "mlp.wi_0", "mlp.wi_1"),
    [LORA_WO] = LAYER("mlp.wo", mlp.wo, "mlp.wo"),
};

double lora_scale(const LoraConfig *lora)
{
    return lora->rank > 0 ? lora->alpha / (double)lora->rank : 0;
}

static LoraSite site_named(const char *name, size_t bytes)
{
    int site = 0;
    while (site < LORA_SITES &&
           (strlen(lora_layers[site].name) != bytes || strncmp(lora_layers[site].name, name, bytes) != 0))
        site++;
    return (LoraSite)site;
}

bool lora_check(const LoraConfig *lora, GError **error)
{
    g_auto(GStrv) targets = g_strsplit(lora->targets ? lora->targets : "", ",", -1);
    if (lora->rank == 0)
        return true;
    for (char **target = targets; *target; target++)
        if (site_named(*target, strlen(*target)) == LORA_SITES)
            return fail_user(error, "lora.targets: \"%s\" is no linear layer of a block", *target);
    return *targets != NULL || fail_user(error, "lora.targets names no linear layer");
}

bool lora_has(const LoraConfig *lora, LoraSite site)
{
    g_auto(GStrv) targets = g_strsplit(lora->targets ? lora->targets : "", ",", -1);
    return lora->rank > 0 && g_strv_contains((const char *const *)targets, lora_layers[site].name);
}

/* Number of rows of the layer's matrix; *cols becomes its columns, *split how it is divided. 0 means that the block
 * does not have the layer. */
static int64_t rows_of(const LoraLayer *layer, const ParamSpec *block, int n, size_t prefix, int64_t *cols,
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
    for (int site = 0; lora->rank > 0 && site < LORA_SITES; site++) {
        const LoraLayer *layer = &lora_layers[site];
        Split split;
        int64_t cols = 0, rows = rows_of(layer, block, n, strlen(name_prefix), &cols, &split);
        if (rows == 0 || !lora_has(lora, (LoraSite)site))
            continue;
        ParamSpec a = { .bucket = block->bucket, .group = -1, .decay = true }, b = a;
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

LoraSite lora_site_of(const char *name, size_t *prefix_bytes)
{
    const char *block = strchr(name, '.'), *layer = block ? strchr(block + 1, '.') : NULL;
    if (layer == NULL || !lora_is_adapter(name))
        return LORA_SITES;
    *prefix_bytes = (size_t)(layer + 1 - name);
    return site_named(layer + 1, strlen(layer + 1) - strlen(LORA_A));
}
