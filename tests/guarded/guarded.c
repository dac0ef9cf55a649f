/* guarded.c: the cpu device as one far away, put in its place (see cmake/tests.cmake). Its memory is mapped twice:
 * tensors carry addresses that nobody may read or write, operations and transfers use the same pages under another
 * address. Fresh memory holds NaN. Operations and transfers only queue; another thread runs them when somebody waits:
 * what is read too early is NaN as well, and a description that dies with its caller is missed. In a group (device.h)
 * no operation may write memory that another one reads or writes. */
#include "arguments.h"
#include "base/check.h"
#include "device/op_table.h"
#include "device/operand.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SPACE     ((size_t)1 << 36) /* addresses; pages are taken as they are used, and no address is used twice */
#define PAGE      ((size_t)4096)
#define POISON    0xFF /* every float, double and bfloat16 of such bytes is a NaN */
#define MOST_WAIT 4096 /* calls in the queue before a caller has to wait */

enum { MOST_OWNED = 4 };

typedef struct Call Call;
struct Call {
    Call *next;
    void (*run)(Device *cpu, Call *call);
    void *owned[MOST_OWNED]; /* freed after it */
    int n_owned;
};

typedef struct Block {
    size_t offset, bytes;
} Block;

/* Memory that an operation of the group reads, or writes: [from, to). */
typedef struct Touched {
    const char *op, *name, *from, *to;
    bool written;
} Touched;

typedef struct Guarded {
    Device *cpu;
    int threads;
    Precision precision;
    char *closed, *open; /* the two mappings */
    size_t used;
    Block *blocks; /* of memory, in the order of their addresses */
    size_t n_blocks;
    bool grouped;
    Touched *touched; /* in the group that is open */
    size_t n_touched;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t asked, done;
    Call *first, **last;
    uint64_t queued, finished, wanted;
    bool closing;
} Guarded;

Device *__real_device_open_cpu(int threads, Precision precision);

/* What may not be touched becomes what may. */
static void *translate(const Device *dev, const void *p)
{
    const Guarded *g = dev->impl;
    size_t offset = (size_t)((const char *)p - g->closed);
    CHECK(p == NULL || (p >= (void *)g->closed && offset < g->used), "%p is not memory of the device", p);
    return p ? g->open + offset : NULL;
}

/* ---- the queue ---- */

static void *worker(void *context)
{
    Guarded *g = context;
    pthread_mutex_lock(&g->lock);
    g->cpu = __real_device_open_cpu(g->threads, g->precision); /* what it sets for a thread is set here */
    pthread_cond_broadcast(&g->done);
    while (!g->closing || g->finished < g->queued) {
        if (g->finished >= g->wanted) {
            pthread_cond_wait(&g->asked, &g->lock);
            continue;
        }
        Call *call = g->first;
        g->first = call->next;
        if (g->first == NULL)
            g->last = &g->first;
        pthread_mutex_unlock(&g->lock);
        call->run(g->cpu, call);
        for (int i = 0; i < call->n_owned; i++)
            free(call->owned[i]);
        free(call);
        pthread_mutex_lock(&g->lock);
        g->finished++;
        pthread_cond_broadcast(&g->done);
    }
    pthread_mutex_unlock(&g->lock);
    return NULL;
}

static void wait_for(Guarded *g, uint64_t mark)
{
    pthread_mutex_lock(&g->lock);
    g->wanted = mark > g->wanted ? mark : g->wanted;
    pthread_cond_signal(&g->asked);
    while (g->finished < mark)
        pthread_cond_wait(&g->done, &g->lock);
    pthread_mutex_unlock(&g->lock);
}

static void enqueue(Device *dev, Call *call, void (*run)(Device *, Call *))
{
    Guarded *g = dev->impl;
    call->run = run;
    pthread_mutex_lock(&g->lock);
    *g->last = call;
    g->last = &call->next;
    uint64_t mark = ++g->queued;
    bool full = g->queued - g->finished > MOST_WAIT;
    pthread_mutex_unlock(&g->lock);
    if (full)
        wait_for(g, mark);
}

