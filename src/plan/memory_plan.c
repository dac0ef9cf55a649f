/* memory_plan.c: the memory and the work of a rank, found by steps on the null device. */
#include "plan/memory.h"

#include "device/cuda/cuda.h"
#include "model/memory/memory.h"
#include "run/compute_device.h"

/* Samples of the largest microbatch. */
static int32_t micro_of(const Config *config)
{
    return (int32_t)MIN(config_micro_samples(config), config_rank_samples(config));
}

/* Microbatches of a step of this rank. */
static int64_t micro_batches(const Config *config)
{
    return (config_rank_samples(config) + micro_of(config) - 1) / micro_of(config);
}

/* ---- the model of a rank, on the null device ---- */

/* A rank of a configuration. dry: the copy of its model that measures activations, NULL until it is needed; opened:
 * bytes that were allocated to open it. */
typedef struct Rank {
    Device *null;
    Model *model, *dry;
    Optimizer *optimizer;
    size_t opened;
} Rank;

static void rank_clear(Rank *rank)
{
    if (rank->dry)
        model_close_dry(rank->dry, NULL);
    g_clear_pointer(&rank->optimizer, optimizer_close);
    g_clear_pointer(&rank->model, model_close);
    g_clear_pointer(&rank->null, device_close);
}

static bool rank_open(Rank *rank, const Config *config, GError **error)
{
    *rank = (Rank){ .null = device_open_null_of(config_precision(config)) };
    rank->model = config_open_model(config, rank->null, error);
    rank->optimizer = rank->model ? optimizer_open(model_params(rank->model), &config->optim, error) : NULL;
    rank->opened = null_memory(rank->null);
    if (rank->optimizer == NULL)
        rank_clear(rank);
    return rank->optimizer != NULL;
}

static size_t box_bytes(Box box)
{
    return (size_t)(box.shape[0] * box.shape[1]) * sizeof(float);
}

/* Bytes that this rank writes into a checkpoint. */
static size_t saved_bytes(const ParamStore *params, const Optimizer *optimizer)
{
    size_t bytes = 0;
    for (int i = 0; i < params_count(params); i++)
        bytes += box_bytes(params_part(params, i));
    for (int i = 0; i < optimizer_state_count(optimizer); i++)
        bytes += box_bytes(optimizer_part(optimizer, i));
    return bytes;
}

/* ---- activations ---- */

/* What the largest microbatch needs. It does not depend on the ZeRO level. */
typedef struct Activations {
    size_t bytes;
    size_t device;  /* bytes that are allocated for them, each allocation rounded up */
    size_t scratch; /* bytes of a GPU that operations work in */
} Activations;

static bool measure_activations(Activations *measured, Rank *rank, const Config *config, int32_t input_length,
                                int32_t target_length, GError **error)
{
    const ModelLoss loss = config_loss(config);
    const size_t before = null_memory(rank->null);
    rank->null->gpu.scratch = 0;
    rank->dry = rank->dry ? rank->dry : model_open_dry(rank->model, true);
    config_set_slots(config, rank->model);
    if (!model_reserve_by(rank->dry, rank->model, micro_of(config), input_length, target_length, &loss,
                          &measured->bytes, error))
        return false;
    measured->device = null_memory(rank->null) - before;
    measured->scratch = rank->null->gpu.scratch;
    return true;
}

/* ---- work ---- */

/* Counts of a step of one microbatch, and of one of two: each further microbatch has the launches, and sends the bytes,
 * by which the second step has more than the first. */
typedef struct Work {
    double flops, fp8_flops; /* of one microbatch */
    double update_flops;     /* of the end of a step */
    int64_t launches[2];
    SentBytes sent[2];
    size_t scratch; /* bytes of a GPU that operations work in */
} Work;

/* The end of a step. */
static void update(const Rank *rank)
{
    grads_norm(model_params(rank->model));
    optimizer_step(rank->optimizer, 1, 1, 1, 1);
}

/* Counts a step of n microbatches, 1 or 2. */
static void count_step(Work *work, const Rank *rank, const Config *config, const Batch *batch, int n)
{
    const ModelLoss loss = config_loss(config);
    const SentBytes before = model_sent(rank->model);
    rank->null->counts = (DeviceCounts){ 0 };
    grads_begin(model_params(rank->model), n);
    for (int i = 0; i < n; i++)
        model_pass(rank->model, batch, &loss);
    pipeline_sum_tied(rank->model);
    const double passes = rank->null->counts.flops;
    update(rank);
    work->update_flops = rank->null->counts.flops - passes;
    work->launches[n - 1] = rank->null->counts.launches;
    work->sent[n - 1] = model_sent(rank->model);
    for (int kind = 0; kind < SENT_KINDS; kind++)
        work->sent[n - 1].bytes[kind] -= before.bytes[kind];
}

static Work count_work(const Rank *rank, const Config *config, const Batch *batch)
{
    Work work = { 0 };
    rank->null->gpu.scratch = 0;
    count_step(&work, rank, config, batch, 1);
    work.flops = rank->null->counts.flops - work.update_flops;
    work.fp8_flops = rank->null->counts.fp8_flops;
    count_step(&work, rank, config, batch, 2);
    work.scratch = rank->null->gpu.scratch;
    return work;
}

