/* trace.cc: the order of accesses to memory (see trace.h). Each byte of memory has a cell with stamps: of the last
 * write, and of reads. A stamp says which thread of which block accessed the byte, and how many barriers, __syncwarps
 * and fences that thread had passed. */
#include "shim/trace.h"
#include "shim/trace_names.h"

extern "C" {
#include "base/check.h"
}

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace
{

enum { WARP = 32, MOST_THREADS = 1024, PAGE_BITS = 12, PAGE = 1 << PAGE_BITS, MOST_PAGES = 4096, READERS = 3 };

/* 64 bits, so that a cell is 32 bytes. block 0 means no access. */
struct Stamp {
    uint64_t block : 22, thread : 10, barriers : 11, warps : 13, fences : 4;
    uint64_t many : 1;   /* reads by several threads of the warp since its last __syncwarp */
    uint64_t flight : 1; /* an asynchronous copy that was not waited for */
    uint64_t atomic : 1, spare : 1;
};
enum { MOST_BLOCKS = (1 << 22) - 1, MOST_BARRIERS = (1 << 11) - 1, MOST_WARPS = (1 << 13) - 1, MOST_FENCES = 15 };

struct Cell {
    Stamp write, reads[READERS]; /* reads: two of the newest block, of different warps if there were; one of another */
};

/* What an atomic operation publishes: what each thread of its block did before its first fences[thread] fences, and
 * what all threads did before the block's first `barriers` barriers. */
struct Publication {
    std::vector<uint8_t> fences;
    uint64_t barriers;
};

/* The atomic operations on an address, in their order. */
struct Published {
    std::vector<Publication> of;
    std::unordered_map<uint64_t, size_t> first; /* of a block: index of its first operation + 1 */
};

/* What a block has read by atomic operations: the first n publications of an address. */
struct Seen {
    const Published *at;
    size_t n;
};

struct Running {
    uint64_t number;
    ShimIndex index;
    int threads;
    const char *shared;
    size_t shared_bytes, asked;
    uint64_t barriers, warps[MOST_THREADS / WARP];
    uint8_t fences[MOST_THREADS], fences_at_barrier[MOST_THREADS];
    uint64_t fenced[MOST_THREADS], fenced_at_barrier; /* barriers before a thread's last fence; the most of all */
    std::vector<Seen> seen;
    bool waited[MOST_THREADS]; /* for earlier kernels; true also before the kernel itself begins */
    size_t saw[MOST_THREADS], acquired[MOST_THREADS]; /* how many of `seen` each thread has read, and fenced since */
};

/* An access to shared memory by a lane since its warp met last. */
struct LaneAccess {
    const void *place;
    uintptr_t at;
    unsigned bytes;
};

Running running[TRACE_SLOTS];
Running *own; /* NULL means that no kernel runs */
int thread;
uint64_t n_blocks = 0, first_block = 1;
std::unordered_map<uintptr_t, Cell *> pages;
uintptr_t last_page = ~(uintptr_t)0;
Cell *last_cells;
std::unordered_map<const void *, Published> published;
const char *stacks;
size_t stacks_bytes;
bool counts_banks;
std::vector<LaneAccess> lanes[TRACE_SLOTS][MOST_THREADS];
TraceBanks banks;
std::unordered_map<const void *, TraceBanks> banks_of; /* by place */
std::map<std::string, TraceBanks> banks_of_kernels;    /* by name, without the form */
std::string kernel_name;

__attribute__((format(printf, 2, 3), noreturn)) void tell(const void *place, const char *format, ...)
{
    char at[128];
    va_list arguments;
    name_place(at, sizeof at, place);
    fprintf(stderr, "loam: bug: a kernel at %s, block (%u, %u), thread %d: ", at, own->index.x, own->index.y, thread);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    abort();
}

Cell *cells_of(uintptr_t page)
{
    if (page == last_page)
        return last_cells;
    Cell *&cells = pages[page];
    if (!cells) {
        cells = (Cell *)calloc(PAGE, sizeof *cells);
        CHECK(cells != NULL, "no memory to trace accesses");
    }
    last_page = page;
    return last_cells = cells;
}

bool is_shared(uintptr_t at)
{
    return at - (uintptr_t)own->shared < own->shared_bytes;
}

/* Whether it is one of the indices that a GPU keeps in registers. */
bool is_register(uintptr_t at)
{
    for (const ShimIndex *index : { &threadIdx, &blockIdx, &blockDim, &gridDim })
        if (at - (uintptr_t)index < sizeof *index)
            return true;
    return false;
}

Stamp stamp_now()
{
    Stamp stamp = {};
    stamp.block = own->number;
    stamp.thread = (unsigned)thread & (MOST_THREADS - 1);
    stamp.barriers = own->barriers & MOST_BARRIERS;
    stamp.warps = own->warps[thread / WARP] & MOST_WARPS;
    stamp.fences = own->fences[thread] & MOST_FENCES;
    return stamp;
}

/* Whether the calling thread has acquired what a thread of another block did before a fence. */
bool acquired_from(Stamp old)
{
    for (size_t i = 0; i < own->acquired[thread]; i++) {
        const Seen &seen = own->seen[i];
        auto first = seen.at->first.find(old.block);
        if (first == seen.at->first.end() || first->second > seen.n)
            continue;
        if (old.atomic)
            return true;
        const Publication &publication = seen.at->of[first->second - 1];
        bool all = true;
        unsigned begin = old.many ? old.thread / WARP * WARP : (unsigned)old.thread,
                 end = begin + (old.many ? WARP : 1);
        for (unsigned t = begin; t < end; t++)
            all = all && publication.fences[t] > old.fences;
        if (all || old.barriers < publication.barriers)
            return true;
    }
    return false;
}

/* Whether an earlier access comes before one that the calling thread makes now. */
bool before(Stamp old, Stamp now)
{
    if (old.block < first_block)
        return true;
    if (old.flight)
        return false;
    if (old.block != now.block)
        return acquired_from(old);
    if (old.thread / WARP != now.thread / WARP)
        return old.barriers < now.barriers;
    return (old.thread == now.thread && !old.many) || old.warps < now.warps;
}

void tell_race(const void *place, uintptr_t at, Stamp old, const char *now_does, const char *old_did)
{
    const char *who = old.block != own->number                       ? "another block"
                      : old.thread / WARP == (unsigned)thread / WARP ? "the same warp"
                                                                     : "the same block";
    const char *lacks = old.flight                                     ? "nobody has waited for that copy"
                        : old.block != own->number                     ? "no fence and atomic operation between"
                        : old.thread / WARP == (unsigned)thread / WARP ? "no __syncwarp between"
                                                                       : "no barrier between";
    bool shared = is_shared(at);
    tell(place, "a race: %s a byte of %s memory (%s%#zx) that thread %d of %s %s, %s", now_does,
         shared ? "shared" : "global", shared ? "+" : "", shared ? at - (uintptr_t)own->shared : (size_t)at,
         (int)old.thread, who, old_did, lacks);
}

void note_read(Cell *cell, Stamp now)
{
    Stamp *reads = cell->reads;
    if (reads[0].block != now.block) { /* the newest reads of another block are one of them from here on */
        if (reads[0].block >= first_block)
            reads[2] = reads[0];
        reads[0] = now;
        reads[1] = {};
        return;
    }
    for (int i = 0; i < 2; i++)
        if (reads[i].block == now.block && reads[i].thread / WARP == now.thread / WARP && !reads[i].flight) {
            bool several = reads[i].warps == now.warps && (reads[i].many || reads[i].thread != now.thread);
            reads[i] = now;
            reads[i].many = several;
            return;
        }
    if (reads[1].block != now.block || reads[1].barriers < now.barriers)
        reads[1] = now;
    else if (reads[0].barriers < now.barriers)
        reads[0] = now;
}

enum Kind { READ, WRITE, ATOMIC };

bool same(Stamp a, Stamp b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

void check_byte(const void *place, uintptr_t at, Stamp now, Kind kind, bool shared)
{
    Cell *cell = &cells_of(at >> PAGE_BITS)[at & (PAGE - 1)];
    static const char *const does[] = { "reads", "writes", "changes" };
    if (kind == READ && same(cell->reads[0], now))
        return; /* checked already; a later write by another thread was, too */
    bool both = kind == ATOMIC && cell->write.atomic;
    if (shared && cell->write.block != own->number) {
        if (kind != WRITE)
            tell(place, "reads shared memory (+%#zx) that no thread has written", at - (uintptr_t)own->shared);
    } else if (!both && !before(cell->write, now)) {
        tell_race(place, at, cell->write, does[kind], "wrote");
    }
    if (kind != READ)
        for (int i = 0; i < READERS; i++)
            if ((!shared || cell->reads[i].block == own->number) && !before(cell->reads[i], now)) {
                tell_race(place, at, cell->reads[i], does[kind], "read");
                break;
            }
    if (kind == READ)
        note_read(cell, now);
    else
        cell->write = now;
}

void check(const void *place, const void *address, unsigned bytes, Kind kind, bool in_flight)
{
    uintptr_t at = (uintptr_t)address;
    if (own == NULL || at - (uintptr_t)stacks < stacks_bytes)
        return;
    bool shared = is_shared(at);
    if (shared && at + bytes > (uintptr_t)own->shared + own->asked)
        tell(place, "shared memory (+%#zx) is beyond the %zu bytes that the kernel asked for",
             at - (uintptr_t)own->shared, own->asked);
    if (!shared && !own->waited[thread] && !is_register(at))
        tell(place, "touches global memory (%#zx) and has not waited for earlier kernels", (size_t)at);
    if (bytes <= 16 && (bytes & (bytes - 1)) == 0 && at % bytes != 0)
        tell(place, "%u bytes at %p, which is no multiple of %u", bytes, address, bytes);
    if (shared && counts_banks && kind != ATOMIC)
        lanes[own - running][thread].push_back({ place, at - (uintptr_t)own->shared, bytes });
    Stamp now = stamp_now();
    now.flight = in_flight;
    now.atomic = kind == ATOMIC;
    for (unsigned i = 0; i < bytes; i++)
        check_byte(place, at + i, now, kind, shared);
}

/* ---- banks ---- */

/* One access of a warp: lanes without it have 0 bytes. */
struct WarpAccess {
    const void *place;
    uintptr_t at[WARP];
    unsigned bytes[WARP];
};

/* gcc splits a store of 16 bytes; its parts, of one lane and next to each other, are joined again. */
void join(std::vector<LaneAccess> *of)
{
    size_t n = 0;
    for (const LaneAccess &access : *of) {
        LaneAccess *last = n > 0 ? &(*of)[n - 1] : NULL;
        if (last && last->at + last->bytes == access.at && last->bytes + access.bytes <= 16 &&
            access.at / 16 == last->at / 16 && last->at % 16 == 0 && access.bytes <= 4)
            last->bytes += access.bytes;
        else
            (*of)[n++] = access;
    }
    of->resize(n);
}

/* Cycles that shared memory needs for an access, and in *least those without conflicts: 32 lanes of up to 4 bytes, 16
 * of 8, 8 of 16 at once; each of the 32 banks gives one word of 4 bytes. */
int wavefronts(const WarpAccess &access, int *least)
{
    unsigned widest = 0;
    int sum = 0;
    for (unsigned bytes : access.bytes)
        widest = bytes > widest ? bytes : widest;
    int lanes_at_once = widest <= 4 ? WARP : widest <= 8 ? WARP / 2 : WARP / 4;
    *least = 0;
    for (int begin = 0; begin < WARP; begin += lanes_at_once) {
        std::vector<uintptr_t> words[WARP];
        size_t most = 0;
        for (int lane = begin; lane < begin + lanes_at_once; lane++)
            for (uintptr_t word = access.at[lane] / 4; word * 4 < access.at[lane] + access.bytes[lane]; word++) {
                std::vector<uintptr_t> &bank = words[word % WARP];
                bool there = false;
                for (uintptr_t other : bank)
                    there = there || other == word;
                if (!there)
                    bank.push_back(word);
                most = bank.size() > most ? bank.size() : most;
            }
        sum += (int)most;
        *least += most > 0;
    }
    return sum;
}

void count_banks(int slot, int warp)
{
    std::unordered_map<uintptr_t, WarpAccess> accesses; /* by place and by how often the lane came there */
    for (int lane = 0; lane < WARP; lane++) {
        std::vector<LaneAccess> *of = &lanes[slot][warp * WARP + lane];
        std::unordered_map<const void *, uintptr_t> times;
        join(of);
        for (const LaneAccess &access : *of) {
            WarpAccess *whole = &accesses[(uintptr_t)access.place + (times[access.place]++ << 48)];
            whole->place = access.place;
            whole->at[lane] = access.at;
            whole->bytes[lane] = access.bytes;
        }
        of->clear();
    }
    for (const auto &item : accesses) {
        int least, taken = wavefronts(item.second, &least);
        for (TraceBanks *sum : { &banks, &banks_of[item.second.place], &banks_of_kernels[kernel_name] }) {
            sum->accesses++;
            sum->wavefronts += taken;
            sum->conflicts += taken - least;
        }
    }
}

} // namespace

void trace_count_banks(void)
{
    counts_banks = true;
    banks = {};
    banks_of.clear();
    banks_of_kernels.clear();
}

void trace_kernel(const void *kernel)
{
    static std::unordered_map<const void *, std::string> names;
    if (!counts_banks)
        return;
    std::string &name = names[kernel];
    kernel_name = name.empty() ? name = function_name(kernel) : name;
}

void trace_print_banks(void)
{
    for (const auto &item : banks_of_kernels)
        printf("| `%s` | %lld | %lld | %.1f %% |\n", item.first.c_str(), (long long)item.second.accesses,
               (long long)item.second.conflicts,
               100.0 * (double)item.second.conflicts / (double)item.second.wavefronts);
}

TraceBanks trace_banks(int places)
{
    for (; places > 0; places--) {
        const void *worst = NULL;
        for (const auto &item : banks_of)
            if (item.second.conflicts > 0 && (!worst || item.second.conflicts > banks_of[worst].conflicts))
                worst = item.first;
        if (!worst)
            break;
        char at[128];
        name_place(at, sizeof at, worst);
        fprintf(stderr, "%s: %lld accesses, %lld cycles, %lld of them conflicts\n", at,
                (long long)banks_of[worst].accesses, (long long)banks_of[worst].wavefronts,
                (long long)banks_of[worst].conflicts);
        banks_of.erase(worst);
    }
    counts_banks = false;
    return banks;
}

void trace_launch(void)
{
    first_block = n_blocks + 1;
    published.clear();
    if (pages.size() < MOST_PAGES && n_blocks < MOST_BLOCKS / 2)
        return;
    for (const auto &page : pages)
        free(page.second);
    pages.clear();
    last_page = ~(uintptr_t)0;
    n_blocks = 0;
    first_block = 1;
}

void trace_block(int slot, ShimIndex index, int threads, const char *shared, size_t bytes)
{
    Running *block = &running[slot];
    CHECK(n_blocks < MOST_BLOCKS, "too many blocks to trace");
    block->number = ++n_blocks;
    block->index = index;
    block->threads = threads;
    block->shared = shared;
    block->shared_bytes = bytes;
    block->asked = 0;
    block->barriers = 0;
    memset(block->warps, 0, sizeof block->warps);
    memset(block->fences, 0, sizeof block->fences);
    memset(block->fences_at_barrier, 0, sizeof block->fences_at_barrier);
    memset(block->fenced, 0, sizeof block->fenced);
    block->fenced_at_barrier = 0;
    memset(block->waited, true, sizeof block->waited);
    memset(block->saw, 0, sizeof block->saw);
    memset(block->acquired, 0, sizeof block->acquired);
    block->seen.clear();
}

void trace_block_end(int slot)
{
    for (int warp = 0; counts_banks && warp < running[slot].threads / WARP; warp++)
        count_banks(slot, warp);
}

void trace_enter(int slot, int thread_that_runs)
{
    own = slot < 0 ? NULL : &running[slot];
    thread = thread_that_runs;
}

void trace_waits(bool done)
{
    own->waited[thread] = done;
}

void trace_asked(size_t bytes)
{
    own->asked = bytes > own->asked ? bytes : own->asked;
}

void trace_barrier(int slot)
{
    Running *block = &running[slot];
    size_t saw = 0, acquired = 0;
    CHECK(++block->barriers < MOST_BARRIERS, "too many barriers to trace");
    for (int i = 0; i < block->threads; i++) {
        saw = block->saw[i] > saw ? block->saw[i] : saw;
        acquired = block->acquired[i] > acquired ? block->acquired[i] : acquired;
    }
    for (int i = 0; i < block->threads; i++) {
        block->saw[i] = saw;
        block->acquired[i] = acquired;
        block->fences_at_barrier[i] = block->fences[i];
        if (block->fenced[i] > block->fenced_at_barrier)
            block->fenced_at_barrier = block->fenced[i];
    }
    for (int warp = 0; warp < block->threads / WARP; warp++) {
        trace_warp(slot, warp);
        trace_meeting(slot, warp);
    }
}

void trace_warp(int slot, int warp)
{
    CHECK(++running[slot].warps[warp] < MOST_WARPS, "too many __syncwarps to trace");
}

void trace_meeting(int slot, int warp)
{
    if (counts_banks)
        count_banks(slot, warp);
}

void trace_fence(void)
{
    CHECK(++own->fences[thread] < MOST_FENCES, "too many fences to trace");
    own->fenced[thread] = own->barriers;
    own->acquired[thread] = own->saw[thread];
}

void trace_atomic(const void *at)
{
    check(__builtin_return_address(0), at, sizeof(unsigned), ATOMIC, false);
    if (is_shared((uintptr_t)at))
        return;
    Published *here = &published[at];
    if (!here->of.empty()) {
        own->seen.push_back({ here, here->of.size() });
        own->saw[thread] = own->seen.size();
    }
    Publication publication = { { own->fences_at_barrier, own->fences_at_barrier + own->threads },
                                own->fenced_at_barrier };
    publication.fences[(size_t)thread] = own->fences[thread];
    if (own->fenced[thread] > publication.barriers)
        publication.barriers = own->fenced[thread];
    here->of.push_back(publication);
    here->first.emplace(own->number, here->of.size());
}

void trace_copy_begins(const void *to, const void *from, size_t bytes)
{
    check(__builtin_return_address(0), from, (unsigned)bytes, READ, true);
    check(__builtin_return_address(0), to, (unsigned)bytes, WRITE, true);
}

/* The copy is an access of the thread that waited for it, from here on. */
void trace_copy_ends(const void *to, const void *from, size_t bytes)
{
    Stamp now = stamp_now();
    for (size_t i = 0; i < bytes; i++) {
        uintptr_t at = (uintptr_t)to + i, of = (uintptr_t)from + i;
        Cell *cell = &cells_of(at >> PAGE_BITS)[at & (PAGE - 1)];
        cell->write = now;
        cell = &cells_of(of >> PAGE_BITS)[of & (PAGE - 1)];
        for (Stamp &read : cell->reads)
            if (read.flight && read.block == now.block && read.thread == now.thread)
                read = now;
    }
}

void trace_stacks(const char *first, size_t bytes)
{
    stacks = first;
    stacks_bytes = bytes;
}

/* ---- what gcc calls ---- */

#define HERE __builtin_return_address(0)
#define ACCESS(n)                                                                                                      \
    extern "C" void __tsan_read##n(void *at)                                                                           \
    {                                                                                                                  \
        check(HERE, at, n, READ, false);                                                                               \
    }                                                                                                                  \
    extern "C" void __tsan_write##n(void *at)                                                                          \
    {                                                                                                                  \
        check(HERE, at, n, WRITE, false);                                                                              \
    }
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)

extern "C" void __tsan_read_range(void *at, size_t bytes)
{
    check(HERE, at, (unsigned)bytes, READ, false);
}

extern "C" void __tsan_write_range(void *at, size_t bytes)
{
    check(HERE, at, (unsigned)bytes, WRITE, false);
}

extern "C" void __tsan_func_entry(void *)
{
}

extern "C" void __tsan_func_exit(void)
{
}

extern "C" void __tsan_init(void)
{
}
