/* shim.cc: fibers, and blocks of them. */
#include "shim/trace.h"

extern "C" {
#include "base/check.h"
}

#include <stdlib.h>
#include <sys/mman.h>
#if !defined(__x86_64__) || defined(SHIM_UCONTEXT)
#include <ucontext.h>
#define BY_UCONTEXT /* slower: it asks the kernel for the signals */
#endif

enum {
    WARP = 32,
    MOST_THREADS = 1024,
    MOST_WARPS = MOST_THREADS / WARP,
    STACK = 128 << 10,
    SHARED = 48 << 10,
    LARGE = 99 << 10
};
enum { MOST_COPIES = 512 };                                                      /* of a thread that has not waited */
enum { MOST_PRODUCTS = 64, WARPGROUP = 4 * WARP, MOST_WARPGROUP_THREADS = 256 }; /* likewise */
enum { TOGETHER = TRACE_SLOTS }; /* blocks that take turns in the shuffled order */

enum State { READY, AT_WARP, AT_BARRIER, ENDED };

#ifndef BY_UCONTEXT
typedef void *Place; /* stack pointer of a fiber that waits; its registers lie there */

/* Keeps the registers that a function has to keep on this stack, and goes on where `to` stopped. */
extern "C" void shim_switch(Place *from, Place to);
__asm__(".text\n.globl shim_switch\n.type shim_switch,@function\nshim_switch:\n"
        "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
        "mov %rsp, (%rdi)\nmov %rsi, %rsp\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n"
        ".size shim_switch,.-shim_switch\n");

static void place_init(Place *place, char *stack, void (*entry)(void))
{
    void **top = (void **)(stack + STACK) - 10;
    memset(top, 0, 10 * sizeof *top);
    top[6] = (void *)entry; /* the address that `ret` takes; the stack is then as after a call */
    *place = top;
}
#else
typedef ucontext_t Place;

static void shim_switch(Place *from, const Place &to)
{
    swapcontext(from, &to);
}

static void place_init(Place *place, char *stack, void (*entry)(void))
{
    getcontext(place);
    place->uc_stack.ss_sp = stack;
    place->uc_stack.ss_size = STACK;
    makecontext(place, entry, 0);
}
#endif

namespace
{

struct Fiber {
    Place place;
    ShimIndex index;
    State state;
};

struct Warp {
    uint64_t values[2][WARP]; /* of two meetings in turns: the slower threads still read the one before */
    int turn, arrived;
    ShimPlace place; /* of the meeting that some threads have reached */
};

struct Copies {
    struct {
        void *to;
        const void *from;
        size_t bytes;
        bool done;
    } of[MOST_COPIES];
    int n;
};

struct Products {
    ShimProduct of[MOST_PRODUCTS];
    int group[MOST_PRODUCTS]; /* by number */
    int n, made, groups;      /* made: the first of n that are */
    uint64_t issued;          /* a sum of all products since the last barrier */
};

struct Block {
    Fiber fibers[MOST_THREADS];
    Copies copies[MOST_THREADS];
    Products products[MOST_WARPGROUP_THREADS];
    bool waited[MOST_THREADS];   /* for earlier kernels */
    bool unfenced[MOST_THREADS]; /* copied without a proxy fence since */
    int n_unfenced;
    Warp warps[MOST_WARPS];
    ShimIndex index;
    int at_barrier, n_ended;
    ShimPlace barrier; /* that some threads have reached */
    bool runs;
    alignas(1024) char shared[LARGE];
};

Block *blocks[TOGETHER], *block; /* block: the one that runs */
Place scheduler;
char *stacks;
size_t dynamic = LARGE; /* bytes of shared memory that the launch asked for */
bool early;             /* the launch may begin before the kernel before it has ended */
int current, n_threads;
void (*body)(void *);
void *body_context;
ShimOrder order;
ShimCopies copies_when;
uint32_t random_state;
int64_t launches;

uint32_t next_random()
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state;
}

/* 0 … n-1 in the order of the day. */
void fill_order(int *list, int n)
{
    for (int i = 0; i < n; i++)
        list[i] = order == SHIM_BACKWARD ? n - 1 - i : i;
    for (int i = n - 1; order == SHIM_SHUFFLED && i > 0; i--) {
        int j = (int)(next_random() % (uint32_t)(i + 1)), swapped = list[i];
        list[i] = list[j];
        list[j] = swapped;
    }
}

int slot_of(const Block *of)
{
    return of == blocks[0] ? 0 : 1;
}

void make_copy(Copies *own, int i)
{
    if (!own->of[i].done)
        memcpy(own->of[i].to, own->of[i].from, own->of[i].bytes);
    own->of[i].done = true;
}