/* Only the update, for the scratch memory that it needs on a GPU: a single rank sends nothing. */
static Work count_update(const Rank *rank)
{
    rank->null->gpu.scratch = 0;
    grads_begin(model_params(rank->model), 0);
    update(rank);
    return (Work){ .scratch = rank->null->gpu.scratch };
}

/* The work of a rank at a ZeRO level. What ZeRO adds to the launches and to the bytes sent does not depend on the
 * samples of a microbatch, so it is the difference between two counts of microbatches of one sample.
 * without: the work without ZeRO; one, one_without: of one sample, at this level and without ZeRO. */
static Work work_with_zero(const Work *without, const Work *one, const Work *one_without)
{
    Work work = *without;
    work.scratch = one->scratch;
    work.update_flops = one->update_flops;
    for (int i = 0; i < 2; i++) {
        work.launches[i] += one->launches[i] - one_without->launches[i];
        for (int kind = 0; kind < SENT_KINDS; kind++)
            work.sent[i].bytes[kind] += one->sent[i].bytes[kind] - one_without->sent[i].bytes[kind];
    }
    return work;
}

/* ---- plans ---- */

/* Bytes of host memory for the microbatches of a step. */
static size_t batch_bytes(const Config *config, int32_t input_length, int32_t target_length)
{
    size_t rows = (size_t)config_rank_samples(config) * (size_t)(input_length + target_length);
    return rows * (5 * sizeof(int32_t) + sizeof(int64_t) + sizeof(float));
}

static void set_memory(MemoryPlan *plan, const Rank *rank, const Config *config, const Activations *activations,
                       size_t scratch)
{
    const ParamBytes bytes = params_bytes(model_params(rank->model));
    const bool offload = rank->null->precision.offload;
    plan->weights = bytes.weights + (offload ? 0 : bytes.masters);
    plan->gradients = bytes.gradients;
    plan->updated = bytes.updated;
    plan->optimizer = optimizer_device_bytes(rank->optimizer);
    plan->host = offload ? bytes.masters + optimizer_bytes(rank->optimizer) : 0;
    plan->stages = model_stages(rank->model);
    plan->saved = saved_bytes(model_params(rank->model), rank->optimizer);
    plan->saving = config->train.save_async ? plan->saved : 0;
    plan->activations = activations->bytes;
    if (compute_device_is_gpu(config->train.device))
        plan->scratch = (MAX(activations->scratch, scratch) + CUDA_ALIGN - 1) / CUDA_ALIGN * CUDA_ALIGN;
    plan->device = rank->opened + activations->device + plan->scratch;
}

static void set_work(MemoryPlan *plan, const Config *config, const Work *work)
{
    const int64_t more = micro_batches(config) - 1;
    plan->micro_batches = more + 1;
    plan->flops = work->flops;
    plan->fp8_flops = work->fp8_flops;
    plan->update_flops = work->update_flops;
    plan->launches = work->launches[0] + more * (work->launches[1] - work->launches[0]);
    for (int kind = 0; kind < SENT_KINDS; kind++)
        plan->sent_kinds.bytes[kind] =
            work->sent[0].bytes[kind] + more * (work->sent[1].bytes[kind] - work->sent[0].bytes[kind]);
    plan->sent = sent_total(plan->sent_kinds);
}

static void set_plan(MemoryPlan *plan, const Rank *rank, const Config *config, int32_t input_length,
                     int32_t target_length, const Activations *activations, const Work *work)
{
    const Mesh *mesh = config->parallel.mesh;
    *plan = (MemoryPlan){ .batches = batch_bytes(config, input_length, target_length),
                          .ranks = mesh && comm_of_threads(mesh->world) ? comm_size(mesh->world) : 1 };
    set_memory(plan, rank, config, activations, work->scratch);
    set_work(plan, config, work);
}

bool memory_plan_rank(const Config *config, int32_t input_length, int32_t target_length, MemoryPlan *plan,
                      GError **error)
{
    Rank rank;
    Activations activations;
    if (!rank_open(&rank, config, error))
        return false;
    const bool ok = measure_activations(&activations, &rank, config, input_length, target_length, error);
    if (ok) {
        g_autoptr(Batch) batch = model_full_batch(micro_of(config), input_length, target_length);
        const Work work = config_ranks(config) == 1 ? count_update(&rank) : count_work(&rank, config, batch);
        set_plan(plan, &rank, config, input_length, target_length, &activations, &work);
    }
    rank_clear(&rank);
    return ok;
}

/* Number of trained (not frozen) parameters of the model, counted by opening it on the null device as one rank. */
static bool count_trained(const Config *config, int64_t *n, GError **error)
{
    Config one = *config; /* shallow copy */
    char no_cuts[] = "";
    one.parallel = (ParallelConfig){ .tensor = 1, .context = 1, .pipeline = 1, .interleave = 1, .cuts = no_cuts };
    g_autoptr(Device) null = device_open_null_of(config_precision(config));
    g_autoptr(Model) model = config_open_model(&one, null, error);
    *n = 0;
    for (int i = 0; model && i < params_count(model_params(model)); i++) {
        const ParamSpec *spec = params_spec(model_params(model), i);
        *n += spec->frozen ? 0 : spec->rows * MAX(spec->cols, 1);
    }
    return model != NULL;
}

