/* params.c: every parameter that a model may have, and which of them a configuration and a stage have. */
#include "model/params.h"

#include "base/check.h"
#include "model/init.h"

typedef enum Dim {
    DIM_NONE,
    DIM_VOCAB,
    DIM_WIDTH,
    DIM_TWICE_WIDTH,
    DIM_ATTENTION,
    DIM_HEAD,
    DIM_KV,
    DIM_FFN,
    DIM_HEADS,
    DIM_BUCKETS,
    DIM_POSITIONS,
    DIM_SEGMENTS,
    DIM_MEMORY,
    DIM_CLASSES,
    DIM_DISTANCES
} Dim;

/* Properties of a model, an encoder or decoder, or a block. A parameter is present where all properties that it needs
 * are. */
typedef enum Feature {
    ALWAYS = 0,
    UNTIED = 1 << 0, /* the projection to the vocabulary is not the embedding */
    CROSS = 1 << 1,  /* cross-attention */
    GATED = 1 << 2,
    NOT_GATED = 1 << 3,
    BIAS = 1 << 4,
    NORM_BIAS = 1 << 5,
    SELF_NORM = 1 << 6,
    FINAL_NORM = 1 << 7,
    EMBED_NORM = 1 << 8,
    RELPOS = 1 << 9, /* a table of relative biases that all blocks share */
    POSITIONS = 1 << 10,
    SEGMENTS = 1 << 11,
    TRANSFORM = 1 << 12,
    HEAD_BIAS = 1 << 13,
    POOLER = 1 << 14,
    SENTENCE = 1 << 15,
    OWN_RELPOS = 1 << 16,    /* a table of relative biases in each block */
    TOKEN_QUERIES = 1 << 17, /* a query depends on its token alone, not on context */
    CONTEXT_QUERIES = 1 << 18,
    MEMORY = 1 << 19,   /* memory tokens */
    DISTANCES = 1 << 20 /* embeddings of distances in the scores */
} Feature;

typedef struct ParamDef {
    const char *name; /* without the scope's name_prefix */
    size_t field;     /* as in ParamSpec */
    ptrdiff_t group;
    Dim rows, cols;
    InitRule init;
    bool decay;
    unsigned needs; /* Features */
} ParamDef;

#define NO_GROUP (-1)

/* clang-format off */
#define W(member) offsetof(ModelW, member)
static const ParamDef shared_params[] = {
    { "shared",              W(shared),            NO_GROUP, DIM_VOCAB,   DIM_WIDTH, RULE_EMBEDDING,        true,  ALWAYS },
};

static const ParamDef lm_head_params[] = {
    { "lm_head",             W(lm_head),           NO_GROUP, DIM_VOCAB,   DIM_WIDTH, RULE_HEAD,             true,  UNTIED },
    { "lm_head.bias",        W(head_bias),         NO_GROUP, DIM_VOCAB,   DIM_NONE,  RULE_ZEROS,            false, HEAD_BIAS },
    { "transform.dense",     W(transform.dense.w), NO_GROUP, DIM_WIDTH,   DIM_WIDTH, RULE_FAN_IN_TRUNCATED, true,  TRANSFORM },
    { "transform.dense.bias", W(transform.dense.b), NO_GROUP, DIM_WIDTH,  DIM_NONE,  RULE_ZEROS,            false, TRANSFORM | BIAS },
    { "transform.norm",      W(transform.norm.w),  NO_GROUP, DIM_WIDTH,   DIM_NONE,  RULE_ONES,             false, TRANSFORM },
    { "transform.norm.bias", W(transform.norm.b),  NO_GROUP, DIM_WIDTH,   DIM_NONE,  RULE_ZEROS,            false, TRANSFORM | NORM_BIAS },
};

