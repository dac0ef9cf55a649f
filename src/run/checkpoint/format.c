#include "run/checkpoint/format.h"

#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

#define ROW(field) offsetof(TrainState, field)
const StateField state_fields[] = {
    { "attempts", ROW(steps), STATE_COUNT, true, 0 },
    { "updates", ROW(updates), STATE_COUNT, true, 0 },
    { "samples", ROW(samples), STATE_COUNT, true, 0 },
    { "tokens", ROW(tokens), STATE_COUNT, true, 0 },
    { "target_tokens", ROW(target_tokens), STATE_COUNT, false, 0 },
    { "window_steps", ROW(window_steps), STATE_COUNT, false, 0 },
    { "window_skipped", ROW(window_skipped), STATE_COUNT, false, 0 },
    { "window_nan", ROW(window_nan), STATE_COUNT, false, 0 },
    { "window_updates", ROW(window_updates.updates), STATE_COUNT, false, 0 },
    { "window_update_tokens", ROW(window_updates.tokens), STATE_COUNT, false, 0 },
    { "window_update_samples", ROW(window_updates.samples), STATE_COUNT, false, 0 },
    { "window_clipped", ROW(window_updates.clipped), STATE_COUNT, false, 0 },
    { "window_norms", ROW(window_updates.norms), STATE_REAL, false, 0 },
    { "window_loss", ROW(window.head[HEAD_TOKENS].loss), STATE_REAL, false, 0 },
    { "window_nll", ROW(window.head[HEAD_TOKENS].nll), STATE_REAL, false, 0 },
    { "window_correct", ROW(window.head[HEAD_TOKENS].correct), STATE_REAL, false, 0 },
    { "window_weight", ROW(window.head[HEAD_TOKENS].weight), STATE_REAL, false, 0 },
    /* The labels of sentence pairs have no label smoothing, so their nll equals their loss. */
    { "window_label_nll", ROW(window.head[HEAD_LABELS].loss), STATE_REAL, false, 0 },
    { "window_label_correct", ROW(window.head[HEAD_LABELS].correct), STATE_REAL, false, 0 },
    { "window_label_weight", ROW(window.head[HEAD_LABELS].weight), STATE_REAL, false, 0 },
    { "window_class_nll", ROW(window.head[HEAD_CLASSES].loss), STATE_REAL, false, 0 },
    { "window_class_plain_nll", ROW(window.head[HEAD_CLASSES].nll), STATE_REAL, false, 0 },
    { "window_class_correct", ROW(window.head[HEAD_CLASSES].correct), STATE_REAL, false, 0 },
    { "window_class_weight", ROW(window.head[HEAD_CLASSES].weight), STATE_REAL, false, 0 },
    { "window_class_rows", ROW(window.head[HEAD_CLASSES].rows), STATE_REAL, false, 0 },
    { "window_value_loss", ROW(window.head[HEAD_VALUE].loss), STATE_REAL, false, 0 },
    { "window_value_weight", ROW(window.head[HEAD_VALUE].weight), STATE_REAL, false, 0 },
    { "best_loss", ROW(best_value), STATE_REAL, false, 0 },
    { "best_step", ROW(best_step), STATE_COUNT, false, -1 },
    { "best_data", ROW(best_data), STATE_HASH, false, 0 },
    { "stale", ROW(stale), STATE_COUNT, false, 0 },
    { "plateau", ROW(plateau), STATE_COUNT, false, 0 },
    { "update_samples", ROW(update_samples), STATE_COUNT, false, -1 },
    { "skipped", ROW(skipped), STATE_COUNT, false, 0 },
    { "skipped_samples", ROW(skipped_samples), STATE_COUNT, false, 0 },
    { "spike_step", ROW(spike_step), STATE_COUNT, false, 0 },
    { "trained_s", ROW(trained_s), STATE_REAL, false, 0 },
    { "drops", ROW(drops), STATE_COUNT, false, 0 },
    { "evaluated", ROW(evaluated), STATE_COUNT, false, -1 },
    { "evaluation_left", ROW(evaluation_left), STATE_COUNT, false, 0 },
    { "tokens_by_capacity", ROW(tokens_by_capacity), STATE_COUNT, false, 1 },
    { "data", ROW(data), STATE_HASH, true, 0 },
    { "run", ROW(run), STATE_HASH, false, 0 },
    { "init", ROW(init), STATE_HASH, false, 0 },
    { "lr", ROW(lr), STATE_REAL, false, -1 },
    { "loss_scale", ROW(loss_scale.scale), STATE_REAL, false, 0 },
    { "loss_scale_steps", ROW(loss_scale.steps), STATE_COUNT, false, 0 },
    { "loss_scale_last_overflow", ROW(loss_scale.last_overflow), STATE_COUNT, false, -1 },
    { "loss_scale_last_change", ROW(loss_scale.last_change), STATE_COUNT, false, -1 },
    { "loss_scale_overflows", ROW(loss_scale.overflows), STATE_COUNT, false, 0 },
    { "loss_scale_hysteresis", ROW(loss_scale.hysteresis), STATE_COUNT, false, 0 },
    { NULL, 0, STATE_COUNT, false, 0 },
};
#undef ROW

