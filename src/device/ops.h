/* ops.h: the semantic operations and their front door. op_NAME() checks shapes, dtypes and shared memory once (a
 * mismatch is a bug: CHECK) and calls the backend's table; backends trust it. op_list.inc says what each operation
 * computes. No GLib here. */
#pragma once

#include "base/philox.h"
#include "device/tensor.h"

typedef struct Device Device;

/* Integers that both sides read: the front door checks and counts by the host's copy, kernels compute by the device's.
 */
typedef struct BothSides {
    const int32_t *host, *device; /* NULL: none */
} BothSides;

/* Block-sparse attention: blocks of `size` tokens (a multiple of 4), counted from each sequence's start. Queries of
 * block r of head h see key blocks keys[first[c]] … keys[first[c + 1] - 1], in rising order, where c = h·blocks + r, or
 * r where all heads are alike (heads 1). No sequence is longer than `blocks` blocks. */
typedef struct BlockLayout {
    int32_t size, blocks, heads;
    BothSides first, keys; /* first (heads·blocks + 1) */
} BlockLayout;

/* Embeddings of distances, which take part in the scores (Shaw et al. 2018, Huang et al. 2020): score(i,j) = scale·(q·k
 * + q·e), with `keys` + scale·k·e, where e is the row of `table` (2M-1,D) that lies the distance i + (Tk - Tq) - j
 * behind the middle one. All heads share them. dtable takes beta; backward alone reads it. */
typedef struct AttnDistance {
    Tensor table, dtable;
    float beta;
    bool keys;
} AttnDistance;

/* Which query may see which key, over packed sequences. Rows of a tensor that no sequence covers (a stream filled below
 * its capacity) get zeros, forward and backward. */
typedef struct AttnSpec {
    BothSides cu_q, cu_k; /* (n_seq + 1) cumulative lengths */
    BothSides prefix;     /* (n_seq), or none: so many first keys are seen by every query, causal or not */
    /* (n_seq), or none. Caches of keys, forward alone, max_q 1: those of sequence s begin at row k_first[s], not
     * cu_k[s], and the bias ends with the distance 0 for each. */
    BothSides k_first;
    int32_t n_seq, max_q, max_k;
    int32_t heads, kv_heads; /* kv_heads 0: as many; else query head h reads key head h / (heads / kv_heads) */
    int32_t
        first_head; /* number of head 0 in the whole layer, whose masks and layout these are; 0 means all are here */
    int32_t window; /* 0: none; else keys further than this from the query, |j - i - (Tk - Tq)|, are not seen */
    bool causal;    /* key j is seen by query i if j - i <= Tk - Tq: the last query sees every key */
    float scale;    /* on q·k; T5: 1 */
    float rescale; /* 0: none; else q·k is computed smaller by it and multiplied by it before the softmax (Megatron) */
    const BlockLayout *layout; /* NULL: none; else only keys of the blocks of query i + Tk - Tq, and of those only such
                                  as the rest lets through */
    const AttnDistance *distance; /* NULL: none; else there is neither a bias nor a layout */
} AttnSpec;

static inline int32_t attn_kv_heads(const AttnSpec *spec)
{
    return spec->kv_heads ? spec->kv_heads : spec->heads;
}
/* One sequence, from either side's numbers. */
typedef struct AttnSequence {
    int64_t tq, tk, prefix;
} AttnSequence;

/* Keys that query i of a sequence sees, layout aside: [*begin, *end), *begin <= *end; neither falls as i grows. */
void attn_visible(const AttnSpec *spec, AttnSequence of, int64_t i, int64_t *begin, int64_t *end);
/* Which number of layout->first is that of the first key block that the query at `position` of its sequence sees. */
static inline int64_t attn_layout_row(const BlockLayout *layout, int32_t head, int64_t position)
{
    return (layout->heads == 1 ? 0 : (int64_t)head * layout->blocks) + position / layout->size;
}

/* Elementwise dropout over rows of tokens; rate 0 means none, and nothing else is read. The mask is a function of
 * (key, sample, position, channel in the whole tensor): see base/philox.h. Both arrays are memory of the device. */
typedef struct Dropout {
    PhiloxKey key;
    float rate;
    const int64_t *sample;   /* (N) global sample index of each row */
    const int32_t *position; /* (N) token position in its sample */
    int64_t first_channel;   /* number of channel 0 in the whole tensor, a multiple of 4; 0 means all are here */
} Dropout;

typedef enum Activation { ACT_RELU, ACT_GELU_TANH, ACT_GELU_ERF, ACT_SILU, ACT_TANH, ACT_COUNT } Activation;
extern const char *const activation_names[]; /* "relu", "gelu_tanh", "gelu_erf", "silu", "tanh", NULL */

typedef enum RelposRule { RELPOS_T5, RELPOS_AST } RelposRule;

/* Buckets of relative positions; `first` is the relative position (key - query) of column 0. AST-T5's rule looks both
 * ways always. */
typedef struct RelposSpec {
    int32_t first, n_buckets, max_distance;
    RelposRule rule;
    bool bidirectional;
} RelposSpec;
int32_t relpos_bucket(int32_t relative, const RelposSpec *spec); /* integer thresholds, exact at 16, 32, 64 */
double alibi_slope(int32_t head, int32_t heads);                 /* Press et al. 2022, any number of heads */

typedef struct XentSpec {
    float label_smoothing, z_loss;
    float scale; /* of the gradient: 1 / number of target tokens of the whole batch */
    bool grad;   /* false: logits are left alone and only the statistics are written */
} XentSpec;
enum { XENT_LOSS, XENT_NLL, XENT_CORRECT, XENT_WEIGHT, XENT_STATS }; /* columns of the statistics */

/* What changes from step to step; lives in memory of the device, not in arguments. */
typedef struct StepScalars {
    float lr;       /* of this update, schedule included */
    float clip;     /* factor on every gradient; 1 when not clipped */
    int64_t update; /* u = 1, 2, … */
} StepScalars;

typedef struct AdamwSpec {
    double beta1, beta2, eps, weight_decay;
    /* AdamW with RMS scaling (nanoT5's AdamWScale): step × max(1e-3, rms(w)), and eps joins √v before its bias is
     * corrected: w -= lr·max(1e-3, rms(w))·√(1−β2ᵗ)/(1−β1ᵗ) · m/(√v + eps). */
    bool scale_by_rms;
} AdamwSpec;

typedef struct AdafactorSpec {
    double eps1, eps2;     /* 1e-30, 1e-3 */
    double clip_threshold; /* 1.0; 0: off */
    double decay_rate;     /* 0.8: beta2 = 1 - t^-0.8, t = update + step_offset */
    double beta1;          /* 0: no momentum */
    double weight_decay;   /* already decided per parameter */
    int64_t step_offset;
    bool scale_parameter; /* α = lr × max(eps2, rms(w)) */
    bool decay_by_lr;     /* w *= 1 - weight_decay × α (Hugging Face); false: w *= 1 - weight_decay (T5X) */
} AdafactorSpec;

/* Every operation, by op_list.inc: op_gemm(dev, y, a, b, ta, tb, alpha, beta), … */
#define OP(name, parameters, arguments, operands, rules, flops) void op_##name parameters;
#include "device/op_list.inc"
#undef OP
