/* runtime.cc: a fake of CUDA's runtime, so that src/device/cuda runs on machines without a GPU as it does on one, and
 * its mistakes are found there:
 * - Queued work is done late (queue.cc), so what is read or changed too early is wrong.
 * - Memory of the GPU can be reached by kernels and copies alone: the host dies there. Fresh memory is NaN; memory that
 *   was freed cannot be reached at all.
 * - A copy from pinned memory reads it when it is done, and dies where the bytes have changed since it was queued; one
 *   into pinned memory leaves NaN there until then. A copy from or into other memory of the host waits for all work
 *   before it, as CUDA's may, and counts as a wait.
 * - Each thread must have chosen the GPU of what it calls for.
 * - Memory of each GPU is as large as LOAM_FAKE_GPU_MEMORY says (bytes; 1 GiB); a failed kernel fails every later call.
 *
 * LOAM_FAKE_GPU_DRY=1 leaves out all work once a GPU is open: kernels, products and copies are counted, not done, its
 * memory is addresses alone, and what is downloaded is zeros. So models of any size run, to see what memory they take.
 *
 * LOAM_FAKE_GPUS is the number of GPUs (1), LOAM_FAKE_GPU_NAME their name (Shim), LOAM_FAKE_GPU_MODE their compute mode
 * (0), LOAM_FAKE_GPU their compute capability (90), LOAM_FAKE_GPU_ORDER the order
 * of work (a FakeOrder). LOAM_FAKE_GPU_REFUSES: why no kernel can be launched. LOAM_FAKE_GPU_BREAKS=N: kernel N fails,
 * which its own launch answers with CUDA_LAUNCH_BLOCKING=1; LOAM_FAKE_GPU_FULL=N: allocation N does.
 * LOAM_FAKE_GPU_KERNEL=BYTES: memory that each kernel takes at its first launch, which fails if that is not free.
 * LOAM_FAKE_GPU_REPORT names a file for the counts when the program ends. */
#include "shim/cuda/queue.h"
#include "shim/trace.h"

extern "C" {
#include "base/check.h"
}

#include <algorithm>
#include <map>
#include <set>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define SPACE ((size_t)1 << 38) /* addresses; none is used twice */

namespace
{

enum { PAGE = 4096, ALIGN = 256, SHARED = 48 << 10, POISON = 0xFF, WORKSPACE = 32 << 20 };

struct Block {
    size_t bytes;
    int device;
};

struct Pinned {
    size_t bytes;
    uint64_t writes; /* by downloads so far */
    int readers;     /* uploads from it that are queued */
};

thread_local int chosen = -1;
thread_local cudaError_t last_error = cudaSuccess;
std::map<char *, Block> blocks;
std::map<char *, Pinned> pinned;
std::map<const void *, size_t> most_shared; /* of each kernel */
char *space;
std::set<const void *> loaded; /* kernels */
size_t taken;
long fails_after = -2, kernels_run; /* -2 means that the environment was not asked */
int n_open;

long number_of(const char *variable, long otherwise)
{
    const char *text = getenv(variable);
    return text ? atol(text) : otherwise;
}

cudaError_t answer(cudaError_t error)
{
    if (fake_has_failed())
        return cudaErrorLaunchFailure;
    if (error != cudaSuccess)
        last_error = error;
    return error;
}

void protect(char *p, size_t bytes, int how)
{
    char *first = space + (size_t)(p - space) / PAGE * PAGE;
    CHECK(mprotect(first, (size_t)(p - first) + bytes, how) == 0, "mprotect of %zu bytes", bytes);
}

/* Says why the program dies; returning brings the fault again. */
void explain(int, siginfo_t *info, void *)
{
    static const char text[] =
        "fake CUDA: memory of the GPU was touched by the host, after it was freed, or beyond its end\n";
    char *at = (char *)info->si_addr;
    if (at >= space && at < space + SPACE && write(STDERR_FILENO, text, sizeof text - 1) < 0)
        _exit(2);
    signal(SIGSEGV, SIG_DFL);
}

void open_space()
{
    struct sigaction action = {};
    if (space)
        return;
    void *memory = mmap(NULL, SPACE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(memory != MAP_FAILED, "no addresses for the memory of a GPU");
    space = (char *)memory;
    action.sa_sigaction = explain;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, NULL);
}

size_t memory_bytes()
{
    return (size_t)number_of("LOAM_FAKE_GPU_MEMORY", 1L << 30);
}

size_t used_of(int device)
{
    size_t bytes = 0;
    for (const auto &block : blocks)
        bytes += block.second.device == device ? block.second.bytes : 0;
    return bytes;
}

bool fails_now()
{
    if (fails_after == -2)
        fails_after = number_of("LOAM_FAKE_GPU_FULL", 0) - 1;
    return fails_after >= 0 && fails_after-- == 0;
}

/* The pinned memory that [p, p + bytes) lies in; NULL: it is other memory. */
Pinned *pinned_of(const void *p, size_t bytes)
{
    auto after = pinned.upper_bound((char *)p);
    if (after == pinned.begin())
        return NULL;
    --after;
    return (const char *)p + bytes <= after->first + after->second.bytes ? &after->second : NULL;
}

uint64_t hash_of(const void *p, size_t bytes)
{
    uint64_t hash = bytes;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ ((const unsigned char *)p)[i]) * 0x100000001B3u;
    return hash;
}

