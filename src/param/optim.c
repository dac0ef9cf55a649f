/* optim.c: opens an optimizer, reads and writes its states by name, and runs its steps. */
#include "base/check.h"
#include "param/optim_state.h"

/* -1 means the optimizer's own default; any other negative number is an error. */
static bool resolve(double *value, double own_default, const char *option, GError **error)
{
    if (*value == -1)
        *value = own_default;
    if (*value < 0)
        return fail_user(error, "%s is %g; it must be 0 or more, or -1 for the optimizer's own default", option,
                         *value);
    return true;
}

static bool check_config(OptimConfig *config, GError **error)
{
    if (config->relative_step && config->name != OPTIM_ADAFACTOR)
        return fail_user(error,
                         "optim.relative_step is only for adafactor; set optim.name to adafactor or switch it off");
    if (config->warmup_init && !config->relative_step)
        return fail_user(error, "optim.warmup_init needs optim.relative_step; a warm-up of the schedule is "
                                "optim.warmup");
    if (config->min_lr > config->lr)
        return fail_user(error, "optim.min_lr %g is above optim.lr %g", config->min_lr, config->lr);
    if (config->eps == 0)
        return fail_user(
            error, "optim.eps is 0, which divides by zero for a weight that never had a gradient; it must be above 0");
    const OptimizerDef *defaults = optimizers[config->name];
    return resolve(&config->beta1, defaults->beta1, "optim.beta1", error) &&
           resolve(&config->beta2, defaults->beta2, "optim.beta2", error) &&
           resolve(&config->eps, defaults->eps, "optim.eps", error);
}

void optimizer_units(const OptimConfig *config, Unit units[PARAM_KINDS])
{
    for (int kind = 0; kind < PARAM_KINDS; kind++)
        units[kind] = optimizers[config->name]->methods[kind]->unit;
}

static void list_states(Optimizer *opt)
{
    opt->states = g_new0(State, opt->store->n_params);
    opt->buckets = g_new0(OptimBucket, opt->store->n_buckets);
    for (int b = 0; b < opt->store->n_buckets; b++) {
        const Bucket *params = params_bucket(opt->store, b);
        OptimBucket *bucket = &opt->buckets[b];
        int64_t elements = 0;
        bucket->states = opt->states + opt->n_states;
        for (Param *param = params->params; param < params->params + params->n_params; param++) {
            if (param->spec.frozen)
                continue;
            Tensor w = param->own[REGION_MASTERS];
            const Method *method = optimizers[opt->config.name]->methods[param->spec.kind];
            bucket->states[bucket->n_states++] = (State){ .param = param, .method = method, .first = elements, .w = w };
            elements += tensor_count(w);
            CHECK(method->unit < UNIT_MATRIX || w.rank != 2 || w.d[0] == 0 || w.d[0] == param_rows(param),
                  "%s: %lld of %lld rows, and the optimizer needs all", param->spec.name, (long long)w.d[0],
                  (long long)param_rows(param));
        }
        opt->n_states += bucket->n_states;
    }
}

static void lay_out_states(Optimizer *opt, Arena *arena)
{
    for (int i = 0; i < opt->n_states; i++)
        optim_lay_out_state(opt, &opt->states[i], arena);
}

static int64_t count_sums(const State *state, SumsKind kind)
{
    return state->method->sums ? state->method->sums(state, kind) : 0;
}

/* Buckets are updated in turn, so they share the memory of their sums. */
static void lay_out_sums(Optimizer *opt, Arena *arena)
{
    for (int b = 0; b < opt->store->n_buckets; b++) {
        OptimBucket *bucket = &opt->buckets[b];
        arena_reset(arena, 0);
        for (int kind = 0; kind < SUMS_KINDS; kind++) {
            int64_t n = 0, first = 0;
            for (int i = 0; i < bucket->n_states; i++)
                n += count_sums(&bucket->states[i], (SumsKind)kind);
            bucket->sums[kind] = n > 0 ? arena_vector(arena, DT_F64, n, "sums") : NO_TENSOR;
            for (int i = 0; n > 0 && i < bucket->n_states; i++) {
                State *state = &bucket->states[i];
                n = count_sums(state, (SumsKind)kind);
                state->sums[kind] = tensor_slice_rows(bucket->sums[kind], first, n);
                first += n;
            }
        }
    }
}

