/* rig.h: operations of the cpu backend against the reference backend; where RIG_SHIM is defined, those of the cuda
 * backend, built for the host (shim/device_shim.h), in each of the shim's orders, whose results must be the same bits;
 * where RIG_CUDA is defined, those of a GPU (far.h), twice, whose results must be the same bits.
 * A case is a function that makes its tensors from a rig and calls one operation; run on two devices it makes the same
 * numbers, and what it declares as output is compared. Sizes are odd, and large enough for several threads and for
 * every tile and chunk of the kernels to end in the middle. Its choices (shape, beta, dropout, …) are enumerated by the
 * harness: see choose().
 *
 * In f32 a case is compared with the reference in f64; cases that say so run in bf16 and f16 too, alone and mixed with
 * f32, compared with the reference that rounds as the dtypes of its outputs do (reference/mixed.c). */
#pragma once

#include "device/cast.h"
#include "reference/reference.h"
#include "under_avx2.h"
#ifdef RIG_SHIM
#include "shim/device_shim.h"
#endif
#ifdef RIG_CUDA
#include "device/cuda/cuda.h"
#include "device/far.h"
#endif

#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Rig {
    Device *dev;
    Philox rng;
    size_t n_normals;  /* drawn so far */
    int code, n_codes; /* this combination of choices, mixed radix, and how many there are */
    unsigned mixture;  /* bit k: the k-th activation of a case has the residual stream's dtype; see mix() */
    GPtrArray *memory;
    GArray *outputs;     /* Tensor */
    uint32_t statistics; /* bit k: output k is exact to f32 in every mixture of dtypes */
} Rig;

typedef struct Case {
    const char *name;
    void (*run)(Rig *rig);
    double tolerance; /* of ‖y − reference‖ / ‖reference‖ in f32 */
    double floor;     /* reference outputs of a smaller root mean square count as this: gradients that cancel to zero */
    int roundings; /* 0: runs in f32 alone. 1: in bf16 and f16 too, where outputs are computed in f32 and rounded once.
                      More: operands of inner products are rounded too, and the error of outputs, statistics apart, is
                      at most this many unit roundoffs. */
} Case;

/* One of 0 … n-1. Over all codes every combination of a case's choices comes up once; so choices may not depend on
 * earlier ones. */
static inline int choose(Rig *rig, int n)
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
#ifdef RIG_CUDA
    if (g_str_equal(rig->dev->name, "cuda"))
        return far_alloc(rig->dev, bytes);
#endif
    void *p = g_malloc0(MAX(bytes, 1));
    g_ptr_array_add(rig->memory, p);
    return p;
}

static void *element(Tensor t, int64_t i, int64_t j)
{
    return (char *)t.p + (size_t)(i * t.ld + j) * dtype_bytes(t.dtype);
}

static double get(Tensor t, int64_t i, int64_t j)
{
    double value = 0;
    cast_load(&value, element(t, i, j), t.dtype, 1);
    return value;
}

/* Writes values (n) into row i from column j on. Rounds to f32, so that every device starts from the same number. */
static void set_numbers(Tensor t, int64_t i, int64_t j, double *values, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        values[k] = (double)(float)values[k];
    cast_store(element(t, i, j), t.dtype, values, n);
}

static inline void set(Tensor t, int64_t i, int64_t j, double value)
{
    set_numbers(t, i, j, &value, 1);
}

/* The numbers (rows, columns) of t. */
static double *numbers_of(Tensor t)
{
    double *numbers = g_new(double, (size_t)tensor_count(t));
    for (int64_t i = 0; i < tensor_rows(t); i++)
        cast_load(numbers + i * tensor_cols(t), element(t, i, 0), t.dtype, tensor_cols(t));
    return numbers;
}

