/* test_runtime.cc: the fake CUDA runtime finds what it is there to find: a wait for an event that is missing, pinned
 * memory that is used again too early, a thread that has not chosen its GPU, memory of the GPU that the host touches.
 */
#include "shim/cuda/cuda_runtime.h"
#include "shim/cuda/fake.h"

#include <glib.h>
#include <stdlib.h>
#include <thread>

enum { N = 64 };

static void __global__ double_kernel(int *numbers)
{
    for (int i = (int)threadIdx.x; i < N; i += 32)
        numbers[i] *= 2;
}

struct Rig {
    cudaStream_t first, second;
    cudaEvent_t event;
    int *device, *pinned;
};

static Rig rig_open(FakeOrder order)
{
    Rig rig = {};
    g_assert_cmpint(cudaSetDevice(0), ==, cudaSuccess);
    fake_cuda_order(order);
    cudaStreamCreateWithFlags(&rig.first, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&rig.second, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&rig.event, cudaEventDisableTiming);
    g_assert_cmpint(cudaMalloc((void **)&rig.device, N * sizeof(int)), ==, cudaSuccess);
    g_assert_cmpint(cudaMallocHost((void **)&rig.pinned, N * sizeof(int)), ==, cudaSuccess);
    for (int i = 0; i < N; i++)
        rig.pinned[i] = i;
    return rig;
}

static void rig_close(Rig *rig)
{
    cudaFree(rig->device);
    cudaFreeHost(rig->pinned);
    cudaEventDestroy(rig->event);
    cudaStreamDestroy(rig->first);
    cudaStreamDestroy(rig->second);
}

static void upload(const Rig *rig)
{
    cudaMemcpyAsync(rig->device, rig->pinned, N * sizeof(int), cudaMemcpyHostToDevice, rig->first);
}

static void launch_double(const Rig *rig, cudaStream_t stream)
{
    cudaLaunchConfig_t config = {};
    config.blockDim = dim3(32);
    config.stream = stream;
    g_assert_cmpint(cudaLaunchKernelEx(&config, double_kernel, rig->device), ==, cudaSuccess);
}

/* Uploads on one stream, doubles on the other; whether the result is right. */
static bool crosses(FakeOrder order, bool waits)
{
    int result[N];
    bool right = true;
    Rig rig = rig_open(order);
    upload(&rig);
    cudaEventRecord(rig.event, rig.first);
    if (waits)
        cudaStreamWaitEvent(rig.second, rig.event);
    launch_double(&rig, rig.second);
    cudaMemcpyAsync(result, rig.device, sizeof result, cudaMemcpyDeviceToHost, rig.second);
    for (int i = 0; i < N; i++)
        right = right && result[i] == 2 * i;
    rig_close(&rig);
    return right;
}

static void a_missing_wait_for_an_event_changes_the_answer(void)
{
    for (int order = 0; order < FAKE_ORDERS; order++)
        g_assert_true(crosses((FakeOrder)order, true));
    g_assert_false(crosses(FAKE_LATE, false));
    g_assert_false(crosses(FAKE_EARLY, false));
}

/* The other way round: the second stream overwrites what the first still reads. */
static bool overwrites(FakeOrder order, bool waits)
{
    int result[N] = { 0 };
    bool right = true;
    Rig rig = rig_open(order);
    int *landing;
    cudaMallocHost((void **)&landing, sizeof result);
    upload(&rig);
    cudaStreamSynchronize(rig.first);
    cudaMemcpyAsync(landing, rig.device, sizeof result, cudaMemcpyDeviceToHost, rig.first);
    cudaEventRecord(rig.event, rig.first);
    if (waits)
        cudaStreamWaitEvent(rig.second, rig.event);
    launch_double(&rig, rig.second);
    cudaDeviceSynchronize();
    for (int i = 0; i < N; i++)
        right = right && landing[i] == i;
    cudaFreeHost(landing);
    rig_close(&rig);
    return right;
}

static void work_that_overtakes_changes_the_answer(void)
{
    for (int order = 0; order < FAKE_ORDERS; order++)
        g_assert_true(overwrites((FakeOrder)order, true));
    g_assert_false(overwrites(FAKE_EARLY, false));
}

static void waits_are_counted_where_work_is_left(void)
{
    Rig rig = rig_open(FAKE_LATE);
    long before = fake_cuda_counts().waits;
    upload(&rig);
    cudaEventRecord(rig.event, rig.first);
    g_assert_cmpint(fake_cuda_counts().waits, ==, before);
    cudaEventSynchronize(rig.event);
    g_assert_cmpint(fake_cuda_counts().waits, ==, before + 1);
    cudaEventSynchronize(rig.event);
    cudaStreamSynchronize(rig.first);
    g_assert_cmpint(fake_cuda_counts().waits, ==, before + 1);
    int there[N]; /* not pinned */
    cudaMemcpyAsync(there, rig.device, sizeof there, cudaMemcpyDeviceToHost, rig.first);
    g_assert_cmpint(fake_cuda_counts().waits, ==, before + 2);
    rig_close(&rig);
}

static void a_download_is_no_number_before_it_is_done(void)
{
    Rig rig = rig_open(FAKE_LATE);
    upload(&rig);
    cudaStreamSynchronize(rig.first);
    cudaMemcpyAsync(rig.pinned, rig.device, N * sizeof(int), cudaMemcpyDeviceToHost, rig.first);
    g_assert_cmpint(rig.pinned[1], ==, -1);
    cudaStreamSynchronize(rig.first);
    g_assert_cmpint(rig.pinned[1], ==, 1);
    rig_close(&rig);
}

