/* schedule.c: which blocks a stage has, and the order of its passes. */
#include "base/check.h"
#include "model/params/params.h"
#include "model/pipeline/pipeline.h"

#include <math.h>

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

void pipeline_schedule(PipelinePass *passes, int rank, int size, int n)
{
    int ahead = MIN(size - rank - 1, n), done = 0;
    for (int i = 0; i < ahead; i++)
        passes[done++] = (PipelinePass){ false, i };
    for (int i = 0; i < n; i++) {
        if (ahead + i < n)
            passes[done++] = (PipelinePass){ false, ahead + i };
        passes[done++] = (PipelinePass){ true, i };
    }
}