#define RECENT "spike_recent" /* an array: TrainState.spike_recent */

static bool read_recent(const json_t *list, TrainState *state, GError **error)
{
    const size_t n = json_array_size(list);
    bool numbers = (list == NULL || json_is_array(list)) && n <= CHECKPOINT_RECENT_LOSSES;
    for (size_t i = 0; numbers && i < n; i++) {
        const json_t *loss = json_array_get(list, i);
        numbers = json_is_number(loss);
        state->spike_recent[i] = json_number_value(loss);
    }
    state->spike_losses = numbers ? (int64_t)n : 0;
    return numbers || fail_user(error, RECENT " is not a list of up to %d numbers", CHECKPOINT_RECENT_LOSSES);
}

json_t *state_to_json(const TrainState *state)
{
    json_t *recent = json_array();
    json_t *object = json_object();
    for (const StateField *field = state_fields; field->name; field++)
        json_object_set_new(object, field->name,
                            field->type == STATE_REAL ? json_real(G_STRUCT_MEMBER(double, state, field->offset))
                                                      : json_integer(G_STRUCT_MEMBER(int64_t, state, field->offset)));
    for (int64_t i = 0; i < state->spike_losses; i++)
        json_array_append_new(recent, json_real(state->spike_recent[i]));
    json_object_set_new(object, RECENT, recent);
    return object;
}

/* Whether a count is 0 or more, or equal to field->absent, which may be -1 for "none". */
static bool in_range(const StateField *field, int64_t value)
{
    return field->type != STATE_COUNT || value >= 0 || value == (int64_t)field->absent;
}

bool state_from_json(const json_t *object, TrainState *state, GError **error)
{
    *state = (TrainState){ 0 };
    for (const StateField *field = state_fields; field->name; field++) {
        const json_t *value = json_object_get(object, field->name);
        bool real = field->type == STATE_REAL;
        if (value == NULL && field->required)
            return fail_user(error, "no %s in it: it holds only a model, so training cannot continue from it",
                             field->name);
        if (value &&
            (real ? !json_is_number(value) : !json_is_integer(value) || !in_range(field, json_integer_value(value))))
            return fail_user(error, "%s is not %s", field->name, real ? "a number" : "a whole number in its range");
        if (real)
            G_STRUCT_MEMBER(double, state, field->offset) = value ? json_number_value(value) : field->absent;
        else
            G_STRUCT_MEMBER(int64_t, state, field->offset) = value ? json_integer_value(value) : (int64_t)field->absent;
    }
    return read_recent(json_object_get(object, RECENT), state, error);
}

void checkpoint_hex(uint64_t hash, char hex[17])
{
    snprintf(hex, 17, "%016" PRIx64, hash);
}