/* Reals are NaN at first, between the rows of a view too: who reads what it may not read shows. */
static Tensor blank_of(Rig *rig, DType dtype, int64_t rows, int64_t cols, int64_t pad)
{
    Tensor t = tensor_matrix(NULL, dtype, rows, cols);
    t.ld = cols + pad;
    t.p = allocate(rig, (size_t)(rows * t.ld) * dtype_bytes(dtype));
    g_autofree double *nans = g_new(double, (size_t)t.ld);
    for (int64_t j = 0; j < t.ld; j++)
        nans[j] = NAN;
    for (int64_t i = 0; i < rows; i++)
        set_numbers(t, i, 0, nans, t.ld);
    return t;
}

/* Normal numbers, from a list that begins again after more than a case needs: they take a while to make. */
static double next_normal(Rig *rig)
{
    enum { N = 65521 };
    static double numbers[N];
    if (numbers[0] == 0) {
        Philox rng = philox_open(philox_key(1, PHILOX_INIT, 1), 0);
        for (int i = 0; i < N; i++)
            numbers[i] = philox_normal(&rng);
    }
    return numbers[rig->n_normals++ % N];
}

static Tensor normal_of(Rig *rig, DType dtype, int64_t rows, int64_t cols, int64_t pad, double std)
{
    Tensor t = blank_of(rig, dtype, rows, cols, pad);
    g_autofree double *row = g_new(double, (size_t)cols);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++)
            row[j] = std * next_normal(rig);
        set_numbers(t, i, 0, row, cols);
    }
    return t;
}

/* Operands of the role compute. */
static inline Tensor blank(Rig *rig, int64_t rows, int64_t cols, int64_t pad)
{
    return blank_of(rig, rig->dev->precision.compute, rows, cols, pad);
}

static Tensor normal(Rig *rig, int64_t rows, int64_t cols, int64_t pad, double std)
{
    return normal_of(rig, rig->dev->precision.compute, rows, cols, pad, std);
}

/* Statistics, which have the dtype of master weights. */
static inline Tensor statistics(Rig *rig, int64_t rows, int64_t cols, int64_t pad)
{
    return blank_of(rig, precision_statistic(rig->dev->precision), rows, cols, pad);
}

/* Lets the activations of a case have the dtype of products or of the residual stream, in four ways that take turns
 * from one combination of choices to the next: all the one, all the other, alternating. */
static inline void mix(Rig *rig)
{
    static const unsigned mixtures[] = { 0x55555555u, 0xAAAAAAAAu, 0, ~0u };
    rig->mixture = mixtures[(rig->code + rig->code / 4 + rig->code / 16 + rig->code / 64) % 4];
}

/* The dtype of the next activation. */
static inline DType mixed(Rig *rig)
{
    const Precision *precision = &rig->dev->precision;
    DType dtype = rig->mixture & 1 ? precision->residual : precision->compute;
    rig->mixture = rig->mixture >> 1 | (rig->mixture & 1) << 31;
    return dtype;
}

/* A gradient that takes beta: NaN where beta 0 promises that it is not read. */
static Tensor accumulator(Rig *rig, int64_t rows, int64_t cols, int64_t pad, float beta)
{
    Tensor t = normal_of(rig, rig->dev->precision.grad, rows, cols, pad, 1);
    return beta == 0 ? blank_of(rig, rig->dev->precision.grad, rows, cols, pad) : t;
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

static inline void output_statistic(Rig *rig, Tensor t)
{
    rig->statistics |= 1u << rig->outputs->len;
    output(rig, t);
}

static inline Dropout dropout(Rig *rig, int64_t n, double rate)
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
#ifdef RIG_CUDA
    if (g_str_equal(rig->dev->name, "cuda"))
        far_free_all(rig->dev);
#endif
    g_ptr_array_unref(rig->memory);
    g_array_unref(rig->outputs);
}

/* The distance of neighbouring numbers of the dtype at x. */
static double spacing(DType dtype, double x)
{
    int digits = dtype == DT_BF16 ? 8 : 11, least = dtype == DT_BF16 ? -126 : -14;
    return ldexp(1, MAX(ilogb(x == 0 ? 1e-300 : x), least) - (digits - 1));
}

