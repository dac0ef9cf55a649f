/* comm.c: `loam bench comm`: latency and bandwidth of the collectives between ranks. */
#include "base/clock.h"
#include "base/file.h"
#include "base/json_line.h"
#include "base/table.h"
#include "base/text.h"
#include "bench/bench.h"
#include "comm/launch.h"
#include "comm/nccl/nccl.h"
#include "device/cuda/cuda.h"
#include "device/gemm_peak.h"
#include "plan/cluster/cluster.h"
#include "run/compute_device.h"
#include "run/launch.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STEP = 16, LEAST = 1024, WARM = 2, FEWEST = 3, MOST_RUNS = 100000 };
#define COPY_BYTES  ((size_t)64 << 20) /* more than caches hold */
#define PEAK_S      0.2
#define USUAL_SHARE 0.7 /* typical speed of a training step, as a share of the rate of matrix products */

typedef enum Call {
    CALL_ALL_REDUCE,
    CALL_REDUCE_SCATTER,
    CALL_ALL_GATHER,
    CALL_BROADCAST,
    CALL_ALL_TO_ALL,
    CALL_SEND,
    CALL_BARRIER,
    CALLS
} Call;

static const char *const call_names[CALLS] = { "all-reduce", "reduce-scatter", "all-gather", "broadcast",
                                               "all-to-all", "send/receive",   "barrier" };

/* The times of one collective at one size. The time of a run is that of its slowest rank. */
typedef struct Timing {
    Call call;
    int64_t bytes;            /* bytes of the tensor on a rank; 0 for a barrier */
    int64_t sent;             /* bytes that the busiest rank sends in a run; 0 for a barrier */
    double median, low, high; /* low, high: the middle half of the runs is between them */
} Timing;

typedef struct Bench {
    const BenchComm *options;
    const Config *config;
    Comm *ranks;
    Device *dev;
    bool has_fp8;     /* whether the device has products of FP8 */
    size_t available; /* bytes of memory of a rank */
    void *memory;     /* memory for two messages of the largest size */
    size_t n;         /* f32 of the largest message */
    GArray *timings;
    double copy, flops; /* bytes/s and FLOP/s of a rank, while all others copy and multiply too */
} Bench;

/* ---- one run ---- */

/* Exchanges equal parts of x with every other rank; y takes theirs. */
static CommWork all_to_all(Comm *ranks, Tensor x, Tensor y)
{
    const int size = comm_size(ranks);
    g_autofree int64_t *starts = g_new(int64_t, size + 1);
    for (int r = 0; r <= size; r++)
        starts[r] = r * (tensor_count(x) / size);
    return comm_all_to_all(ranks, tensor_vector(y.p, DT_F32, starts[size]), starts,
                           tensor_vector(x.p, DT_F32, starts[size]), starts);
}

/* Rank 0 sends x to the last rank, which a launcher puts farthest away. */
static CommWork send_receive(Comm *ranks, Tensor x)
{
    const int last = comm_size(ranks) - 1;
    if (comm_rank(ranks) == 0)
        return comm_send(ranks, x, last);
    return comm_rank(ranks) == last ? comm_receive(ranks, x, 0) : 0;
}

static Tensor rank_part(Comm *ranks, Tensor x)
{
    const int64_t n = tensor_count(x), first = comm_start(n, comm_size(ranks), comm_rank(ranks));
    return tensor_vector((float *)x.p + first, DT_F32, comm_start(n, comm_size(ranks), comm_rank(ranks) + 1) - first);
}

/* Starts a collective; a barrier is over at once. */
static CommWork start_call(Comm *ranks, Call call, Tensor x, Tensor y)
{
    switch (call) {
    case CALL_ALL_REDUCE:
        return comm_all_reduce(ranks, x);
    case CALL_REDUCE_SCATTER:
        return comm_reduce_scatter(ranks, rank_part(ranks, y), x, NULL);
    case CALL_ALL_GATHER:
        return comm_all_gather(ranks, x, rank_part(ranks, x), NULL);
    case CALL_BROADCAST:
        return comm_broadcast(ranks, x, 0);
    case CALL_ALL_TO_ALL:
        return all_to_all(ranks, x, y);
    case CALL_SEND:
        return send_receive(ranks, x);
    case CALL_BARRIER:
    default:
        comm_barrier(ranks);
        return 0;
    }
}

