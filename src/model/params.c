#include "model/params.h"

#include "base/check.h"

#include <math.h>

typedef enum Dim { DIM_NONE, DIM_VOCAB, DIM_WIDTH, DIM_ATTENTION, DIM_FFN, DIM_HEADS, DIM_BUCKETS } Dim;

/* T5X's: what keeps the variance of activations, for a matrix of (out, in). */
typedef enum InitRule {
    RULE_ONES,
    RULE_UNIT,             /* normal, 1 */
    RULE_FAN_IN,           /* normal, in^-1/2 */
    RULE_FAN_IN_TRUNCATED, /* truncated normal, in^-1/2 */
    RULE_QUERY,            /* normal, (in · head_dim)^-1/2: stands for the 1/sqrt(head_dim) that T5 leaves out */
    RULE_GLOROT            /* uniform, half-width sqrt(6 / (out + in)) */
} InitRule;

typedef enum When { ALWAYS, IF_UNTIED, IF_CROSS, IF_GATED, IF_NOT_GATED } When;

typedef struct ParamDef {
    const char *name; /* within its scope */
    size_t field;
    ptrdiff_t group;
    Dim rows, cols;
    InitRule init;
    bool decay;
    When when;
} ParamDef;

#define NO_GROUP (-1)

static const ParamDef shared_params[] = {
    { "shared", offsetof(ModelW, shared), NO_GROUP, DIM_VOCAB, DIM_WIDTH, RULE_UNIT, true, ALWAYS },
};

static const ParamDef lm_head_params[] = {
    { "lm_head", offsetof(ModelW, lm_head), NO_GROUP, DIM_VOCAB, DIM_WIDTH, RULE_FAN_IN_TRUNCATED, true, IF_UNTIED },
};

static const ParamDef stack_params[] = {
    { "relpos", offsetof(StackW, relpos), NO_GROUP, DIM_BUCKETS, DIM_HEADS, RULE_GLOROT, false, ALWAYS },
    { "final_norm", offsetof(StackW, final_norm), NO_GROUP, DIM_WIDTH, DIM_NONE, RULE_ONES, false, ALWAYS },
};

/* clang-format off */
#define W(member) offsetof(BlockW, member)
static const ParamDef block_params[] = {
    { "self.norm",  W(self.norm),  NO_GROUP,     DIM_WIDTH,     DIM_NONE,      RULE_ONES,             false, ALWAYS },
    { "self.q",     W(self.q),     W(self.qkv),  DIM_ATTENTION, DIM_WIDTH,     RULE_QUERY,            true,  ALWAYS },
    { "self.k",     W(self.k),     W(self.qkv),  DIM_ATTENTION, DIM_WIDTH,     RULE_FAN_IN,           true,  ALWAYS },
    { "self.v",     W(self.v),     W(self.qkv),  DIM_ATTENTION, DIM_WIDTH,     RULE_FAN_IN,           true,  ALWAYS },
    { "self.o",     W(self.o),     NO_GROUP,     DIM_WIDTH,     DIM_ATTENTION, RULE_FAN_IN,           true,  ALWAYS },
    { "cross.norm", W(cross.norm), NO_GROUP,     DIM_WIDTH,     DIM_NONE,      RULE_ONES,             false, IF_CROSS },
    { "cross.q",    W(cross.q),    NO_GROUP,     DIM_ATTENTION, DIM_WIDTH,     RULE_QUERY,            true,  IF_CROSS },
    { "cross.k",    W(cross.k),    W(cross.kv),  DIM_ATTENTION, DIM_WIDTH,     RULE_FAN_IN,           true,  IF_CROSS },
    { "cross.v",    W(cross.v),    W(cross.kv),  DIM_ATTENTION, DIM_WIDTH,     RULE_FAN_IN,           true,  IF_CROSS },
    { "cross.o",    W(cross.o),    NO_GROUP,     DIM_WIDTH,     DIM_ATTENTION, RULE_FAN_IN,           true,  IF_CROSS },
    { "mlp.norm",   W(mlp.norm),   NO_GROUP,     DIM_WIDTH,     DIM_NONE,      RULE_ONES,             false, ALWAYS },
    { "mlp.wi_0",   W(mlp.wi_0),   W(mlp.wi),    DIM_FFN,       DIM_WIDTH,     RULE_FAN_IN_TRUNCATED, true,  IF_GATED },
    { "mlp.wi_1",   W(mlp.wi_1),   W(mlp.wi),    DIM_FFN,       DIM_WIDTH,     RULE_FAN_IN_TRUNCATED, true,  IF_GATED },
    { "mlp.wi",     W(mlp.wi),     NO_GROUP,     DIM_FFN,       DIM_WIDTH,     RULE_FAN_IN_TRUNCATED, true,  IF_NOT_GATED },
    { "mlp.wo",     W(mlp.wo),     NO_GROUP,     DIM_WIDTH,     DIM_FFN,       RULE_FAN_IN_TRUNCATED, true,  ALWAYS },
};
/* clang-format on */