/* ‖a − b‖ / ‖b‖; where b is zero and there is no floor, a must be. */
static double normalised_error(Tensor a, Tensor b, double floor)
{
    g_autofree double *got = numbers_of(a), *want = numbers_of(b);
    double difference = 0, size = 0;
    for (int64_t i = 0; i < tensor_count(b); i++) {
        difference += (got[i] - want[i]) * (got[i] - want[i]);
        size += want[i] * want[i];
    }
    size = fmax(size, floor * floor * (double)tensor_count(b));
    return difference == 0 ? 0 : sqrt(difference / size);
}

/* Outputs of bf16 or f16 on both sides, each rounded once from nearly the same number: they are equal, or, where the
 * middle of two neighbours lies within the errors of f32 (8 × the tolerance × the root mean square of b), these
 * neighbours. One element in 50 may be such a neighbour, and 3 in a small tensor: a kernel that truncates, or rounds
 * twice, differs in many more. */
static bool rounded_alike(Tensor a, Tensor b, const Case *c)
{
    g_autofree double *got = numbers_of(a), *want = numbers_of(b);
    double squares = 0, count = (double)tensor_count(b), neighbours = 0;
    for (int64_t i = 0; i < tensor_count(b); i++)
        squares += want[i] * want[i];
    double noise = 8 * c->tolerance * fmax(sqrt(squares / fmax(count, 1)), c->floor);
    for (int64_t i = 0; i < tensor_count(b); i++) {
        double apart = fabs(got[i] - want[i]);
        if (!(apart <= noise + spacing(b.dtype, want[i])))
            return false;
        neighbours += apart > noise;
    }
    return neighbours <= 3 + count / 50;
}

/* The largest relative error of rounding to the dtype. */
static double unit_roundoff(DType dtype)
{
    return spacing(dtype, 1) / 2;
}

/* Tolerances are of the host's functions. Those of GPUs, such as exp, are up to 2 units in the last place off. */
#ifdef RIG_CUDA
enum { RIG_SLACK = 3 };
#else
enum { RIG_SLACK = 1 };
#endif

/* In units that the tolerance is in. `compute`: operands of inner products are rounded to it; DT_F32 means none. */
static double error_of(Tensor a, Tensor b, const Case *c, DType compute)
{
    if (compute != DT_F32)
        return normalised_error(a, b, c->floor) * c->tolerance / (c->roundings * unit_roundoff(compute));
    if (b.dtype == DT_BF16 || b.dtype == DT_F16)
        return rounded_alike(a, b, c) ? 0 : INFINITY;
    return normalised_error(a, b, c->floor);
}

static void check_untouched_between_rows(const Case *c, int code, Tensor t)
{
    for (int64_t i = 0; i < tensor_rows(t); i++)
        for (int64_t j = tensor_cols(t); j < t.ld; j++)
            if (!isnan(get(t, i, j)))
                g_error("%s, combination %d, wrote to (%d, %d), outside its view", c->name, code, (int)i, (int)j);
}

static inline Device *rig_device(Precision precision)
{
#if defined RIG_SHIM
    return device_open_shim(precision);
#elif defined RIG_CUDA
    char why[CUDA_WHY];
    Device *dev = far_open(precision, why);
    if (dev == NULL)
        g_error("%s", why);
    return dev;
#else
    return device_open_cpu(2, precision);
#endif
}

/* The last of RIG_RUNS runs is the first to be done, RIG_LAST the last. Traced kernels (shim/trace.h) are checked in
 * any order, so one is enough. */
#if defined RIG_SHIM && defined SHIM_TRACED
enum { RIG_RUNS = DEVICE_SHIM_ORDERS, RIG_LAST = RIG_RUNS - 1 };
#elif defined RIG_SHIM
enum { RIG_RUNS = DEVICE_SHIM_ORDERS, RIG_LAST = 0 };
#elif defined RIG_CUDA
enum { RIG_RUNS = 2, RIG_LAST = 0 };
#else
enum { RIG_RUNS = 1, RIG_LAST = 0 };
#endif