void upload(FakeStream *stream, void *to, const void *from, size_t bytes)
{
    fake_not_captured("an upload");
    fake_check_device("an upload", stream->device, to, bytes);
    fake_counts.uploads++;
    Pinned *memory = pinned_of(from, bytes);
    if (fake_is_dry())
        return;
    if (memory == NULL) {
        fake_run_until(stream, [stream] { return stream->queue.empty(); });
        FakeOpen open;
        memcpy(to, from, bytes);
        return;
    }
    uint64_t hash = hash_of(from, bytes), writes = memory->writes;
    memory->readers++;
    fake_enqueue(stream, [=] {
        CHECK(memory->writes != writes || hash_of(from, bytes) == hash,
              "%zu bytes of pinned memory have changed before they were uploaded", bytes);
        memcpy(to, from, bytes);
        memory->readers--;
    });
}

void download(FakeStream *stream, void *to, const void *from, size_t bytes)
{
    fake_not_captured("a download");
    fake_check_device("a download", stream->device, from, bytes);
    if (fake_is_dry()) {
        memset(to, 0, bytes);
        fake_counts.downloads++;
        return;
    }
    Pinned *memory = pinned_of(to, bytes);
    if (memory == NULL || memory->readers == 0)
        memset(to, POISON, bytes);
    fake_enqueue_work(stream, [=] {
        memcpy(to, from, bytes);
        if (memory)
            memory->writes++;
    });
    fake_counts.downloads++;
    if (memory == NULL)
        fake_run_until(stream, [stream] { return stream->queue.empty(); });
}

/* False if the memory has no room for a kernel that is launched for the first time. */
bool load(const void *kernel)
{
    const size_t bytes = (size_t)number_of("LOAM_FAKE_GPU_KERNEL", 0);
    if (loaded.count(kernel))
        return true;
    if (bytes > memory_bytes() - fake_counts.used)
        return false;
    fake_counts.used += bytes;
    fake_counts.peak = std::max(fake_counts.peak, fake_counts.used);
    loaded.insert(kernel);
    return true;
}

bool begins_early(const cudaLaunchConfig_t *config)
{
    for (unsigned i = 0; i < config->numAttrs; i++)
        if (config->attrs[i].id == cudaLaunchAttributeProgrammaticStreamSerialization)
            return config->attrs[i].val.programmaticStreamSerializationAllowed != 0;
    return false;
}

void run_body(void *body)
{
    (*(std::function<void()> *)body)();
}