/* ---- measurements ---- */

/* The times of one run on one rank. */
typedef struct Run {
    double seconds, elapsed; /* seconds of this run; seconds since the first run that counts */
    int64_t sent;
} Run;

/* Makes a run on all ranks, which begin together, and returns the slowest one's seconds, the busiest one's bytes and
 * rank 0's seconds from `since` to the end of the run. */
static Run time_run(const Bench *b, Comm *ranks, Call call, Tensor x, Tensor y, double since)
{
    g_autofree Run *all = g_new0(Run, comm_size(ranks));
    const int64_t sent = comm_counts(ranks).sent_bytes;
    const double start = clock_seconds();
    comm_wait(ranks, start_call(ranks, call, x, y));
    device_synchronise(b->dev);
    const double end = clock_seconds();
    const Run own = { end - start, end - since, comm_counts(ranks).sent_bytes - sent };
    comm_share(ranks, all, &own, sizeof own);
    Run run = { .elapsed = all[0].elapsed };
    for (int r = 0; r < comm_size(ranks); r++) {
        run.seconds = MAX(run.seconds, all[r].seconds);
        run.sent = MAX(run.sent, all[r].sent);
    }
    return run;
}

static Timing time_call(const Bench *b, Comm *ranks, Call call, int64_t bytes)
{
    const int64_t n = MAX(bytes / (int64_t)sizeof(float), 1);
    const Tensor x = tensor_vector(b->memory, DT_F32, n), y = tensor_vector((float *)b->memory + b->n, DT_F32, n);
    g_autoptr(GArray) runs = g_array_new(false, false, sizeof(double));
    Run run = { 0 };
    for (int i = 0; i < WARM; i++)
        run = time_run(b, ranks, call, x, y, 0);
    const double start = clock_seconds();
    do {
        run = time_run(b, ranks, call, x, y, start);
        g_array_append_val(runs, run.seconds);
    } while (runs->len < FEWEST || (run.elapsed < b->options->seconds && runs->len < MOST_RUNS));
    double *sorted = (double *)(void *)runs->data;
    const double median = bench_median(sorted, runs->len);
    return (Timing){ .call = call,
                     .bytes = call == CALL_BARRIER ? 0 : bytes,
                     .sent = call == CALL_BARRIER ? 0 : run.sent,
                     .median = median,
                     .low = sorted[runs->len / 4],
                     .high = sorted[3 * runs->len / 4] };
}

static double rate_of(const Timing *timing)
{
    return timing->median > 0 ? (double)timing->sent / timing->median : 0;
}

/* Bytes/s that this rank reads and writes while all ranks copy. */
static double copy_rate(const Bench *b)
{
    const size_t bytes = MIN(COPY_BYTES, device_memory_available(b->dev) / 4);
    void *memory = device_alloc(b->dev, 2 * bytes);
    const Tensor from = tensor_vector(memory, DT_F32, (int64_t)(bytes / sizeof(float))),
                 to = tensor_vector((char *)memory + bytes, DT_F32, (int64_t)(bytes / sizeof(float)));
    g_autoptr(GArray) rates = g_array_new(false, false, sizeof(double));
    op_fill(b->dev, from, 1);
    op_fill(b->dev, to, 1);
    device_synchronise(b->dev);
    comm_barrier(b->ranks);
    for (double start = clock_seconds(), now = start; rates->len < FEWEST || now - start < b->options->seconds;) {
        op_copy(b->dev, to, from);
        device_synchronise(b->dev);
        const double end = clock_seconds(), rate = 2 * (double)bytes / MAX(end - now, 1e-9);
        g_array_append_val(rates, rate);
        now = end;
    }
    device_free(b->dev, memory);
    return bench_median((double *)(void *)rates->data, rates->len);
}

/* The smallest value of all ranks. */
static double least_of(Comm *ranks, double value)
{
    g_autofree double *all = g_new0(double, comm_size(ranks));
    comm_share(ranks, all, &value, sizeof value);
    for (int r = 0; r < comm_size(ranks); r++)
        value = MIN(value, all[r]);
    return value;
}