static void run_once(Rig *rig, Device *dev, const Case *c, int code, int run)
{
#ifdef RIG_SHIM
    device_shim_order(run);
#endif
    (void)run;
    rig_run(rig, dev, c, code);
}

/* A host's copy of the outputs, which are the device's to overwrite. */
static GPtrArray *bits_of(const Rig *rig)
{
    GPtrArray *copies = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    for (guint i = 0; i < rig->outputs->len; i++) {
        Tensor t = g_array_index(rig->outputs, Tensor, i);
        size_t row = (size_t)tensor_cols(t) * dtype_bytes(t.dtype);
        char *bits = g_malloc(row * (size_t)tensor_rows(t) + 1);
        for (int64_t k = 0; k < tensor_rows(t); k++)
            memcpy(bits + (size_t)k * row, element(t, k, 0), row);
        g_ptr_array_add(copies, g_bytes_new_take(bits, row * (size_t)tensor_rows(t)));
    }
    return copies;
}

/* Runs a case; with the shim in each order, on a GPU again. */
static void run_on(Rig *got, Device *dev, const Case *c, int code)
{
    g_autoptr(GPtrArray) first = NULL;
    for (int run = RIG_RUNS - 1; run >= RIG_LAST; run--) {
        run_once(got, dev, c, code, run);
        GPtrArray *bits = bits_of(got);
        for (guint i = 0; first && i < bits->len; i++)
            if (!g_bytes_equal(bits->pdata[i], first->pdata[i]))
                g_error("%s, combination %d, output %u: other bits in run %d", c->name, code, i, run);
        g_clear_pointer(&first, g_ptr_array_unref);
        first = bits;
        if (run > RIG_LAST)
            rig_clear(got);
    }
}

/* The largest error of the device's outputs, all of which must be within the tolerance of `want`, the reference's. */
static double judge(const Case *c, int code, Device *dev, const Rig *want)
{
    Rig got;
    double worst = 0;
    run_on(&got, dev, c, code);
    g_assert_cmpuint(got.outputs->len, ==, want->outputs->len);
    for (guint i = 0; i < want->outputs->len; i++) {
        Tensor a = g_array_index(got.outputs, Tensor, i), b = g_array_index(want->outputs, Tensor, i);
        bool once = c->roundings < 2 || want->statistics >> i & 1;
        double error = error_of(a, b, c, once ? DT_F32 : dev->precision.compute);
        if (!(error <= c->tolerance * RIG_SLACK))
            g_error("%s on %s (%s), combination %d, output %u: error %.3g above %.3g", c->name, dev->name, dev->isa,
                    code, i, error, c->tolerance);
        worst = fmax(worst, error);
        check_untouched_between_rows(c, code, a);
        check_untouched_between_rows(c, code, b);
    }
    rig_clear(&got);
    return worst;
}

/* The shim takes its time: of many combinations it runs some, unless RIG_ALL is set. The strides are prime to the
 * numbers of choices, so that every choice comes up. RIG_STRIDE sets another. */
static int rig_stride(const Case *c, const Device *dev, int n_codes)
{
    if (g_getenv("RIG_STRIDE"))
        return MAX(atoi(g_getenv("RIG_STRIDE")), 1);
#ifdef RIG_SHIM
    bool few =
        dev->precision.compute != DT_F32 || c->roundings > 1; /* where only casts are new, or attention is slow */
    return g_getenv("RIG_ALL") ? 1 : n_codes > 100 ? (few ? 37 : 19) : n_codes > 24 ? (few ? 13 : 7) : few ? 5 : 1;
#else
    (void)c;
    (void)dev;
    (void)n_codes;
    return 1;
#endif
}

