/* division.c: which blocks each stage of a pipeline has. */
#include "base/check.h"
#include "base/text.h"
#include "model/params/params.h"
#include "model/pipeline/pipeline.h"

#include <inttypes.h>
#include <string.h>

/* Mean number of keys per query in block i of the encoder or decoder. Block-sparse patterns do not count. */
static double keys_of(const ModelConfig *config, bool decoder, int i, double length)
{
    const bool windowed = config->window > 0 && (config->global_every == 0 || i % config->global_every != 0);
    const double all = decoder ? length / 2 : length;
    return windowed ? fmin(all, (double)config->window) : all;
}

/* Whether the parameter is a matrix of cross-attention's keys or values, which multiplies the encoder's output. */
static bool reads_encoder(const ParamSpec *spec)
{
    return spec->field == offsetof(BlockW, cross.kv.part[0].w) || spec->field == offsetof(BlockW, cross.kv.part[1].w);
}

/* How much longer a multiply-add of attention takes than one of a matrix product, with its exponentials and its
 * backward pass, which computes the scores again; 1.5 to 1.7 were measured on a processor with AVX-512-BF16. */
#define ATTENTION_COST 1.6

/* Multiply-adds of attention in block i of encoder or decoder: scores and sums of values; times ATTENTION_COST. */
static double attention_work(const ModelConfig *config, bool decoder, int i, const StageTokens *tokens)
{
    const double each = 2 * ATTENTION_COST * (double)config->heads * (double)config->head_dim,
                 length = decoder ? tokens->decoder : tokens->encoder;
    const double cross = decoder && config->n_enc > 0 ? tokens->encoder : 0;
    return each * length * (keys_of(config, decoder, i, length) + cross);
}

/* Multiply-adds per packed sequence, for each block, and in the last block also for the head. g_free. */
static double *block_work(const ModelConfig *config, const StageTokens *tokens)
{
    int n_specs, n = (int)(config->n_enc + config->n_dec), n_enc = (int)config->n_enc;
    g_autofree ParamSpec *specs = model_param_specs(config, stage_whole(config), &n_specs);
    double *work = g_new0(double, n);
    for (int i = 0; i < n; i++)
        work[i] = attention_work(config, i >= n_enc, i < n_enc ? i : i - n_enc, tokens);
    for (int i = 0; i < n_specs; i++) {
        const int block = specs[i].bucket - BUCKET_BLOCK;
        if (block >= 0)
            work[block] += (double)specs[i].rows * (double)specs[i].cols *
                           (block < n_enc || reads_encoder(&specs[i]) ? tokens->encoder : tokens->decoder);
    }
    if (config->classifier == LABELS_NONE)
        work[n - 1] += (double)config->vocab * (double)config->width * tokens->targets;
    return work;
}

/* Whether `size` stages of at most `most` work each hold all blocks; ends[s] becomes the block after stage s. */
static bool fits_stages(const double *work, int n, int size, double most, int *ends)
{
    int block = 0;
    for (int s = 0; s < size; s++) {
        double sum = 0;
        int last = n - (size - 1 - s); /* each later stage needs at least one block */
        do
            sum += work[block++];
        while (block < last && sum + work[block] <= most);
        ends[s] = block;
        if (sum > most)
            return false;
    }
    return block == n;
}

/* The division of `size` stages, one per rank, whose largest work is the smallest. */
static void divide_once(const double *work, int n, int size, int *ends)
{
    double best = INFINITY;
    /* The smallest possible maximum over stages equals the work of some range of blocks. */
    for (int first = 0; first < n; first++) {
        double sum = 0;
        for (int end = first; end < n; end++) {
            sum += work[end];
            if (sum < best && fits_stages(work, n, size, sum, ends))
                best = sum;
        }
    }
    bool found = fits_stages(work, n, size, best, ends);
    CHECK(found, "no stages of %d blocks", n);
}

#define STAGE_WEIGHT 1e-3 /* of the squares of the stages' work beside those of the ranks */

/* How uneven a division is: the squares of the ranks' work. before (n + 1): work of all blocks before a block. */
static double unevenness(const double *before, const int *ends, int size, int interleave)
{
    double sum = 0;
    for (int r = 0; r < size; r++) {
        double all = 0;
        for (int s = r; s < size * interleave; s += size) {
            const double own = before[ends[s]] - (s > 0 ? before[ends[s - 1]] : 0);
            all += own;
            sum += STAGE_WEIGHT * own * own;
        }
        sum += all * all;
    }
    return sum;
}

/* Moves the cuts behind the stages first … last - 1 by one block, up or down, if this makes the division more even. */
static bool improve(const double *before, int *ends, int size, int interleave, int first, int last, int step)
{
    const int gives = step < 0 ? first : last, blocks = ends[gives] - (gives > 0 ? ends[gives - 1] : 0);
    if (blocks < 2)
        return false;
    const double now = unevenness(before, ends, size, interleave);
    for (int s = first; s < last; s++)
        ends[s] += step;
    if (unevenness(before, ends, size, interleave) < now * (1 - 1e-9))
        return true;
    for (int s = first; s < last; s++)
        ends[s] -= step;
    return false;
}