__attribute__((destructor)) void report()
{
    const char *path = getenv("LOAM_FAKE_GPU_REPORT");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file == NULL)
        return;
    const FakeCounts *n = &fake_counts;
    fprintf(file,
            "peak %zu\nlargest %zu\nleft %zu\npinned %zu\nwaits %ld\nlaunches %ld\nearly %ld\nproducts %ld\nuploads "
            "%ld\ndownloads %ld\n"
            "copies %ld\ncaptured %ld\ngraphs %ld\nallocations %ld\nrecords %ld\nfollows %ld\n",
            n->peak, n->largest, n->used, n->most_pinned, n->waits, n->launches, n->early, n->products, n->uploads,
            n->downloads, n->copies, n->captured, n->graphs, n->allocations, n->records, n->follows);
    fclose(file);
}

} // namespace

FakeOpen::FakeOpen()
{
    if (n_open++ == 0)
        for (const auto &block : blocks)
            protect(block.first, block.second.bytes, PROT_READ | PROT_WRITE);
}

FakeOpen::~FakeOpen()
{
    if (--n_open == 0)
        for (const auto &block : blocks)
            protect(block.first, block.second.bytes, PROT_NONE);
}

int fake_chosen(const char *call, int device)
{
    CHECK(chosen >= 0, "%s by a thread that has chosen no GPU", call);
    CHECK(device < 0 || device == chosen, "%s for GPU %d by a thread that has chosen GPU %d", call, device, chosen);
    return chosen;
}

void fake_check_device(const char *call, int device, const void *p, size_t bytes)
{
    auto after = blocks.upper_bound((char *)p);
    bool inside = after != blocks.begin();
    if (inside) {
        --after;
        inside = (const char *)p + bytes <= after->first + after->second.bytes && after->second.device == device;
    }
    CHECK(inside, "%s of %zu bytes at %p, which GPU %d does not have", call, bytes, p, device);
}

extern "C" FakeCounts fake_cuda_counts(void)
{
    FakeCall call;
    return fake_counts;
}

extern "C" void fake_cuda_fail_after(long n)
{
    FakeCall call;
    fails_after = n;
}

cudaError_t cudaGetDeviceCount(int *n)
{
    *n = (int)number_of("LOAM_FAKE_GPUS", 1);
    return *n > 0 ? cudaSuccess : cudaErrorNoDevice;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int index)
{
    int compute = (int)number_of("LOAM_FAKE_GPU", 90), n;
    if (cudaGetDeviceCount(&n) != cudaSuccess || index < 0 || index >= n)
        return cudaErrorInvalidDevice;
    *properties = {};
    const char *name = getenv("LOAM_FAKE_GPU_NAME");
    snprintf(properties->name, sizeof properties->name, "%s", name ? name : "Shim");
    properties->uuid.bytes[15] = (char)index;
    properties->totalGlobalMem = memory_bytes();
    properties->major = compute / 10;
    properties->minor = compute % 10;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int index)
{
    const long compute = number_of("LOAM_FAKE_GPU", 90);
    const bool little = compute == 86 || compute == 89 || compute / 10 == 12;
    CHECK(index >= 0, "attribute %d of GPU %d", (int)attribute, index);
    if (attribute == cudaDevAttrComputeMode)
        *value = (int)number_of("LOAM_FAKE_GPU_MODE", cudaComputeModeDefault);
    else
        *value = little ? 100 << 10 : 228 << 10;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int index)
{
    int n;
    const char *order = getenv("LOAM_FAKE_GPU_ORDER");
    if (cudaGetDeviceCount(&n) != cudaSuccess || index < 0 || index >= n)
        return cudaErrorInvalidDevice;
    if (chosen < 0 && order)
        fake_cuda_order((FakeOrder)atoi(order));
    chosen = index;
    return cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t error = fake_has_failed() ? cudaErrorLaunchFailure : last_error;
    last_error = cudaSuccess;
    return error;
}