static const ParamDef pooler_params[] = {
    { "pooler",              W(pooler.dense.w),    NO_GROUP, DIM_WIDTH,   DIM_WIDTH, RULE_FAN_IN_TRUNCATED, true,  POOLER },
    { "pooler.bias",         W(pooler.dense.b),    NO_GROUP, DIM_WIDTH,   DIM_NONE,  RULE_ZEROS,            false, POOLER },
    { "sentence",            W(sentence.w),  NO_GROUP, DIM_CLASSES, DIM_WIDTH, RULE_FAN_IN_TRUNCATED, true,  SENTENCE },
    { "sentence.bias",       W(sentence.b),  NO_GROUP, DIM_CLASSES, DIM_NONE,  RULE_ZEROS,            false, SENTENCE },
};
#undef W

#define W(member) offsetof(StackW, member)
static const ParamDef stack_params[] = {
    { "relpos",          W(relpos),          NO_GROUP, DIM_BUCKETS,   DIM_HEADS, RULE_GLOROT, false, RELPOS },
    { "positions",       W(embed.positions), NO_GROUP, DIM_POSITIONS, DIM_WIDTH, RULE_UNIT,   true,  POSITIONS },
    { "memory",          W(embed.memory_tokens), NO_GROUP, DIM_MEMORY,    DIM_WIDTH, RULE_UNIT,   true,  MEMORY },
    { "segments",        W(embed.token_types), NO_GROUP, DIM_SEGMENTS,  DIM_WIDTH, RULE_UNIT,   true,  SEGMENTS },
    { "embed_norm",      W(embed.norm.w),    NO_GROUP, DIM_WIDTH,     DIM_NONE,  RULE_ONES,   false, EMBED_NORM },
    { "embed_norm.bias", W(embed.norm.b),    NO_GROUP, DIM_WIDTH,     DIM_NONE,  RULE_ZEROS,  false, EMBED_NORM | NORM_BIAS },
    { "final_norm",      W(final_norm.w),    NO_GROUP, DIM_WIDTH,     DIM_NONE,  RULE_ONES,   false, FINAL_NORM },
    { "final_norm.bias", W(final_norm.b),    NO_GROUP, DIM_WIDTH,     DIM_NONE,  RULE_ZEROS,  false, FINAL_NORM | NORM_BIAS },
};
#undef W