/* The devices that one reference judges; all are closed. */
typedef struct Judged {
    Device *devs[2];
    double worst[2];
    int n;
} Judged;

static void compare_all(const Case *c, Judged *judged, Device *reference)
{
    int n_codes = 1, n = 0;
    for (int code = 0; code < n_codes; code += rig_stride(c, judged->devs[0], n_codes), n++) {
        Rig want;
        rig_run(&want, reference, c, code);
        n_codes = want.n_codes;
        for (int i = 0; i < judged->n; i++)
            judged->worst[i] = fmax(judged->worst[i], judge(c, code, judged->devs[i], &want));
        rig_clear(&want);
    }
    for (int i = 0; i < judged->n; i++) {
        Device *dev = judged->devs[i];
        g_test_message("%s on %s (%s): worst error %.3g over %d of %d combinations", c->name, dev->name, dev->isa,
                       judged->worst[i], n, n_codes);
        device_close(dev);
    }
    device_close(reference);
}

static void test_f32(gconstpointer data)
{
    Judged judged = { .devs = { rig_device(precision_uniform(DT_F32)) }, .n = 1 };
    compare_all(data, &judged, device_open_reference());
}

/* Compute, residual stream, gradients, master weights, state of the optimizer. */
static const Precision precisions[] = {
    { .compute = DT_BF16, .residual = DT_F32, .grad = DT_F32, .master = DT_F32, .state = DT_F32 },
    { .compute = DT_BF16, .residual = DT_BF16, .grad = DT_BF16, .master = DT_F32, .state = DT_F32 },
    { .compute = DT_F16, .residual = DT_F32, .grad = DT_F16, .master = DT_F32, .state = DT_F32 }
};

static void test_narrow(gconstpointer data)
{
    for (size_t i = 0; i < G_N_ELEMENTS(precisions); i++) {
        Judged judged = { .devs = { rig_device(precisions[i]) }, .n = 1 };
        compare_all(data, &judged, device_open_mixed(precisions[i]));
    }
}

/* Both instruction sets that have products of bf16, or the best one where the processor lacks the other. */
static Judged rounding_devices(Precision precision)
{
    g_setenv("LOAM_CPU_ISA", "avx512_bf16", TRUE);
    Judged judged = { .devs = { rig_device(precision) }, .n = 1 };
    g_setenv("LOAM_CPU_ISA", "amx", TRUE);
    judged.devs[judged.n++] = rig_device(precision);
    g_unsetenv("LOAM_CPU_ISA");
    if (g_str_equal(judged.devs[1]->isa, judged.devs[0]->isa))
        device_close(judged.devs[--judged.n]);
    return judged;
}

/* On every instruction set that has products of bf16; beside AVX2 (run_under_avx2), the sets without are alike. */
static void test_rounding(gconstpointer data)
{
    if (g_getenv("LOAM_CPU_ISA")) {
        test_narrow(data);
        return;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(precisions); i++) {
        Judged judged = rounding_devices(precisions[i]);
        compare_all(data, &judged, device_open_mixed(precisions[i]));
    }
}

static void test_avx2(void)
{
    run_under_avx2(NULL);
}

static inline int run_cases(const Case *cases, size_t n, int argc, char **argv)
{
    bool shim = RIG_RUNS > 1; /* the sets of instructions are the cpu's */
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < n; i++) {
        g_autofree char *path = g_strdup_printf("/ops/%s_matches_the_reference", cases[i].name);
        g_autofree char *narrow = g_strdup_printf("/ops/%s_matches_the_reference_in_bf16_and_f16", cases[i].name);
        g_test_add_data_func(path, &cases[i], test_f32);
        if (cases[i].roundings)
            g_test_add_data_func(narrow, &cases[i], cases[i].roundings > 1 && !shim ? test_rounding : test_narrow);
    }
    if (!under_avx2() && !shim)
        g_test_add_func("/ops/all_match_under_avx2", test_avx2);
    return g_test_run();
}
