/* products.c: `peers_products [ROWS [THREADS]]` times matrix products in bf16 by loam (device/cpu/bf16) and by oneDNN's
 * matmul primitive, in turns, at the shapes of T5-1.1-small, BERT-base and GPT-2 (bench/peers/run). Each shape is one
 * of the three products of a linear layer: forward, the gradient of its input, and the gradient of its weights, which
 * is added to y in f32. oneDNN gets its best case: its primitive is compiled before the time begins, and operands keep
 * the plain layout of loam's tensors, since a reordered copy would be made anew for each batch and for each update of
 * the weights. */
#include "base/check.h"
#include "base/clock.h"
#include "device/device.h"
#include "device/ops.h"

#include <dnnl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TURNS = 7, UNTIL_MS = 60 }; /* turns of each side, and milliseconds of a turn */

typedef struct Shape {
    const char *model, *what;
    int64_t in, out; /* channels of the layer's input and output */
} Shape;

static const Shape shapes[] = {
    { "t5-1.1-small", "q, k, v", 512, 384 },  { "t5-1.1-small", "o", 384, 512 },
    { "t5-1.1-small", "wi", 512, 1024 },      { "t5-1.1-small", "wo", 1024, 512 },
    { "t5-1.1-small", "logits", 512, 32128 }, { "bert-base", "q, k, v, o", 768, 768 },
    { "bert-base", "wi", 768, 3072 },         { "bert-base", "wo", 3072, 768 },
    { "gpt2", "q, k, v", 768, 2304 },         { "gpt2", "logits", 768, 50257 },
};

typedef enum Kind { FORWARD, INPUT, WEIGHT, KINDS } Kind;
static const char *const kinds[KINDS] = { "forward", "input", "weight" };

/* A product y (m, n) = a b, or y += a b; a_across: a is stored as (k, m), b_across: b as (n, k). */
typedef struct Product {
    Tensor y, a, b;
    bool a_across, b_across;
    float beta;
    dnnl_primitive_t primitive;
    dnnl_memory_t args[3];
} Product;

static Tensor matrix(DType dtype, int64_t rows, int64_t cols)
{
    const size_t bytes = (size_t)(rows * cols) * dtype_bytes(dtype);
    uint16_t *p = aligned_alloc(64, (bytes + 63) / 64 * 64);
    CHECK(p, "%zu bytes", bytes);
    for (size_t i = 0; i < bytes / sizeof *p; i++)
        p[i] = (uint16_t)(dtype == DT_BF16 ? 0x3c00 + i * 7919 % 512 : 0); /* small numbers; f32 begins with 0 */
    return tensor_matrix(p, dtype, rows, cols);
}

static Product product_of(Shape s, Kind kind, int64_t rows)
{
    const Tensor x = matrix(DT_BF16, rows, s.in), dy = matrix(DT_BF16, rows, s.out),
                 w = matrix(kind == WEIGHT ? DT_F32 : DT_BF16, s.out, s.in);
    switch (kind) {
    case FORWARD:
        return (Product){ .y = dy, .a = x, .b = w, .b_across = true };
    case INPUT:
        return (Product){ .y = x, .a = dy, .b = w };
    default:
        return (Product){ .y = w, .a = dy, .b = x, .a_across = true, .beta = 1 };
    }
}

static void must(dnnl_status_t status, const char *what)
{
    CHECK(status == dnnl_success, "%s: status %d", what, (int)status);
}

static dnnl_memory_desc_t describe(Tensor t, bool transposed)
{
    dnnl_memory_desc_t desc;
    const dnnl_dims_t dims = { t.d[transposed ? 1 : 0], t.d[transposed ? 0 : 1] };
    must(dnnl_memory_desc_init_by_tag(&desc, 2, dims, t.dtype == DT_F32 ? dnnl_f32 : dnnl_bf16,
                                      transposed ? dnnl_ba : dnnl_ab),
         "memory");
    return desc;
}

