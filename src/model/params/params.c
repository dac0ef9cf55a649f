/* params.c: every parameter that a model may have, and which of them a configuration and a stage have. */
#include "model/params/params.h"

#include "model/lora/lora.h"

/* ---- initial weights: one rule per parameter, which model.init and model.init_std modify ---- */

/* The rules of model.init = t5 (T5X); set_normal and its like are those of its other values. Matrices are (out, in). */
typedef enum InitRule {
    RULE_ZEROS,
    RULE_ONES,
    RULE_UNIT,             /* normal, std 1 */
    RULE_EMBEDDING,        /* RULE_UNIT, for the embedding, which may also be the projection to the vocabulary */
    RULE_HEAD,             /* RULE_FAN_IN_TRUNCATED, for the projection to the vocabulary */
    RULE_FAN_IN,           /* normal, std in^-1/2 */
    RULE_FAN_IN_TRUNCATED, /* truncated normal, std in^-1/2 */
    RULE_OUTPUT,           /* RULE_FAN_IN, for a sublayer's last matrix, whose output is added to the residual stream */
    RULE_OUTPUT_TRUNCATED, /* RULE_FAN_IN_TRUNCATED, for a sublayer's last matrix */
    RULE_AREA,             /* normal, std (in · out)^-1/2 */
    RULE_QUERY, /* normal, std (in · head_dim)^-1/2, which includes the factor head_dim^-1/2 of attention scores; with
                   model.scale_scores, which applies the factor to the scores, std in^-1/2 */
    RULE_GLOROT /* uniform within ± sqrt(6 / (out + in)) */
} InitRule;

static bool is_output(InitRule rule)
{
    return rule == RULE_OUTPUT || rule == RULE_OUTPUT_TRUNCATED;
}

/* init normal: every matrix has init_std. */
static void set_normal(ParamSpec *spec, InitRule rule, const ModelConfig *config)
{
    spec->init = INIT_NORMAL;
    spec->std = config->init_std;
    if (is_output(rule) && config->init_scale_outputs)
        spec->std /= sqrt(2 * (double)(config->n_enc + config->n_dec));
}

/* init fairseq, as transformer_lm has it: embeddings and projection to the vocabulary normal, std width^-1/2; attention
 * by Glorot & Bengio (2010), q, k and v with gain 2^-1/2; all other matrices uniform within ± in^-1/2. */
static void set_fairseq(ParamSpec *spec, InitRule rule, double out, double in)
{
    bool normal = rule == RULE_UNIT || rule == RULE_EMBEDDING || rule == RULE_HEAD;
    spec->init = normal ? INIT_NORMAL : INIT_UNIFORM;
    spec->std = 1 / sqrt(in);
    if (rule == RULE_QUERY || rule == RULE_FAN_IN)
        spec->std = sqrt(3 / (out + in));
    if (rule == RULE_OUTPUT || rule == RULE_GLOROT)
        spec->std = sqrt(6 / (out + in));
}

/* init fan_in, AST-T5's: std (2 in)^-1/2, embeddings uniform of that std, relative biases 0. init fan_out is AST-T5's
 * as its code has it: (2 out)^-1/2, and the embedding drawn as the tied projection (out: vocabulary). */
static void set_fan(ParamSpec *spec, InitRule rule, const ModelConfig *config, double out, double in)
{
    bool fan_out = config->init == INIT_SCHEME_FAN_OUT,
         uniform = rule == RULE_UNIT || (rule == RULE_EMBEDDING && !fan_out);

    spec->init = rule == RULE_GLOROT ? INIT_ZEROS : uniform ? INIT_UNIFORM : INIT_NORMAL;
    spec->std = 1 / sqrt(2 * (fan_out && !uniform ? out : in));
    if (uniform)
        spec->std *= sqrt(3);
}

