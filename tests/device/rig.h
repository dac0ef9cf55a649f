/* rig.h: operations of the cpu backend against the reference backend. A case is a function that makes its tensors from
 * a rig and calls one operation; run on two devices it makes the same numbers, and what it declares as output is
 * compared. Sizes are odd, and large enough for several threads and for every tile and chunk of the kernels to
 * end in the middle. Its choices (shape, beta, dropout, …) are enumerated by the harness: see choose(). */
#pragma once

#include "reference/reference.h"
#include "under_avx2.h"

#include <glib.h>
#include <math.h>
#include <string.h>

typedef struct Rig {
    Device *dev;
    Philox rng;
    int code, n_codes; /* this combination of choices, mixed radix, and how many there are */
    GPtrArray *memory;
    GArray *outputs; /* Tensor */
} Rig;

typedef struct Case {
    const char *name;
    void (*run)(Rig *rig);
    double tolerance; /* of ‖y − reference‖ / ‖reference‖ in f32 */
    double floor;     /* reference outputs of a smaller root mean square count as this: gradients that cancel to zero */
} Case;

/* One of 0 … n-1. Over all codes every combination of a case's choices comes up once; so choices may not depend on
 * earlier ones. */
static int choose(Rig *rig, int n)
{
    int digit = rig->code / rig->n_codes % n;
    rig->n_codes *= n;
    return digit;
}
#define PICK(rig, ...)                                                                                                 \
    (((const double[]){ __VA_ARGS__ })[choose(rig, (int)(sizeof((double[]){ __VA_ARGS__ }) / sizeof(double)))])
#define PICK_SIZE(rig, ...) ((int64_t)PICK(rig, __VA_ARGS__))

static void *allocate(Rig *rig, size_t bytes)
{
    void *p = g_malloc0(MAX(bytes, 1));
    g_ptr_array_add(rig->memory, p);
    return p;
}

/* Reals are NaN at first, between the rows of a view too: who reads what it may not read shows. */
static Tensor blank(Rig *rig, int64_t rows, int64_t cols, int64_t pad)
{
    Tensor t = tensor_matrix(NULL, rig->dev->precision.compute, rows, cols);
    t.ld = cols + pad;
    t.p = allocate(rig, (size_t)(rows * t.ld) * dtype_bytes(rig->dev->precision.compute));
    for (int64_t i = 0; i < rows * t.ld; i++) {
        if (t.dtype == DT_F64)
            ((double *)t.p)[i] = NAN;
        else
            ((float *)t.p)[i] = NAN;
    }
    return t;
}

static double get(Tensor t, int64_t i, int64_t j)
{
    int64_t at = i * t.ld + j;
    switch (t.dtype) {
    case DT_F64:
        return ((double *)t.p)[at];
    case DT_F32:
        return (double)((float *)t.p)[at];
    default:
        g_assert_cmpint(t.dtype, ==, DT_I32);
        return ((int32_t *)t.p)[at];
    }
}

/* Rounds to f32, so that every device starts from the same number. */
static void set(Tensor t, int64_t i, int64_t j, double value)
{
    if (t.dtype == DT_F64)
        ((double *)t.p)[i * t.ld + j] = (double)(float)value;
    else
        ((float *)t.p)[i * t.ld + j] = (float)value;
}

static Tensor normal(Rig *rig, int64_t rows, int64_t cols, int64_t pad, double std)
{
    Tensor t = blank(rig, rows, cols, pad);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            set(t, i, j, std * philox_normal(&rig->rng));
    return t;
}

/* A gradient that takes beta: NaN where beta 0 promises that it is not read. */
static Tensor accumulator(Rig *rig, int64_t rows, int64_t cols, int64_t pad, float beta)
{
    Tensor t = normal(rig, rows, cols, pad, 1);
    return beta == 0 ? blank(rig, rows, cols, pad) : t;
}

static Tensor integers(Rig *rig, int64_t n, int64_t bound)
{
    int32_t *p = allocate(rig, (size_t)n * sizeof *p);
    for (int64_t i = 0; i < n; i++)
        p[i] = (int32_t)philox_below(&rig->rng, (uint64_t)bound);
    return tensor_vector(p, DT_I32, n);
}

