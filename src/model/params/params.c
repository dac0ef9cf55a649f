/* params.c: every parameter that a model may have, and which of them a configuration and a stage have. */
#include "model/params/params.h"

#include "base/check.h"
#include "model/lora/lora.h"
#include "model/params/init.h"

/* Sizes that a dimension of a parameter may have. DIVIDED: tensor-parallel ranks have parts of it, since each computes
 * some of the heads, some of the feed-forward channels and the logits of some tokens of the vocabulary. OF_KEYS: heads
 * of keys and values, of which there may be fewer than ranks; then several ranks have the same one. OF_TOKENS: the
 * tensor is whole on every rank, which with sequence parallelism uses it for its own tokens only. OF_ALL_HEADS:
 * likewise, for its own heads only. */
enum { WHOLE, DIVIDED, OF_KEYS, OF_TOKENS, OF_ALL_HEADS };
#define DIMS(DIM)                                                                                                      \
    DIM(NONE, 0, WHOLE)                                                                                                \
    DIM(VOCAB, config->vocab, DIVIDED)                                                                                 \
    DIM(WIDTH, config->width, WHOLE)                                                                                   \
    DIM(SUBLAYER, config->width, OF_TOKENS)                                                                            \
    DIM(TWICE_WIDTH, 2 * config->width, WHOLE)                                                                         \
    DIM(ATTENTION, config->heads * config->head_dim, DIVIDED)                                                          \
    DIM(HEAD, config->head_dim, OF_ALL_HEADS)                                                                          \
    DIM(KV, model_config_kv_heads(config) * config->head_dim, OF_KEYS)                                                 \
    DIM(FFN, config->ffn, DIVIDED)                                                                                     \
    DIM(HEADS, config->heads, DIVIDED)                                                                                 \
    DIM(BUCKETS, config->rel_buckets, WHOLE)                                                                           \
    DIM(POSITIONS, config->max_positions + config->position_offset, WHOLE)                                             \
    DIM(SEGMENTS, config->token_types, WHOLE)                                                                          \
    DIM(MEMORY, config->memory_tokens, WHOLE)                                                                          \
    DIM(OUTPUTS, model_config_outputs(config), WHOLE)                                                                  \
    DIM(CLASSES, 2, WHOLE)                                                                                             \
    DIM(DISTANCES, 2 * config->max_positions - 1, OF_ALL_HEADS)

#define DIM_NAME(name, size, divided) DIM_##name,
typedef enum Dim { DIMS(DIM_NAME) } Dim;

/* Properties of block i of an encoder or decoder, and when it has them. A parameter is present where all properties
 * that it needs are. The parameters of no block need none that depends on i, those of no stack none that depends on
 * decoder. */
#define FEATURES(FEATURE)                                                                                              \
    FEATURE(UNTIED, !config->tie_embeddings && config->classifier == LABELS_NONE)                                      \
    FEATURE(CROSS, decoder && config->n_enc > 0)                                                                       \
    FEATURE(GATED, config->gated)                                                                                      \
    FEATURE(NOT_GATED, !config->gated)                                                                                 \
    FEATURE(BIAS, config->bias)                                                                                        \
    FEATURE(NORM_BIAS, config->norm_bias)                                                                              \
    FEATURE(SELF_NORM, i > 0 || config->first_norm)                                                                    \
    FEATURE(FINAL_NORM, config->final_norm)                                                                            \
    FEATURE(EMBED_NORM, config->embed_norm)                                                                            \
    FEATURE(RELPOS, model_config_relative_bias(config, decoder) && !config->rel_per_block)                             \
    FEATURE(OWN_RELPOS, model_config_relative_bias(config, decoder) && config->rel_per_block)                          \
    FEATURE(POSITIONS, model_config_learned_positions(config))                                                         \
    FEATURE(SEGMENTS, config->token_types > 0)                                                                         \
    FEATURE(TRANSFORM, config->head_transform)                                                                         \
    FEATURE(HEAD_BIAS, config->head_bias)                                                                              \
    FEATURE(POOLER, config->pooler)                                                                                    \
    FEATURE(SENTENCE, config->sentence_head)                                                                           \
    FEATURE(SPAN, config->classifier == LABELS_SPAN)                                                                   \
    FEATURE(CLASSIFIER, config->classifier && config->classifier != LABELS_SPAN && !config->classifier_dense)          \
    FEATURE(DENSE_CLASSIFIER, config->classifier && config->classifier_dense)                                          \
    FEATURE(CONTEXT_QUERIES, !decoder && config->context_queries)                                                      \
    FEATURE(TOKEN_QUERIES, decoder || !config->context_queries)                                                        \
    FEATURE(MEMORY, !decoder && config->memory_tokens > 0)                                                             \
    FEATURE(DISTANCES, model_config_distances(config))

