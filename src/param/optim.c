#include "param/optim.h"

#include "base/check.h"
#include "param/store.h"

#include <math.h>

/* State of one parameter; what its optimizer does not keep is NO_TENSOR. */
typedef struct State {
    Param *param;
    Tensor m, v, row, col;
} State;

typedef struct NamedTensor {
    char *name; /* "encoder.3.self.q.w/row" */
    Tensor tensor;
} NamedTensor;

struct Optimizer {
    ParamStore *store;
    OptimConfig config; /* with the optimizer's own defaults for what was -1 */
    State *states;
    GArray *named;        /* NamedTensor */
    void *memory;         /* of the states and of `scratch` */
    void *scratch;        /* one update, as large as the largest parameter; adafactor only */
    StepScalars *scalars; /* device memory */
};

/* Pushes the moments of one parameter. */
typedef void (*StateFn)(const Optimizer *opt, State *state, Arena *arena);
typedef void (*UpdateFn)(const Optimizer *opt, const State *state);

static Tensor push_like(Arena *arena, Tensor model, const char *tag)
{
    DType dtype = (DType)model.dtype;
    return model.rank == 2 ? arena_tensor(arena, dtype, model.d[0], model.d[1], tag)
                           : arena_vector(arena, dtype, model.d[0], tag);
}

static double decay_of(const Optimizer *opt, const Param *param)
{
    return param->spec.decay || opt->config.decay == DECAY_ALL ? opt->config.weight_decay : 0;
}

static void adamw_state(const Optimizer *opt, State *state, Arena *arena)
{
    (void)opt;
    state->m = push_like(arena, state->param->master, "m");
    state->v = push_like(arena, state->param->master, "v");
}

static void adamw_update(const Optimizer *opt, const State *state)
{
    const OptimConfig *config = &opt->config;
    AdamwSpec spec = { .beta1 = config->beta1,
                       .beta2 = config->beta2,
                       .eps = config->eps,
                       .weight_decay = decay_of(opt, state->param),
                       .scale_by_rms = config->name == OPTIM_ADAMW_RMS };
    op_adamw(params_device(opt->store), state->param->master, state->m, state->v, state->param->g, &spec, opt->scalars);
}

static bool is_factored(const OptimConfig *config, Tensor w)
{
    return config->factored && w.rank == 2 && MIN(w.d[0], w.d[1]) >= config->min_dim_factored;
}

static void adafactor_state(const Optimizer *opt, State *state, Arena *arena)
{
    Tensor w = state->param->master;
    if (is_factored(&opt->config, w)) {
        state->row = arena_vector(arena, (DType)w.dtype, w.d[0], "row");
        state->col = arena_vector(arena, (DType)w.dtype, w.d[1], "col");
    } else {
        state->v = push_like(arena, w, "v");
    }
    if (opt->config.beta1 > 0)
        state->m = push_like(arena, w, "m");
}

static void adafactor_update(const Optimizer *opt, const State *state)
{
    const OptimConfig *config = &opt->config;
    AdafactorSpec spec = { .eps1 = config->eps1,
                           .eps2 = config->eps2,
                           .clip_threshold = config->clip_threshold,
                           .decay_rate = config->decay_rate,
                           .beta1 = config->beta1,
                           .weight_decay = decay_of(opt, state->param),
                           .step_offset = config->step_offset,
                           .scale_parameter = config->scale_parameter,
                           .decay_by_lr = config->decay_by_lr };
    Tensor u = state->param->master;
    u.p = opt->scratch;
    op_adafactor(params_device(opt->store), state->param->master, state->row, state->col, state->v, state->m,
                 state->param->g, u, &spec, opt->scalars);
}

/* The optimizers, by OptimKind. */
static const struct {
    StateFn state;
    UpdateFn update;
    bool needs_scratch;
    double beta1, beta2, eps;
} methods[] = {
    [OPTIM_ADAMW] = { adamw_state, adamw_update, false, 0.9, 0.999, 1e-8 },
    [OPTIM_ADAFACTOR] = { adafactor_state, adafactor_update, true, 0, 0, 0 },
    [OPTIM_ADAMW_RMS] = { adamw_state, adamw_update, false, 0.9, 0.999, 1e-6 },
};

/* -1 stands for the optimizer's own; another negative number is refused. */
static bool resolve(double *value, double standard, const char *option, GError **error)
{
    if (*value == -1)
        *value = standard;
    if (*value < 0)
        return fail_user(error, "%s is %g; it must be 0 or more, or -1 for the optimizer's own default", option,
                         *value);
    return true;
}

static bool check_config(OptimConfig *config, GError **error)
{
    if (config->relative_step && config->name != OPTIM_ADAFACTOR)
        return fail_user(error, "optim.relative_step is for adafactor alone; set optim.name to adafactor or switch it "
                                "off");
    if (config->warmup_init && !config->relative_step)
        return fail_user(error, "optim.warmup_init needs optim.relative_step; a warm-up of the schedule is "
                                "optim.warmup");
    if (config->min_lr > config->lr)
        return fail_user(error, "optim.min_lr %g is above optim.lr %g", config->min_lr, config->lr);
    if (config->eps == 0)
        return fail_user(error, "optim.eps is 0, which divides by zero where a gradient was never seen; it must be "
                                "above 0");
    return resolve(&config->beta1, methods[config->name].beta1, "optim.beta1", error) &&
           resolve(&config->beta2, methods[config->name].beta2, "optim.beta2", error) &&
           resolve(&config->eps, methods[config->name].eps, "optim.eps", error);
}