const char *cudaGetErrorString(cudaError_t error)
{
    switch (error) {
    case cudaSuccess:
        return "no error";
    case cudaErrorMemoryAllocation:
        return "out of memory";
    case cudaErrorNoDevice:
        return "no CUDA-capable device is detected";
    case cudaErrorNoKernelImageForDevice:
        return getenv("LOAM_FAKE_GPU_REFUSES");
    case cudaErrorLaunchFailure:
        return "unspecified launch failure";
    default:
        return "an error";
    }
}

cudaError_t cudaMalloc(void **p, size_t bytes)
{
    FakeCall call;
    int device = fake_chosen(__func__, -1);
    fake_not_captured(__func__);
    size_t room = (bytes + ALIGN - 1) / ALIGN * ALIGN, pages = (room / PAGE + 2) * PAGE;
    open_space();
    if (fails_now() || bytes > memory_bytes() - used_of(device) || pages > SPACE - taken)
        return answer(cudaErrorMemoryAllocation);
    char *block = space + taken + pages - PAGE - room; /* ends before a page that stays closed */
    taken += pages;
    blocks[block] = { bytes, device };
    fake_counts.allocations++;
    fake_counts.used += bytes;
    fake_counts.peak = std::max(fake_counts.peak, fake_counts.used);
    fake_counts.largest = std::max(fake_counts.largest, bytes);
    *p = block;
    if (fake_is_dry())
        return answer(cudaSuccess);
    protect(block, bytes, PROT_READ | PROT_WRITE);
    if (bytes != WORKSPACE) /* of cuBLASLt, whose products here need none: untouched pages are opened fast */
        memset(block, POISON, bytes);
    if (n_open == 0)
        protect(block, bytes, PROT_NONE);
    return answer(cudaSuccess);
}

/* Waits, as CUDA's does. */
cudaError_t cudaFree(void *p)
{
    FakeCall call;
    auto block = blocks.find((char *)p);
    if (p == NULL)
        return answer(cudaSuccess);
    CHECK(block != blocks.end(), "%p is freed, and was not allocated", p);
    fake_chosen(__func__, block->second.device);
    fake_run_all(block->second.device);
    protect(block->first, block->second.bytes, PROT_NONE);
    madvise(space + (size_t)(block->first - space + PAGE - 1) / PAGE * PAGE, block->second.bytes / PAGE * PAGE,
            MADV_DONTNEED);
    fake_counts.used -= block->second.bytes;
    blocks.erase(block);
    return answer(cudaSuccess);
}

cudaError_t cudaMemGetInfo(size_t *room, size_t *total)
{
    FakeCall call;
    *total = memory_bytes();
    *room = *total - used_of(fake_chosen(__func__, -1));
    return answer(cudaSuccess);
}

cudaError_t cudaMallocHost(void **p, size_t bytes)
{
    FakeCall call;
    fake_chosen(__func__, -1);
    *p = aligned_alloc(PAGE, (bytes / PAGE + 1) * PAGE); /* as CUDA aligns it */
    if (*p == NULL)
        return answer(cudaErrorMemoryAllocation);
    if (!fake_is_dry())
        memset(*p, POISON, bytes);
    pinned[(char *)*p] = { bytes, 0, 0 };
    fake_counts.pinned += bytes;
    if (fake_counts.pinned > fake_counts.most_pinned)
        fake_counts.most_pinned = fake_counts.pinned;
    return answer(cudaSuccess);
}

