/* ranks.c: the communication between ranks in a step. Everything else is computed identically on every rank: counters,
 * schedule, due actions, and the update from summed gradients. */
#include "train/trainer/state.h"

#include <string.h>

int64_t ranks_most_microbatches(const Trainer *t)
{
    const int64_t size = comm_size(t->mesh.data), samples = (t->samples + size - 1) / size;
    return (samples + t->micro - 1) / t->micro;
}

void ranks_divide(Trainer *t)
{
    int64_t size = comm_size(t->mesh.data), rank = comm_rank(t->mesh.data);
    t->own_first = t->samples * rank / size;
    t->own_samples = t->samples * (rank + 1) / size - t->own_first;
    t->micro = MIN(t->micro, (t->samples + size - 1) / size);
    t->accum = (t->own_samples + t->micro - 1) / t->micro;
    /* If ranks communicate in every microbatch (ZeRO 2 and 3) or exchange FP8 amaxes for each, all ranks must run the
     * same number of microbatches: the number that the rank with the most samples needs. */
    bool equal = t->config.parallel.zero >= ZERO_GRADIENTS || t->config.train.precision == PRECISION_FP8;
    t->empty = equal ? ranks_most_microbatches(t) - t->accum : 0;
}

char *ranks_describe(const Trainer *t)
{
    int64_t size = comm_size(t->mesh.data), most = (t->samples + size - 1) / size;
    int ranks = comm_size(t->ranks), tensor = comm_size(t->mesh.tensor);
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
                           mesh_transport(&t->mesh), groups, tokens, pipeline, level, t->samples % size ? "up to " : "",
                           most);
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
    const int rank = comm_rank(t->ranks);
    if (!good && rank > 0)
        name_rank(error, rank);
    good = comm_agree(t->ranks, good, error);
    t->together = !good && mesh_check(&t->mesh, NULL);
    return good;
}