static void lay_out_scratch(Optimizer *opt, Arena *arena)
{
    for (const State *state = opt->states; state < opt->states + opt->n_states; state++) {
        arena_reset(arena, 0);
        if (state->method->scratch)
            state->method->scratch(opt, state, arena);
    }
}

typedef void (*LayOutFn)(Optimizer *opt, Arena *arena);

/* Computes the size of the states, allocates their memory and sets their tensors. Returns NULL if out of memory. */
static void *lay_out_with(Optimizer *opt, LayOutFn fn, size_t *bytes)
{
    Arena arena;
    arena_init(&arena, "optimizer state", NULL, 0);
    fn(opt, &arena);
    *bytes = arena.peak;
    void *memory = device_alloc(opt->store->dev, *bytes);
    arena_init(&arena, "optimizer state", memory, *bytes);
    if (memory)
        fn(opt, &arena);
    return memory;
}

/* Returns false if out of memory. */
static bool open_states(Optimizer *opt)
{
    Device *dev = opt->store->dev;
    DType dtype = dev->precision.state;
    size_t bytes;
    if (dev->precision.offload)
        return offload_open(opt);
    opt->memory = lay_out_with(opt, lay_out_states, &bytes);
    if (opt->memory)
        op_fill(dev, tensor_vector(opt->memory, dtype, (int64_t)(bytes / dtype_bytes(dtype))), 0);
    return opt->memory != NULL;
}

/* ---- the names of states, and the part of each that a rank saves ---- */

/* Adds a state of a parameter. Every rank has the numbers of all its columns; the rank with the first row saves them.
 * Of what several tensor-parallel ranks have, the first one saves it. */
static void name_state(Optimizer *opt, const OptimBucket *bucket, const State *state, const StateDef *def,
                       Tensor tensor)
{
    const Param *param = state->param;
    const Box here = param->here;
    const ParamSpec *spec = &param->spec;
    bool whole = opt->store->shards.level == ZERO_NONE, matrix = tensor.rank == 2, by_rows = def->shape != STATE_COLS;
    NamedTensor named = { .name = g_strdup_printf("%s/%s", spec->name, def->name),
                          .tensor = opt->host ? offload_host(bucket, tensor) : tensor,
                          .rows = by_rows ? spec->rows : spec->cols,
                          .cols = matrix ? spec->cols : 0,
                          .held = { { here.start[0] + (whole ? 0 : param->first), matrix ? here.start[1] : 0 },
                                    { tensor.d[0], matrix ? tensor.d[1] : 1 } } };
    if (!by_rows)
        named.held.start[0] = here.start[1];
    named.part = named.held;
    if (by_rows) {
        named.part.start[0] = here.start[0] + param->first;
        named.part.shape[0] = param->rows;
    } else if (param->first > 0 || param->rows == 0) {
        named.part.shape[0] = 0;
    }
    bool divided = matrix ? param_is_split(param) : by_rows ? split_by_rows(spec->split) : spec->split == SPLIT_COLS;
    if (!param_counts(opt->store, param) || (!divided && tensor_parallel_rank(&opt->store->shards.tp) > 0))
        named.part.shape[0] = 0;
    g_array_append_val(opt->named, named);
}

static void name_states(Optimizer *opt)
{
    for (const OptimBucket *bucket = opt->buckets; bucket < opt->buckets + opt->store->n_buckets; bucket++)
        for (const State *state = bucket->states; state < bucket->states + bucket->n_states; state++)
            for (int i = 0; i < MAX_STATES; i++)
                if (tensor_present(state->kept[i]))
                    name_state(opt, bucket, state, &state->method->states[i], state->kept[i]);
}