bool memory_plan(const Config *config, int32_t input_length, int32_t target_length, MemoryPlan *plan, GError **error)
{
    return memory_plan_rank(config, input_length, target_length, plan, error) &&
           count_trained(config, &plan->trained, error);
}

/* ---- many plans of one rank ---- */

/* A microbatch, with or without recomputation. */
typedef struct Micro {
    int32_t samples;
    int recompute;
    Activations activations;
    Work work; /* without ZeRO */
} Micro;

/* A rank at one ZeRO level. */
typedef struct Level {
    Rank rank;
    bool opened, counted[RECOMPUTE_BLOCK + 1];
    Work one[RECOMPUTE_BLOCK + 1]; /* work of a microbatch of one sample, without and with recomputation */
} Level;

struct MemoryPlanner {
    int32_t input_length, target_length;
    Level levels[ZERO_WEIGHTS + 1];
    GArray *micros;      /* of Micro, those measured so far */
    GHashTable *batches; /* full batches by their samples */
};

MemoryPlanner *memory_planner_new(int32_t input_length, int32_t target_length)
{
    MemoryPlanner *planner = g_new0(MemoryPlanner, 1);
    planner->input_length = input_length;
    planner->target_length = target_length;
    planner->micros = g_array_new(false, false, sizeof(Micro));
    planner->batches = g_hash_table_new_full(NULL, NULL, NULL, (GDestroyNotify)batch_free);
    return planner;
}

void memory_planner_free(MemoryPlanner *planner)
{
    for (int zero = ZERO_NONE; zero <= ZERO_WEIGHTS; zero++)
        if (planner->levels[zero].opened)
            rank_clear(&planner->levels[zero].rank);
    g_array_free(planner->micros, true);
    g_hash_table_unref(planner->batches);
    g_free(planner);
}

static const Batch *batch_of(MemoryPlanner *planner, int32_t samples)
{
    Batch *batch = g_hash_table_lookup(planner->batches, GINT_TO_POINTER(samples));
    if (batch == NULL) {
        batch = model_full_batch(samples, planner->input_length, planner->target_length);
        g_hash_table_insert(planner->batches, GINT_TO_POINTER(samples), batch);
    }
    return batch;
}

/* The rank at a ZeRO level; NULL with an error if it cannot be opened. */
static Level *level_of(MemoryPlanner *planner, const Config *config, int zero, GError **error)
{
    Level *level = &planner->levels[zero];
    Config at = *config; /* shallow copy */
    at.parallel.zero = zero;
    level->opened = level->opened || rank_open(&level->rank, &at, error);
    return level->opened ? level : NULL;
}

/* The configured microbatch, measured on the rank without ZeRO. False if it is too long for the model. */
static bool measure_micro(MemoryPlanner *planner, Rank *without, const Config *config, Micro *measured, GError **error)
{
    Micro new = { .samples = micro_of(config), .recompute = config->train.recompute };
    for (guint i = 0; i < planner->micros->len; i++) {
        *measured = g_array_index(planner->micros, Micro, i);
        if (measured->samples == new.samples && measured->recompute == new.recompute)
            return true;
    }
    if (!measure_activations(&new.activations, without, config, planner->input_length, planner->target_length, error))
        return false;
    new.work = count_work(without, config, batch_of(planner, new.samples));
    g_array_append_val(planner->micros, new);
    *measured = new;
    return true;
}

/* The work of a microbatch at a ZeRO level above ZERO_NONE. */
static bool add_zero(MemoryPlanner *planner, Rank *without, Level *level, const Config *config, Work *work,
                     GError **error)
{
    const int recompute = config->train.recompute;
    Micro one_without;
    Config one = *config; /* shallow copy */
    one.train.micro_batch = (Amount){ .value = 1, .unit = UNIT_SAMPLES };
    if (!measure_micro(planner, without, &one, &one_without, error))
        return false;
    if (!level->counted[recompute])
        level->one[recompute] = count_work(&level->rank, &one, batch_of(planner, 1));
    level->counted[recompute] = true;
    *work = work_with_zero(work, &level->one[recompute], &one_without.work);
    return true;
}

bool memory_planner_plan(MemoryPlanner *planner, const Config *config, MemoryPlan *plan, GError **error)
{
    Micro micro;
    Level *without = level_of(planner, config, ZERO_NONE, error),
          *level = without ? level_of(planner, config, config->parallel.zero, error) : NULL;
    if (level == NULL || !measure_micro(planner, &without->rank, config, &micro, error) ||
        (level != without && !add_zero(planner, &without->rank, level, config, &micro.work, error)))
        return false;
    set_plan(plan, &level->rank, config, planner->input_length, planner->target_length, &micro.activations,
             &micro.work);
    return true;
}