static void compile(Product *p, dnnl_engine_t engine)
{
    const dnnl_memory_desc_t a = describe(p->a, p->a_across), b = describe(p->b, p->b_across),
                             y = describe(p->y, false);
    dnnl_matmul_desc_t desc;
    dnnl_primitive_attr_t attr;
    dnnl_post_ops_t sum;
    dnnl_primitive_desc_t chosen;
    must(dnnl_matmul_desc_init(&desc, &a, &b, NULL, &y), "matmul");
    must(dnnl_primitive_attr_create(&attr), "attributes");
    must(dnnl_post_ops_create(&sum), "sum");
    if (p->beta != 0)
        must(dnnl_post_ops_append_sum(sum, p->beta), "sum");
    must(dnnl_primitive_attr_set_post_ops(attr, sum), "sum");
    must(dnnl_primitive_desc_create(&chosen, &desc, attr, engine, NULL), "primitive of this processor");
    must(dnnl_primitive_create(&p->primitive, chosen), "primitive");
    must(dnnl_memory_create(&p->args[0], &a, engine, p->a.p), "a");
    must(dnnl_memory_create(&p->args[1], &b, engine, p->b.p), "b");
    must(dnnl_memory_create(&p->args[2], &y, engine, p->y.p), "y");
}

static void by_onednn(const Product *p, dnnl_stream_t stream)
{
    const dnnl_exec_arg_t args[] = { { DNNL_ARG_SRC, p->args[0] },
                                     { DNNL_ARG_WEIGHTS, p->args[1] },
                                     { DNNL_ARG_DST, p->args[2] } };
    must(dnnl_primitive_execute(p->primitive, stream, 3, args), "product");
    must(dnnl_stream_wait(stream), "product");
}

/* Seconds of one product: the mean of a turn. */
static double turn(const Product *p, Device *dev, dnnl_stream_t stream)
{
    const double start = clock_seconds();
    int n = 0;
    do {
        if (stream)
            by_onednn(p, stream);
        else
            op_gemm(dev, p->y, p->a, p->b, p->a_across, p->b_across, 1, p->beta);
        n++;
    } while (clock_seconds() - start < UNTIL_MS / 1e3);
    return (clock_seconds() - start) / n;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void compare(Shape s, Kind kind, int64_t rows, Device *dev, dnnl_engine_t engine, dnnl_stream_t stream)
{
    Product p = product_of(s, kind, rows);
    double own[TURNS], theirs[TURNS], ratio[TURNS];
    const double flops = 2.0 * (double)rows * (double)s.in * (double)s.out;
    compile(&p, engine);
    turn(&p, dev, NULL);
    turn(&p, dev, stream);
    for (int i = 0; i < TURNS; i++) {
        own[i] = turn(&p, dev, NULL);
        theirs[i] = turn(&p, dev, stream);
        ratio[i] = theirs[i] / own[i];
    }
    qsort(own, TURNS, sizeof *own, by_size);
    qsort(theirs, TURNS, sizeof *theirs, by_size);
    qsort(ratio, TURNS, sizeof *ratio, by_size);
    printf("%-13s %-11s %-8s %6.0f %8.0f %7.2f (%.2f to %.2f)\n", s.model, s.what, kinds[kind],
           flops / own[TURNS / 2] / 1e9, flops / theirs[TURNS / 2] / 1e9, ratio[TURNS / 2], ratio[1], ratio[TURNS - 2]);
    fflush(stdout);
    for (int i = 0; i < 3; i++)
        dnnl_memory_destroy(p.args[i]);
    dnnl_primitive_destroy(p.primitive);
    free(p.y.p);
    free(p.a.p);
    free(p.b.p);
}

int main(int argc, char **argv)
{
    const int64_t rows = argc > 1 ? strtol(argv[1], NULL, 10) : 4096;
    const int threads = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 1;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    Precision precision = precision_uniform(DT_F32);
    precision.compute = DT_BF16;
    Device *dev = device_open_cpu(threads, precision);
    must(dnnl_engine_create(&engine, dnnl_cpu, 0), "engine");
    must(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags), "stream");
    printf("GFLOP/s in bf16, %s, %d thread%s, %ld rows; oneDNN %d.%d; ratio: loam / oneDNN (the middle turns)\n",
           dev->isa, threads, threads > 1 ? "s" : "", (long)rows, dnnl_version()->major, dnnl_version()->minor);
    printf("%-13s %-11s %-8s %6s %8s %7s\n", "model", "layer", "product", "loam", "oneDNN", "ratio");
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (Kind kind = 0; kind < KINDS; kind++)
            compare(shapes[i], kind, rows, dev, engine, stream);
    device_close(dev);
    return 0;
}