/* ---- opening ---- */

static void add_up(void *store, Tensor sums)
{
    params_sum(store, sums);
}

/* Sums over a tensor are added part by part in the order of the ranks, so that they are the same without sharding. */
static void share_sums(Optimizer *opt)
{
    const Sharding shards = opt->store->shards;
    if (shards.level > ZERO_NONE)
        optimizer_on_sums(opt, add_up, opt->store);
    for (int b = 0; shards.size > 1 && shards.level == ZERO_NONE && b < opt->store->n_buckets; b++) {
        const Bucket *bucket = params_bucket(opt->store, b);
        g_autofree Range *ranges = g_new(Range, shards.size);
        for (int r = 0; r < shards.size; r++)
            ranges[r] = (Range){ layout_part_start(bucket, r), layout_part_start(bucket, r + 1) };
        if (tensor_present(opt->buckets[b].sums[SUMS_MOMENTS]))
            optimizer_set_ranges(opt, b, ranges, shards.size);
    }
}

Optimizer *optimizer_open(ParamStore *store, const OptimConfig *config, GError **error)
{
    OptimConfig resolved = *config;
    if (!check_config(&resolved, error))
        return NULL;
    Device *dev = store->dev;
    Optimizer *opt = g_new0(Optimizer, 1);
    size_t sums_bytes;
    opt->store = store;
    opt->config = resolved;
    opt->named = g_array_new(FALSE, FALSE, sizeof(NamedTensor));
    list_states(opt);
    bool opened = open_states(opt);
    opt->sums = lay_out_with(opt, lay_out_sums, &sums_bytes);
    opt->scratch = lay_out_with(opt, lay_out_scratch, &opt->scratch_bytes);
    opt->scalars = device_alloc(dev, sizeof *opt->scalars);
    name_states(opt);
    share_sums(opt);
    if (!opened || !opt->sums || !opt->scratch || !opt->scalars) {
        fail_machine(error, "no memory for the optimizer's state: %zu bytes%s",
                     optimizer_bytes(opt) + sums_bytes + opt->scratch_bytes,
                     dev->precision.offload ? " on the host, and two buckets of it on the device" : "");
        optimizer_close(opt);
        return NULL;
    }
    return opt;
}

void optimizer_set_weight_decay(Optimizer *opt, double weight_decay)
{
    opt->config.weight_decay = weight_decay;
}

void optimizer_rest(Optimizer *opt, int bucket, bool rests)
{
    opt->buckets[bucket].rests = rests;
}

void optimizer_close(Optimizer *opt)
{
    if (!opt)
        return;
    if (opt->store->dev->precision.offload)
        offload_close(opt);
    device_free(opt->store->dev, opt->memory);
    device_free(opt->store->dev, opt->sums);
    device_free(opt->store->dev, opt->scratch);
    device_free(opt->store->dev, opt->scalars);
    for (int b = 0; b < opt->store->n_buckets; b++)
        g_clear_pointer(&opt->buckets[b].ranges, g_array_unref);
    for (guint i = 0; i < opt->named->len; i++)
        g_free(g_array_index(opt->named, NamedTensor, i).name);
    g_array_unref(opt->named);
    g_free(opt->buckets);
    g_free(opt->states);
    g_free(opt);
}

static double relative_lr(const OptimConfig *config, double t)
{
    return fmin(config->warmup_init ? 1e-6 * t : 1e-2, 1 / sqrt(t));
}