static DeviceEvent guarded_record_event(Device *dev)
{
    return ((Guarded *)dev->impl)->queued;
}

static void guarded_wait_event(Device *dev, DeviceEvent event)
{
    wait_for(dev->impl, event);
}

/* ---- memory and transfers ---- */

static void *guarded_alloc(Device *dev, size_t bytes)
{
    Guarded *g = dev->impl;
    size_t rounded = (bytes / PAGE + 1) * PAGE;
    CHECK(rounded > bytes && rounded <= SPACE - g->used, "%zu bytes more than %zu", bytes, g->used);
    size_t offset = g->used;
    g->used += rounded;
    g->blocks = realloc(g->blocks, (g->n_blocks + 1) * sizeof *g->blocks);
    CHECK(g->blocks != NULL, "no memory");
    g->blocks[g->n_blocks++] = (Block){ offset, rounded };
    memset(g->open + offset, POISON, rounded);
    return g->closed + offset;
}

/* Whoever uses it later dies. */
static void guarded_free(Device *dev, void *p)
{
    Guarded *g = dev->impl;
    size_t offset = (size_t)((char *)p - g->closed), i = 0;
    device_synchronise(dev);
    while (i < g->n_blocks && g->blocks[i].offset != offset)
        i++;
    CHECK(i < g->n_blocks, "%p was not allocated", p);
    madvise(g->open + offset, g->blocks[i].bytes, MADV_REMOVE);
    CHECK(mprotect(g->open + offset, g->blocks[i].bytes, PROT_NONE) == 0, "mprotect");
}

/* ---- groups ---- */

static void guarded_group(Device *dev, bool open)
{
    Guarded *g = dev->impl;
    CHECK(g->grouped != open, "a group in a group, or the end of none");
    g->grouped = open;
    g->n_touched = 0;
}

static void check_apart(const Touched *a, const Touched *b)
{
    CHECK(a->to <= b->from || b->to <= a->from || (!a->written && !b->written),
          "in one group %s of %s and %s of %s share memory, which one of them writes", a->name, a->op, b->name, b->op);
}

/* An operation of a group: checks its operands against those of the operations before it. */
static void touch(Guarded *g, const char *op, const Operand *operands, int n)
{
    size_t before = g->n_touched;
    g->touched = realloc(g->touched, (before + (size_t)n) * sizeof *g->touched);
    CHECK(g->touched != NULL, "no memory");
    for (const Operand *o = operands; o < operands + n; o++) {
        if (tensor_count(o->t) == 0)
            continue;
        int64_t length = (tensor_rows(o->t) - 1) * o->t.ld + tensor_cols(o->t);
        const char *from = o->t.p, *to = from + (size_t)length * dtype_bytes(o->t.dtype);
        const Touched now = { op, o->name, from, to, o->access != ACCESS_IN };
        for (size_t i = 0; i < before; i++)
            check_apart(&g->touched[i], &now);
        g->touched[g->n_touched++] = now;
    }
}

/* A transfer between `device` and what stands behind it, or a place of the host. */
typedef struct Transfer {
    Call call;
    void *device, *host;
    size_t bytes;
} Transfer;

static void run_upload(Device *cpu, Call *call)
{
    Transfer *t = (Transfer *)call;
    (void)cpu;
    memcpy(t->device, t->host, t->bytes);
}

static void run_download(Device *cpu, Call *call)
{
    Transfer *t = (Transfer *)call;
    (void)cpu;
    memcpy(t->host, t->device, t->bytes);
}

static Transfer *transfer_new(Device *dev, const void *device, size_t bytes, size_t more)
{
    Transfer *t = malloc(sizeof *t + more);
    CHECK(t != NULL, "no memory for a transfer of %zu bytes", bytes);
    *t = (Transfer){ .device = translate(dev, device), .host = t + 1, .bytes = bytes };
    return t;
}

static void guarded_upload(Device *dev, void *to, const void *from, size_t bytes)
{
    Transfer *t = transfer_new(dev, to, bytes, bytes);
    memcpy(t->host, from, bytes);
    enqueue(dev, &t->call, run_upload);
}

