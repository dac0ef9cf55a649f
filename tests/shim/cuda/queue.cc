/* queue.cc: streams and events of the fake CUDA runtime. Queued work is done by the thread that waits for it, as late
 * or as early as the order of the day says; within a stream in its order, and behind the events that the stream waits
 * for. So a wait that is missing between two streams, or between a stream and the host, changes results. */
#include "shim/cuda/queue.h"

extern "C" {
#include "base/check.h"
}

#include <algorithm>
#include <memory>
#include <mutex>
#include <stdlib.h>
#include <unistd.h>
#include <vector>

namespace
{

std::mutex lock;
FakeOrder order = FAKE_LATE;
std::vector<FakeStream *> streams;
std::vector<std::unique_ptr<FakeEvent>> events; /* destroyed ones too: queued work may wait for them */
uint32_t random_state = 1;
bool failed;
thread_local FakeStream *capturing; /* by the thread */

uint32_t next_random()
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state;
}

bool is_ready(const FakeStream *stream)
{
    if (stream->queue.empty())
        return false;
    const FakeWork &next = stream->queue.front();
    return (next.event == NULL || next.event->reached >= next.record) && (!next.outside || next.outside());
}

void run_one(FakeStream *stream)
{
    FakeWork work = std::move(stream->queue.front());
    stream->queue.pop_front();
    if (!failed)
        work.run();
}

FakeStream *any_ready(bool first_too)
{
    std::vector<FakeStream *> ready;
    for (FakeStream *stream : streams)
        if (is_ready(stream) && (first_too || stream->number > 0))
            ready.push_back(stream);
    return ready.empty() ? NULL : ready[next_random() % ready.size()];
}

/* The stream that has to go on next so that `goal` can. */
FakeStream *needed(FakeStream *goal)
{
    for (size_t i = 0; i <= streams.size() && !goal->queue.empty(); i++) {
        if (is_ready(goal))
            return goal;
        if (goal->queue.front().event == NULL)
            break;
        goal = goal->queue.front().event->stream;
    }
    return any_ready(true);
}

FakeStream *next_stream(FakeStream *goal)
{
    FakeStream *other = order == FAKE_SHUFFLED ? any_ready(true) : order == FAKE_EARLY ? any_ready(false) : NULL;
    return other ? other : needed(goal);
}

/* What is done while nobody waits. */
void go_on()
{
    for (FakeStream *stream; order != FAKE_LATE && (order != FAKE_SHUFFLED || next_random() % 4 == 0);) {
        stream = any_ready(order != FAKE_EARLY);
        if (stream == NULL)
            return;
        FakeOpen open;
        run_one(stream);
    }
}

} // namespace

FakeCounts fake_counts;

FakeCall::FakeCall()
{
    lock.lock();
}

FakeCall::~FakeCall()
{
    lock.unlock();
}

bool fake_has_failed(void)
{
    return failed;
}

void fake_fail(void)
{
    failed = true;
}

void fake_count(const FakeStream *stream, long FakeCounts::*counter)
{
    ++(stream->captured ? fake_counts.captured : fake_counts.*counter);
}

void fake_not_captured(const char *call)
{
    CHECK(!capturing, "%s while a graph is captured", call);
}

void fake_enqueue(FakeStream *stream, std::function<void()> run, FakeEvent *event, uint64_t record)
{
    stream->after_kernel = false;
    if (stream->captured) {
        CHECK(stream == capturing && !event, "work of another thread, or that waits, while a graph is captured");
        stream->captured->push_back(std::move(run));
        return;
    }
    stream->queue.push_back({ std::move(run), event, record, {} });
    go_on();
}

void fake_enqueue_outside(FakeStream *stream, std::function<void()> run, std::function<bool()> outside)
{
    fake_not_captured("a collective");
    stream->after_kernel = false;
    stream->queue.push_back({ std::move(run), NULL, 0, std::move(outside) });
    go_on();
}

bool fake_is_dry(void)
{
    static const bool asked = getenv("LOAM_FAKE_GPU_DRY") != NULL;
    return asked && fake_counts.downloads > 0;
}

void fake_enqueue_work(FakeStream *stream, std::function<void()> run)
{
    fake_enqueue(stream, fake_is_dry() ? [] {} : std::move(run));
}

/* Goes on until the condition holds; false: only what other ranks do can make it hold. */
static bool run_ready(FakeStream *goal, const std::function<bool()> &done)
{
    FakeOpen open;
    while (!failed && !done()) {
        FakeStream *stream = next_stream(goal);
        if (stream == NULL) {
            bool outside = false;
            for (const FakeStream *other : streams)
                outside |= !other->queue.empty() && other->queue.front().outside;
            CHECK(outside, "%zu streams wait for each other", streams.size());
            return false;
        }
        run_one(stream);
    }
    return true;
}

void fake_run_until(FakeStream *goal, const std::function<bool()> &done)
{
    fake_not_captured("a call that waits");
    if (failed || done())
        return;
    fake_counts.waits++;
    while (!failed && !done())
        if (!run_ready(goal, done)) {
            lock.unlock();
            usleep(100);
            lock.lock();
        }
}

void fake_run_all(int device)
{
    const std::vector<FakeStream *> all = streams; /* other threads may make streams meanwhile */
    for (FakeStream *stream : all)
        if (std::find(streams.begin(), streams.end(), stream) != streams.end() && stream->device == device)
            fake_run_until(stream, [stream] { return stream->queue.empty(); });
}