/* Sets spec->init and spec->std by the rule and the shape (out, in). */
static void init_set(ParamSpec *spec, InitRule rule, const ModelConfig *config, double out, double in)
{
    const double score_scale = config->scale_scores ? 1 : (double)config->head_dim;
    const struct {
        InitKind kind;
        double std;
    } rules[] = {
        [RULE_ZEROS] = { INIT_ZEROS, 0 },
        [RULE_ONES] = { INIT_CONSTANT, 1 },
        [RULE_UNIT] = { INIT_NORMAL, 1 },
        [RULE_EMBEDDING] = { INIT_NORMAL, 1 },
        [RULE_HEAD] = { INIT_TRUNCATED_NORMAL, 1 / sqrt(in) },
        [RULE_FAN_IN] = { INIT_NORMAL, 1 / sqrt(in) },
        [RULE_FAN_IN_TRUNCATED] = { INIT_TRUNCATED_NORMAL, 1 / sqrt(in) },
        [RULE_OUTPUT] = { INIT_NORMAL, 1 / sqrt(in) },
        [RULE_OUTPUT_TRUNCATED] = { INIT_TRUNCATED_NORMAL, 1 / sqrt(in) },
        [RULE_AREA] = { INIT_NORMAL, 1 / sqrt(in * out) },
        [RULE_QUERY] = { INIT_NORMAL, 1 / sqrt(in * score_scale) },
        [RULE_GLOROT] = { INIT_UNIFORM, sqrt(6 / (out + in)) },
    };
    spec->init = rules[rule].kind;
    spec->std = rules[rule].std;
    if (rule == RULE_ZEROS || rule == RULE_ONES)
        return;
    if (config->init == INIT_SCHEME_NORMAL)
        set_normal(spec, rule, config);
    if (config->init == INIT_SCHEME_FAIRSEQ)
        set_fairseq(spec, rule, out, in);
    if (config->init == INIT_SCHEME_FAN_IN || config->init == INIT_SCHEME_FAN_OUT)
        set_fan(spec, rule, config, out, in);
    if (config->init_zero_outputs && (is_output(rule) || rule == RULE_HEAD))
        spec->init = INIT_ZEROS;
}

/* ---- dimensions and properties ---- */

/* How tensor-parallel ranks have a dimension. DIVIDED: they have parts of it, since each computes some of the heads,
 * some of the feed-forward channels and the logits of some tokens of the vocabulary. OF_KEYS: heads of keys and values,
 * of which there may be fewer than ranks; then several ranks have the same one. OF_TOKENS: the tensor is whole on every
 * rank, which with sequence parallelism uses it for its own tokens. OF_ALL_HEADS: for its own heads. */
typedef enum Division { WHOLE, DIVIDED, OF_KEYS, OF_TOKENS, OF_ALL_HEADS } Division;

/* The dimensions that parameters have; the last is not one. */
typedef enum Dim {
    DIM_NONE,
    DIM_VOCAB,
    DIM_WIDTH,
    DIM_SUBLAYER,
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
    DIM_OUTPUTS,
    DIM_CLASSES,
    DIM_DISTANCES,
    DIMS
} Dim;

static const Division divisions[DIMS] = {
    [DIM_VOCAB] = DIVIDED, [DIM_SUBLAYER] = OF_TOKENS, [DIM_ATTENTION] = DIVIDED, [DIM_HEAD] = OF_ALL_HEADS,
    [DIM_KV] = OF_KEYS,    [DIM_FFN] = DIVIDED,        [DIM_HEADS] = DIVIDED,     [DIM_DISTANCES] = OF_ALL_HEADS,
};

/* Dimensions whose size is the number of rows of a table: a layer looks its rows up and multiplies by none of them. */
static const bool is_table[DIMS] = {
    [DIM_VOCAB] = true,    [DIM_BUCKETS] = true, [DIM_POSITIONS] = true,
    [DIM_SEGMENTS] = true, [DIM_MEMORY] = true,  [DIM_DISTANCES] = true,
};

/* Dimensions that grow with the width. */
static const bool widens[DIMS] = {
    [DIM_WIDTH] = true, [DIM_SUBLAYER] = true, [DIM_TWICE_WIDTH] = true, [DIM_ATTENTION] = true,
    [DIM_KV] = true,    [DIM_FFN] = true,      [DIM_HEADS] = true,
};

