/* nccl.cc: a stand-in of NCCL on the fake CUDA runtime: ranks are threads or processes that share a mapped file. A
 * collective is queued on its stream in two parts: one copies what the rank sends into the file, the other begins when
 * all ranks have done so. It dies of what NCCL would hang or go wrong with:
 * - ranks of a communicator that do not call the same collectives, with the same counts, dtypes and roots, in one
 * order; messages that are sent and received with different lengths;
 * - a communicator that is used after it was aborted or destroyed, before it is ready, or blocking ones;
 * - a stream of another GPU, memory that the GPU does not have, groups of several communicators.
 * An abort ends what this rank waits for, and poisons what it would have received; other ranks go on waiting.
 *
 * LOAM_FAKE_NCCL_VERSION is the version that it tells. LOAM_FAKE_NCCL_BREAKS=N: after N collectives and messages of
 * rank 1 its communicator is in error. */
#include "shim/cuda/queue.h"

extern "C" {
#include "base/check.h"
#include "base/float16.h"
#include "comm/nccl/api.h"
}

#include <algorithm>
#include <atomic>
#include <fcntl.h>
#include <memory>
#include <stdio.h>
#include <stdlib.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#define NCCL extern "C" __attribute__((visibility("default")))

namespace
{

enum { RANKS = 16, OPS = 64, POLLS = 3, POISON = 0xFF, REMOTE_ERROR = 6 /* ncclRemoteError */ };
#define SLOT ((size_t)32 << 20) /* most bytes that a rank sends in a group */
#define BOX  ((size_t)8 << 20)  /* most bytes of a message */

enum Kind { ALL_GATHER, BROADCAST, SEND, RECEIVE };

const char *const kinds[] = { "an all-gather", "a broadcast", "a send", "a receive" };

struct Signature {
    int kind, dtype, root;
    size_t count;
};

struct RankState {
    std::atomic<uint64_t> arrived, done; /* number of groups of collectives so far */
    int n;
    Signature ops[OPS];
};

struct BoxState {
    std::atomic<uint64_t> sent, taken;
    Signature what;
};

struct Shared {
    std::atomic<int> joined, left;
    RankState ranks[RANKS];
    BoxState boxes[RANKS][RANKS]; /* from, to */
};

struct Op {
    Signature what;
    const char *from;
    char *to;
};

size_t header()
{
    return (sizeof(Shared) + 4095) / 4096 * 4096;
}

} // namespace

struct NcclComm {
    Shared *shared;
    size_t bytes;
    int rank, n, device, polls; /* polls: how often the communicator still answers that it is in progress */
    bool aborted, destroyed, finalized, launched;
    long calls;
    uint64_t rounds, sent[RANKS], received[RANKS];
    std::vector<Op> group;
    FakeStream *stream;
};