extern "C" void fake_cuda_order(FakeOrder wanted)
{
    FakeCall call;
    order = wanted;
    random_state = 1;
    go_on();
}

static cudaError_t answer(void)
{
    return failed ? cudaErrorLaunchFailure : cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    FakeCall call;
    CHECK(flags == cudaStreamNonBlocking, "a stream that waits for the default stream");
    *stream = new FakeStream{ fake_chosen(__func__, -1), (int)streams.size(), {}, 0 };
    streams.push_back(*stream);
    return answer();
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    *least = 0;
    *greatest = -5;
    return answer();
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int)
{
    return cudaStreamCreateWithFlags(stream, flags);
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    FakeCall call;
    fake_chosen(__func__, event->device);
    go_on(); /* a thread that waits for others looks at its events now and then, and a GPU works meanwhile */
    return failed ? cudaErrorLaunchFailure : event->reached >= event->recorded ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    FakeCall call;
    fake_chosen(__func__, stream->device);
    fake_run_until(stream, [stream] { return stream->queue.empty(); });
    streams.erase(std::find(streams.begin(), streams.end(), stream));
    delete stream;
    return answer();
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    FakeCall call;
    fake_chosen(__func__, stream->device);
    fake_run_until(stream, [stream] { return stream->queue.empty(); });
    return answer();
}

cudaError_t cudaDeviceSynchronize(void)
{
    FakeCall call;
    fake_run_all(fake_chosen(__func__, -1));
    return answer();
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    FakeCall call;
    CHECK(flags == cudaEventDisableTiming || flags == cudaEventDefault, "an event with flags %u", flags);
    events.push_back(std::make_unique<FakeEvent>());
    *event = events.back().get();
    (*event)->device = fake_chosen(__func__, -1);
    (*event)->timed = flags == cudaEventDefault;
    return answer();
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    FakeCall call;
    fake_chosen(__func__, event->device);
    return answer();
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    FakeCall call;
    fake_chosen(__func__, stream->device);
    fake_not_captured(__func__);
    CHECK(event->device == stream->device, "an event of GPU %d on a stream of GPU %d", event->device, stream->device);
    uint64_t record = ++event->recorded;
    event->stream = stream;
    fake_counts.records++;
    fake_enqueue(stream, [event, record, stream] {
        event->reached = std::max(event->reached, record);
        event->time = stream->clock;
    });
    return answer();
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t begin, cudaEvent_t end)
{
    FakeCall call;
    fake_chosen(__func__, end->device);
    for (const FakeEvent *event : { begin, end })
        CHECK(event->timed && event->recorded > 0 && (failed || event->reached == event->recorded),
              "the time of an event that takes none, or was not reached");
    *milliseconds = end->time - begin->time;
    return answer();
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    FakeCall call;
    fake_chosen(__func__, event->device);
    uint64_t record = event->recorded;
    if (record > 0)
        fake_run_until(event->stream, [event, record] { return event->reached >= record; });
    return answer();
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned)
{
    FakeCall call;
    fake_chosen(__func__, stream->device);
    fake_counts.follows++;
    if (event->recorded > 0)
        fake_enqueue(
            stream, [] {}, event, event->recorded);
    return answer();
}

/* ---- graphs ---- */

/* A captured graph, or one that is ready to be launched. */
struct FakeGraph {
    int device;
    std::shared_ptr<FakeNodes> nodes;
    uint64_t launched, done;
};

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode)
{
    FakeCall call;
    fake_chosen(__func__, stream->device);
    fake_not_captured(__func__);
    CHECK(mode == cudaStreamCaptureModeThreadLocal, "a capture that other threads could break");
    capturing = stream;
    stream->captured = std::make_shared<FakeNodes>();
    return answer();
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    FakeCall call;
    CHECK(stream == capturing, "the end of another thread's capture, or of none");
    *graph = new FakeGraph{ stream->device, stream->captured, 0, 0 };
    stream->captured = NULL;
    stream->after_kernel = false;
    capturing = NULL;
    return answer();
}

/* LOAM_FAKE_GPU_GRAPHS=0: the GPU has no memory for it. */
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *ready, cudaGraph_t graph, unsigned long long)
{
    FakeCall call;
    const char *takes = getenv("LOAM_FAKE_GPU_GRAPHS");
    fake_chosen(__func__, graph->device);
    if (takes && atoi(takes) == 0)
        return cudaErrorMemoryAllocation;
    *ready = new FakeGraph(*graph);
    return answer();
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t ready, cudaStream_t stream)
{
    FakeCall call;
    fake_chosen(__func__, stream->device);
    fake_not_captured(__func__);
    CHECK(stream->device == ready->device, "a graph of GPU %d on a stream of GPU %d", ready->device, stream->device);
    fake_counts.graphs++;
    ready->launched++;
    fake_enqueue(stream, [ready] {
        for (const std::function<void()> &node : *ready->nodes)
            node();
        ready->done++;
    });
    return answer();
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    delete graph;
    return answer();
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t ready)
{
    FakeCall call;
    fake_chosen(__func__, ready->device);
    CHECK(failed || ready->launched == ready->done, "a graph is destroyed before it has run");
    delete ready;
    return answer();
}