static int64_t dim_size(Dim dim, const ModelConfig *config)
{
    const int64_t sizes[DIMS] = {
        [DIM_NONE] = 0,
        [DIM_VOCAB] = config->vocab,
        [DIM_WIDTH] = config->width,
        [DIM_SUBLAYER] = config->width,
        [DIM_TWICE_WIDTH] = 2 * config->width,
        [DIM_ATTENTION] = config->heads * config->head_dim,
        [DIM_HEAD] = config->head_dim,
        [DIM_KV] = model_config_kv_heads(config) * config->head_dim,
        [DIM_FFN] = config->ffn,
        [DIM_HEADS] = config->heads,
        [DIM_BUCKETS] = config->rel_buckets,
        [DIM_POSITIONS] = config->max_positions + config->position_offset,
        [DIM_SEGMENTS] = config->token_types,
        [DIM_MEMORY] = config->memory_tokens,
        [DIM_OUTPUTS] = model_config_outputs(config),
        [DIM_CLASSES] = 2,
        [DIM_DISTANCES] = 2 * config->max_positions - 1,
    };
    return sizes[dim];
}

/* Properties of block i of an encoder or decoder, and where they are. A parameter is present where all properties that
 * it needs are. The parameters of no block need none that depends on i, those of no stack none that depends on
 * `decoder`. */
#define FEATURES(X)                                                                                                    \
    X(UNTIED, !config->tie_embeddings && config->classifier == LABELS_NONE)                                            \
    X(CROSS, decoder && config->n_enc > 0)                                                                             \
    X(GATED, config->gated)                                                                                            \
    X(NOT_GATED, !config->gated)                                                                                       \
    X(BIAS, config->bias)                                                                                              \
    X(NORM_BIAS, config->norm_bias)                                                                                    \
    X(SELF_NORM, i > 0 || config->first_norm)                                                                          \
    X(FINAL_NORM, config->final_norm)                                                                                  \
    X(EMBED_NORM, config->embed_norm)                                                                                  \
    X(RELPOS, model_config_relative_bias(config, decoder) && !config->rel_per_block)                                   \
    X(OWN_RELPOS, model_config_relative_bias(config, decoder) && config->rel_per_block)                                \
    X(POSITIONS, model_config_learned_positions(config))                                                               \
    X(SEGMENTS, config->token_types > 0)                                                                               \
    X(TRANSFORM, config->head_transform)                                                                               \
    X(HEAD_BIAS, config->head_bias)                                                                                    \
    X(POOLER, config->pooler)                                                                                          \
    X(SENTENCE, config->sentence_head)                                                                                 \
    X(SPAN, config->classifier == LABELS_SPAN)                                                                         \
    X(CLASSIFIER, config->classifier && config->classifier != LABELS_SPAN && !config->classifier_dense)                \
    X(DENSE_CLASSIFIER, config->classifier && config->classifier_dense)                                                \
    X(CONTEXT_QUERIES, !decoder && config->context_queries)                                                            \
    X(TOKEN_QUERIES, decoder || !config->context_queries)                                                              \
    X(MEMORY, !decoder && config->memory_tokens > 0)                                                                   \
    X(DISTANCES, model_config_distances(config))                                                                       \
    X(QK_NORM, config->qk_norm != QK_NORM_NONE)

#define NUMBER(NAME, there) NUMBER_##NAME,
enum { FEATURES(NUMBER) };
#define BIT(NAME, there) NAME = 1 << NUMBER_##NAME,
typedef enum Feature { ALWAYS, FEATURES(BIT) } Feature;

static unsigned features(const ModelConfig *config, bool decoder, int i)
{
#define ADD(NAME, there) | ((there) ? NAME : ALWAYS)
    return (unsigned)(ALWAYS FEATURES(ADD));
}

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
/* The field of a parameter in the view struct of its bucket. */
#define MODEL(member) offsetof(ModelW, member)
#define STACK(member) offsetof(StackW, member)
#define BLOCK(member) offsetof(BlockW, member)
/* A matrix (rows, cols) with a bias (rows), and a norm. */
#define LINEAR(AT, name, member, rows, cols, rule, needs, bias_needs) \
    { name, AT(member.w), NO_GROUP, rows, cols, rule, true, needs }, \
    { name ".bias", AT(member.b), NO_GROUP, rows, DIM_NONE, RULE_ZEROS, false, bias_needs }
#define NORM(AT, name, member, dim, needs) \
    { name, AT(member.w), NO_GROUP, dim, DIM_NONE, RULE_ONES, false, needs }, \
    { name ".bias", AT(member.b), NO_GROUP, dim, DIM_NONE, RULE_ZEROS, false, (needs) | NORM_BIAS }

