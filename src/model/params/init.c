#include "model/params/init.h"

#include <math.h>

/* init normal: every matrix has init_std. */
static void set_normal(ParamSpec *spec, InitRule rule, const ModelConfig *config)
{
    bool output = rule == RULE_OUTPUT || rule == RULE_OUTPUT_TRUNCATED;
    spec->init = INIT_NORMAL;
    spec->std = config->init_std;
    if (output && config->init_scale_outputs)
        spec->std /= sqrt(2 * (double)(config->n_enc + config->n_dec));
}

/* init fairseq, as transformer_lm has it: embeddings and projection to the vocabulary normal, std width^-1/2; attention
 * by Glorot & Bengio (2010), q, k and v with gain 2^-1/2; all other matrices uniform within ± in^-1/2. */
static void set_fairseq(ParamSpec *spec, InitRule rule)
{
    double out = (double)spec->rows, in = (double)spec->cols;
    bool normal = rule == RULE_UNIT || rule == RULE_EMBEDDING || rule == RULE_HEAD;
    spec->init = normal ? INIT_NORMAL : INIT_UNIFORM;
    spec->std = 1 / sqrt(in);
    if (rule == RULE_QUERY || rule == RULE_FAN_IN)
        spec->std = sqrt(3 / (out + in));
    if (rule == RULE_OUTPUT || rule == RULE_GLOROT)
        spec->std = sqrt(6 / (out + in));
}

/* init fan_in, AST-T5's: std (2 in)^-1/2, embeddings uniform of that std, relative biases 0. init fan_out is AST-T5's
 * as its code computes it: (2 out)^-1/2, and the embedding drawn as the tied projection, whose `out` is the vocabulary.
 */
static void set_fan(ParamSpec *spec, InitRule rule, const ModelConfig *config)
{
    bool fan_out = config->init == INIT_SCHEME_FAN_OUT,
         uniform = rule == RULE_UNIT || (rule == RULE_EMBEDDING && !fan_out);

    spec->init = rule == RULE_GLOROT ? INIT_ZEROS : uniform ? INIT_UNIFORM : INIT_NORMAL;
    spec->std = 1 / sqrt(2 * (double)(fan_out && !uniform ? spec->rows : spec->cols));
    if (uniform)
        spec->std *= sqrt(3);
}

void init_set(ParamSpec *spec, InitRule rule, const ModelConfig *config)
{
    const double out = (double)spec->rows, in = (double)spec->cols;
    const double score_scale = config->scale_scores ? 1 : (double)config->head_dim;
    const struct {
        InitKind kind;
        double std;
    } rules[] = {
        [RULE_ZEROS] = { INIT_ZEROS, 0 },
        [RULE_ONES] = { INIT_ONES, 0 },
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
        set_fairseq(spec, rule);
    if (config->init == INIT_SCHEME_FAN_IN || config->init == INIT_SCHEME_FAN_OUT)
        set_fan(spec, rule, config);
}