#define FEATURE_BIT(name, there)  name##_BIT,
#define FEATURE_FLAG(name, there) name = 1 << name##_BIT,
enum { FEATURES(FEATURE_BIT) };
typedef enum Feature { ALWAYS, FEATURES(FEATURE_FLAG) } Feature;

typedef struct ParamDef {
    const char *name; /* without the scope's name_prefix */
    size_t field;     /* as in ParamSpec */
    ptrdiff_t group;
    Dim rows, cols;
    InitRule init;
    bool decay;
    unsigned needs; /* bits of the Features that it needs */
} ParamDef;

#define NO_GROUP (-1)

/* clang-format off */
/* A matrix (rows, cols) with a bias (rows), and a norm. */
#define LINEAR(name, member, rows, cols, rule, needs, bias_needs) \
    { name, W(member.w), NO_GROUP, rows, cols, rule, true, needs }, \
    { name ".bias", W(member.b), NO_GROUP, rows, DIM_NONE, RULE_ZEROS, false, bias_needs }
#define NORM(name, member, dim, needs) \
    { name, W(member.w), NO_GROUP, dim, DIM_NONE, RULE_ONES, false, needs }, \
    { name ".bias", W(member.b), NO_GROUP, dim, DIM_NONE, RULE_ZEROS, false, (needs) | NORM_BIAS }

#define W(member) offsetof(ModelW, member)
static const ParamDef shared_params[] = {
    { "shared",              W(shared),            NO_GROUP, DIM_VOCAB,   DIM_WIDTH, RULE_EMBEDDING,        true,  ALWAYS },
};

static const ParamDef lm_head_params[] = {
    { "lm_head",             W(lm_head),           NO_GROUP, DIM_VOCAB,   DIM_WIDTH, RULE_HEAD,             true,  UNTIED },
    { "lm_head.bias",        W(head_bias),         NO_GROUP, DIM_VOCAB,   DIM_NONE,  RULE_ZEROS,            false, HEAD_BIAS },
    LINEAR("transform.dense", transform.dense, DIM_WIDTH, DIM_WIDTH, RULE_FAN_IN_TRUNCATED, TRANSFORM, TRANSFORM | BIAS),
    NORM("transform.norm", transform.norm, DIM_WIDTH, TRANSFORM),
};

static const ParamDef pooler_params[] = {
    LINEAR("pooler", pooler.dense, DIM_WIDTH, DIM_WIDTH, RULE_FAN_IN_TRUNCATED, POOLER, POOLER),
    LINEAR("sentence", sentence, DIM_CLASSES, DIM_WIDTH, RULE_FAN_IN_TRUNCATED, SENTENCE, SENTENCE),
    LINEAR("classifier", classifier, DIM_OUTPUTS, DIM_WIDTH, RULE_FAN_IN_TRUNCATED, CLASSIFIER, CLASSIFIER),
    LINEAR("classifier.dense", classifier_dense.dense, DIM_WIDTH, DIM_WIDTH, RULE_FAN_IN_TRUNCATED, DENSE_CLASSIFIER, DENSE_CLASSIFIER),
    LINEAR("classifier.out", classifier, DIM_OUTPUTS, DIM_WIDTH, RULE_FAN_IN_TRUNCATED, DENSE_CLASSIFIER, DENSE_CLASSIFIER),
    LINEAR("span", classifier, DIM_OUTPUTS, DIM_WIDTH, RULE_FAN_IN_TRUNCATED, SPAN, SPAN),
};
#undef W