cudaError_t cudaFreeHost(void *p)
{
    FakeCall call;
    if (p == NULL)
        return answer(cudaSuccess);
    CHECK(pinned.count((char *)p) == 1, "%p is freed, and is not pinned memory", p);
    fake_run_all(fake_chosen(__func__, -1));
    fake_counts.pinned -= pinned[(char *)p].bytes;
    pinned.erase((char *)p);
    free(p);
    return answer(cudaSuccess);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream)
{
    FakeCall call;
    CHECK(stream != NULL, "a copy on the default stream");
    fake_chosen(__func__, stream->device);
    if (kind == cudaMemcpyHostToDevice) {
        upload(stream, to, from, bytes);
    } else if (kind == cudaMemcpyDeviceToHost) {
        download(stream, to, from, bytes);
    } else {
        fake_check_device("a copy", stream->device, from, bytes);
        fake_check_device("a copy", stream->device, to, bytes);
        fake_count(stream, &FakeCounts::copies);
        fake_enqueue_work(stream, [=] { memcpy(to, from, bytes); });
    }
    return answer(cudaSuccess);
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream)
{
    FakeCall call;
    CHECK(stream != NULL && kind == cudaMemcpyDeviceToDevice && height > 0, "a copy of %zu rows", height);
    fake_chosen(__func__, stream->device);
    if (to_pitch < width || from_pitch < width)
        return answer(cudaErrorInvalidValue);
    fake_check_device("a copy", stream->device, from, (height - 1) * from_pitch + width);
    fake_check_device("a copy", stream->device, to, (height - 1) * to_pitch + width);
    fake_count(stream, &FakeCounts::copies);
    fake_enqueue_work(stream, [=] {
        for (size_t i = 0; i < height; i++)
            memcpy((char *)to + i * to_pitch, (const char *)from + i * from_pitch, width);
    });
    return answer(cudaSuccess);
}

cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t stream)
{
    FakeCall call;
    CHECK(stream != NULL, "a fill on the default stream");
    fake_chosen(__func__, stream->device);
    fake_check_device("a fill", stream->device, p, bytes);
    fake_count(stream, &FakeCounts::copies);
    fake_enqueue_work(stream, [=] { memset(p, value, bytes); });
    return answer(cudaSuccess);
}

cudaError_t cudaFuncSetAttribute(const void *kernel, cudaFuncAttribute, int value)
{
    FakeCall call;
    fake_chosen(__func__, -1);
    most_shared[kernel] = (size_t)value;
    return answer(cudaSuccess);
}

cudaError_t fake_launch(const cudaLaunchConfig_t *config, const void *kernel, std::function<void()> body)
{
    FakeCall call;
    ShimIndex grid = { config->gridDim.x, config->gridDim.y, 1 }, block = { config->blockDim.x, config->blockDim.y, 1 };
    size_t bytes = config->dynamicSmemBytes, most = most_shared.count(kernel) ? most_shared[kernel] : (size_t)SHARED;
    CHECK(config->stream != NULL, "a kernel on the default stream");
    fake_chosen("a launch", config->stream->device);
    if (getenv("LOAM_FAKE_GPU_REFUSES"))
        return answer(cudaErrorNoKernelImageForDevice);
    if (bytes > most)
        return answer(cudaErrorInvalidValue);
    CHECK(!config->stream->captured || loaded.count(kernel), "the first launch of a kernel while a graph is captured");
    if (!load(kernel))
        return answer(cudaErrorMemoryAllocation);
    bool early = begins_early(config);
    CHECK(!early || !config->stream->captured, "a kernel of a graph that may begin early");
    fake_count(config->stream, &FakeCounts::launches);
    fake_counts.shared += bytes;
    fake_counts.early += early && config->stream->after_kernel;
    fake_enqueue_work(config->stream, [=] {
        if (++kernels_run == number_of("LOAM_FAKE_GPU_BREAKS", 0))
            return fake_fail();
        std::function<void()> own = body;
        trace_kernel(kernel);
        shim_set_dynamic(bytes);
        shim_set_early(early);
        shim_run(grid, block, run_body, &own);
        shim_set_early(false);
    });
    config->stream->after_kernel = true;
    if (number_of("CUDA_LAUNCH_BLOCKING", 0) != 0)
        fake_run_until(config->stream, [config] { return config->stream->queue.empty(); });
    return answer(cudaSuccess);
}
