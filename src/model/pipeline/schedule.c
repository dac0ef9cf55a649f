/* schedule.c: the order in which a rank makes its passes. */
#include "model/pipeline/pipeline.h"

#include <string.h>

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

void pipeline_slots(int *slots, const Pipeline *pipeline)
{
    const int size = pipeline->size, interleave = MAX(pipeline->interleave, 1);
    const int n =
        pipeline->n_counts > 0 ? pipeline->n_counts : 3 * size; /* from 2 size on, each `size` keep the same */
    int kept[STAGES_MOST];
    memset(slots, 0, sizeof *slots * (size_t)interleave);
    for (int c = 0; c < n; c++) {
        pipeline_kept(kept, pipeline->rank, size, interleave, pipeline->n_counts > 0 ? pipeline->counts[c] : c + 1);
        for (int i = 0; i < interleave; i++)
            slots[i] = MAX(slots[i], kept[i]);
    }
}

double pipeline_bubble(int size, int interleave, int64_t n)
{
    const double waits = (double)(size - 1 + (interleave - 1) * MAX(size - n, 0));
    return waits / ((double)(interleave * n) + waits);
}