#define W(member) offsetof(StackW, member)
static const ParamDef stack_params[] = {
    { "relpos",          W(relpos),          NO_GROUP, DIM_BUCKETS,   DIM_HEADS, RULE_GLOROT, false, RELPOS },
    { "positions",       W(embed.positions), NO_GROUP, DIM_POSITIONS, DIM_WIDTH, RULE_UNIT,   true,  POSITIONS },
    { "memory",          W(embed.memory_tokens), NO_GROUP, DIM_MEMORY,    DIM_WIDTH, RULE_UNIT,   true,  MEMORY },
    { "segments",        W(embed.token_types), NO_GROUP, DIM_SEGMENTS,  DIM_WIDTH, RULE_UNIT,   true,  SEGMENTS },
    NORM("embed_norm", embed.norm, DIM_WIDTH, EMBED_NORM),
    NORM("final_norm", final_norm, DIM_WIDTH, FINAL_NORM),
};
#undef W

#define W(member) offsetof(BlockW, member)
static const ParamDef block_params[] = {
    NORM("self.norm", self.norm, DIM_SUBLAYER, SELF_NORM),
    { "self.q",          W(self.qkv.part[0].w), W(self.qkv.w), DIM_ATTENTION, DIM_WIDTH,     RULE_QUERY,            true,  TOKEN_QUERIES },
    { "self.context.hidden", W(self.context.hidden), NO_GROUP, DIM_WIDTH,  DIM_WIDTH,     RULE_AREA,             true,  CONTEXT_QUERIES },
    { "self.context.score", W(self.context.score), NO_GROUP, DIM_HEADS,    DIM_WIDTH,     RULE_AREA,             true,  CONTEXT_QUERIES },
    { "self.context.mix", W(self.context.mix), NO_GROUP, DIM_WIDTH,        DIM_TWICE_WIDTH, RULE_AREA,           true,  CONTEXT_QUERIES },
    { "self.context.q",  W(self.context.q), NO_GROUP,    DIM_HEAD,         DIM_WIDTH,     RULE_AREA,             true,  CONTEXT_QUERIES },
    { "self.k",          W(self.qkv.part[1].w), W(self.qkv.w), DIM_KV,        DIM_WIDTH,     RULE_FAN_IN,           true,  ALWAYS },
    { "self.v",          W(self.qkv.part[2].w), W(self.qkv.w), DIM_KV,        DIM_WIDTH,     RULE_FAN_IN,           true,  ALWAYS },
    { "self.q.bias",     W(self.qkv.part[0].b), W(self.qkv.b), DIM_ATTENTION, DIM_NONE,      RULE_ZEROS,            false, TOKEN_QUERIES | BIAS },
    { "self.k.bias",     W(self.qkv.part[1].b), W(self.qkv.b), DIM_KV,        DIM_NONE,      RULE_ZEROS,            false, BIAS },
    { "self.v.bias",     W(self.qkv.part[2].b), W(self.qkv.b), DIM_KV,        DIM_NONE,      RULE_ZEROS,            false, BIAS },
    { "self.relpos",     W(self.relpos),  NO_GROUP,      DIM_BUCKETS,   DIM_HEADS,     RULE_GLOROT,           false, OWN_RELPOS },
    { "self.distance",   W(self.distance), NO_GROUP,     DIM_DISTANCES, DIM_HEAD,      RULE_UNIT,             true,  DISTANCES },
    LINEAR("self.o", self.o, DIM_WIDTH, DIM_ATTENTION, RULE_OUTPUT, ALWAYS, BIAS),
    NORM("cross.norm", cross.norm, DIM_SUBLAYER, CROSS),
    LINEAR("cross.q", cross.q, DIM_ATTENTION, DIM_WIDTH, RULE_QUERY, CROSS, CROSS | BIAS),
    { "cross.k",         W(cross.kv.part[0].w), W(cross.kv.w), DIM_KV,        DIM_WIDTH,     RULE_FAN_IN,           true,  CROSS },
    { "cross.v",         W(cross.kv.part[1].w), W(cross.kv.w), DIM_KV,        DIM_WIDTH,     RULE_FAN_IN,           true,  CROSS },
    { "cross.k.bias",    W(cross.kv.part[0].b), W(cross.kv.b), DIM_KV,        DIM_NONE,      RULE_ZEROS,            false, CROSS | BIAS },
    { "cross.v.bias",    W(cross.kv.part[1].b), W(cross.kv.b), DIM_KV,        DIM_NONE,      RULE_ZEROS,            false, CROSS | BIAS },
    LINEAR("cross.o", cross.o, DIM_WIDTH, DIM_ATTENTION, RULE_OUTPUT, CROSS, CROSS | BIAS),
    NORM("mlp.norm", mlp.norm, DIM_SUBLAYER, ALWAYS),
    { "mlp.wi_0",        W(mlp.wi.part[0].w), W(mlp.wi.w),   DIM_FFN,       DIM_WIDTH,     RULE_FAN_IN_TRUNCATED, true,  GATED },
    { "mlp.wi_1",        W(mlp.wi.part[1].w), W(mlp.wi.w),   DIM_FFN,       DIM_WIDTH,     RULE_FAN_IN_TRUNCATED, true,  GATED },
    { "mlp.wi_0.bias",   W(mlp.wi.part[0].b), W(mlp.wi.b),   DIM_FFN,       DIM_NONE,      RULE_ZEROS,            false, GATED | BIAS },
    { "mlp.wi_1.bias",   W(mlp.wi.part[1].b), W(mlp.wi.b),   DIM_FFN,       DIM_NONE,      RULE_ZEROS,            false, GATED | BIAS },
    LINEAR("mlp.wi", mlp.wi, DIM_FFN, DIM_WIDTH, RULE_FAN_IN_TRUNCATED, NOT_GATED, NOT_GATED | BIAS),
    LINEAR("mlp.wo", mlp.wo, DIM_WIDTH, DIM_FFN, RULE_OUTPUT_TRUNCATED, ALWAYS, BIAS),
};
#undef W
/* clang-format on */

