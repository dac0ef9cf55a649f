/* device_shim.cc: the kernels of the cuda backend as a device in memory of the host, for the tests of operations:
 * work is done when it is queued, scratch memory is NaN before each operation, and no operation may ask for more of it
 * than a plan counts (SCRATCH_OF in device/cuda/scratch.h). */
#include "device/cuda/kernels/kernels.h"
#include "shim/cuda/fake.h"

extern "C" {
#include "shim/device_shim.h"
#include "shim/product.h"
}

#include <stdlib.h>

struct Gpu {
    cudaStream_t stream;
    void *scratch;
    size_t scratch_bytes, planned; /* planned: bytes that the plan counts for the operation, or the open group */
    unsigned tickets[TICKETS];
    Group group;
};

void gpu_begin(const char *)
{
}

void gpu_answer(cudaError_t answer, const char *what)
{
    CHECK(answer == cudaSuccess, "%s: %s", what, cudaGetErrorString(answer));
}

cudaStream_t gpu_stream(Gpu *gpu)
{
    return gpu->stream;
}

/* SHIM_SHARES_LITTLE=1: the tiles of such a GPU. */
bool gpu_shares_little(const Gpu *)
{
    static const char *const little = getenv("SHIM_SHARES_LITTLE");
    return little && *little == '1';
}

bool gpu_begins_early(const Gpu *)
{
    return true;
}

Group *gpu_group(Gpu *gpu)
{
    return &gpu->group;
}

/* Fresh for each operation: one that reads what an earlier one left there reads NaN. */
void *gpu_scratch(Gpu *gpu, size_t bytes)
{
    CHECK(bytes <= gpu->planned, "an operation asks for %zu bytes of scratch memory, a plan counts %zu", bytes,
          gpu->planned);
    if (bytes > gpu->scratch_bytes) {
        free(gpu->scratch);
        gpu->scratch_bytes = (bytes + 255) / 256 * 256;
        gpu->scratch = aligned_alloc(256, gpu->scratch_bytes);
        CHECK(gpu->scratch != NULL, "no memory for %zu bytes", bytes);
    }
    memset(gpu->scratch, 0xFF, gpu->scratch_bytes);
    return gpu->scratch;
}

unsigned *gpu_tickets(Gpu *gpu)
{
    for (unsigned ticket : gpu->tickets)
        CHECK(ticket == 0, "a ticket of an earlier operation is %u", ticket);
    return gpu->tickets;
}

void gpu_copy_rows(Gpu *gpu, void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t bytes, size_t rows)
{
    (void)gpu;
    for (size_t i = 0; i < rows; i++)
        memcpy((char *)to + i * to_pitch, (const char *)from + i * from_pitch, bytes);
}

void gpu_clear(Gpu *, void *p, size_t bytes)
{
    memset(p, 0, bytes);
}

void gpu_gemm(Device *, Tensor y, Tensor a, Tensor b, bool ta, bool tb, float alpha, float beta)
{
    shim_product(y, a, b, NO_TENSOR, DT_F32, ta, tb, (double)alpha, (double)beta);
}

void gpu_linear(Device *, Tensor y, Tensor x, Tensor w, Tensor b, float scale)
{
    shim_product(y, x, w, b, y.dtype, false, true, (double)scale, 0);
}

void gpu_fp8_linear(Device *, Tensor y, Tensor a, Tensor b, Tensor bias, Tensor a_inverse, Tensor b_inverse, float beta)
{
    double scale = (double)*(const float *)a_inverse.p * (double)*(const float *)b_inverse.p;
    shim_product(y, a, b, bias, DT_BF16, false, true, scale, (double)beta);
}

static void shim_close(Device *dev)
{
    Gpu *gpu = gpu_of(dev);
    cudaStreamDestroy(gpu->stream);
    free(gpu->scratch);
    delete gpu;
}

static void plan(Gpu *gpu, size_t bytes)
{
    gpu->planned = gpu->group.open ? gpu->planned + bytes : bytes;
}

static void shim_group(Device *dev, bool open)
{
    if (open)
        gpu_of(dev)->planned = 0;
    group_set(dev, open);
}

#define OP(name, parameters, arguments, operands, rules, flops)                                                        \
    static void shim_##name parameters                                                                                 \
    {                                                                                                                  \
        plan(gpu_of(dev), SCRATCH_OF(name));                                                                           \
        gpu_##name arguments;                                                                                          \
    }
#include "device/op_list.inc"
#undef OP

static OpTable table_of(void)
{
    OpTable table = {};
    table.close = shim_close;
    table.alloc = host_alloc;
    table.free = host_free;
    table.upload = table.download = host_copy;
    table.record_event = host_record_event;
    table.wait_event = host_wait_event;
    table.memory_available = host_memory_available;
    table.group = shim_group;
    table.repeat = host_repeat;
    table.forget = host_forget;
    table.host_alloc = host_alloc;
    table.host_free = host_free;
    table.copy_to = table.copy_from = host_copy;
    table.follow = host_follow;
#define KERNEL(name) table.name = shim_##name;
    OPERATIONS(KERNEL)
    return table;
}

extern "C" Device *device_open_shim(Precision precision)
{
    static const OpTable table = table_of();
    Gpu *gpu = new Gpu();
    precision.fp8_bytes = true;
    fake_cuda_order(FAKE_AT_ONCE);
    gpu_answer(cudaSetDevice(0), "choosing the GPU");
    gpu_answer(cudaStreamCreateWithFlags(&gpu->stream, cudaStreamNonBlocking), "a stream");
    return device_new("cuda", &table, precision, true, 1, "shim", gpu);
}

extern "C" void device_shim_order(int order)
{
    shim_set_order((ShimOrder)order);
}

extern "C" int64_t device_shim_launches(void)
{
    return shim_launches();
}
