/* labels: starts-first */
/* Operations on rows, tables and batches as wide and long as those of large models, where a row takes more than one
 * warp or block of a GPU, or a sum more than one part: few combinations of each. */
#include "adafactor.h"
#include "device/rig.h"
#include "device/scalars.h"

static Tensor as_vector(Tensor t)
{
    return tensor_vector(t.p, t.dtype, tensor_count(t));
}

static Tensor gain(Rig *r, int64_t c)
{
    return as_vector(normal_of(r, r->dev->precision.master, 1, c, 0, 1));
}

static void case_norms(Rig *r)
{
    int64_t c = PICK_SIZE(r, 700, 1031, 4100, 8200, 16393, 33000), n = 5;
    bool layer = choose(r, 2);
    Dropout drop = dropout(r, n, 0.1);
    mix(r);
    Tensor x = normal_of(r, mixed(r), n, c, 0, 1), w = gain(r, c), b = gain(r, c), y = blank_of(r, mixed(r), n, c, 0);
    Tensor dropped = blank_of(r, mixed(r), n, c, 0), same = blank_of(r, dropped.dtype, n, c, 0);
    Tensor mean = as_vector(statistics(r, 1, n, 0)), rstd = as_vector(statistics(r, 1, n, 0));
    Tensor dy = normal_of(r, mixed(r), n, c, 0, 1), dx = blank_of(r, mixed(r), n, c, 0);
    Tensor dw = as_vector(accumulator(r, 1, c, 0, 0)), db = as_vector(accumulator(r, 1, c, 0, 0));
    if (layer) {
        op_norm_fwd(r->dev, y, mean, rstd, x, w, b, 1e-5f);
        op_norm_bwd(r->dev, dx, dropped, dw, db, dy, x, w, mean, rstd, NO_TENSOR, 0, &drop);
        output(r, mean);
        output(r, db);
    } else {
        op_norm_fwd(r->dev, y, NO_TENSOR, rstd, x, w, NO_TENSOR, 1e-6f);
        op_norm_bwd(r->dev, dx, dropped, dw, NO_TENSOR, dy, x, w, NO_TENSOR, rstd, NO_TENSOR, 0, &drop);
    }
    op_dropout_bwd(r->dev, same, dx, &drop);
    for (int64_t i = 0; i < n && g_strcmp0(r->dev->name, "mixed") != 0; i++)
        for (int64_t j = 0; j < c; j++)
            g_assert_cmpfloat(get(dropped, i, j), ==, get(same, i, j));
    Tensor results[] = { y, rstd, dx, dw };
    for (size_t i = 0; i < G_N_ELEMENTS(results); i++)
        output(r, results[i]);
}

static void case_sum_and_norm(Rig *r)
{
    int64_t c = PICK_SIZE(r, 700, 1031, 4100, 8200), n = 5;
    bool layer = choose(r, 2);
    Dropout drop = dropout(r, n, PICK(r, 0, 0.1));
    mix(r);
    Tensor x = normal_of(r, mixed(r), n, c, 0, 1), residual = normal_of(r, mixed(r), n, c, 0, 1);
    Tensor w = gain(r, c), b = gain(r, c), y = blank_of(r, mixed(r), n, c, 0), sum = blank_of(r, mixed(r), n, c, 0);
    Tensor mean = as_vector(statistics(r, 1, n, 0)), rstd = as_vector(statistics(r, 1, n, 0));
    if (layer)
        op_sum_norm_fwd(r->dev, y, mean, rstd, sum, x, residual, w, b, 1e-5f, &drop);
    else
        op_sum_norm_fwd(r->dev, y, NO_TENSOR, rstd, sum, x, residual, w, NO_TENSOR, 1e-6f, &drop);
    Tensor results[] = { y, rstd, sum, layer ? mean : rstd };
    for (size_t i = 0; i < G_N_ELEMENTS(results); i++)
        output(r, results[i]);
}

/* Tokens of a table of few and of many entries, some of which most tokens have. */
static void case_embedding(Rig *r)
{
    int64_t n = 5200, entries = PICK_SIZE(r, 2, 300, 70000), c = 12;
    mix(r);
    Tensor dtable = accumulator(r, entries, c, 0, 1), dy = normal_of(r, mixed(r), n, c, 0, 1);
    Tensor ids = integers(r, n, entries);
    for (int64_t i = 0; i < n; i++)
        if (i % 3 == 0)
            ((int32_t *)ids.p)[i] = (int32_t)(entries - 1);
    op_scatter_add(r->dev, dtable, dy, ids, 1);
    output(r, dtable);
}

static void case_sums(Rig *r)
{
    int64_t n = 1100, c = PICK_SIZE(r, 4, 300);
    mix(r);
    Tensor x = normal_of(r, mixed(r), n, c, 0, 1), sum = as_vector(accumulator(r, 1, c, 0, 1));
    Tensor total = tensor_vector(allocate(r, (size_t)c * 8), DT_F64, c);
    Tensor squares = tensor_vector(allocate(r, 8), DT_F64, 1);
    op_column_sums(r->dev, sum, x, 1);
    op_sum_rows(r->dev, total, x, 0);
    op_sumsq(r->dev, squares, x, 0);
    output(r, sum);
    output(r, total);
    output(r, squares);
}

static void case_adafactor(Rig *r)
{
    int64_t cols = PICK_SIZE(r, 1100, 16500), rows = 3;
    AdafactorSpec spec = { .eps1 = 1e-30, .eps2 = 1e-3, .clip_threshold = 1, .scale_parameter = true, .rate = 1 };
    StepScalars scalars = scalars_of(1);
    DType state = r->dev->precision.state;
    Tensor w = normal_of(r, r->dev->precision.master, rows, cols, 0, 0.5), g = accumulator(r, rows, cols, 0, 1);
    Tensor row = as_vector(normal_of(r, state, 1, rows, 0, 0)), col = as_vector(normal_of(r, state, 1, cols, 0, 0));
    Tensor sums = tensor_vector(allocate(r, (size_t)(3 + cols) * sizeof(double)), DT_F64, 3 + cols);
    adafactor_update(r->dev, sums, w, NO_TENSOR, NO_TENSOR, row, col, NO_TENSOR, g, spec, &scalars);
    output(r, w);
    output(r, row);
    output(r, col);
}

static void case_relpos(Rig *r)
{
    RelposSpec spec = { .first = -600, .n_buckets = 600, .max_distance = 1000, .bidirectional = choose(r, 2) };
    Tensor table = normal(r, spec.n_buckets, 2, 0, 1), bias = blank(r, 2, 1300, 0);
    Tensor dtable = accumulator(r, spec.n_buckets, 2, 0, 0), dbias = accumulator(r, 2, 1300, 0, 1);
    op_relpos_fwd(r->dev, bias, table, &spec);
    op_relpos_bwd(r->dev, dtable, dbias, &spec, 0);
    output(r, bias);
    output(r, dtable);
}

static const Case cases[] = {
    { "wide_norms", case_norms, 1e-5, 0, 1 },
    { "wide_sum_and_norm", case_sum_and_norm, 1e-5, 0, 4 },
    { "many_tokens_of_a_table", case_embedding, 1e-5, 0, 1 },
    { "long_sums", case_sums, 1e-5, 0, 1 },
    { "wide_adafactor", case_adafactor, 2e-5, 0, 1 },
    { "many_buckets", case_relpos, 1e-5, 0, 1 },
};

int main(int argc, char **argv)
{
    return run_cases(cases, G_N_ELEMENTS(cases), argc, argv);
}