static void time_collectives(Bench *b)
{
    const int64_t largest = (int64_t)b->n * (int64_t)sizeof(float);
    for (int call = 0; call < CALL_BARRIER; call++) {
        int64_t bytes = largest;
        while (bytes / STEP >= LEAST)
            bytes /= STEP;
        for (; bytes <= largest; bytes *= STEP) {
            const Timing timing = time_call(b, b->ranks, (Call)call, bytes);
            g_array_append_val(b->timings, timing);
        }
    }
    const Timing barrier = time_call(b, b->ranks, CALL_BARRIER, 0);
    g_array_append_val(b->timings, barrier);
    b->copy = least_of(b->ranks, copy_rate(b));
    comm_barrier(b->ranks);
    b->flops = least_of(b->ranks, device_gemm_peak(b->dev, PEAK_S));
}

/* Sets bytes/s of an all-reduce among the ranks of a node. */
static bool measure_node(const Bench *b, int per_node, Machine *machine, GError **error)
{
    Comm *node = comm_split(b->ranks, comm_rank(b->ranks) / per_node);
    if (*b->dev->gpu.name && !comm_use_gpu(node, b->dev, true, error)) {
        comm_close(node);
        return false;
    }
    const Timing inside = time_call(b, node, CALL_ALL_REDUCE, (int64_t)(b->n * sizeof(float)));
    machine->within = rate_of(&inside);
    comm_close(node);
    return true;
}

/* The machine that loam plan reads. On one node `within` and `between` are both the rate of an all-reduce; with several
 * equal nodes of 2 ranks or more, `within` is measured among the ranks of a node, and `between` among all. */
static bool measure_machine(const Bench *b, Machine *machine, GError **error)
{
    const int size = comm_size(b->ranks), local = comm_of_threads(b->ranks) ? 0 : comm_launch().local_size;
    const int per_node = local > 0 ? local : size;
    const Timing all = time_call(b, b->ranks, CALL_ALL_REDUCE, (int64_t)(b->n * sizeof(float)));
    const double host = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    *machine = (Machine){ .per_node = per_node,
                          .memory_bytes = *b->dev->gpu.name ? (double)b->available : host / per_node,
                          .flops = USUAL_SHARE * b->flops,
                          .copy_bytes = b->copy,
                          .within = rate_of(&all),
                          .between = rate_of(&all) };
    if (*b->dev->gpu.name)
        machine_assume_gpu(machine, b->has_fp8);
    return per_node == 1 || per_node == size || size % per_node > 0 || measure_node(b, per_node, machine, error);
}

/* ---- output ---- */

static json_t *comm_to_json(const Bench *b, const Machine *machine)
{
    json_t *calls = json_array();
    for (guint i = 0; i < b->timings->len; i++) {
        const Timing *t = &g_array_index(b->timings, Timing, i);
        json_array_append_new(calls,
                              json_pack("{s:s, s:I, s:I, s:f, s:f, s:f, s:f}", "call", call_names[t->call], "bytes",
                                        (json_int_t)t->bytes, "sent_bytes", (json_int_t)t->sent, "seconds", t->median,
                                        "low", t->low, "high", t->high, "bytes_per_s", rate_of(t)));
    }
    return json_pack("{s:s, s:i, s:f, s:f, s:o, s:o}", "transport", comm_name(b->ranks), "ranks", comm_size(b->ranks),
                     "copy_bytes_per_s", b->copy, "peak_flops_per_s", b->flops, "machine", machine_to_json(machine),
                     "calls", calls);
}

static char *micro(double s)
{
    return g_strdup_printf(s < 1e-4 ? "%.2f µs" : s < 1e-2 ? "%.0f µs" : "%.0f ms", s < 1e-2 ? 1e6 * s : 1e3 * s);
}