#define W(member) offsetof(BlockW, member)
static const ParamDef block_params[] = {
    { "self.norm",       W(self.norm.w),  NO_GROUP,      DIM_WIDTH,     DIM_NONE,      RULE_ONES,             false, SELF_NORM },
    { "self.norm.bias",  W(self.norm.b),  NO_GROUP,      DIM_WIDTH,     DIM_NONE,      RULE_ZEROS,            false, SELF_NORM | NORM_BIAS },
    { "self.q",          W(self.q.w),     W(self.qkv.w), DIM_ATTENTION, DIM_WIDTH,     RULE_QUERY,            true,  TOKEN_QUERIES },
    { "self.context.hidden", W(self.context.hidden), NO_GROUP, DIM_WIDTH,  DIM_WIDTH,     RULE_AREA,             true,  CONTEXT_QUERIES },
    { "self.context.score", W(self.context.score), NO_GROUP, DIM_HEADS,    DIM_WIDTH,     RULE_AREA,             true,  CONTEXT_QUERIES },
    { "self.context.mix", W(self.context.mix), NO_GROUP, DIM_WIDTH,        DIM_TWICE_WIDTH, RULE_AREA,           true,  CONTEXT_QUERIES },
    { "self.context.q",  W(self.context.q), NO_GROUP,    DIM_HEAD,         DIM_WIDTH,     RULE_AREA,             true,  CONTEXT_QUERIES },
    { "self.k",          W(self.k.w),     W(self.qkv.w), DIM_KV,        DIM_WIDTH,     RULE_FAN_IN,           true,  ALWAYS },
    { "self.v",          W(self.v.w),     W(self.qkv.w), DIM_KV,        DIM_WIDTH,     RULE_FAN_IN,           true,  ALWAYS },
    { "self.q.bias",     W(self.q.b),     W(self.qkv.b), DIM_ATTENTION, DIM_NONE,      RULE_ZEROS,            false, TOKEN_QUERIES | BIAS },
    { "self.k.bias",     W(self.k.b),     W(self.qkv.b), DIM_KV,        DIM_NONE,      RULE_ZEROS,            false, BIAS },
    { "self.v.bias",     W(self.v.b),     W(self.qkv.b), DIM_KV,        DIM_NONE,      RULE_ZEROS,            false, BIAS },
    { "self.relpos",     W(self.relpos),  NO_GROUP,      DIM_BUCKETS,   DIM_HEADS,     RULE_GLOROT,           false, OWN_RELPOS },
    { "self.distance",   W(self.distance), NO_GROUP,     DIM_DISTANCES, DIM_HEAD,      RULE_UNIT,             true,  DISTANCES },
    { "self.o",          W(self.o.w),     NO_GROUP,      DIM_WIDTH,     DIM_ATTENTION, RULE_OUTPUT,           true,  ALWAYS },
    { "self.o.bias",     W(self.o.b),     NO_GROUP,      DIM_WIDTH,     DIM_NONE,      RULE_ZEROS,            false, BIAS },
    { "cross.norm",      W(cross.norm.w), NO_GROUP,      DIM_WIDTH,     DIM_NONE,      RULE_ONES,             false, CROSS },
    { "cross.norm.bias", W(cross.norm.b), NO_GROUP,      DIM_WIDTH,     DIM_NONE,      RULE_ZEROS,            false, CROSS | NORM_BIAS },
    { "cross.q",         W(cross.q.w),    NO_GROUP,      DIM_ATTENTION, DIM_WIDTH,     RULE_QUERY,            true,  CROSS },
    { "cross.q.bias",    W(cross.q.b),    NO_GROUP,      DIM_ATTENTION, DIM_NONE,      RULE_ZEROS,            false, CROSS | BIAS },
    { "cross.k",         W(cross.k.w),    W(cross.kv.w), DIM_KV,        DIM_WIDTH,     RULE_FAN_IN,           true,  CROSS },
    { "cross.v",         W(cross.v.w),    W(cross.kv.w), DIM_KV,        DIM_WIDTH,     RULE_FAN_IN,           true,  CROSS },
    { "cross.k.bias",    W(cross.k.b),    W(cross.kv.b), DIM_KV,        DIM_NONE,      RULE_ZEROS,            false, CROSS | BIAS },
    { "cross.v.bias",    W(cross.v.b),    W(cross.kv.b), DIM_KV,        DIM_NONE,      RULE_ZEROS,            false, CROSS | BIAS },
    { "cross.o",         W(cross.o.w),    NO_GROUP,      DIM_WIDTH,     DIM_ATTENTION, RULE_OUTPUT,           true,  CROSS },
    { "cross.o.bias",    W(cross.o.b),    NO_GROUP,      DIM_WIDTH,     DIM_NONE,      RULE_ZEROS,            false, CROSS | BIAS },
    { "mlp.norm",        W(mlp.norm.w),   NO_GROUP,      DIM_WIDTH,     DIM_NONE,      RULE_ONES,             false, ALWAYS },
    { "mlp.norm.bias",   W(mlp.norm.b),   NO_GROUP,      DIM_WIDTH,     DIM_NONE,      RULE_ZEROS,            false, NORM_BIAS },
    { "mlp.wi_0",        W(mlp.wi_0.w),   W(mlp.wi.w),   DIM_FFN,       DIM_WIDTH,     RULE_FAN_IN_TRUNCATED, true,  GATED },
    { "mlp.wi_1",        W(mlp.wi_1.w),   W(mlp.wi.w),   DIM_FFN,       DIM_WIDTH,     RULE_FAN_IN_TRUNCATED, true,  GATED },
    { "mlp.wi_0.bias",   W(mlp.wi_0.b),   W(mlp.wi.b),   DIM_FFN,       DIM_NONE,      RULE_ZEROS,            false, GATED | BIAS },
    { "mlp.wi_1.bias",   W(mlp.wi_1.b),   W(mlp.wi.b),   DIM_FFN,       DIM_NONE,      RULE_ZEROS,            false, GATED | BIAS },
    { "mlp.wi",          W(mlp.wi.w),     NO_GROUP,      DIM_FFN,       DIM_WIDTH,     RULE_FAN_IN_TRUNCATED, true,  NOT_GATED },
    { "mlp.wi.bias",     W(mlp.wi.b),     NO_GROUP,      DIM_FFN,       DIM_NONE,      RULE_ZEROS,            false, NOT_GATED | BIAS },
    { "mlp.wo",          W(mlp.wo.w),     NO_GROUP,      DIM_WIDTH,     DIM_FFN,       RULE_OUTPUT_TRUNCATED, true,  ALWAYS },
    { "mlp.wo.bias",     W(mlp.wo.b),     NO_GROUP,      DIM_WIDTH,     DIM_NONE,      RULE_ZEROS,            false, BIAS },
};
#undef W
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
    case DIM_TWICE_WIDTH:
        return 2 * config->width;
    case DIM_HEAD:
        return config->head_dim;
    case DIM_ATTENTION:
        return config->heads * config->head_dim;
    case DIM_KV:
        return model_config_kv_heads(config) * config->head_dim;
    case DIM_FFN:
        return config->ffn;
    case DIM_HEADS:
        return config->heads;
    case DIM_BUCKETS:
        return config->rel_buckets;
    case DIM_POSITIONS:
        return config->max_positions + config->position_offset;
    case DIM_MEMORY:
        return config->memory_tokens;
    case DIM_SEGMENTS:
        return config->token_types;
    case DIM_CLASSES:
        return 2;
    case DIM_DISTANCES:
        return 2 * config->max_positions - 1;
    }
    CHECK(false, "dimension %d", (int)dim);
}