static const ParamDef shared_params[] = {
    { "shared",              MODEL(shared),            NO_GROUP, DIM_VOCAB,   DIM_WIDTH, RULE_EMBEDDING,        true,  ALWAYS },
};

static const ParamDef lm_head_params[] = {
    { "lm_head",             MODEL(lm_head),           NO_GROUP, DIM_VOCAB,   DIM_WIDTH, RULE_HEAD,             true,  UNTIED },
    { "lm_head.bias",        MODEL(head_bias),         NO_GROUP, DIM_VOCAB,   DIM_NONE,  RULE_ZEROS,            false, HEAD_BIAS },
    LINEAR(MODEL, "transform.dense", transform.dense, DIM_WIDTH, DIM_WIDTH, RULE_FAN_IN_TRUNCATED, TRANSFORM, TRANSFORM | BIAS),
    NORM(MODEL, "transform.norm", transform.norm, DIM_WIDTH, TRANSFORM),
};

static const ParamDef pooler_params[] = {
    LINEAR(MODEL, "pooler", pooler.dense, DIM_WIDTH, DIM_WIDTH, RULE_FAN_IN_TRUNCATED, POOLER, POOLER),
    LINEAR(MODEL, "sentence", sentence, DIM_CLASSES, DIM_WIDTH, RULE_FAN_IN_TRUNCATED, SENTENCE, SENTENCE),
    LINEAR(MODEL, "classifier", classifier, DIM_OUTPUTS, DIM_WIDTH, RULE_FAN_IN_TRUNCATED, CLASSIFIER, CLASSIFIER),
    LINEAR(MODEL, "classifier.dense", classifier_dense.dense, DIM_WIDTH, DIM_WIDTH, RULE_FAN_IN_TRUNCATED, DENSE_CLASSIFIER, DENSE_CLASSIFIER),
    LINEAR(MODEL, "classifier.out", classifier, DIM_OUTPUTS, DIM_WIDTH, RULE_FAN_IN_TRUNCATED, DENSE_CLASSIFIER, DENSE_CLASSIFIER),
    LINEAR(MODEL, "span", classifier, DIM_OUTPUTS, DIM_WIDTH, RULE_FAN_IN_TRUNCATED, SPAN, SPAN),
};

static const ParamDef stack_params[] = {
    { "relpos",          STACK(relpos),          NO_GROUP, DIM_BUCKETS,   DIM_HEADS, RULE_GLOROT, false, RELPOS },
    { "positions",       STACK(embed.positions), NO_GROUP, DIM_POSITIONS, DIM_WIDTH, RULE_UNIT,   true,  POSITIONS },
    { "memory",          STACK(embed.memory_tokens), NO_GROUP, DIM_MEMORY,    DIM_WIDTH, RULE_UNIT,   true,  MEMORY },
    { "segments",        STACK(embed.token_types), NO_GROUP, DIM_SEGMENTS,  DIM_WIDTH, RULE_UNIT,   true,  SEGMENTS },
    NORM(STACK, "embed_norm", embed.norm, DIM_WIDTH, EMBED_NORM),
    NORM(STACK, "final_norm", final_norm, DIM_WIDTH, FINAL_NORM),
};

