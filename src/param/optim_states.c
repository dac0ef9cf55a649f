/* optim_states.c: the names of the states of parameters, and the part of each that a rank saves. */
#include "param/optim_state.h"

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

void optim_name_states(Optimizer *opt)
{
    for (const OptimBucket *bucket = opt->buckets; bucket < opt->buckets + opt->store->n_buckets; bucket++)
        for (const State *state = bucket->states; state < bucket->states + bucket->n_states; state++)
            for (int i = 0; i < MAX_STATES; i++)
                if (tensor_present(state->kept[i]))
                    name_state(opt, bucket, state, &state->method->states[i], state->kept[i]);
}
