/* trace.h: checks each access to memory that a kernel makes on the tests' simulated GPU: races that change no number,
 * shared memory that was not written or not asked for, misaligned vectors; and counts conflicts of banks.
 *
 * gcc's -fsanitize=thread calls a function before each load and each store; trace.cc is these functions. One access
 * comes before another of the same launch if a barrier of the block, a __syncwarp of the warp, the order of one thread,
 * or this chain between blocks is between them: __threadfence, a barrier or the same thread, an atomic operation; an
 * atomic operation that reads its result, a barrier or the same thread, __threadfence. Two accesses to the same byte of
 * which neither comes before the other are a race, unless both read or both are atomic. Shuffles and votes order
 * nothing. An asynchronous copy reads and writes from its issue until its thread has waited for it. A kernel that may
 * begin early (shim_set_early) touches global memory only after shim_wait_for_earlier.
 *
 * Without SHIM_TRACED these functions do nothing. */
#pragma once

#include "shim/banks.h"
#include "shim/shim.h"

enum { TRACE_SLOTS = 2 }; /* blocks that run at the same time */

typedef struct TraceBanks {
    int64_t accesses;   /* to shared memory, of whole warps */
    int64_t wavefronts; /* 128 bytes in one cycle at most, each bank once */
    int64_t conflicts;  /* of the wavefronts: those that an access without conflicts would not take */
} TraceBanks;

/* A finding ends the program with a line that names the place of the access in the source. */
#ifdef SHIM_TRACED
/* Counts since trace_count_banks; prints the worst places of the source to stderr if `places` is above 0. */
TraceBanks trace_banks(int places);

void trace_kernel(const void *kernel); /* the kernel of the next launch */
void trace_launch(void);
void trace_waits(bool done); /* whether the thread that runs has waited for earlier kernels, or need not */
void trace_block(int slot, ShimIndex index, int threads, const char *shared, size_t bytes);
void trace_block_end(int slot);
void trace_enter(int slot, int thread); /* this thread runs from here on; slot -1 means that none does */
void trace_asked(size_t bytes);         /* for shared memory, by the thread that runs */
void trace_barrier(int slot);
void trace_warp(int slot, int warp);    /* __syncwarp */
void trace_meeting(int slot, int warp); /* any meeting of the warp */
void trace_fence(void);
void trace_atomic(const void *at);
void trace_copy_begins(const void *to, const void *from, size_t bytes);
void trace_copy_ends(const void *to, const void *from, size_t bytes);
void trace_stacks(const char *first, size_t bytes); /* memory of the threads themselves, which is not traced */
#else
static inline void trace_kernel(const void *)
{
}
static inline void trace_launch(void)
{
}
static inline void trace_waits(bool)
{
}
static inline void trace_block(int, ShimIndex, int, const char *, size_t)
{
}
static inline void trace_block_end(int)
{
}
static inline void trace_enter(int, int)
{
}
static inline void trace_asked(size_t)
{
}
static inline void trace_barrier(int)
{
}
static inline void trace_warp(int, int)
{
}
static inline void trace_meeting(int, int)
{
}
static inline void trace_fence(void)
{
}
static inline void trace_atomic(const void *)
{
}
static inline void trace_copy_begins(const void *, const void *, size_t)
{
}
static inline void trace_copy_ends(const void *, const void *, size_t)
{
}
static inline void trace_stacks(const char *, size_t)
{
}
#endif