void make_products(Products *own, int n)
{
    for (; own->made < n; own->made++)
        own->of[own->made].make(&own->of[own->made]);
}

/* Dies unless all threads of each warpgroup have issued the same products since the last barrier. */
void check_warpgroups()
{
    for (int i = 0; i < n_threads && i < MOST_WARPGROUP_THREADS; i++) {
        Products *own = &block->products[i];
        CHECK(own->issued == block->products[i / WARPGROUP * WARPGROUP].issued,
              "block (%u, %u): thread %d has issued other products than its warpgroup", blockIdx.x, blockIdx.y, i);
    }
    for (int i = 0; i < n_threads && i < MOST_WARPGROUP_THREADS; i++)
        block->products[i].issued = 0;
}

/* Another fiber's turn, until this one is ready again. */
void give_way()
{
    Copies *own = &block->copies[current];
    if (copies_when == SHIM_COPIES_BETWEEN && current < MOST_WARPGROUP_THREADS && next_random() % 4 == 0)
        make_products(&block->products[current], block->products[current].n);
    for (int i = 0; copies_when == SHIM_COPIES_BETWEEN && i < own->n; i++)
        if (next_random() % 4 == 0)
            make_copy(own, i);
    shim_switch(&block->fibers[current].place, scheduler);
}

/* A fiber runs its thread of one block after another. */
void fiber_main()
{
    for (;;) {
        body(body_context);
        CHECK(!early || block->waited[current], "block (%u, %u): thread %d ends and has not waited for earlier kernels",
              blockIdx.x, blockIdx.y, current);
        block->fibers[current].state = ENDED;
        block->n_ended++;
        give_way();
    }
}

void open_fibers()
{
    if (stacks)
        return;
    size_t bytes = (size_t)TOGETHER * MOST_THREADS * STACK;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(memory != MAP_FAILED, "no memory for the stacks of threads");
    stacks = (char *)memory;
    trace_stacks(stacks, bytes);
    for (int slot = 0; slot < TOGETHER; slot++) {
        blocks[slot] = (Block *)aligned_alloc(alignof(Block), sizeof(Block));
        CHECK(blocks[slot] != NULL, "no memory for a block of threads");
        memset((void *)blocks[slot], 0, sizeof(Block));
        for (int i = 0; i < MOST_THREADS; i++)
            place_init(&blocks[slot]->fibers[i].place, stacks + ((size_t)slot * MOST_THREADS + (size_t)i) * STACK,
                       fiber_main);
    }
}

/* One turn of each thread of a warp that can go on. */
int run_lanes(int first)
{
    int list[WARP], ran = 0;
    fill_order(list, WARP);
    for (int i = 0; i < WARP; i++) {
        Fiber *fiber = &block->fibers[first + list[i]];
        if (fiber->state != READY)
            continue;
        current = first + list[i];
        threadIdx = fiber->index;
        trace_enter(slot_of(block), current);
        shim_switch(&scheduler, fiber->place);
        trace_enter(-1, 0);
        ran++;
    }
    return ran;
}

/* Each warp goes as far as it can before the next one, so that it reads what others have not written and writes what
 * others have not read, unless a barrier is there. */
int run_ready()
{
    int list[MOST_WARPS], n = n_threads / WARP, ran = 0, turn;
    fill_order(list, n);
    for (int i = 0; i < n; i++)
        while ((turn = run_lanes(list[i] * WARP)) > 0)
            ran += turn;
    return ran;
}

void begin_block(Block *next, int number)
{
    next->index = { (unsigned)number % gridDim.x, (unsigned)number / gridDim.x, 0 };
    next->runs = true;
    memset(next->shared, 0xFF, sizeof next->shared);
    next->at_barrier = next->n_ended = next->n_unfenced = 0;
    memset(next->unfenced, 0, sizeof next->unfenced);
    memset(next->waited, 0, sizeof next->waited);
    for (int i = 0; i < MOST_WARPGROUP_THREADS; i++)
        next->products[i].groups = 0;
    for (int i = 0; i < n_threads; i++) {
        next->fibers[i].state = READY;
        next->fibers[i].index = { (unsigned)i % blockDim.x, (unsigned)i / blockDim.x, 0 };
    }
    for (Warp &warp : next->warps)
        warp.turn = warp.arrived = 0;
    trace_block(slot_of(next), next->index, n_threads, next->shared, sizeof next->shared);
}