static void output(Rig *rig, Tensor t)
{
    g_array_append_val(rig->outputs, t);
}

static Dropout dropout(Rig *rig, int64_t n, double rate)
{
    int64_t *sample = allocate(rig, (size_t)n * sizeof *sample);
    for (int64_t i = 0; i < n; i++)
        sample[i] = (int64_t)philox_below(&rig->rng, 1ull << 40);
    PhiloxKey key = philox_key(7, PHILOX_DROPOUT, 3);
    return (Dropout){ key, (float)rate, sample, integers(rig, n, 3000).p, 4 };
}

static void rig_run(Rig *rig, Device *dev, const Case *c, int code)
{
    *rig = (Rig){ .dev = dev, .rng = philox_open(philox_key(1, PHILOX_INIT, 0), 0), .code = code, .n_codes = 1 };
    rig->memory = g_ptr_array_new_with_free_func(g_free);
    rig->outputs = g_array_new(FALSE, FALSE, sizeof(Tensor));
    c->run(rig);
}

static void rig_clear(Rig *rig)
{
    g_ptr_array_unref(rig->memory);
    g_array_unref(rig->outputs);
}

/* ‖a − b‖ / ‖b‖; where b is zero and there is no floor, a must be. */
static double normalised_error(Tensor a, Tensor b, double floor)
{
    double difference = 0, size = 0;
    for (int64_t i = 0; i < tensor_rows(b); i++) {
        for (int64_t j = 0; j < tensor_cols(b); j++) {
            double delta = get(a, i, j) - get(b, i, j);
            difference += delta * delta;
            size += get(b, i, j) * get(b, i, j);
        }
    }
    size = fmax(size, floor * floor * (double)tensor_count(b));
    return difference == 0 ? 0 : sqrt(difference / size);
}

static void check_untouched_between_rows(const Case *c, int code, Tensor t)
{
    for (int64_t i = 0; i < tensor_rows(t); i++)
        for (int64_t j = tensor_cols(t); j < t.ld; j++)
            if (!isnan(get(t, i, j)))
                g_error("%s, combination %d, wrote to (%d, %d), outside its view", c->name, code, (int)i, (int)j);
}

/* Returns the number of combinations. */
static int compare(const Case *c, int code, Device *dev, Device *reference, double *worst)
{
    Rig got, want;
    rig_run(&want, reference, c, code);
    rig_run(&got, dev, c, code);
    g_assert_cmpuint(got.outputs->len, ==, want.outputs->len);
    for (guint i = 0; i < want.outputs->len; i++) {
        Tensor a = g_array_index(got.outputs, Tensor, i), b = g_array_index(want.outputs, Tensor, i);
        double error = normalised_error(a, b, c->floor);
        if (!(error <= c->tolerance))
            g_error("%s on %s (%s), combination %d, output %u: error %.3g above %.3g", c->name, dev->name, dev->isa,
                    code, i, error, c->tolerance);
        *worst = fmax(*worst, error);
        check_untouched_between_rows(c, code, a);
        check_untouched_between_rows(c, code, b);
    }
    int n_codes = want.n_codes;
    rig_clear(&got);
    rig_clear(&want);
    return n_codes;
}

static void compare_all(const Case *c, Device *dev)
{
    Device *reference = device_open_reference();
    double worst = 0;
    int n_codes = 1;
    for (int code = 0; code < n_codes; code++)
        n_codes = compare(c, code, dev, reference, &worst);
    g_test_message("%s on %s (%s): worst error %.3g over %d combinations", c->name, dev->name, dev->isa, worst,
                   n_codes);
    device_close(reference);
}

static void test_cpu(gconstpointer data)
{
    Device *dev = device_open_cpu(2);
    compare_all(data, dev);
    device_close(dev);
}

static void test_avx2(void)
{
    run_under_avx2(NULL);
}

static int run_cases(const Case *cases, size_t n, int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < n; i++) {
        g_autofree char *path = g_strdup_printf("/ops/%s_matches_the_reference", cases[i].name);
        g_test_add_data_func(path, &cases[i], test_cpu);
    }
    if (!under_avx2())
        g_test_add_func("/ops/all_match_under_avx2", test_avx2);
    return g_test_run();
}