static void print_comm_table(const Bench *b)
{
    static const char *const heading[] = {
        "collective", "bytes", "median", "middle half", "a rank sends", "of the copy"
    };
    Table table = table_new(G_N_ELEMENTS(heading));
    for (size_t i = 0; i < G_N_ELEMENTS(heading); i++)
        table_add(&table, g_strdup(heading[i]));
    for (guint i = 0; i < b->timings->len; i++) {
        const Timing *t = &g_array_index(b->timings, Timing, i);
        g_autofree char *low = micro(t->low), *high = micro(t->high);
        table_add(&table, g_strdup(call_names[t->call]));
        table_add(&table, t->bytes ? text_bytes((uint64_t)t->bytes) : g_strdup("-"));
        table_add(&table, micro(t->median));
        table_add(&table, g_strdup_printf("%s to %s", low, high));
        table_add(&table, t->sent ? g_strdup_printf("%.3g GB/s", rate_of(t) / 1e9) : g_strdup("-"));
        table_add(&table, t->sent ? g_strdup_printf("%.1f %%", 100 * rate_of(t) / b->copy) : g_strdup("-"));
    }
    printf("ranks        %d (%s); each copies memory at %.1f GB/s (read and written) and multiplies matrices at %.0f "
           "GFLOP/s, all at once\n",
           comm_size(b->ranks), comm_name(b->ranks), b->copy / 1e9, b->flops / 1e9);
    table_print(&table);
}

static bool write_result(const Bench *b, const Machine *machine, GError **error)
{
    const char *out = b->options->out;
    json_t *object = comm_to_json(b, machine);
    g_autofree char *text = out ? json_dumps(object, JSON_INDENT(1) | JSON_PRESERVE_ORDER) : NULL;
    bool done = out == NULL || io_write_file(out, text, strlen(text), error);
    if (done && b->options->as_json)
        return print_json_line(object, error);
    json_decref(object);
    if (done)
        print_comm_table(b);
    return done;
}

static bool measure_rank(Bench *b, GError **error)
{
    Machine machine = { 0 };
    b->available = device_memory_available(b->dev);
    b->memory = device_alloc(b->dev, 2 * b->n * sizeof(float));
    bool done = b->memory || fail_machine(error, "no memory for messages of %g MB", b->options->most);
    if (!comm_agree(b->ranks, done, error))
        return false;
    op_fill(b->dev, tensor_vector(b->memory, DT_F32, 2 * (int64_t)b->n), 0);
    time_collectives(b);
    return measure_machine(b, &machine, error) && comm_check(b->ranks, error) &&
           (comm_rank(b->ranks) > 0 || write_result(b, &machine, error));
}

/* Runs one rank, of which `context` is a Bench, from start to end. */
static bool run_comm_rank(Comm *ranks, const void *context, GError **error)
{
    Bench b = *(const Bench *)context;
    const Config *config = b.config;
    b.ranks = ranks;
    b.dev = compute_device_open_rank(config->train.device, (int)config->train.threads, config_precision(config), ranks,
                                     error);
    if (b.dev == NULL)
        return false;
    char why[CUDA_WHY];
    b.has_fp8 = compute_device_has_fp8(config->train.device, why);
    b.timings = g_array_new(false, false, sizeof(Timing));
    const bool done = (*b.dev->gpu.name == '\0' || comm_use_gpu(ranks, b.dev, true, error)) && measure_rank(&b, error);
    g_array_free(b.timings, true);
    device_free(b.dev, b.memory);
    comm_leave_gpu(ranks);
    device_close(b.dev);
    return done;
}

static bool check(const BenchComm *options, Config *config, GError **error)
{
    const char *out = options->out;
    if (!config_resolve_precision(config, error))
        return false;
    if (config->parallel.ranks < 2 && comm_launch().size < 2)
        return fail_user(error, "loam bench comm times messages between ranks: set parallel.ranks=2, or start it by "
                                "mpirun or srun");
    return out == NULL || (io_check_replaces(out, "{\n \"transport\"", "measurement of loam bench comm", error) &&
                           io_check_writable(out, error));
}

bool bench_comm(const BenchComm *options, Config *config, bool loaded, GError **error)
{
    Bench all = { .options = options, .config = config };
    loaded = loaded && check(options, config, error);
    all.n = loaded ? (size_t)(options->most * 1e6 / sizeof(float)) : 0;
    return launch_agree(config, "", loaded, error) && launch_ranks(config, run_comm_rank, &all, error);
}
