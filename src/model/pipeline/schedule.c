/* schedule.c: which blocks a stage has, and the order of its passes. */
#include "base/check.h"
#include "model/params/params.h"
#include "model/pipeline/pipeline.h"

#include <math.h>
#include <string.h>

#define TARGET_SHARE 0.15 /* share of tokens with a target in masked language modelling */

/* Multiply-adds per token of the model's input, for each block, and in the last block also for the head. g_free. */
static double *block_work(const ModelConfig *config, double decoder_share)
{
    int n_specs, n = (int)(config->n_enc + config->n_dec);
    g_autofree ParamSpec *specs = model_param_specs(config, stage_whole(config), &n_specs);
    double *work = g_new0(double, n), share = decoder_share > 0 && config->n_enc > 0 ? decoder_share : 1;
    for (int i = 0; i < n_specs; i++)
        if (specs[i].bucket >= BUCKET_BLOCK)
            work[specs[i].bucket - BUCKET_BLOCK] += (double)specs[i].rows * (double)specs[i].cols;
    for (int i = (int)config->n_enc; i < n; i++)
        work[i] *= share;
    if (config->classifier == LABELS_NONE)
        work[n - 1] += (double)config->vocab * (double)config->width * (config->n_dec > 0 ? share : TARGET_SHARE);
    return work;
}

/* Whether `size` stages of at most `most` work each hold all blocks; ends[s] becomes the block after stage s. */
static bool fits(const double *work, int n, int size, double most, int *ends)
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

Stage pipeline_stage(const ModelConfig *config, const Pipeline *pipeline, int rank)
{
    int n = (int)(config->n_enc + config->n_dec), size = MAX(pipeline->size, 1);
    CHECK(size <= n && rank < size, "stage %d of %d for %d blocks", rank, size, n);
    g_autofree double *work = block_work(config, pipeline->decoder_share);
    g_autofree int *ends = g_new0(int, size);
    double best = INFINITY;
    for (int first = 0; first < n;
         first++) { /* the smallest possible maximum over stages equals the work of some range of blocks */
        double sum = 0;
        for (int end = first; end < n; end++) {
            sum += work[end];
            if (sum < best && fits(work, n, size, sum, ends))
                best = sum;
        }
    }
    bool found = fits(work, n, size, best, ends);
    CHECK(found, "no stages of %d blocks", n);
    return (Stage){ rank > 0 ? ends[rank - 1] : 0, ends[rank] };
}

/* Number of groups of microbatches that go through a stage before the rank's next stage runs: of `size` microbatches
 * each; the last one has the rest, too. */
static int groups_of(int size, int n)
{
    return MAX(n / size, 1);
}

/* Forward pass k of a rank. */
static PipelinePass forward_pass(int k, int size, int interleave, int n)
{
    const int last = groups_of(size, n) - 1, group = MIN(k / (size * interleave), last), first = group * size,
              length = group == last ? n - first : size, at = k - first * interleave;
    return (PipelinePass){ .stage = at / length, .microbatch = first + at % length };
}

/* Backward pass k: in the order of the forward passes, through the stages from the last one to the first. */
static PipelinePass backward_pass(int k, int size, int interleave, int n)
{
    const PipelinePass pass = forward_pass(k, size, interleave, n);
    return (PipelinePass){ true, interleave - 1 - pass.stage, pass.microbatch };
}

void pipeline_schedule(PipelinePass *passes, int rank, int size, int interleave, int n)
{
    const int all = n * interleave, after = size - rank - 1, longest = n - (groups_of(size, n) - 1) * size;
    const int ahead = MIN(interleave > 1 ? 2 * after + (interleave - 1) * longest : after, all);
    int done = 0;
    for (int k = 0; k < ahead; k++)
        passes[done++] = forward_pass(k, size, interleave, n);
    for (int k = 0; k < all; k++) {
        if (ahead + k < all)
            passes[done++] = forward_pass(ahead + k, size, interleave, n);
        passes[done++] = backward_pass(k, size, interleave, n);
    }
}

void pipeline_kept(int *kept, int rank, int size, int interleave, int n)
{
    g_autofree PipelinePass *passes = g_new(PipelinePass, 2 * n * interleave);
    g_autofree int *now = g_new0(int, interleave);
    pipeline_schedule(passes, rank, size, interleave, n);
    memset(kept, 0, sizeof *kept * (size_t)interleave);
    for (const PipelinePass *pass = passes; pass < passes + 2 * n * interleave; pass++) {
        now[pass->stage] += pass->backward ? -1 : 1;
        kept[pass->stage] = MAX(kept[pass->stage], now[pass->stage]);
    }
}

double pipeline_bubble(int size, int interleave, int64_t n)
{
    const double waits = (double)(size - 1 + (interleave - 1) * MAX(size - n, 0));
    return waits / ((double)(interleave * n) + waits);
}