#define DIM_DIVIDED(name, size, divided) [DIM_##name] = divided,
static const int dim_divided[] = { DIMS(DIM_DIVIDED) };

static Split split_of(const ParamDef *def)
{
    return dim_divided[def->rows] == DIVIDED        ? SPLIT_ROWS
           : dim_divided[def->rows] == OF_KEYS      ? SPLIT_COPIED
           : dim_divided[def->cols] == DIVIDED      ? SPLIT_COLS
           : dim_divided[def->rows] == OF_TOKENS    ? SPLIT_TOKENS
           : dim_divided[def->rows] == OF_ALL_HEADS ? SPLIT_SHARED
                                                    : SPLIT_NONE;
}

#define DIM_SIZE(name, size, divided) [DIM_##name] = size,
static int64_t dim_size(Dim dim, const ModelConfig *config)
{
    const int64_t sizes[] = { DIMS(DIM_SIZE) };
    return sizes[dim];
}

#define FEATURE_OF(name, there) ((there) ? (unsigned)name : 0u) |
static unsigned features(const ModelConfig *config, bool decoder, int i)
{
    return FEATURES(FEATURE_OF) 0u;
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
                             .split = split_of(def),
                             .decay = def->decay };
        g_snprintf(spec->name, sizeof spec->name, "%s%s", name_prefix, def->name);
        init_set(spec, def->init, list->config);
    }
}

/* The parameters of an encoder or a decoder that the stages use, except those of its blocks. The relative-position
 * table is used by every block, the others by the embedding or the final norm. */
static void add_stack(SpecList *list, const Stages *stages, bool decoder)
{
    const ModelConfig *config = list->config;
    unsigned has = features(config, decoder, 0);
    bool embeds = false, finishes = false;

    for (int s = 0; s < stages->n; s++) {
        const StagePart part = stage_part(config, stages->range[s], decoder);
        embeds |= part.embeds;
        finishes |= part.finishes;
    }
    if (!embeds)
        has &= ~(unsigned)(POSITIONS | MEMORY | SEGMENTS | EMBED_NORM);
    if (!finishes)
        has &= ~(unsigned)FINAL_NORM;
    add_scope(list, stack_params, G_N_ELEMENTS(stack_params), decoder ? BUCKET_DECODER : BUCKET_ENCODER, has,
              decoder ? "decoder." : "encoder.");
}