static unsigned flag(bool there, Feature feature)
{
    return there ? (unsigned)feature : 0;
}

/* Features of a model. */
static unsigned features(const ModelConfig *config)
{
    return flag(!config->tie_embeddings, UNTIED) | flag(config->gated, GATED) | flag(!config->gated, NOT_GATED) |
           flag(config->bias, BIAS) | flag(config->norm_bias, NORM_BIAS) | flag(config->final_norm, FINAL_NORM) |
           flag(config->embed_norm, EMBED_NORM) | flag(model_config_learned_positions(config), POSITIONS) |
           flag(model_config_distances(config), DISTANCES) | flag(config->token_types > 0, SEGMENTS) |
           flag(config->head_transform, TRANSFORM) | flag(config->head_bias, HEAD_BIAS) | flag(config->pooler, POOLER) |
           flag(config->sentence_head, SENTENCE);
}

/* Features of an encoder or a decoder and of its blocks. */
static unsigned stack_features(const ModelConfig *config, bool decoder)
{
    bool relpos = model_config_relative_bias(config, decoder);
    bool context = !decoder && config->context_queries;
    return features(config) | (context ? CONTEXT_QUERIES : TOKEN_QUERIES) |
           flag(relpos, config->rel_per_block ? OWN_RELPOS : RELPOS) | flag(decoder && config->n_enc > 0, CROSS) |
           flag(!decoder && config->memory_tokens > 0, MEMORY);
}

/* The list that the functions below append to. */
typedef struct SpecList {
    const ModelConfig *config;
    ParamSpec *specs;
    int n;
} SpecList;

/* Appends the parameters of `defs` whose needs are all in `has`. name_prefix: "", "encoder." or "decoder.3.". */
static void add_scope(SpecList *list, const ParamDef *defs, size_t n_defs, int bucket, unsigned has,
                      const char *name_prefix)
{
    for (const ParamDef *def = defs; def < defs + n_defs; def++) {
        if (def->needs & ~has)
            continue;
        ParamSpec *spec = &list->specs[list->n++];
        *spec = (ParamSpec){ .bucket = bucket,
                             .field = def->field,
                             .group = def->group,
                             .rows = dim_size(def->rows, list->config),
                             .cols = dim_size(def->cols, list->config),
                             .decay = def->decay };
        g_snprintf(spec->name, sizeof spec->name, "%s%s", name_prefix, def->name);
        init_set(spec, def->init, list->config);
    }
}

/* The parameters of the stage's part of an encoder or a decoder, but those of its blocks. relpos is needed by each
 * block, the others by the embedding or the final norm. */
