#include "param/fp8.h"

#include "base/check.h"
#include "param/store.h"

/* Rows of all state tensors: first the inputs of all layers, then their weights, then the gradients of their outputs.
 * Each of the two FP8 formats thus has consecutive rows, and an update takes two operations. */
enum { SCALE, HISTORY, INVERSE, STATES };

struct Fp8Scales {
    Device *dev;
    Fp8Recipe recipe;
    int n_layers;
    bool *computed;                   /* (n_layers) whether this rank computes the layer */
    void *memory;                     /* the memory of all tensors */
    Tensor now[STATES], kept[STATES]; /* (rows), (rows, history), (rows, 1) */
};

static const char *const scaling_names[] = { "delayed", "current", NULL };

#define ROW(field) offsetof(Fp8Config, field)
const OptionRow fp8_options[] = {
    { "fp8.scaling", OPT_ENUM, ROW(scaling), "delayed", 0, 0, OPT_LEARNING, scaling_names,
      "train.precision=fp8: operands of matrix products are scaled by their largest absolute values in earlier "
      "microbatches (delayed) or in this one (current)" },
    { "fp8.margin", OPT_I64, ROW(margin), "0", 0, 16, OPT_LEARNING, NULL,
      "train.precision=fp8: scales are divided by 2^margin" },
    { "fp8.history", OPT_I64, ROW(history), "1024", 1, 65536, OPT_IDENTITY, NULL,
      "delayed scaling: number of microbatches whose largest absolute values determine a scale" },
};
#undef ROW
const int n_fp8_options = G_N_ELEMENTS(fp8_options);

Fp8Recipe fp8_recipe(const Fp8Config *config)
{
    return (Fp8Recipe){ .scaling = (Fp8Scaling)(config->scaling + FP8_DELAYED),
                        .margin = (int32_t)config->margin,
                        .history = (int32_t)config->history };
}

static bool is_delayed(const Fp8Scales *scales)
{
    return scales->recipe.scaling == FP8_DELAYED;
}

/* (rows, 1), with each row at a multiple of FP8_INVERSE_ALIGN. */
static Tensor new_inverses(Arena *arena, DType dtype, int64_t rows)
{
    const int64_t apart = FP8_INVERSE_ALIGN / (int64_t)dtype_bytes(dtype);
    return tensor_slice_cols(arena_tensor(arena, dtype, rows, apart, "fp8.inverse"), 0, 1);
}

static void lay_out_scales(Fp8Scales *scales, Arena *arena)
{
    const DType dtype = precision_statistic(scales->dev->precision);
    const int64_t rows = (int64_t)scales->n_layers * FP8_FACTORS;
    Tensor *sets[] = { scales->now, scales->kept };
    for (size_t i = 0; i < G_N_ELEMENTS(sets); i++) {
        sets[i][SCALE] = arena_vector(arena, dtype, rows, "fp8.scale");
        sets[i][INVERSE] = new_inverses(arena, dtype, rows);
        if (is_delayed(scales))
            sets[i][HISTORY] = arena_tensor(arena, dtype, rows, scales->recipe.history, "fp8.history");
    }
}

Fp8Scales *fp8_open(Device *dev, int n_layers)
{
    Fp8Scales *scales = g_new(Fp8Scales, 1);
    Arena arena;
    *scales = (Fp8Scales){
        .dev = dev, .recipe = dev->precision.fp8, .n_layers = n_layers, .computed = g_new0(bool, n_layers)
    };
    arena_init(&arena, "fp8", NULL, 0);
    lay_out_scales(scales, &arena);
    scales->memory = device_alloc(dev, arena.peak);
    if (scales->memory == NULL) {
        g_free(scales->computed);
        g_free(scales);
        return NULL;
    }
    arena_init(&arena, "fp8", scales->memory, arena.peak);
    lay_out_scales(scales, &arena);
    op_fill(dev, scales->now[SCALE], 1);
    op_fill(dev, scales->now[INVERSE], 1);
    if (is_delayed(scales))
        op_fill(dev, scales->now[HISTORY], 0);
    fp8_keep(scales);
    return scales;
}

void fp8_close(Fp8Scales *scales)
{
    if (scales == NULL)
        return;
    device_free(scales->dev, scales->memory);
    g_free(scales->computed);
    g_free(scales);
}

void fp8_compute(Fp8Scales *scales, int first, int n)
{
    CHECK(first >= 0 && n >= 0 && first + n <= scales->n_layers, "layers %d to %d of %d", first, first + n,
          scales->n_layers);
    for (int layer = first; layer < first + n; layer++)
        scales->computed[layer] = true;
}