/* A block in which no thread can go on. */
void end_block()
{
    for (int i = 0; i < n_threads; i++)
        CHECK(block->copies[i].n == 0, "block (%u, %u): thread %d ends with %d copies that it has not waited for",
              blockIdx.x, blockIdx.y, i, block->copies[i].n);
    for (int i = 0; i < n_threads && i < MOST_WARPGROUP_THREADS; i++)
        CHECK(block->products[i].n == 0, "block (%u, %u): thread %d ends with %d products that it has not waited for",
              blockIdx.x, blockIdx.y, i, block->products[i].n);
    check_warpgroups();
    CHECK(block->n_ended == n_threads, "block (%u, %u): %d of %d threads wait for others, %d of them at a barrier",
          blockIdx.x, blockIdx.y, n_threads - block->n_ended, n_threads, block->at_barrier);
    trace_block_end(slot_of(block));
    block->runs = false;
}

/* Runs the blocks of a grid by their numbers, some of them in turns. */
void run_blocks(const int *numbers, int n)
{
    int slots = order == SHIM_SHUFFLED ? TOGETHER : 1, next = 0;
    for (bool ran = true; ran;) {
        ran = false;
        for (int slot = 0; slot < slots; slot++) {
            block = blocks[slot];
            if (!block->runs && next < n)
                begin_block(block, numbers[next++]);
            if (!block->runs)
                continue;
            ran = true;
            blockIdx = block->index;
            if (run_ready() == 0)
                end_block();
        }
    }
}

/* Notes where the first thread waits, and dies unless the others wait there, too. */
void meet_at(ShimPlace *meeting, bool first, ShimPlace place, const char *what)
{
    if (first)
        *meeting = place;
    bool same_file = meeting->file == place.file || strcmp(meeting->file, place.file) == 0;
    CHECK(meeting->line == place.line && same_file,
          "block (%u, %u): thread %d waits for %s at %s:%d, others wait at %s:%d", blockIdx.x, blockIdx.y, current,
          what, place.file, place.line, meeting->file, meeting->line);
}

const uint64_t *meet(uint64_t value, ShimPlace place, bool memory)
{
    int number = current / WARP, first = number * WARP;
    Warp *warp = &block->warps[number];
    int turn = warp->turn;
    meet_at(&warp->place, warp->arrived == 0, place, "its warp");
    warp->values[turn][current - first] = value;
    block->fibers[current].state = AT_WARP;
    if (++warp->arrived == WARP) {
        warp->arrived = 0;
        warp->turn ^= 1;
        for (int i = first; i < first + WARP; i++)
            block->fibers[i].state = READY;
        trace_meeting(slot_of(block), number);
        if (memory)
            trace_warp(slot_of(block), number);
    }
    give_way();
    return warp->values[turn];
}

} // namespace

ShimIndex threadIdx, blockIdx, blockDim, gridDim;

void shim_set_order(ShimOrder wanted)
{
    static const ShimCopies when[SHIM_ORDERS] = { SHIM_COPIES_LATE, SHIM_COPIES_EARLY, SHIM_COPIES_BETWEEN };
    order = wanted;
    copies_when = when[wanted];
}

void shim_set_copies(ShimCopies when)
{
    copies_when = when;
}

int64_t shim_launches(void)
{
    return launches;
}

void shim_run(ShimIndex grid, ShimIndex threads, void (*new_body)(void *), void *context)
{
    n_threads = (int)(threads.x * threads.y);
    CHECK(n_threads > 0 && n_threads <= MOST_THREADS && n_threads % WARP == 0, "a block of %u x %u threads", threads.x,
          threads.y);
    CHECK(grid.x > 0 && grid.y > 0 && grid.y <= 65535 && grid.x < 1u << 31, "a grid of %u x %u blocks", grid.x, grid.y);
    open_fibers();
    launches++;
    random_state = 1;
    body = new_body;
    body_context = context;
    gridDim = grid;
    blockDim = threads;
    int n = (int)(grid.x * grid.y), *numbers = (int *)malloc((size_t)n * sizeof *numbers);
    CHECK(numbers != NULL, "no memory for %d blocks", n);
    fill_order(numbers, n);
    trace_launch();
    run_blocks(numbers, n);
    free(numbers);
}

void *shim_shared(size_t bytes)
{
    CHECK(bytes <= SHARED, "%zu bytes of shared memory, at most %d", bytes, (int)SHARED);
    trace_asked(bytes);
    return block->shared;
}

void *shim_shared_large(size_t bytes)
{
    CHECK(bytes <= dynamic, "%zu bytes of shared memory, the launch asked for %zu", bytes, dynamic);
    trace_asked(bytes);
    return block->shared;
}

void shim_set_dynamic(size_t bytes)
{
    CHECK(bytes <= LARGE, "a launch with %zu bytes of shared memory, at most %d", bytes, (int)LARGE);
    dynamic = bytes;
}

void shim_set_early(bool wanted)
{
    early = wanted;
}

void shim_enter_kernel(void)
{
    trace_waits(!early);
}

void shim_wait_for_earlier(void)
{
    block->waited[current] = true;
    trace_waits(true);
}