static void add_stack(SpecList *list, Stage stage, bool decoder)
{
    const ModelConfig *config = list->config;
    unsigned has = stack_features(config, decoder);

    if (!stage_embeds(config, stage, decoder))
        has &= ~(unsigned)(POSITIONS | MEMORY | SEGMENTS | EMBED_NORM);
    if (!stage_finishes(config, stage, decoder))
        has &= ~(unsigned)FINAL_NORM;
    add_scope(list, stack_params, G_N_ELEMENTS(stack_params), decoder ? BUCKET_DECODER : BUCKET_ENCODER, has,
              decoder ? "decoder." : "encoder.");
}

static void add_blocks(SpecList *list, Stage stage, bool decoder)
{
    const ModelConfig *config = list->config;
    Stage blocks = stage_blocks(config, stage, decoder);
    int block_bucket = BUCKET_BLOCK + (decoder ? (int)config->n_enc : 0);
    unsigned has = stack_features(config, decoder);

    for (int i = blocks.first; i < blocks.end; i++) {
        g_autofree char *name_prefix = g_strdup_printf("%s.%d.", decoder ? "decoder" : "encoder", i);
        add_scope(list, block_params, G_N_ELEMENTS(block_params), block_bucket + i,
                  has | flag(i > 0 || config->first_norm, SELF_NORM), name_prefix);
    }
}

int *model_bucket_uses(const ModelConfig *config, Stage stage)
{
    int *uses = g_new0(int, BUCKET_BLOCK + stage_whole(config).end);
    bool heads = stage_has_heads(config, stage);

    for (int decoder = 0; decoder < 2; decoder++) {
        Stage blocks = stage_blocks(config, stage, decoder);
        uses[BUCKET_SHARED] += stage_embeds(config, stage, decoder);
        uses[decoder ? BUCKET_DECODER : BUCKET_ENCODER] = blocks.end > blocks.first;
    }
    uses[BUCKET_SHARED] += heads && config->tie_embeddings;
    uses[BUCKET_LM_HEAD] = heads;
    uses[BUCKET_POOLER] = heads && config->sentence_head;
    for (int i = stage.first; i < stage.end; i++)
        uses[BUCKET_BLOCK + i] = 1;
    return uses;
}

ParamSpec *model_param_specs(const ModelConfig *config, Stage stage, int *n_specs)
{
    size_t most = G_N_ELEMENTS(shared_params) + G_N_ELEMENTS(lm_head_params) + G_N_ELEMENTS(pooler_params) +
                  2 * G_N_ELEMENTS(stack_params) + (size_t)(stage.end - stage.first) * G_N_ELEMENTS(block_params);
    SpecList list = { .config = config, .specs = g_new0(ParamSpec, most) };
    g_autofree int *uses = model_bucket_uses(config, stage);
    unsigned has = features(config);

    if (uses[BUCKET_SHARED] > 0)
        add_scope(&list, shared_params, G_N_ELEMENTS(shared_params), BUCKET_SHARED, has, "");
    if (stage_has_heads(config, stage)) {
        add_scope(&list, lm_head_params, G_N_ELEMENTS(lm_head_params), BUCKET_LM_HEAD, has, "");
        add_scope(&list, pooler_params, G_N_ELEMENTS(pooler_params), BUCKET_POOLER, has, "");
    }
    for (int decoder = 0; decoder < 2; decoder++)
        if (uses[decoder ? BUCKET_DECODER : BUCKET_ENCODER] > 0)
            add_stack(&list, stage, decoder);
    for (int decoder = 0; decoder < 2; decoder++)
        add_blocks(&list, stage, decoder);
    *n_specs = list.n;
    return list.specs;
}

int64_t model_config_params(const ModelConfig *config)
{
    int n_specs;
    g_autofree ParamSpec *specs = model_param_specs(config, stage_whole(config), &n_specs);
    int64_t total = 0;
    for (int i = 0; i < n_specs; i++)
        total += specs[i].rows * (specs[i].cols ? specs[i].cols : 1);
    return total;
}