static void memory_runs_out(void)
{
    void *p = NULL;
    size_t room, total;
    Rig rig = rig_open(FAKE_LATE);
    cudaMemGetInfo(&room, &total);
    g_assert_cmpint(cudaMalloc(&p, room + 1), ==, cudaErrorMemoryAllocation);
    g_assert_cmpint(cudaGetLastError(), ==, cudaErrorMemoryAllocation);
    g_assert_cmpint(cudaGetLastError(), ==, cudaSuccess);
    fake_cuda_fail_after(1);
    g_assert_cmpint(cudaMalloc(&p, 1), ==, cudaSuccess);
    g_assert_cmpint(cudaFree(p), ==, cudaSuccess);
    g_assert_cmpint(cudaMalloc(&p, 1), ==, cudaErrorMemoryAllocation);
    g_assert_cmpint(cudaMalloc(&p, 1), ==, cudaSuccess);
    cudaFree(p);
    rig_close(&rig);
}

static void shared_memory_is_asked_for(void)
{
    Rig rig = rig_open(FAKE_LATE);
    cudaLaunchConfig_t config = {};
    config.blockDim = dim3(32);
    config.stream = rig.first;
    config.dynamicSmemBytes = 64 << 10;
    g_assert_cmpint(cudaLaunchKernelEx(&config, double_kernel, rig.device), ==, cudaErrorInvalidValue);
    cudaFuncSetAttribute((const void *)double_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 << 10);
    g_assert_cmpint(cudaLaunchKernelEx(&config, double_kernel, rig.device), ==, cudaSuccess);
    rig_close(&rig);
}

/* ---- mistakes that the program dies of ---- */

static void changes_pinned_memory(void)
{
    Rig rig = rig_open(FAKE_LATE);
    upload(&rig);
    rig.pinned[3] = 0;
    cudaStreamSynchronize(rig.first);
}

static void chooses_no_gpu(void)
{
    Rig rig = rig_open(FAKE_LATE);
    std::thread([&] { upload(&rig); }).join();
}

static void chooses_another_gpu(void)
{
    g_setenv("LOAM_FAKE_GPUS", "2", TRUE);
    Rig rig = rig_open(FAKE_LATE);
    cudaSetDevice(1);
    upload(&rig);
}

static void touches_memory_of_the_gpu(void)
{
    Rig rig = rig_open(FAKE_LATE);
    rig.device[0] = 1;
}

static void uses_memory_that_was_freed(void)
{
    Rig rig = rig_open(FAKE_LATE);
    cudaFree(rig.device);
    launch_double(&rig, rig.first);
    cudaStreamSynchronize(rig.first);
}

static void copies_beyond_the_end(void)
{
    Rig rig = rig_open(FAKE_LATE);
    cudaMemcpyAsync(rig.device + 1, rig.pinned, N * sizeof(int), cudaMemcpyHostToDevice, rig.first);
}

static void uses_the_default_stream(void)
{
    Rig rig = rig_open(FAKE_LATE);
    launch_double(&rig, NULL);
}

static const struct {
    const char *path;
    void (*call)(void);
    const char *says;
} mistakes[] = {
    { "/runtime/finds/pinned_memory_that_changes", changes_pinned_memory, "*pinned memory have changed before*" },
    { "/runtime/finds/a_thread_that_chose_no_gpu", chooses_no_gpu, "*by a thread that has chosen no GPU*" },
    { "/runtime/finds/a_thread_that_chose_another", chooses_another_gpu, "*GPU 0 by a thread that has chosen GPU 1*" },
    { "/runtime/finds/the_host_in_memory_of_the_gpu", touches_memory_of_the_gpu, "*memory of the GPU was touched*" },
    { "/runtime/finds/memory_that_was_freed", uses_memory_that_was_freed, "*memory of the GPU was touched*" },
    { "/runtime/finds/copies_beyond_the_end", copies_beyond_the_end, "*which GPU 0 does not have*" },
    { "/runtime/finds/the_default_stream", uses_the_default_stream, "*on the default stream*" },
};

static void dies_of(const void *data)
{
    size_t i = GPOINTER_TO_SIZE(data);
    if (g_test_subprocess()) {
        mistakes[i].call();
        exit(0);
    }
    g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
    g_test_trap_assert_failed();
    g_test_trap_assert_stderr(mistakes[i].says);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/runtime/a_missing_wait_for_an_event_changes_the_answer",
                    a_missing_wait_for_an_event_changes_the_answer);
    g_test_add_func("/runtime/work_that_overtakes_changes_the_answer", work_that_overtakes_changes_the_answer);
    g_test_add_func("/runtime/waits_are_counted_where_work_is_left", waits_are_counted_where_work_is_left);
    g_test_add_func("/runtime/a_download_is_no_number_before_it_is_done", a_download_is_no_number_before_it_is_done);
    g_test_add_func("/runtime/memory_runs_out", memory_runs_out);
    g_test_add_func("/runtime/shared_memory_is_asked_for", shared_memory_is_asked_for);
    for (size_t i = 0; i < G_N_ELEMENTS(mistakes); i++)
        g_test_add_data_func(mistakes[i].path, GSIZE_TO_POINTER(i), dies_of);
    return g_test_run();
}