void shim_copy_later(void *to, const void *from, size_t bytes)
{
    Copies *own = &block->copies[current];
    CHECK(own->n < MOST_COPIES, "thread %d has %d copies to wait for", current, own->n);
    CHECK((uintptr_t)to % bytes == 0 && (uintptr_t)from % bytes == 0, "a copy of %zu bytes from %p to %p", bytes, from,
          to);
    trace_copy_begins(to, from, bytes);
    own->of[own->n++] = { to, from, bytes, false };
    if (copies_when == SHIM_COPIES_EARLY)
        make_copy(own, own->n - 1);
}

void shim_copy_now(void)
{
    Copies *own = &block->copies[current];
    if (own->n > 0 && !block->unfenced[current]) {
        block->unfenced[current] = true;
        block->n_unfenced++;
    }
    for (int i = 0; i < own->n; i++) {
        make_copy(own, i);
        trace_copy_ends(own->of[i].to, own->of[i].from, own->of[i].bytes);
    }
    own->n = 0;
}

void shim_fence_async(void)
{
    block->n_unfenced -= block->unfenced[current];
    block->unfenced[current] = false;
}

uint32_t shim_shared_address(const void *p)
{
    ptrdiff_t address = (const char *)p - block->shared;
    CHECK(address >= 0 && address < LARGE, "an address that is not in shared memory");
    return (uint32_t)address;
}

const void *shim_shared_at(uint32_t address)
{
    CHECK(address < LARGE, "address %u of shared memory", address);
    return block->shared + address;
}

void shim_product_later(const ShimProduct *product)
{
    CHECK(current < MOST_WARPGROUP_THREADS && n_threads % WARPGROUP == 0, "products in a block of %d threads",
          n_threads);
    Products *own = &block->products[current];
    CHECK(own->n < MOST_PRODUCTS, "thread %d has %d products to wait for", current, own->n);
    CHECK(block->n_unfenced == 0, "a product before the proxy fences of %d threads that have copied",
          block->n_unfenced);
    const uint64_t descriptors[2] = { product->left, product->right };
    for (uint64_t descriptor : descriptors) {
        uint64_t swizzle = descriptor >> 62, group = descriptor >> 32 & 0x3FFF, at = descriptor & 0x3FFF;
        CHECK(descriptor == 0 || ((swizzle == 1 && group == 64) || (swizzle == 2 && group == 32)),
              "a descriptor with swizzle %d and groups %d bytes apart", (int)swizzle, (int)group * 16);
        CHECK(at % 2 == 0, "a descriptor of a matrix that begins within 16 columns");
        own->issued = (own->issued + descriptor) * 0x9E3779B97F4A7C15u;
    }
    own->of[own->n] = *product;
    own->group[own->n++] = own->groups;
    if (copies_when == SHIM_COPIES_EARLY)
        make_products(own, own->n);
}

void shim_products_commit(void)
{
    block->products[current].groups++;
}

void shim_products_now(int pending)
{
    Products *own = &block->products[current];
    int done = 0;
    while (done < own->n && own->group[done] < own->groups - pending)
        done++;
    make_products(own, done);
    for (int i = done; i < own->n; i++) {
        own->of[i - done] = own->of[i];
        own->group[i - done] = own->group[i];
    }
    own->n -= done;
    own->made -= done;
}

bool shim_by_wgmma(void)
{
    return order != SHIM_BACKWARD;
}

void __syncthreads(ShimPlace place)
{
    meet_at(&block->barrier, block->at_barrier == 0, place, "its block");
    block->fibers[current].state = AT_BARRIER;
    if (++block->at_barrier == n_threads) {
        block->at_barrier = 0;
        check_warpgroups();
        for (int i = 0; i < n_threads; i++)
            block->fibers[i].state = READY;
        trace_barrier(slot_of(block));
    }
    give_way();
}

const uint64_t *shim_meet(uint64_t value, ShimPlace place)
{
    return meet(value, place, false);
}

void __syncwarp(unsigned mask, ShimPlace place)
{
    shim_check_mask(mask, place);
    (void)meet(0, place, true);
}

void shim_check_mask(unsigned mask, ShimPlace place)
{
    CHECK(mask == ~0u, "%s:%d: thread %d waits for the lanes %08x of its warp, not for all", place.file, place.line,
          current, mask);
}

void __threadfence(void)
{
    trace_fence();
}

unsigned atomicAdd(unsigned *at, unsigned more)
{
    unsigned before = *at;
    trace_atomic(at);
    *at += more;
    return before;
}

unsigned atomicMax(unsigned *at, unsigned other)
{
    unsigned before = *at;
    trace_atomic(at);
    *at = before > other ? before : other;
    return before;
}
