/* shim.cc: fibers, and blocks of them. */
#include "shim/shim.h"

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
enum { MOST_COPIES = 512 }; /* of a thread that has not waited */

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
};

struct Copies {
    struct {
        void *to;
        const void *from;
        size_t bytes;
    } of[MOST_COPIES];
    int n;
};

Fiber fibers[MOST_THREADS];
Copies *copies; /* (MOST_THREADS) */
Warp warps[MOST_WARPS];
Place scheduler;
char *stacks;
alignas(16) char shared[LARGE];
size_t dynamic = LARGE; /* bytes of shared memory that the launch asked for */
int current, n_threads, at_barrier, n_ended;
void (*body)(void *);
void *body_context;
ShimOrder order;
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

/* Another fiber's turn, until this one is ready again. */
void give_way()
{
    shim_switch(&fibers[current].place, scheduler);
}

/* A fiber runs its thread of one block after another. */
void fiber_main()
{
    for (;;) {
        body(body_context);
        fibers[current].state = ENDED;
        n_ended++;
        give_way();
    }
}

void open_fibers()
{
    if (stacks)
        return;
    void *memory = mmap(NULL, (size_t)MOST_THREADS * STACK, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(memory != MAP_FAILED, "no memory for the stacks of threads");
    stacks = (char *)memory;
    copies = (Copies *)calloc(MOST_THREADS, sizeof *copies);
    CHECK(copies != NULL, "no memory for the copies of threads");
    for (int i = 0; i < MOST_THREADS; i++)
        place_init(&fibers[i].place, stacks + (size_t)i * STACK, fiber_main);
}

/* One turn of each thread of a warp that can go on. */
int run_lanes(int first)
{
    int list[WARP], ran = 0;
    fill_order(list, WARP);
    for (int i = 0; i < WARP; i++) {
        Fiber *fiber = &fibers[first + list[i]];
        if (fiber->state != READY)
            continue;
        current = first + list[i];
        threadIdx = fiber->index;
        shim_switch(&scheduler, fiber->place);
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

void run_block()
{
    memset(shared, 0xFF, sizeof shared);
    at_barrier = n_ended = 0;
    for (int i = 0; i < n_threads; i++) {
        fibers[i].state = READY;
        fibers[i].index = { (unsigned)i % blockDim.x, (unsigned)i / blockDim.x, 0 };
    }
    for (Warp &warp : warps)
        warp.turn = warp.arrived = 0;
    while (run_ready())
        ;
    for (int i = 0; i < n_threads; i++)
        CHECK(copies[i].n == 0, "block (%u, %u): thread %d ends with %d copies that it has not waited for", blockIdx.x,
              blockIdx.y, i, copies[i].n);
    CHECK(n_ended == n_threads, "block (%u, %u): %d of %d threads wait for others, %d of them at a barrier", blockIdx.x,
          blockIdx.y, n_threads - n_ended, n_threads, at_barrier);
}

} // namespace

ShimIndex threadIdx, blockIdx, blockDim, gridDim;

void shim_set_order(ShimOrder wanted)
{
    order = wanted;
}

int64_t shim_launches(void)
{
    return launches;
}

void shim_run(ShimIndex grid, ShimIndex block, void (*new_body)(void *), void *context)
{
    n_threads = (int)(block.x * block.y);
    CHECK(n_threads > 0 && n_threads <= MOST_THREADS && n_threads % WARP == 0, "a block of %u x %u threads", block.x,
          block.y);
    CHECK(grid.x > 0 && grid.y > 0 && grid.y <= 65535 && grid.x < 1u << 31, "a grid of %u x %u blocks", grid.x, grid.y);
    open_fibers();
    launches++;
    random_state = 1;
    body = new_body;
    body_context = context;
    gridDim = grid;
    blockDim = block;
    int n = (int)(grid.x * grid.y), *blocks = (int *)malloc((size_t)n * sizeof *blocks);
    CHECK(blocks != NULL, "no memory for %d blocks", n);
    fill_order(blocks, n);
    for (int i = 0; i < n; i++) {
        blockIdx = { (unsigned)blocks[i] % grid.x, (unsigned)blocks[i] / grid.x, 0 };
        run_block();
    }
    free(blocks);
}

void *shim_shared(size_t bytes)
{
    CHECK(bytes <= SHARED, "%zu bytes of shared memory, at most %d", bytes, (int)SHARED);
    return shared;
}

void *shim_shared_large(size_t bytes)
{
    CHECK(bytes <= dynamic, "%zu bytes of shared memory, the launch asked for %zu", bytes, dynamic);
    return shared;
}

void shim_set_dynamic(size_t bytes)
{
    CHECK(bytes <= LARGE, "a launch with %zu bytes of shared memory, at most %d", bytes, (int)LARGE);
    dynamic = bytes;
}

void shim_copy_later(void *to, const void *from, size_t bytes)
{
    Copies *own = &copies[current];
    CHECK(own->n < MOST_COPIES, "thread %d has %d copies to wait for", current, own->n);
    CHECK((uintptr_t)to % bytes == 0 && (uintptr_t)from % bytes == 0, "a copy of %zu bytes from %p to %p", bytes, from,
          to);
    own->of[own->n++] = { to, from, bytes };
}

void shim_copy_now(void)
{
    Copies *own = &copies[current];
    for (int i = 0; i < own->n; i++)
        memcpy(own->of[i].to, own->of[i].from, own->of[i].bytes);
    own->n = 0;
}

void __syncthreads(void)
{
    fibers[current].state = AT_BARRIER;
    if (++at_barrier == n_threads) {
        at_barrier = 0;
        for (int i = 0; i < n_threads; i++)
            fibers[i].state = READY;
    }
    give_way();
}

const uint64_t *shim_meet(uint64_t value)
{
    Warp *warp = &warps[current / WARP];
    int first = current / WARP * WARP, turn = warp->turn;
    warp->values[turn][current - first] = value;
    fibers[current].state = AT_WARP;
    if (++warp->arrived == WARP) {
        warp->arrived = 0;
        warp->turn ^= 1;
        for (int i = first; i < first + WARP; i++)
            fibers[i].state = READY;
    }
    give_way();
    return warp->values[turn];
}