static void lay_out(Optimizer *opt, Arena *arena)
{
    int64_t largest = 0;
    for (int i = 0; i < params_count(opt->store); i++) {
        State *state = &opt->states[i];
        *state = (State){ .param = params_get(opt->store, i) };
        methods[opt->config.name].state(opt, state, arena);
        largest = MAX(largest, tensor_count(state->param->master));
    }
    if (methods[opt->config.name].needs_scratch)
        opt->scratch = arena_vector(arena, params_device(opt->store)->precision.state, largest, "update").p;
}

static void name_tensor(Optimizer *opt, const State *state, Tensor tensor, const char *kind)
{
    if (!tensor_present(tensor))
        return;
    NamedTensor named = { g_strdup_printf("%s/%s", state->param->spec.name, kind), tensor };
    g_array_append_val(opt->named, named);
}

Optimizer *optimizer_open(ParamStore *store, const OptimConfig *config, GError **error)
{
    OptimConfig resolved = *config;
    if (!check_config(&resolved, error))
        return NULL;
    Device *dev = params_device(store);
    Optimizer *opt = g_new0(Optimizer, 1);
    opt->store = store;
    opt->config = resolved;
    opt->states = g_new0(State, params_count(store));
    opt->named = g_array_new(FALSE, FALSE, sizeof(NamedTensor));
    Arena arena;
    arena_init(&arena, "optimizer state", NULL, 0);
    lay_out(opt, &arena);
    size_t bytes = arena.used;
    opt->memory = device_alloc(dev, bytes);
    opt->scalars = device_alloc(dev, sizeof *opt->scalars);
    if (!opt->memory || !opt->scalars) {
        optimizer_close(opt);
        fail_machine(error, "no memory for the optimizer's state: %zu bytes", bytes);
        return NULL;
    }
    DType dtype = dev->precision.state;
    op_fill(dev, tensor_vector(opt->memory, dtype, (int64_t)(bytes / dtype_bytes(dtype))), 0);
    arena_init(&arena, "optimizer state", opt->memory, bytes);
    lay_out(opt, &arena);
    for (int i = 0; i < params_count(store); i++) {
        const State *state = &opt->states[i];
        name_tensor(opt, state, state->m, "m");
        name_tensor(opt, state, state->v, "v");
        name_tensor(opt, state, state->row, "row");
        name_tensor(opt, state, state->col, "col");
    }
    return opt;
}

void optimizer_close(Optimizer *opt)
{
    if (!opt)
        return;
    device_free(params_device(opt->store), opt->memory);
    device_free(params_device(opt->store), opt->scalars);
    for (guint i = 0; i < opt->named->len; i++)
        g_free(g_array_index(opt->named, NamedTensor, i).name);
    g_array_unref(opt->named);
    g_free(opt->states);
    g_free(opt);
}

static double relative_lr(const OptimConfig *config, double t)
{
    return fmin(config->warmup_init ? 1e-6 * t : 1e-2, 1 / sqrt(t));
}

double optimizer_step(Optimizer *opt, int64_t update, double lr, double norm)
{
    const OptimConfig *config = &opt->config;
    CHECK(update >= 1, "update %lld", (long long)update);
    if (config->relative_step)
        lr = relative_lr(config, (double)(update + config->step_offset));
    double clip = config->clip_norm > 0 ? fmin(1, config->clip_norm / (norm + 1e-6)) : 1;
    StepScalars scalars = { .lr = (float)lr, .clip = (float)clip, .update = update };
    device_upload(params_device(opt->store), opt->scalars, &scalars, sizeof scalars);
    for (int i = 0; i < params_count(opt->store); i++)
        methods[config->name].update(opt, &opt->states[i]);
    return lr;
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
    return (OptimState){ state->name, state->tensor.d[0], state->tensor.d[1] };
}

size_t optimizer_bytes(const Optimizer *opt)
{
    size_t bytes = 0;
    for (int i = 0; i < optimizer_state_count(opt); i++) {
        Tensor t = get_state(opt, i)->tensor;
        bytes += (size_t)tensor_count(t) * dtype_bytes((DType)t.dtype);
    }
    return bytes;
}

void optimizer_read(const Optimizer *opt, int index, const Box *box, DType dtype, void *host)
{
    tensor_read(params_device(opt->store), host, dtype, tensor_box(get_state(opt, index)->tensor, box));
}

void optimizer_write(Optimizer *opt, int index, const Box *box, DType dtype, const void *host)
{
    tensor_write(params_device(opt->store), tensor_box(get_state(opt, index)->tensor, box), host, dtype);
}