static void guarded_download(Device *dev, void *to, const void *from, size_t bytes)
{
    Transfer *t = transfer_new(dev, from, bytes, 0);
    t->host = to;
    memset(to, POISON, bytes);
    enqueue(dev, &t->call, run_download);
}

/* ---- operations: each argument is copied, with all that it points to, and its addresses are translated ---- */

static Tensor opened_tensor(Device *dev, Call *call, Tensor t)
{
    (void)call;
    t.p = translate(dev, t.p);
    return t;
}

/* Lives as long as the call. */
static void *copy_of(Call *call, const void *from, size_t bytes)
{
    if (from == NULL)
        return NULL;
    void *copy = malloc(bytes);
    CHECK(copy != NULL && call->n_owned < MOST_OWNED, "%zu bytes, %d copies before", bytes, call->n_owned);
    call->owned[call->n_owned++] = copy;
    return memcpy(copy, from, bytes);
}

/* Kernels have no business with the host's side. */
static BothSides opened_sides(Device *dev, BothSides sides)
{
    return (BothSides){ NULL, translate(dev, sides.device) };
}

static const Dropout *opened_dropout(Device *dev, Call *call, const Dropout *from)
{
    if (from == NULL)
        return NULL;
    Dropout *drop = copy_of(call, from, sizeof *from);
    drop->sample = from->rate > 0 ? translate(dev, from->sample) : NULL;
    drop->position = from->rate > 0 ? translate(dev, from->position) : NULL;
    return drop;
}

static const AttnSpec *opened_attn(Device *dev, Call *call, const AttnSpec *from)
{
    AttnSpec *spec = copy_of(call, from, sizeof *from);
    BlockLayout *layout = copy_of(call, from->layout, sizeof *layout);
    AttnDistance *distance = copy_of(call, from->distance, sizeof *distance);
    spec->cu_q = opened_sides(dev, from->cu_q);
    spec->cu_k = opened_sides(dev, from->cu_k);
    spec->prefix = opened_sides(dev, from->prefix);
    spec->k_first = opened_sides(dev, from->k_first);
    if (layout) {
        layout->first = opened_sides(dev, layout->first);
        layout->keys = opened_sides(dev, layout->keys);
    }
    if (distance) {
        distance->table = opened_tensor(dev, call, distance->table);
        distance->dtable = opened_tensor(dev, call, distance->dtable);
    }
    spec->layout = layout;
    spec->distance = distance;
    return spec;
}

static const StepScalars *opened_scalars(Device *dev, Call *call, const StepScalars *scalars)
{
    (void)call;
    return translate(dev, scalars);
}

#define COPIED(type, name)                                                                                             \
    static const type *opened_##name(Device *dev, Call *call, const type *from)                                        \
    {                                                                                                                  \
        (void)dev;                                                                                                     \
        return copy_of(call, from, sizeof *from);                                                                      \
    }
COPIED(RelposSpec, relpos)
COPIED(XentSpec, xent)
COPIED(AdamwSpec, adamw)
COPIED(AdafactorSpec, adafactor)

#define AS_IT_IS(type, name)                                                                                           \
    static type opened_##name(Device *dev, Call *call, type value)                                                     \
    {                                                                                                                  \
        (void)dev;                                                                                                     \
        (void)call;                                                                                                    \
        return value;                                                                                                  \
    }
AS_IT_IS(bool, bool)
AS_IT_IS(float, float)
AS_IT_IS(double, double)
AS_IT_IS(int32_t, int)
AS_IT_IS(Activation, activation)

#define OPENED(x)                                                                                                      \
    _Generic((x),                                                                                                      \
        Tensor: opened_tensor,                                                                                         \
        const Dropout *: opened_dropout,                                                                               \
        const AttnSpec *: opened_attn,                                                                                 \
        const StepScalars *: opened_scalars,                                                                           \
        const RelposSpec *: opened_relpos,                                                                             \
        const XentSpec *: opened_xent,                                                                                 \
        const AdamwSpec *: opened_adamw,                                                                               \
        const AdafactorSpec *: opened_adafactor,                                                                       \
        bool: opened_bool,                                                                                             \
        float: opened_float,                                                                                           \
        double: opened_double,                                                                                         \
        int32_t: opened_int,                                                                                           \
        Activation: opened_activation)(dev, &c->call, x)