namespace
{

std::vector<std::unique_ptr<NcclComm>> communicators; /* destroyed ones too: queued work may use them */
thread_local int depth;
thread_local NcclComm *grouped; /* the communicator of the open group */

char *slot(const NcclComm *comm, int rank)
{
    return (char *)comm->shared + header() + (size_t)rank * SLOT;
}

char *box(const NcclComm *comm, int from, int to)
{
    return (char *)comm->shared + header() + (size_t)comm->n * SLOT + (size_t)(from * comm->n + to) * BOX;
}

void check_alive(const char *call, const NcclComm *comm)
{
    CHECK(comm && !comm->aborted && !comm->destroyed, "fake NCCL: %s of a communicator that was %s", call,
          comm && comm->aborted ? "aborted" : "destroyed");
}

bool is_collective(const Signature &what)
{
    return what.kind != SEND && what.kind != RECEIVE;
}

/* Bytes that a rank puts into the file, and bytes that it receives. */
size_t puts(int rank, const Signature &what)
{
    size_t bytes = what.count;
    if (what.kind == BROADCAST)
        return rank == what.root ? bytes : 0;
    return bytes;
}

size_t gets(const NcclComm *comm, const Signature &what)
{
    size_t bytes = what.count;
    return what.kind == ALL_GATHER ? bytes * (size_t)comm->n : what.kind == SEND ? 0 : bytes;
}

/* Where the data of each op begins in a rank's slot. */
std::vector<size_t> offsets(int rank, const std::vector<Op> &ops)
{
    std::vector<size_t> all;
    size_t at = 0;
    for (const Op &op : ops) {
        all.push_back(at);
        at += (puts(rank, op.what) + 63) / 64 * 64;
    }
    CHECK(at <= SLOT, "fake NCCL: a group of %zu bytes", at);
    return all;
}

void contribute(NcclComm *comm, const std::vector<Op> &ops, uint64_t round)
{
    RankState &mine = comm->shared->ranks[comm->rank];
    if (comm->aborted)
        return;
    std::vector<size_t> at = offsets(comm->rank, ops);
    mine.n = (int)ops.size();
    for (size_t i = 0; i < ops.size(); i++) {
        mine.ops[i] = ops[i].what;
        memcpy(slot(comm, comm->rank) + at[i], ops[i].from, puts(comm->rank, ops[i].what));
    }
    mine.arrived = round;
}

void check_alike(const NcclComm *comm, uint64_t round)
{
    const RankState &mine = comm->shared->ranks[comm->rank];
    for (int r = 0; r < comm->n; r++) {
        const RankState &theirs = comm->shared->ranks[r];
        CHECK(theirs.n == mine.n, "fake NCCL: in group %d rank %d calls %d collectives, rank %d calls %d", (int)round,
              comm->rank, mine.n, r, theirs.n);
        for (int i = 0; i < mine.n; i++) {
            const Signature &a = mine.ops[i], &b = theirs.ops[i];
            CHECK(
                a.kind == b.kind && a.dtype == b.dtype && a.root == b.root && a.count == b.count,
                "fake NCCL: in group %d rank %d calls %s with %zu numbers of dtype %d, root %d; rank %d calls %s with "
                "%zu of dtype %d, root %d",
                (int)round, comm->rank, kinds[a.kind], a.count, a.dtype, a.root, r, kinds[b.kind], b.count, b.dtype,
                b.root);
        }
    }
}

void complete_one(const NcclComm *comm, const Op &op, const std::vector<std::vector<size_t>> &at, size_t i)
{
    const Signature &what = op.what;
    size_t bytes = what.count;
    if (what.kind == ALL_GATHER)
        for (int r = 0; r < comm->n; r++)
            memcpy(op.to + (size_t)r * bytes, slot(comm, r) + at[(size_t)r][i], bytes);
    else if (what.kind == BROADCAST)
        memcpy(op.to, slot(comm, what.root) + at[(size_t)what.root][i], bytes);
}

void complete(NcclComm *comm, const std::vector<Op> &ops, uint64_t round)
{
    std::vector<std::vector<size_t>> at;
    if (comm->aborted) {
        for (const Op &op : ops)
            memset(op.to, POISON, gets(comm, op.what));
        return;
    }
    check_alike(comm, round);
    for (int r = 0; r < comm->n; r++)
        at.push_back(offsets(r, ops));
    for (size_t i = 0; i < ops.size(); i++)
        complete_one(comm, ops[i], at, i);
    comm->shared->ranks[comm->rank].done = round;
}

template <class Condition> bool all_ranks(const NcclComm *comm, Condition condition)
{
    for (int r = 0; r < comm->n; r++)
        if (!condition(comm->shared->ranks[r]))
            return false;
    return true;
}

void queue_collectives(NcclComm *comm, FakeStream *stream, const std::vector<Op> &ops)
{
    uint64_t round = ++comm->rounds;
    CHECK(ops.size() <= OPS, "fake NCCL: a group of %zu collectives", ops.size());
    fake_enqueue_outside(
        stream, [=] { contribute(comm, ops, round); },
        [=] { return comm->aborted || all_ranks(comm, [=](RankState &rank) { return rank.done + 1 >= round; }); });
    fake_enqueue_outside(
        stream, [=] { complete(comm, ops, round); },
        [=] { return comm->aborted || all_ranks(comm, [=](RankState &rank) { return rank.arrived >= round; }); });
}

/* A message is put into its box, which the previous message has left. */
void queue_send(NcclComm *comm, FakeStream *stream, const Op &op)
{
    int to = op.what.root;
    uint64_t number = ++comm->sent[to];
    BoxState *state = &comm->shared->boxes[comm->rank][to];
    size_t bytes = op.what.count;
    CHECK(bytes <= BOX, "fake NCCL: a message of %zu bytes", bytes);
    fake_enqueue_outside(
        stream,
        [=] {
            if (comm->aborted)
                return;
            state->what = op.what;
            memcpy(box(comm, comm->rank, to), op.from, bytes);
            state->sent = number;
        },
        [=] { return comm->aborted || state->taken + 1 >= number; });
}

/* The stream goes on when the messages of a group have been taken. */
void queue_taken(NcclComm *comm, FakeStream *stream, int to)
{
    uint64_t number = comm->sent[to];
    BoxState *state = &comm->shared->boxes[comm->rank][to];
    fake_enqueue_outside(
        stream, [] {}, [=] { return comm->aborted || state->taken >= number; });
}

void queue_receive(NcclComm *comm, FakeStream *stream, const Op &op)
{
    int from = op.what.root;
    uint64_t number = ++comm->received[from];
    BoxState *state = &comm->shared->boxes[from][comm->rank];
    size_t bytes = op.what.count;
    fake_enqueue_outside(
        stream,
        [=] {
            if (comm->aborted) {
                memset(op.to, POISON, bytes);
                return;
            }
            CHECK(state->what.count == op.what.count && state->what.dtype == op.what.dtype,
                  "fake NCCL: rank %d sends %zu of dtype %d, rank %d receives %zu of dtype %d", from, state->what.count,
                  state->what.dtype, comm->rank, op.what.count, op.what.dtype);
            memcpy(op.to, box(comm, from, comm->rank), bytes);
            state->taken = number;
        },
        [=] { return comm->aborted || state->sent >= number; });
}

int launch(NcclComm *comm)
{
    std::vector<Op> ops = std::move(comm->group);
    comm->group.clear();
    if (ops.empty())
        return NCCL_SUCCESS;
    bool collective = is_collective(ops[0].what);
    for (const Op &op : ops)
        CHECK(is_collective(op.what) == collective, "fake NCCL: messages and collectives in one group");
    if (collective)
        queue_collectives(comm, comm->stream, ops);
    for (const Op &op : ops)
        if (op.what.kind == SEND)
            queue_send(comm, comm->stream, op);
    for (const Op &op : ops)
        if (op.what.kind == RECEIVE)
            queue_receive(comm, comm->stream, op);
    for (const Op &op : ops)
        if (op.what.kind == SEND)
            queue_taken(comm, comm->stream, op.what.root);
    comm->polls = comm->launched ? 0 : POLLS; /* the first group connects the ranks */
    comm->launched = true;
    return comm->polls > 0 ? NCCL_IN_PROGRESS : NCCL_SUCCESS;
}

bool is_ready(const NcclComm *comm)
{
    return comm->shared->joined >= comm->n;
}

int add(const char *call, NcclComm *comm, FakeStream *stream, Kind kind, const void *from, void *to, size_t count,
        int dtype, int root)
{
    FakeCall hold;
    check_alive(call, comm);
    CHECK(is_ready(comm) && comm->polls == 0, "fake NCCL: %s of a communicator that is still in progress", call);
    CHECK(stream && stream->device == comm->device, "fake NCCL: %s on a stream of another GPU", call);
    CHECK(depth == 0 || grouped == NULL || grouped == comm, "fake NCCL: a group of several communicators");
    const Signature what = { kind, dtype, root, count };
    CHECK(dtype == NCCL_U8, "fake NCCL: dtype %d", dtype);
    CHECK(kind == ALL_GATHER || (root >= 0 && root < comm->n), "fake NCCL: %s, rank %d of %d", call, root, comm->n);
    CHECK(kind < SEND || root != comm->rank, "fake NCCL: rank %d sends to itself", root);
    if (puts(comm->rank, what) > 0 && kind != RECEIVE)
        fake_check_device(call, comm->device, from, puts(comm->rank, what));
    if (gets(comm, what) > 0)
        fake_check_device(call, comm->device, to, gets(comm, what));
    fake_counts.collectives++;
    comm->calls++;
    comm->group.push_back({ what, (const char *)from, (char *)to });
    comm->stream = stream;
    grouped = comm;
    return depth > 0 ? NCCL_SUCCESS : launch(comm);
}

} // namespace