static const ParamDef block_params[] = {
    NORM(BLOCK, "self.norm", self.norm, DIM_SUBLAYER, SELF_NORM),
    { "self.q",          BLOCK(self.qkv.part[0].w), BLOCK(self.qkv.w), DIM_ATTENTION, DIM_WIDTH,     RULE_QUERY,            true,  TOKEN_QUERIES },
    { "self.context.hidden", BLOCK(self.context.hidden), NO_GROUP, DIM_WIDTH,  DIM_WIDTH,     RULE_AREA,             true,  CONTEXT_QUERIES },
    { "self.context.score", BLOCK(self.context.score), NO_GROUP, DIM_HEADS,    DIM_WIDTH,     RULE_AREA,             true,  CONTEXT_QUERIES },
    { "self.context.mix", BLOCK(self.context.mix), NO_GROUP, DIM_WIDTH,        DIM_TWICE_WIDTH, RULE_AREA,           true,  CONTEXT_QUERIES },
    { "self.context.q",  BLOCK(self.context.q), NO_GROUP,    DIM_HEAD,         DIM_WIDTH,     RULE_AREA,             true,  CONTEXT_QUERIES },
    { "self.k",          BLOCK(self.qkv.part[1].w), BLOCK(self.qkv.w), DIM_KV,        DIM_WIDTH,     RULE_FAN_IN,           true,  ALWAYS },
    { "self.v",          BLOCK(self.qkv.part[2].w), BLOCK(self.qkv.w), DIM_KV,        DIM_WIDTH,     RULE_FAN_IN,           true,  ALWAYS },
    { "self.q.bias",     BLOCK(self.qkv.part[0].b), BLOCK(self.qkv.b), DIM_ATTENTION, DIM_NONE,      RULE_ZEROS,            false, TOKEN_QUERIES | BIAS },
    { "self.k.bias",     BLOCK(self.qkv.part[1].b), BLOCK(self.qkv.b), DIM_KV,        DIM_NONE,      RULE_ZEROS,            false, BIAS },
    { "self.v.bias",     BLOCK(self.qkv.part[2].b), BLOCK(self.qkv.b), DIM_KV,        DIM_NONE,      RULE_ZEROS,            false, BIAS },
    { "self.q_norm",     BLOCK(self.q_norm),  NO_GROUP,      DIM_HEAD,      DIM_NONE,      RULE_ONES,             false, QK_NORM },
    { "self.k_norm",     BLOCK(self.k_norm),  NO_GROUP,      DIM_HEAD,      DIM_NONE,      RULE_ONES,             false, QK_NORM },
    { "self.relpos",     BLOCK(self.relpos),  NO_GROUP,      DIM_BUCKETS,   DIM_HEADS,     RULE_GLOROT,           false, OWN_RELPOS },
    { "self.distance",   BLOCK(self.distance), NO_GROUP,     DIM_DISTANCES, DIM_HEAD,      RULE_UNIT,             true,  DISTANCES },
    LINEAR(BLOCK, "self.o", self.o, DIM_WIDTH, DIM_ATTENTION, RULE_OUTPUT, ALWAYS, BIAS),
    NORM(BLOCK, "cross.norm", cross.norm, DIM_SUBLAYER, CROSS),
    LINEAR(BLOCK, "cross.q", cross.q, DIM_ATTENTION, DIM_WIDTH, RULE_QUERY, CROSS, CROSS | BIAS),
    { "cross.k",         BLOCK(cross.kv.part[0].w), BLOCK(cross.kv.w), DIM_KV,        DIM_WIDTH,     RULE_FAN_IN,           true,  CROSS },
    { "cross.v",         BLOCK(cross.kv.part[1].w), BLOCK(cross.kv.w), DIM_KV,        DIM_WIDTH,     RULE_FAN_IN,           true,  CROSS },
    { "cross.k.bias",    BLOCK(cross.kv.part[0].b), BLOCK(cross.kv.b), DIM_KV,        DIM_NONE,      RULE_ZEROS,            false, CROSS | BIAS },
    { "cross.v.bias",    BLOCK(cross.kv.part[1].b), BLOCK(cross.kv.b), DIM_KV,        DIM_NONE,      RULE_ZEROS,            false, CROSS | BIAS },
    LINEAR(BLOCK, "cross.o", cross.o, DIM_WIDTH, DIM_ATTENTION, RULE_OUTPUT, CROSS, CROSS | BIAS),
    NORM(BLOCK, "mlp.norm", mlp.norm, DIM_SUBLAYER, ALWAYS),
    { "mlp.wi_0",        BLOCK(mlp.wi.part[0].w), BLOCK(mlp.wi.w),   DIM_FFN,       DIM_WIDTH,     RULE_FAN_IN_TRUNCATED, true,  GATED },
    { "mlp.wi_1",        BLOCK(mlp.wi.part[1].w), BLOCK(mlp.wi.w),   DIM_FFN,       DIM_WIDTH,     RULE_FAN_IN_TRUNCATED, true,  GATED },
    { "mlp.wi_0.bias",   BLOCK(mlp.wi.part[0].b), BLOCK(mlp.wi.b),   DIM_FFN,       DIM_NONE,      RULE_ZEROS,            false, GATED | BIAS },
    { "mlp.wi_1.bias",   BLOCK(mlp.wi.part[1].b), BLOCK(mlp.wi.b),   DIM_FFN,       DIM_NONE,      RULE_ZEROS,            false, GATED | BIAS },
    LINEAR(BLOCK, "mlp.wi", mlp.wi, DIM_FFN, DIM_WIDTH, RULE_FAN_IN_TRUNCATED, NOT_GATED, NOT_GATED | BIAS),
    LINEAR(BLOCK, "mlp.wo", mlp.wo, DIM_WIDTH, DIM_FFN, RULE_OUTPUT_TRUNCATED, ALWAYS, BIAS),
};
/* clang-format on */

