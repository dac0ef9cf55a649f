/* ranks.c: the communication between ranks in a step. Everything else is computed identically on every rank: counters,
 * schedule, due actions, and the update from summed gradients. */
#include "train/trainer.h"

#include <string.h>

int64_t ranks_most_microbatches(const Trainer *t)
{
    const int64_t size = comm_size(t->mesh.data), samples = (t->batch.samples + size - 1) / size;
    return (samples + t->batch.micro - 1) / t->batch.micro;
}

void ranks_divide(Trainer *t)
{
    int64_t size = comm_size(t->mesh.data), rank = comm_rank(t->mesh.data);
    t->batch.own_first = t->batch.samples * rank / size;
    t->batch.own_samples = t->batch.samples * (rank + 1) / size - t->batch.own_first;
    t->batch.micro = MIN(t->batch.micro, (t->batch.samples + size - 1) / size);
    t->batch.accum = (t->batch.own_samples + t->batch.micro - 1) / t->batch.micro;
    /* If ranks communicate in every microbatch (ZeRO 2 and 3) or exchange FP8 amaxes for each, all ranks must run the
     * same number of microbatches: the number that the rank with the most samples needs. */
    bool equal = t->config.parallel.zero >= ZERO_GRADIENTS || t->config.train.precision == PRECISION_FP8;
    t->batch.empty = equal ? ranks_most_microbatches(t) - t->batch.accum : 0;
}

char *ranks_describe(const Trainer *t)
{
    int64_t size = comm_size(t->mesh.data), most = (t->batch.samples + size - 1) / size;
    int ranks = comm_size(t->mesh.world), tensor = comm_size(t->mesh.tensor);
    if (ranks == 1)
        return g_strdup("");
    int zero = t->config.parallel.zero;
    g_autofree char *level = zero > 0 ? g_strdup_printf(", ZeRO %d", zero) : g_strdup("");
    int context = comm_size(t->mesh.context);
    g_autofree char *groups = tensor > 1 ? g_strdup_printf(", %d per tensor-parallel group%s", tensor,
                                                           t->config.parallel.sequence ? " with divided tokens" : "")
                                         : g_strdup("");
    g_autofree char *tokens = context > 1 ? g_strdup_printf(", %d per context-parallel group", context) : g_strdup("");
    int stages = comm_size(t->mesh.pipeline);
    const int64_t interleave = t->config.parallel.interleave;
    g_autofree char *each = interleave > 1 ? g_strdup_printf("ranks with %" G_GINT64_FORMAT " stages each", interleave)
                                           : g_strdup("stages");
    g_autofree char *pipeline = stages > 1 ? g_strdup_printf(", a pipeline of %d %s", stages, each) : g_strdup("");
    return g_strdup_printf("; %d ranks (%s%s%s%s%s), %s%" G_GINT64_FORMAT " samples each", ranks,
                           mesh_transport(&t->mesh), groups, tokens, pipeline, level,
                           t->batch.samples % size ? "up to " : "", most);
}

/* Puts the rank and its host before an error, unless it names another rank. */
static bool name_rank(GError **error, int rank)
{
    g_autofree char *own = g_strdup_printf("rank %d: ", rank);
    if (error == NULL || *error == NULL ||
        (g_str_has_prefix((*error)->message, "rank ") && !g_str_has_prefix((*error)->message, own)))
        return false;
    if (g_str_has_prefix((*error)->message, own))
        memmove((*error)->message, (*error)->message + strlen(own), strlen((*error)->message + strlen(own)) + 1);
    return fail_context(error, "rank %d on %s", rank, g_get_host_name());
}

bool ranks_end_together(Trainer *t, bool good, GError **error)
{
    const int rank = comm_rank(t->mesh.world);
    if (!good && rank > 0)
        name_rank(error, rank);
    good = comm_agree(t->mesh.world, good, error);
    t->together = !good && mesh_check(&t->mesh, NULL);
    return good;
}

void ranks_abort(const Trainer *t, const GError *problem)
{
    int rank = comm_rank(t->mesh.world);
    g_autofree char *why =
        rank == 0 ? g_strdup(problem->message) : g_strdup_printf("rank %d: %s", rank, problem->message);
    mesh_abort(&t->mesh, why);
    if (t->save_ranks)
        comm_abort(t->save_ranks, why);
}

/* Whether a rank whose pass is missing would keep others waiting: they exchange activations or weights in each pass. */
static bool passes_exchange(const Trainer *t)
{
    const bool gathers = t->config.parallel.zero >= ZERO_WEIGHTS && comm_size(t->mesh.replicas) > 1;
    return gathers || comm_size(t->mesh.tensor) > 1 || comm_size(t->mesh.context) > 1 ||
           comm_size(t->mesh.pipeline) > 1;
}

bool ranks_agree_on_passes(const Trainer *t, bool good, bool missing, GError **error)
{
    if (missing && passes_exchange(t))
        ranks_abort(t, *error);
    return comm_agree(t->mesh.world, good, error);
}

int64_t ranks_agree(const Trainer *t, int64_t value)
{
    g_autofree int64_t *all = g_new0(int64_t, comm_size(t->mesh.world));
    comm_share(t->mesh.world, all, &value, sizeof value);
    return all[0];
}

bool ranks_sum_counts(Trainer *t, bool read, GError **error)
{
    StepRecord *step = &t->step;
    struct {
        double n_targets[HEAD_COUNT], tokens, target_tokens, room, failed;
    } counts = { .tokens = (double)step->tokens,
                 .target_tokens = (double)step->target_tokens,
                 .room = (double)step->room,
                 .failed = !read };
    memcpy(counts.n_targets, t->loss.n_targets, sizeof counts.n_targets);
    comm_sum(t->mesh.data, counts.n_targets, sizeof counts / sizeof(double));
    memcpy(t->loss.n_targets, counts.n_targets, sizeof counts.n_targets);
    step->tokens = (int64_t)counts.tokens;
    step->target_tokens = (int64_t)counts.target_tokens;
    step->room = (int64_t)counts.room;
    comm_sum(t->mesh.tensor, &counts.failed, 1);
    comm_sum(t->mesh.context, &counts.failed, 1);
    comm_sum(t->mesh.pipeline, &counts.failed, 1);
    if (counts.failed > 0 && !comm_agree(t->mesh.world, read, error))
        return false;
    return mesh_check(&t->mesh, error);
}

void ranks_sum_losses(const Trainer *t, LossSums *sums)
{
    comm_sum(t->mesh.pipeline, (double *)sums, sizeof *sums / sizeof(double)); /* the last stage has the losses */
    comm_sum(t->mesh.replicas, (double *)sums, sizeof *sums / sizeof(double)); /* each of its tokens */
}