void ranks_abort(Trainer *t, const GError *problem)
{
    int rank = comm_rank(t->ranks);
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

bool ranks_agree_on_passes(Trainer *t, bool good, bool missing, GError **error)
{
    if (missing && passes_exchange(t))
        ranks_abort(t, *error);
    return comm_agree(t->ranks, good, error);
}

int64_t ranks_agree(Trainer *t, int64_t value)
{
    g_autofree int64_t *all = g_new0(int64_t, comm_size(t->ranks));
    comm_share(t->ranks, all, &value, sizeof value);
    return all[0];
}

bool ranks_sum_counts(Trainer *t, StepStats *stats, bool read, GError **error)
{
    struct {
        double n_targets[HEAD_COUNT], tokens, target_tokens, room, failed;
    } counts = { .tokens = (double)stats->tokens,
                 .target_tokens = (double)stats->target_tokens,
                 .room = (double)stats->room,
                 .failed = !read };
    memcpy(counts.n_targets, t->loss.n_targets, sizeof counts.n_targets);
    comm_sum(t->mesh.data, counts.n_targets, sizeof counts / sizeof(double));
    memcpy(t->loss.n_targets, counts.n_targets, sizeof counts.n_targets);
    stats->tokens = (int64_t)counts.tokens;
    stats->target_tokens = (int64_t)counts.target_tokens;
    stats->room = (int64_t)counts.room;
    comm_sum(t->mesh.tensor, &counts.failed, 1);
    comm_sum(t->mesh.context, &counts.failed, 1);
    comm_sum(t->mesh.pipeline, &counts.failed, 1);
    if (counts.failed > 0 && !comm_agree(t->ranks, read, error))
        return false;
    return mesh_check(&t->mesh, error);
}

/* Fails on all ranks of a group if the hashes own (n), one per bucket, differ between them. For messages: rank r of the
 * group has number first + r · step among all ranks. */
static bool compare_hashes(Trainer *t, Comm *group, const uint64_t *own, int n, int first, int step, GError **error)
{
    g_autofree uint64_t *all = g_new0(uint64_t, n * comm_size(group));
    comm_share(group, all, own, (size_t)n * sizeof *own);
    if (!comm_check(group, error))
        return false;
    for (int b = 0; b < n; b++)
        for (int r = 1; r < comm_size(group); r++)
            if (all[r * n + b] != all[b])
                return fail_machine(error,
                                    "step %" G_GINT64_FORMAT
                                    ": rank %d has other weights than rank %d (%s), which means faulty memory or a "
                                    "faulty processor; the previous checkpoint is kept",
                                    t->state.attempts, first + r * step, first,
                                    params_bucket_name(model_params(t->model), b));
    return true;
}

/* Hashes of the name and the values of a tied parameter, which several pipeline stages hold. */
typedef struct TiedHash {
    uint64_t name, weights;
} TiedHash;
enum { TIED_MOST = 16 };

/* Fails on all ranks of a pipeline if two stages hold different values of a tied parameter. */
static bool compare_tied(Trainer *t, GError **error)
{
    ParamStore *params = model_params(t->model);
    Comm *group = t->mesh.pipeline;
    TiedHash own[TIED_MOST] = { 0 };
    g_autofree TiedHash *all = g_new0(TiedHash, TIED_MOST * comm_size(group));
    for (int i = 0, n = 0; i < params_count(params) && n < TIED_MOST; i++)
        if (params_spec(params, i)->tie != TIE_NONE)
            own[n++] = (TiedHash){ g_str_hash(params_spec(params, i)->name), params_hash_one(params, i) };
    comm_share(group, all, own, sizeof own);
    if (!comm_check(group, error))
        return false;
    for (int i = 0; i < TIED_MOST * comm_size(group); i++)
        for (int j = 0; j < i; j++)
            if (all[i].name && all[i].name == all[j].name && all[i].weights != all[j].weights)
                return fail_machine(error,
                                    "step %" G_GINT64_FORMAT
                                    ": stages %d and %d of a pipeline have different weights of a parameter that both "
                                    "use, which means faulty memory or a faulty processor; the previous checkpoint is "
                                    "kept",
                                    t->state.attempts, j / TIED_MOST, i / TIED_MOST);
    return true;
}

bool ranks_check_replicas(Trainer *t, GError **error)
{
    ParamStore *params = model_params(t->model);
    const Mesh *mesh = &t->mesh;
    int64_t every = t->config.parallel.check_every;
    if (comm_size(t->ranks) == 1 || every == 0 || t->state.attempts % every != 0)
        return true;
    int n = params_buckets(params), tensor = comm_size(mesh->tensor), place = comm_rank(mesh->tensor);
    g_autofree uint64_t *all = g_new0(uint64_t, n), *common = g_new0(uint64_t, n), *copied = g_new0(uint64_t, n);
    int copies = comm_size(mesh->copies);
    for (int b = 0; b < n; b++) {
        all[b] = params_hash(params, b, HASH_ALL);
        common[b] = tensor > 1 ? params_hash(params, b, HASH_COMMON) : 0;
        copied[b] = copies > 1 ? params_hash(params, b, HASH_COPIED) : 0;
    }
    int rank = comm_rank(t->ranks), stage = comm_rank(mesh->pipeline) * comm_size(t->ranks) / comm_size(mesh->pipeline);
    return compare_hashes(t, mesh->replicas, all, n, stage + place, tensor, error) &&
           compare_hashes(t, mesh->tensor, common, n, rank - place, 1, error) &&
           compare_hashes(t, mesh->copies, copied, n, rank - rank % copies, 1, error) && compare_tied(t, error);
}

void ranks_sum_losses(Trainer *t, LossSums *sums)
{
    comm_sum(t->mesh.pipeline, (double *)sums, sizeof *sums / sizeof(double)); /* the last stage has the losses */
    comm_sum(t->mesh.replicas, (double *)sums, sizeof *sums / sizeof(double)); /* each of its tokens */
}

PeakRate ranks_peak(const Trainer *t)
{
    PeakRate peak = gemm_peak_rate(&t->gemm_peak);
    int size = comm_size(t->ranks);
    return (PeakRate){ peak.median * size, peak.low * size, peak.high * size };
}