static int64_t dim_size(Dim dim, const ModelConfig *config)
{
    switch (dim) {
    case DIM_NONE:
        return 0;
    case DIM_VOCAB:
        return config->vocab;
    case DIM_WIDTH:
        return config->width;
    case DIM_ATTENTION:
        return config->heads * config->head_dim;
    case DIM_FFN:
        return config->ffn;
    case DIM_HEADS:
        return config->heads;
    case DIM_BUCKETS:
        return config->rel_buckets;
    }
    CHECK(false, "dimension %d", (int)dim);
}

static void set_init(ParamSpec *spec, InitRule rule, int64_t head_dim)
{
    double out = (double)spec->rows, in = (double)spec->cols;
    switch (rule) {
    case RULE_ONES:
        spec->init = INIT_ONES;
        return;
    case RULE_UNIT:
        spec->init = INIT_NORMAL;
        spec->std = 1;
        return;
    case RULE_FAN_IN:
        spec->init = INIT_NORMAL;
        spec->std = 1 / sqrt(in);
        return;
    case RULE_FAN_IN_TRUNCATED:
        spec->init = INIT_TRUNCATED_NORMAL;
        spec->std = 1 / sqrt(in);
        return;
    case RULE_QUERY:
        spec->init = INIT_NORMAL;
        spec->std = 1 / sqrt(in * (double)head_dim);
        return;
    case RULE_GLOROT:
        spec->init = INIT_UNIFORM;
        spec->std = sqrt(6 / (out + in));
        return;
    }
}

static bool present(When when, const ModelConfig *config, bool decoder)
{
    switch (when) {
    case ALWAYS:
        return true;
    case IF_UNTIED:
        return !config->tie_embeddings;
    case IF_CROSS:
        return decoder;
    case IF_GATED:
        return config->gated;
    case IF_NOT_GATED:
        return !config->gated;
    }
    CHECK(false, "condition %d", (int)when);
}

/* A list being written. */
typedef struct SpecList {
    const ModelConfig *config;
    ParamSpec *specs;
    int n;
} SpecList;

/* Appends the rows of one scope that are present; prefix is "", "encoder." or "decoder.3.". */
static void add_scope(SpecList *list, const ParamDef *defs, size_t n_defs, int bucket, bool decoder, const char *prefix)
{
    for (const ParamDef *def = defs; def < defs + n_defs; def++) {
        if (!present(def->when, list->config, decoder))
            continue;
        ParamSpec *spec = &list->specs[list->n++];
        *spec = (ParamSpec){ .bucket = bucket,
                             .field = def->field,
                             .group = def->group,
                             .rows = dim_size(def->rows, list->config),
                             .cols = dim_size(def->cols, list->config),
                             .decay = def->decay };
        g_snprintf(spec->name, sizeof spec->name, "%s%s", prefix, def->name);
        set_init(spec, def->init, list->config->head_dim);
    }
}

static void add_blocks(SpecList *list, bool decoder)
{
    const ModelConfig *config = list->config;
    int64_t n = decoder ? config->n_dec : config->n_enc;
    int first = BUCKET_BLOCK + (decoder ? (int)config->n_enc : 0);

    for (int i = 0; i < (int)n; i++) {
        g_autofree char *prefix = g_strdup_printf("%s.%d.", decoder ? "decoder" : "encoder", i);
        add_scope(list, block_params, G_N_ELEMENTS(block_params), first + i, decoder, prefix);
    }
}

ParamSpec *model_param_specs(const ModelConfig *config, int *n_specs)
{
    size_t most = G_N_ELEMENTS(shared_params) + G_N_ELEMENTS(lm_head_params) + 2 * G_N_ELEMENTS(stack_params) +
                  (size_t)(config->n_enc + config->n_dec) * G_N_ELEMENTS(block_params);
    SpecList list = { .config = config, .specs = g_new0(ParamSpec, most) };

    add_scope(&list, shared_params, G_N_ELEMENTS(shared_params), BUCKET_SHARED, false, "");
    add_scope(&list, lm_head_params, G_N_ELEMENTS(lm_head_params), BUCKET_LM_HEAD, false, "");
    add_scope(&list, stack_params, G_N_ELEMENTS(stack_params), BUCKET_ENCODER, false, "encoder.");
    add_scope(&list, stack_params, G_N_ELEMENTS(stack_params), BUCKET_DECODER, true, "decoder.");
    add_blocks(&list, false);
    add_blocks(&list, true);
    *n_specs = list.n;
    return list.specs;
}

int64_t model_config_params(const ModelConfig *config)
{
    int n_specs;
    g_autofree ParamSpec *specs = model_param_specs(config, &n_specs);
    int64_t total = 0;
    for (int i = 0; i < n_specs; i++)
        total += specs[i].rows * (specs[i].cols ? specs[i].cols : 1);
    return total;
}
