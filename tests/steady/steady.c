/* steady.c: the program, with a count of what each training step takes from the system: allocations, and pages that are
 * touched for the first time, by the threads that compute, and threads that are started. Written to standard error
 * after each step. The threads of loader and signals are not counted: they work beside the steps. Nor is what libraries
 * take for themselves: libgomp a record of its team where two parallel regions differ in their number of threads,
 * oneDNN one for each product in f32. cmake/tests.cmake puts __wrap_train_step between the trainer and its steps;
 * malloc and the functions like it stand before those of the C library. */
#include "train/trainer.h"

#include <dlfcn.h>
#include <malloc.h>
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

bool __real_train_step(Trainer *t, GError **error);
bool __wrap_train_step(Trainer *t, GError **error);

extern void *__libc_malloc(size_t bytes), *__libc_calloc(size_t n, size_t bytes),
    *__libc_realloc(void *p, size_t bytes), *__libc_memalign(size_t align, size_t bytes);

static atomic_long allocations, threads_started;
static atomic_bool counting;

/* Counts an allocation by the code at `caller`. */
static void count(const void *caller)
{
    static const char *const libraries[] = { "libgomp", "libdnnl", "libstdc++" };
    char name[16] = "";
    Dl_info from = { 0 };
    if (!counting)
        return;
    prctl(PR_GET_NAME, name);
    bool counts = strcmp(name, "prefetch") != 0 && strcmp(name, "signals") != 0 && dladdr(caller, &from) != 0;
    for (size_t i = 0; counts && i < G_N_ELEMENTS(libraries); i++)
        counts = strstr(from.dli_fname, libraries[i]) == NULL;
    if (counts)
        atomic_fetch_add(&allocations, 1);
}

void *malloc(size_t bytes)
{
    count(__builtin_return_address(0));
    return __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
    count(__builtin_return_address(0));
    return __libc_calloc(n, bytes);
}

void *realloc(void *p, size_t bytes)
{
    count(__builtin_return_address(0));
    return __libc_realloc(p, bytes);
}

void *memalign(size_t align, size_t bytes)
{
    count(__builtin_return_address(0));
    return __libc_memalign(align, bytes);
}

void *aligned_alloc(size_t align, size_t bytes)
{
    count(__builtin_return_address(0));
    return __libc_memalign(align, bytes);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *data)
{
    int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    *(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
    if (counting)
        atomic_fetch_add(&threads_started, 1);
    return next(thread, attributes, run, data);
}

/* Page faults that needed no disk, of all compute threads so far. */
static long page_faults(int threads)
{
    long faults = 0;
#pragma omp parallel num_threads(threads) reduction(+ : faults)
    {
        struct rusage usage;
        getrusage(RUSAGE_THREAD, &usage);
        faults += usage.ru_minflt;
    }
    return faults;
}

bool __wrap_train_step(Trainer *t, GError **error)
{
    long faults = page_faults(t->dev->threads), allocated = atomic_load(&allocations);
    long threads = atomic_load(&threads_started);
    atomic_store(&counting, true);
    bool made = __real_train_step(t, error);
    atomic_store(&counting, false);
    allocated = atomic_load(&allocations) - allocated;
    faults = page_faults(t->dev->threads) - faults;
    threads = atomic_load(&threads_started) - threads;
    fprintf(stderr, "step %ld: %ld allocations, %ld page faults, %ld threads started\n", (long)t->state.steps,
            allocated, faults, threads);
    return made;
}