static void checksum(json_t *root, char hex[17])
{
    g_autofree char *text = json_dumps(root, JSON_COMPACT | JSON_SORT_KEYS);
    checkpoint_hex(XXH3_64bits(text, strlen(text)), hex);
}

void checkpoint_seal(json_t *root)
{
    char hex[17];
    json_object_del(root, "xxh3");
    checksum(root, hex);
    json_object_set_new(root, "xxh3", json_string(hex));
}

bool checkpoint_unseal(json_t *root)
{
    char hex[17];
    g_autofree char *wanted = g_strdup(json_string_value(json_object_get(root, "xxh3")));
    json_object_del(root, "xxh3");
    checksum(root, hex);
    return g_strcmp0(wanted, hex) == 0;
}

/* ---- tensors ---- */

static void stored_clear(void *item)
{
    g_free(((StoredTensor *)item)->name);
    g_free(((StoredTensor *)item)->values);
}

GArray *stored_tensors(ParamStore *params, Optimizer *optimizer, Fp8Scales *fp8, int rank)
{
    GArray *tensors = g_array_new(false, false, sizeof(StoredTensor));
    g_array_set_clear_func(tensors, stored_clear);
    for (int i = 0; params && i < params_count(params); i++) {
        const ParamSpec *spec = params_spec(params, i);
        const StoredTensor stored = { .params = params,
                                      .index = i,
                                      .name = g_strdup(spec->name),
                                      .rows = spec->rows,
                                      .cols = spec->cols,
                                      .part = params_part(params, i),
                                      .held = params_held(params, i) };
        g_array_append_val(tensors, stored);
    }
    for (int i = 0; optimizer && i < optimizer_state_count(optimizer); i++) {
        OptimState state = optimizer_state(optimizer, i);
        const StoredTensor stored = { .optimizer = optimizer,
                                      .index = i,
                                      .name = g_strdup(state.name),
                                      .rows = state.rows,
                                      .cols = state.cols,
                                      .part = optimizer_part(optimizer, i),
                                      .held = optimizer_held(optimizer, i) };
        g_array_append_val(tensors, stored);
    }
    for (int i = 0; fp8 && i < fp8_state_count(fp8); i++) {
        int64_t shape[2];
        fp8_state_shape(fp8, i, shape);
        const Box all = { { 0, 0 }, { shape[0], MAX(shape[1], 1) } };
        StoredTensor stored = { .fp8 = fp8,
                                .index = i,
                                .name = g_strdup(fp8_state_name(i)),
                                .rows = shape[0],
                                .cols = shape[1],
                                .part = all,
                                .held = all };
        stored.part.shape[0] = rank == 0 ? shape[0] : 0;
        g_array_append_val(tensors, stored);
    }
    return tensors;
}

int64_t stored_count(const StoredTensor *stored)
{
    return stored->rows * MAX(stored->cols, 1);
}

void stored_read(const StoredTensor *stored, int64_t first, int64_t n, float *out)
{
    int64_t cols = stored->part.shape[1];
    const Box rows = { { stored->part.start[0] + first, stored->part.start[1] }, { n, cols } };
    if (stored->values)
        memcpy(out, stored->values + first * cols, (size_t)(n * cols) * sizeof *out);
    else if (stored->optimizer)
        optimizer_read(stored->optimizer, stored->index, &rows, DT_F32, out);
    else if (stored->fp8)
        fp8_read(stored->fp8, stored->index, first, n, out);
    else
        params_read(stored->params, stored->index, &rows, DT_F32, out);
}

void stored_write(const StoredTensor *stored, const Box *box, const float *from)
{
    if (stored->optimizer)
        optimizer_write(stored->optimizer, stored->index, box, DT_F32, from);
    else if (stored->fp8)
        fp8_write(stored->fp8, stored->index, box, from);
    else
        params_write(stored->params, stored->index, box, DT_F32, from);
}
