/* replicas.c: every parallel.check_every steps the run ends unless all ranks have the same weights. */
#include "train/services/service.h"

/* Fails on all ranks of a group if the hashes own (n), one per bucket, differ between them. For messages: rank r of the
 * group has number first + r · step among all ranks. */
static bool compare_hashes(const Trainer *t, Comm *group, const uint64_t *own, int n, int first, int step,
                           GError **error)
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
                                    t->state.steps, first + r * step, first,
                                    params_bucket_name(model_params(t->model), b));
    return true;
}

/* Hashes of the name and the values of a tied parameter, which several pipeline stages hold. */
typedef struct TiedHash {
    uint64_t name, weights;
} TiedHash;
enum { TIED_MOST = 16 };

/* Fails on all ranks of a pipeline if two stages hold different values of a tied parameter. */
static bool compare_tied(const Trainer *t, GError **error)
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
                                    t->state.steps, j / TIED_MOST, i / TIED_MOST);
    return true;
}

static bool compare_replicas(const Trainer *t, GError **error)
{
    ParamStore *params = model_params(t->model);
    const Mesh *mesh = &t->mesh;
    int n = params_buckets(params), tensor = comm_size(mesh->tensor), place = comm_rank(mesh->tensor);
    g_autofree uint64_t *all = g_new0(uint64_t, n), *common = g_new0(uint64_t, n), *copied = g_new0(uint64_t, n);
    int copies = comm_size(mesh->copies);
    for (int b = 0; b < n; b++) {
        all[b] = params_hash(params, b, HASH_ALL);
        common[b] = tensor > 1 ? params_hash(params, b, HASH_COMMON) : 0;
        copied[b] = copies > 1 ? params_hash(params, b, HASH_COPIED) : 0;
    }
    int rank = comm_rank(mesh->world),
        stage = comm_rank(mesh->pipeline) * comm_size(mesh->world) / comm_size(mesh->pipeline);
    return compare_hashes(t, mesh->replicas, all, n, stage + place, tensor, error) &&
           compare_hashes(t, mesh->tensor, common, n, rank - place, 1, error) &&
           compare_hashes(t, mesh->copies, copied, n, rank - rank % copies, 1, error) && compare_tied(t, error);
}

static Verdict replicas_after_step(G_GNUC_UNUSED void *own, const Trainer *t, GError **error)
{
    const int64_t every = t->config.parallel.check_every;
    const bool checks = comm_size(t->mesh.world) > 1 && every > 0 && t->state.steps % every == 0;
    return !checks || compare_replicas(t, error) ? VERDICT_GO_ON : VERDICT_ABORT;
}

const Service replicas_service = { .after_step = replicas_after_step };