/* ---- µP (Yang et al. 2022, table 8): initial sizes and learning rates for which the rate that is best at the width
 * model.mup is best at any width. The factors on activations that the paper has (1/m on logits, 8/head_dim in place of
 * head_dim^-1/2 on scores) are factors on the weights before them, so that the model itself is an ordinary one ---- */

/* A factor on the initial size of a parameter, and on the steps of an optimizer such as Adam. */
typedef struct Mup {
    double size, rate;
} Mup;

/* Whether the gain or bias is that of the norm before a tied projection to the vocabulary. */
static bool norms_logits(const ModelConfig *config, const char *name)
{
    const char *norm = config->head_transform ? "transform.norm"
                       : config->n_dec > 0    ? "decoder.final_norm"
                                              : "encoder.final_norm";
    return config->tie_embeddings && g_str_has_prefix(name, norm);
}

/* m: the width / model.mup. The logits are multiplied by 1/m, apart from what model.scale_embedding (a tied table's
 * factor width^1/2) and model.scale_logits (width^-1/2) do: by the projection if it has weights of its own, else by the
 * norm before it. */
static Mup mup_of(const ParamDef *def, const char *name, const ModelConfig *config, double m)
{
    const double table = config->scale_embedding ? 1 / sqrt(m) : 1, done = config->scale_logits ? 1 / sqrt(m) : 1,
                 query = def->init == RULE_QUERY ? 8 / sqrt((double)config->head_dim) : 1;
    if (def->init == RULE_EMBEDDING)
        return (Mup){ table, table };
    if (norms_logits(config, name))
        return (Mup){ 1 / (m * table * done), 1 / (m * table * done) };
    if (def->init == RULE_HEAD)
        return (Mup){ 1 / (m * done), 1 / (m * done) };
    if (!widens[def->cols] || is_table[def->rows])
        return (Mup){ 1, 1 };
    if (def->rows == DIM_CLASSES || def->rows == DIM_OUTPUTS)
        return (Mup){ 1 / m, 1 / m };
    return (Mup){ query / sqrt(m), query / m };
}

/* Sets the initial weights of a parameter: with model.mup those of the width model.mup, times a factor. */
static void set_start(ParamSpec *spec, const ParamDef *def, const ModelConfig *config)
{
    const double m = config->mup > 0 ? (double)config->width / (double)config->mup : 1;
    const Mup factors = config->mup > 0 ? mup_of(def, spec->name, config, m) : (Mup){ 1, 1 };
    init_set(spec, def->init, config, (double)spec->rows / (widens[def->rows] ? m : 1),
             (double)spec->cols / (widens[def->cols] ? m : 1));
    spec->std *= factors.size;
    spec->size = factors.size;
    spec->rate = factors.rate;
}

static Split split_of(const ParamDef *def)
{
    const Division rows = divisions[def->rows], cols = divisions[def->cols];
    return rows == DIVIDED        ? SPLIT_ROWS
           : rows == OF_KEYS      ? SPLIT_COPIED
           : cols == DIVIDED      ? SPLIT_COLS
           : rows == OF_TOKENS    ? SPLIT_TOKENS
           : rows == OF_ALL_HEADS ? SPLIT_SHARED
                                  : SPLIT_NONE;
}

static ParamKind param_kind(const ParamDef *def, int bucket)
{
    return bucket == BUCKET_LM_HEAD || bucket == BUCKET_POOLER ? PARAM_HEAD
           : is_table[def->rows]                               ? PARAM_EMBEDDING
                                                               : PARAM_MATRIX;
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
                             .decay = def->decay,
                             .kind = param_kind(def, bucket) };
        g_snprintf(spec->name, sizeof spec->name, "%s%s", name_prefix, def->name);
        set_start(spec, def, list->config);
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