#define DECLARE(parameter) parameter;
#define OPEN(x)            c->x = OPENED(x);
#define PASS(x)            , c->x

#define OP(name, parameters, arguments, operands, rules, flops)                                                        \
    typedef struct Call_##name {                                                                                       \
        Call call;                                                                                                     \
        EACH_OF(DECLARE, AFTER_DEVICE parameters)                                                                      \
    } Call_##name;                                                                                                     \
    static void run_##name(Device *cpu, Call *call)                                                                    \
    {                                                                                                                  \
        Call_##name *c = (Call_##name *)call;                                                                          \
        cpu->ops->name(cpu EACH_OF(PASS, AFTER_DEVICE arguments));                                                     \
    }                                                                                                                  \
    static void guarded_##name parameters                                                                              \
    {                                                                                                                  \
        Call_##name *c = calloc(1, sizeof *c);                                                                         \
        CHECK(c != NULL, "no memory for a call");                                                                      \
        EACH_OF(OPEN, AFTER_DEVICE arguments)                                                                          \
        if (((Guarded *)dev->impl)->grouped)                                                                           \
            touch(dev->impl, #name, OPERANDS operands, N_OPERANDS operands);                                           \
        enqueue(dev, &c->call, run_##name);                                                                            \
    }
#include "device/op_list.inc"
#undef OP

static void guarded_close(Device *dev)
{
    Guarded *g = dev->impl;
    device_synchronise(dev);
    pthread_mutex_lock(&g->lock);
    g->closing = true;
    pthread_cond_signal(&g->asked);
    pthread_mutex_unlock(&g->lock);
    pthread_join(g->thread, NULL);
    device_close(g->cpu);
    munmap(g->closed, SPACE);
    munmap(g->open, SPACE);
    free(g->blocks);
    free(g->touched);
    free(g);
}

static const OpTable guarded_ops = {
    .alloc = guarded_alloc,
    .free = guarded_free,
    .upload = guarded_upload,
    .download = guarded_download,
    .record_event = guarded_record_event,
    .wait_event = guarded_wait_event,
    .memory_available = host_memory_available,
    .group = guarded_group,
    .repeat = host_repeat,
    .forget = host_forget,
    QUEUE_OF_HOST,
#define KERNEL(name) .name = guarded_##name,
    OPERATIONS(KERNEL)
#undef KERNEL
        .close = guarded_close,
};

Device *__wrap_device_open_cpu(int threads, Precision precision);

Device *__wrap_device_open_cpu(int threads, Precision precision)
{
    Guarded *g = calloc(1, sizeof *g);
    int memory = memfd_create("guarded", MFD_CLOEXEC);
    CHECK(g != NULL && memory >= 0 && ftruncate(memory, (off_t)SPACE) == 0, "no memory to map twice");
    g->closed = mmap(NULL, SPACE, PROT_NONE, MAP_SHARED | MAP_NORESERVE, memory, 0);
    g->open = mmap(NULL, SPACE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, memory, 0);
    CHECK(g->closed != MAP_FAILED && g->open != MAP_FAILED, "no addresses for %zu bytes", SPACE);
    close(memory);
    g->threads = threads;
    g->precision = precision;
    g->last = &g->first;
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->asked, NULL);
    pthread_cond_init(&g->done, NULL);
    CHECK(pthread_create(&g->thread, NULL, worker, g) == 0, "no thread");
    pthread_mutex_lock(&g->lock);
    while (g->cpu == NULL)
        pthread_cond_wait(&g->done, &g->lock);
    pthread_mutex_unlock(&g->lock);
    return device_new("guarded", &guarded_ops, g->cpu->precision, true, g->cpu->threads, g->cpu->isa, g);
}