/* Moves blocks between stages, from equal numbers of blocks on, as long as the division becomes more even. */
static void divide_interleaved(const double *work, int n, int size, int interleave, int *ends)
{
    const int stages = size * interleave;
    g_autofree double *before = g_new0(double, n + 1);
    for (int i = 0; i < n; i++)
        before[i + 1] = before[i] + work[i];
    for (int s = 0; s < stages; s++)
        ends[s] = n * (s + 1) / stages;
    for (bool moved = true; moved;) {
        moved = false;
        for (int first = 0; first < stages; first++)
            for (int last = first + 1; last < stages; last++)
                moved = improve(before, ends, size, interleave, first, last, -1) ||
                        improve(before, ends, size, interleave, first, last, 1) || moved;
    }
}

int *pipeline_divide(const ModelConfig *config, int size, int interleave, const StageTokens *tokens)
{
    const int n = (int)(config->n_enc + config->n_dec);
    CHECK(size > 0 && interleave > 0 && size * interleave <= n, "%d x %d stages for %d blocks", size, interleave, n);
    g_autofree double *work = block_work(config, tokens);
    int *ends = g_new0(int, size *interleave);
    if (interleave == 1)
        divide_once(work, n, size, ends);
    else
        divide_interleaved(work, n, size, interleave, ends);
    return ends;
}

void pipeline_work(double *share, const ModelConfig *config, int size, int interleave, const int *ends,
                   const StageTokens *tokens)
{
    g_autofree double *work = block_work(config, tokens);
    double sum = 0;
    memset(share, 0, (size_t)size * sizeof *share);
    for (int s = 0, block = 0; s < size * interleave; s++)
        for (; block < ends[s]; block++) {
            share[s % size] += work[block];
            sum += work[block];
        }
    for (int r = 0; r < size; r++)
        share[r] /= sum;
}

int pipeline_stages(const Pipeline *pipeline)
{
    return MAX(pipeline->size, 1) * MAX(pipeline->interleave, 1);
}

Stage pipeline_stage(const Pipeline *pipeline, int s)
{
    CHECK(s >= 0 && s < pipeline_stages(pipeline), "stage %d of %d", s, pipeline_stages(pipeline));
    return (Stage){ s > 0 ? pipeline->ends[s - 1] : 0, pipeline->ends[s] };
}

Stages pipeline_held(const Pipeline *pipeline, int rank)
{
    Stages held = { 0 };
    for (int s = rank; s < pipeline_stages(pipeline); s += MAX(pipeline->size, 1))
        held.range[held.n++] = pipeline_stage(pipeline, s);
    return held;
}

/* ---- cuts ---- */

char *pipeline_cuts_text(const int *ends, int n_stages)
{
    GString *text = g_string_new(NULL);
    for (int s = 0; s < n_stages - 1; s++)
        g_string_append_printf(text, "%s%d", s > 0 ? "," : "", ends[s] + 1);
    return g_string_free(text, false);
}

/* Reads the cut behind stage s. Returns what is wrong with it, or NULL. g_free. */
static char *read_cut(const char *text, int s, int n_blocks, int *ends)
{
    char *rest;
    const int64_t block = g_ascii_strtoll(text, &rest, 10);
    if (*text == '\0' || *rest)
        return g_strdup_printf("\"%s\" is no number", text);
    if (block < 2 || block > n_blocks)
        return g_strdup_printf("%" PRId64 " is not among them", block);
    ends[s] = (int)block - 1;
    return s > 0 && ends[s] <= ends[s - 1] ? g_strdup_printf("%d comes after %d", ends[s] + 1, ends[s - 1] + 1) : NULL;
}

int *pipeline_cuts(const ModelConfig *config, const char *cuts, int n_stages, const int *ends, GError **error)
{
    const int n = (int)(config->n_enc + config->n_dec);
    g_auto(GStrv) items = text_list(cuts);
    const int found = (int)g_strv_length(items);
    g_autofree char *why = found != n_stages - 1 ? g_strdup_printf("there are %d", found) : NULL;
    int *own = g_new0(int, n_stages);
    for (int s = 0; why == NULL && s < n_stages - 1; s++)
        why = read_cut(items[s], s, n, own);
    own[n_stages - 1] = n;
    if (why == NULL)
        return own;
    g_free(own);
    g_autofree char *proposed = pipeline_cuts_text(ends, n_stages),
                    *decoder = config->n_enc > 0 && config->n_dec > 0
                                   ? g_strdup_printf(" (the decoder begins at block %" PRId64 ")", config->n_enc + 1)
                                   : g_strdup("");
    return fail_user(
        error,
        "parallel.cuts is \"%s\", and for %d stages it names the first block%s of the second%s one, %d number%s "
        "from 2 to "
        "%d%s, in rising order: %s; equal work would be %s",
        cuts, n_stages, n_stages > 2 ? "s" : "", n_stages > 2 ? " and each later" : "", n_stages - 1,
        n_stages > 2 ? "s" : "", n, decoder, why, proposed);
}