/* (1): the first element of a row. */
static Tensor first_of(Tensor t, int64_t row)
{
    return tensor_vector(tensor_slice_rows(t, row, 1).p, t.dtype, 1);
}

Fp8Scale fp8_scale(const Fp8Scales *scales, int layer, Fp8Factor factor)
{
    CHECK(layer >= 0 && layer < scales->n_layers, "layer %d of %d", layer, scales->n_layers);
    int64_t row = (int64_t)factor * scales->n_layers + layer;
    return (Fp8Scale){ .scale = first_of(scales->now[SCALE], row),
                       .inverse = first_of(scales->now[INVERSE], row),
                       .amax = tensor_present(scales->now[HISTORY]) ? first_of(scales->now[HISTORY], row) : NO_TENSOR };
}

void fp8_update(Fp8Scales *scales)
{
    const int64_t e4m3 = (int64_t)FP8_GRADIENT * scales->n_layers, e5m2 = scales->n_layers;
    const Tensor *now = scales->now;
    if (!is_delayed(scales))
        return;
    op_fp8_update(scales->dev, tensor_slice_rows(now[SCALE], 0, e4m3), tensor_slice_rows(now[INVERSE], 0, e4m3),
                  tensor_slice_rows(now[HISTORY], 0, e4m3), scales->recipe.margin, false);
    op_fp8_update(scales->dev, tensor_slice_rows(now[SCALE], e4m3, e5m2), tensor_slice_rows(now[INVERSE], e4m3, e5m2),
                  tensor_slice_rows(now[HISTORY], e4m3, e5m2), scales->recipe.margin, true);
}

static void copy_all(Fp8Scales *scales, Tensor *to, const Tensor *from)
{
    for (int i = 0; i < STATES; i++)
        if (tensor_present(to[i]))
            op_copy(scales->dev, to[i], from[i]);
}

void fp8_keep(Fp8Scales *scales)
{
    copy_all(scales, scales->kept, scales->now);
}

void fp8_undo(Fp8Scales *scales)
{
    copy_all(scales, scales->now, scales->kept);
}

void fp8_share(Fp8Scales *scales, Comm *ranks, int64_t n)
{
    Tensor history = scales->now[HISTORY];
    if (!is_delayed(scales) || comm_size(ranks) == 1)
        return;
    const int64_t rows = history.d[0], cols = MIN(n, history.d[1] - 1), count = rows * (1 + cols);
    const Tensor newest = tensor_slice_cols(history, history.d[1] - cols, cols);
    g_autofree float *own = g_new0(float, (gsize)count), *all = g_new0(float, (gsize)(count * comm_size(ranks)));
    fp8_read(scales, SCALE, 0, rows, own);
    tensor_read(scales->dev, own + rows, DT_F32, newest);
    for (int64_t i = 0; i < rows; i++)
        if (!scales->computed[i % scales->n_layers])
            own[i] = INFINITY;
    comm_share(ranks, all, own, (size_t)count * sizeof *own);
    for (int64_t i = 0; i < count; i++)
        for (int r = 0; r < comm_size(ranks); r++) {
            float theirs = all[r * count + i];
            own[i] = i < rows ? MIN(own[i], theirs) : MAX(own[i], theirs);
        }
    fp8_write(scales, SCALE, NULL, own);
    tensor_write(scales->dev, newest, own + rows, DT_F32);
}

int fp8_state_count(const Fp8Scales *scales)
{
    return is_delayed(scales) ? INVERSE : 0;
}

const char *fp8_state_name(int index)
{
    return index == SCALE ? "fp8/scale" : "fp8/history";
}

void fp8_state_shape(const Fp8Scales *scales, int index, int64_t shape[2])
{
    Tensor t = scales->now[index];
    shape[0] = t.d[0];
    shape[1] = t.rank == 2 ? t.d[1] : 0;
}

void fp8_read(const Fp8Scales *scales, int index, int64_t first, int64_t n, float *to)
{
    tensor_read(scales->dev, to, DT_F32, tensor_slice_rows(scales->now[index], first, n));
}

void fp8_write(Fp8Scales *scales, int index, const Box *box, const float *from)
{
    Tensor t = tensor_box(scales->now[index], box);
    tensor_write(scales->dev, t, from, DT_F32);
    if (index != SCALE)
        return;
    g_autofree float *inverses = g_new(float, (gsize)t.d[0]);
    for (int64_t i = 0; i < t.d[0]; i++)
        inverses[i] = 1 / from[i];
    tensor_write(scales->dev, tensor_box(scales->now[INVERSE], box), inverses, DT_F32);
}