static void add_blocks(SpecList *list, Stage stage, bool decoder)
{
    const ModelConfig *config = list->config;
    StagePart part = stage_part(config, stage, decoder);
    int block_bucket = BUCKET_BLOCK + (decoder ? (int)config->n_enc : 0);

    for (int i = part.first; i < part.end; i++) {
        g_autofree char *name_prefix = g_strdup_printf("%s.%d.", decoder ? "decoder" : "encoder", i);
        int first = list->n;
        add_scope(list, block_params, G_N_ELEMENTS(block_params), block_bucket + i, features(config, decoder, i),
                  name_prefix);
        list->n += lora_add_specs(&config->lora, list->specs + first, list->n - first, name_prefix);
    }
}

static void count_uses(int *uses, const ModelConfig *config, Stage stage)
{
    bool heads = stage_has_heads(config, stage), classifies = config->classifier != LABELS_NONE;

    for (int decoder = 0; decoder < 2; decoder++) {
        StagePart part = stage_part(config, stage, decoder);
        uses[BUCKET_SHARED] += part.embeds;
        uses[decoder ? BUCKET_DECODER : BUCKET_ENCODER] += part.end > part.first;
    }
    uses[BUCKET_SHARED] += heads && config->tie_embeddings && !classifies;
    uses[BUCKET_LM_HEAD] += heads && (!classifies || config->head_transform);
    uses[BUCKET_POOLER] += heads && (config->sentence_head || classifies);
    for (int i = stage.first; i < stage.end; i++)
        uses[BUCKET_BLOCK + i] = 1;
}

int *model_bucket_uses(const ModelConfig *config, Stages stages)
{
    int *uses = g_new0(int, BUCKET_BLOCK + config->n_enc + config->n_dec);

    for (int s = 0; s < stages.n; s++)
        count_uses(uses, config, stages.range[s]);
    return uses;
}

/* Adds the parameters outside blocks. The list has room for them and for those of `blocks` blocks. */
static SpecList outer_list(const ModelConfig *config, Stages stages, size_t blocks)
{
    const size_t most = G_N_ELEMENTS(shared_params) + G_N_ELEMENTS(lm_head_params) + G_N_ELEMENTS(pooler_params) +
                        2 * G_N_ELEMENTS(stack_params) + blocks * (G_N_ELEMENTS(block_params) + LORA_SPECS);
    SpecList list = { .config = config, .specs = g_new0(ParamSpec, most) };
    g_autofree int *uses = model_bucket_uses(config, stages);
    unsigned has = features(config, false, 0);

    if (uses[BUCKET_SHARED] > 0)
        add_scope(&list, shared_params, G_N_ELEMENTS(shared_params), BUCKET_SHARED, has, "");
    if (stage_has_heads(config, stages.range[stages.n - 1])) {
        add_scope(&list, lm_head_params, G_N_ELEMENTS(lm_head_params), BUCKET_LM_HEAD, has, "");
        add_scope(&list, pooler_params, G_N_ELEMENTS(pooler_params), BUCKET_POOLER, has, "");
    }
    for (int decoder = 0; decoder < 2; decoder++)
        if (uses[decoder ? BUCKET_DECODER : BUCKET_ENCODER] > 0)
            add_stack(&list, &stages, decoder);
    return list;
}

ParamSpec *model_outer_specs(const ModelConfig *config, Stages stages, int *n_specs)
{
    const SpecList list = outer_list(config, stages, 0);
    *n_specs = list.n;
    return list.specs;
}

ParamSpec *model_param_specs(const ModelConfig *config, Stages stages, int *n_specs)
{
    SpecList list = outer_list(config, stages, (size_t)(config->n_enc + config->n_dec));
    for (int decoder = 0; decoder < 2; decoder++)
        for (int s = 0; s < stages.n; s++)
            add_blocks(&list, stages.range[s], decoder);
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