NCCL int ncclGetVersion(int *version)
{
    const char *told = getenv("LOAM_FAKE_NCCL_VERSION");
    *version = told ? atoi(told) : 22809;
    return NCCL_SUCCESS;
}

NCCL const char *ncclGetErrorString(int result)
{
    return result == NCCL_SUCCESS ? "no error" : "remote process exited or there was a network error";
}

NCCL int ncclGetUniqueId(NcclId *id)
{
    const char *folder = getenv("TMPDIR");
    std::string path = std::string(folder ? folder : "/tmp") + "/fake-nccl-XXXXXX";
    CHECK(path.size() < sizeof id->internal, "a path of %zu bytes", path.size());
    int file = mkstemp(path.data());
    CHECK(file >= 0, "no file %s", path.c_str());
    close(file);
    memset(id, 0, sizeof *id);
    memcpy(id->internal, path.c_str(), path.size());
    return NCCL_SUCCESS;
}

NCCL int ncclCommInitRankConfig(NcclComm **comm, int n, NcclId id, int rank, NcclConfig *config)
{
    FakeCall hold;
    CHECK(config && config->magic == NCCL_MAGIC && config->blocking == 0, "fake NCCL: a blocking communicator");
    CHECK(n <= RANKS && rank >= 0 && rank < n, "fake NCCL: rank %d of %d", rank, n);
    communicators.push_back(std::make_unique<NcclComm>());
    NcclComm *made = communicators.back().get();
    made->rank = rank;
    made->n = n;
    made->device = fake_chosen(__func__, -1);
    made->bytes = header() + (size_t)n * SLOT + (size_t)(n * n) * BOX;
    int file = open(id.internal, O_RDWR);
    CHECK(file >= 0 && ftruncate(file, (off_t)made->bytes) == 0, "fake NCCL: no file %s", id.internal);
    void *memory = mmap(NULL, made->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    CHECK(memory != MAP_FAILED, "no memory for %zu bytes", made->bytes);
    close(file);
    made->shared = (Shared *)memory;
    if (++made->shared->joined == n)
        unlink(id.internal);
    *comm = made;
    return NCCL_IN_PROGRESS;
}

NCCL int ncclCommGetAsyncError(NcclComm *comm, int *state)
{
    FakeCall hold;
    check_alive(__func__, comm);
    *state = is_ready(comm) ? NCCL_SUCCESS : NCCL_IN_PROGRESS;
    if (comm->polls > 0 && --comm->polls > 0)
        *state = NCCL_IN_PROGRESS;
    if (comm->finalized && comm->shared->left < comm->n)
        *state = NCCL_IN_PROGRESS;
    const char *breaks = getenv("LOAM_FAKE_NCCL_BREAKS");
    if (breaks && comm->rank == 1 && comm->calls >= atol(breaks))
        *state = REMOTE_ERROR;
    return NCCL_SUCCESS;
}

NCCL int ncclCommFinalize(NcclComm *comm)
{
    FakeCall hold;
    check_alive(__func__, comm);
    CHECK(!comm->finalized, "fake NCCL: a communicator is finalized twice");
    comm->finalized = true;
    comm->shared->left++;
    return NCCL_IN_PROGRESS;
}

NCCL int ncclCommDestroy(NcclComm *comm)
{
    FakeCall hold;
    check_alive(__func__, comm);
    CHECK(comm->finalized && comm->shared->left >= comm->n, "fake NCCL: a communicator is destroyed before its end");
    comm->destroyed = true;
    munmap(comm->shared, comm->bytes);
    return NCCL_SUCCESS;
}

NCCL int ncclCommAbort(NcclComm *comm)
{
    FakeCall hold;
    check_alive(__func__, comm);
    comm->aborted = true;
    return NCCL_SUCCESS;
}

NCCL int ncclGroupStart(void)
{
    if (depth++ == 0)
        grouped = NULL;
    return NCCL_SUCCESS;
}

NCCL int ncclGroupEnd(void)
{
    FakeCall hold;
    CHECK(depth > 0, "fake NCCL: a group ends that has not begun");
    return --depth > 0 || grouped == NULL ? NCCL_SUCCESS : launch(grouped);
}

NCCL int ncclAllGather(const void *from, void *to, size_t count, int dtype, NcclComm *comm, FakeStream *stream)
{
    return add(__func__, comm, stream, ALL_GATHER, from, to, count, dtype, 0);
}

NCCL int ncclBroadcast(const void *from, void *to, size_t count, int dtype, int root, NcclComm *comm,
                       FakeStream *stream)
{
    return add(__func__, comm, stream, BROADCAST, from, to, count, dtype, root);
}

NCCL int ncclSend(const void *from, size_t count, int dtype, int peer, NcclComm *comm, FakeStream *stream)
{
    return add(__func__, comm, stream, SEND, from, NULL, count, dtype, peer);
}

NCCL int ncclRecv(void *to, size_t count, int dtype, int peer, NcclComm *comm, FakeStream *stream)
{
    return add(__func__, comm, stream, RECEIVE, NULL, to, count, dtype, peer);
}
