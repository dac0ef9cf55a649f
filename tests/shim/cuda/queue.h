/* queue.h: the streams of the fake CUDA runtime, for the files of this folder. */
#pragma once

#include "shim/cuda/cuda_runtime.h"
#include "shim/cuda/fake.h"

#include <deque>
#include <functional>
#include <memory>
#include <vector>

/* An event: how often it was recorded, and the last of these records that its stream has reached. */
struct FakeEvent {
    int device;
    FakeStream *stream; /* of the last record */
    uint64_t recorded, reached;
    bool timed;
    float time; /* when it was reached last, by the stream's clock */
};

/* Work of a stream. It begins when `event` has reached record number `record`; event NULL means at once. `outside`: it
 * begins when this is true, which other ranks decide; an empty function means at once. */
struct FakeWork {
    std::function<void()> run;
    FakeEvent *event;
    uint64_t record;
    std::function<bool()> outside;
};

/* The work of a graph, in order. */
typedef std::vector<std::function<void()>> FakeNodes;

struct FakeStream {
    int device, number; /* of streams in the order in which they were made */
    std::deque<FakeWork> queue;
    bool after_kernel;                   /* the last work that was queued is a kernel of fake_launch */
    std::shared_ptr<FakeNodes> captured; /* the graph that its work goes into; NULL means none */
    float clock;                         /* milliseconds that its products have taken, as lt.cc says */
};

/* The functions below are called by those who hold the lock. */
extern FakeCounts fake_counts;
/* Adds 1 to the counter of a kind of work, or, while the stream is captured, to `captured`. */
void fake_count(const FakeStream *stream, long FakeCounts::*counter);
/* Dies unless the calling thread has chosen this GPU, or for -1 any. `call` names the function of CUDA. */
int fake_chosen(const char *call, int device);
/* Dies if the calling thread captures a stream: CUDA takes no such call then. */
void fake_not_captured(const char *call);
/* Appends work to a stream, and does what the order of the day wants done. */
void fake_enqueue(FakeStream *stream, std::function<void()> run, FakeEvent *event = NULL, uint64_t record = 0);
/* The same for work that reads or writes memory of the GPU, which a dry run leaves out. */
void fake_enqueue_work(FakeStream *stream, std::function<void()> run);
/* The same for work that begins when `outside` is true. While nothing else is left to do, a thread that waits lets the
 * lock go. */
void fake_enqueue_outside(FakeStream *stream, std::function<void()> run, std::function<bool()> outside);
/* Whether memory of the GPU is addresses alone (LOAM_FAKE_GPU_DRY): from the first download on, by which a GPU that is
 * opened proves that it computes. */
bool fake_is_dry(void);
/* Goes on with the streams until the condition holds, or a kernel has failed. */
void fake_run_until(FakeStream *goal, const std::function<bool()> &done);
void fake_run_all(int device);
bool fake_has_failed(void); /* a kernel has: every later call answers cudaErrorLaunchFailure */
void fake_fail(void);

/* Dies unless [p, p + bytes) lies within one allocation of the GPU. */
void fake_check_device(const char *call, int device, const void *p, size_t bytes);
/* Lets the host reach the device's memory as long as it lives. */
struct FakeOpen {
    FakeOpen();
    ~FakeOpen();
};

/* A call of CUDA: holds the lock. */
struct FakeCall {
    FakeCall();
    ~FakeCall();
};