double optimizer_step(Optimizer *opt, int64_t update, double lr, double norm, double loss_scale)
{
    const OptimConfig *config = &opt->config;
    CHECK(update >= 1, "update %lld", (long long)update);
    if (config->relative_step)
        lr = relative_lr(config, (double)(update + config->step_offset));
    double clip = config->clip_norm > 0 ? fmin(1, config->clip_norm / (norm + 1e-6)) : 1;
    opt->now = (StepScalars){ .lr = (float)lr,
                              .clip = (float)(clip / loss_scale),
                              .beta1_t = pow(config->beta1, (double)update),
                              .beta2_t = pow(config->beta2, (double)update),
                              .new_part = pow((double)(update + config->step_offset), -config->decay_rate) };
    device_upload(opt->store->dev, opt->scalars, &opt->now, sizeof opt->now);
    if (opt->host)
        offload_update(opt);
    for (int b = 0; !opt->host && b < opt->store->n_buckets; b++)
        optimizer_update_bucket(opt, &opt->buckets[b]);
    return lr;
}

void optimizer_set_ranges(Optimizer *opt, int bucket, const Range *ranges, int n)
{
    params_bucket(opt->store, bucket);
    g_clear_pointer(&opt->buckets[bucket].ranges, g_array_unref);
    opt->buckets[bucket].ranges = g_array_new(FALSE, FALSE, sizeof(Range));
    g_array_append_vals(opt->buckets[bucket].ranges, ranges, (guint)n);
}

void optimizer_on_sums(Optimizer *opt, SumsFn reduce, void *context)
{
    opt->reduce = reduce;
    opt->reduce_context = context;
}

int optimizer_state_count(const Optimizer *opt)
{
    return (int)opt->named->len;
}

static const NamedTensor *get_state(const Optimizer *opt, int index)
{
    CHECK(index >= 0 && index < optimizer_state_count(opt), "state %d of %d", index, optimizer_state_count(opt));
    return &g_array_index(opt->named, NamedTensor, index);
}

OptimState optimizer_state(const Optimizer *opt, int index)
{
    const NamedTensor *state = get_state(opt, index);
    return (OptimState){ state->name, state->rows, state->cols };
}

Box optimizer_part(const Optimizer *opt, int index)
{
    return get_state(opt, index)->part;
}

size_t optimizer_bytes(const Optimizer *opt)
{
    size_t bytes = 0;
    for (int i = 0; i < optimizer_state_count(opt); i++) {
        Tensor t = get_state(opt, i)->tensor;
        bytes += (size_t)tensor_count(t) * dtype_bytes(t.dtype);
    }
    return bytes;
}

size_t optimizer_device_bytes(const Optimizer *opt)
{
    return opt->scratch_bytes + (opt->host ? opt->stage_bytes : optimizer_bytes(opt));
}

Box optimizer_held(const Optimizer *opt, int index)
{
    return get_state(opt, index)->held;
}

/* A box of the whole state; NULL means all of it. */
static Box whole_box(const NamedTensor *state, const Box *box)
{
    return box ? *box : (Box){ { 0, 0 }, { state->rows, MAX(state->cols, 1) } };
}

void optimizer_read(const Optimizer *opt, int index, const Box *box, DType dtype, void *host)
{
    const NamedTensor *state = get_state(opt, index);
    const Box wanted = whole_box(state, box), here = box_in_here(&state->held, wanted);
    CHECK(here.shape[0] == wanted.shape[0] && (here.shape[0] == 0 || here.shape[1] == wanted.shape[1]),
          "%s: elements that another rank has", state->name);
    if (here.shape[0] > 0)
        params_read_tensor(opt->store, opt->host != NULL, tensor_box(state->tensor, &here), dtype, host);
}

void optimizer_write(Optimizer *opt, int index, const Box *box, DType dtype, const void *host)
{
    const NamedTensor *state = get_state(opt, index);
    const Box given = whole_box(state, box), here = box_in_here(&state->held, given);
    g_autofree void *owned = NULL;
    const void *from = box_values(&given, &state->held, here, dtype, host, &owned);
    if (here.shape[0] > 0 && here.shape[1] > 0)
        params_write_tensor(opt->store, opt->host != NULL, tensor_box(state->tensor, &here), dtype, from);
}
