/* collectives.h: checks of collectives that every backend must pass. Every rank calls them with its group, and checks
 * its own result against plain loops. */
#pragma once

#include "comm/comm.h"

#include "base/float16.h"

#include <math.h>
#include <string.h>

enum { N = 1000 };

/* What rank r has at index i: numbers whose sums depend on the order in which they are added. */
static float value(int r, int64_t i)
{
    return (float)(sin((double)i * 0.7 + r) * pow(10, (double)((r * 7 + i) % 9 - 4)));
}

/* The sum over the ranks in their order, in f32. */
static float sum_of(int size, int64_t i)
{
    float sum = 0;
    for (int r = 0; r < size; r++)
        sum += value(r, i);
    return sum;
}

static void fill(float *x, int rank)
{
    for (int64_t i = 0; i < N; i++)
        x[i] = value(rank, i);
}

static void check_all_reduce(Comm *comm, void *context)
{
    float x[N];
    (void)context;
    for (int repeat = 0; repeat < 50; repeat++) {
        fill(x, comm_rank(comm));
        comm_wait(comm, comm_all_reduce(comm, tensor_vector(x, DT_F32, N)));
        for (int64_t i = 0; i < N; i++)
            g_assert_true(x[i] == sum_of(comm_size(comm), i));
    }
    double sent = (double)comm_counts(comm).sent_bytes;
    comm_sum(comm, &sent, 1);
    g_assert_cmpfloat(sent, ==, 50.0 * 2 * N * sizeof *x * (comm_size(comm) - 1));
}

static void check_bf16(Comm *comm, void *context)
{
    uint16_t x[N];
    (void)context;
    for (int64_t i = 0; i < N; i++)
        x[i] = bf16_from_f32(value(comm_rank(comm), i));
    comm_wait(comm, comm_all_reduce(comm, tensor_vector(x, DT_BF16, N)));
    for (int64_t i = 0; i < N; i++) {
        float sum = 0;
        for (int r = 0; r < comm_size(comm); r++)
            sum += bf16_to_f32(bf16_from_f32(value(r, i)));
        g_assert_cmpuint(x[i], ==, bf16_from_f32(sum));
    }
}

/* Uneven parts, of which one is empty. */
static void part_ends(int size, int64_t *starts)
{
    for (int r = 0; r <= size; r++)
        starts[r] = r == size ? N : r == 1 ? 0 : r * N / (size + 2);
}

static void check_scatter(Comm *comm, void *context)
{
    int size = comm_size(comm), rank = comm_rank(comm);
    int64_t starts[8];
    float x[N], part[N], all[N];
    (void)context;
    part_ends(size, starts);
    fill(x, rank);
    int64_t n = starts[rank + 1] - starts[rank];
    Tensor own = tensor_vector(part, DT_F32, n);
    comm_wait(comm, comm_reduce_scatter(comm, own, tensor_vector(x, DT_F32, N), starts));
    for (int64_t i = 0; i < n; i++)
        g_assert_true(part[i] == sum_of(size, starts[rank] + i));
    for (int64_t i = 0; i < N; i++)
        g_assert_true(x[i] == value(rank, i));
    comm_wait(comm, comm_all_gather(comm, tensor_vector(all, DT_F32, N), own, starts));
    for (int64_t i = 0; i < N; i++)
        g_assert_true(all[i] == sum_of(size, i));
}

/* Rank r sends rank s 10 (r + s) + r elements (nothing to others if r + s is even), so parts differ in both directions.
 */
static int64_t crossed(int from, int to)
{
    return (from + to) % 2 || from == to ? 10 * (from + to) + from : 0;
}

static void check_all_to_all(Comm *comm, void *context)
{
    int size = comm_size(comm), rank = comm_rank(comm);
    int64_t starts[9] = { 0 }, own_starts[9] = { 0 };
    float x[N], own[N];
    (void)context;
    for (int r = 0; r < size; r++) {
        starts[r + 1] = starts[r] + crossed(r, rank);
        own_starts[r + 1] = own_starts[r] + crossed(rank, r);
        for (int64_t i = own_starts[r]; i < own_starts[r + 1]; i++)
            own[i] = value(rank, 100 * r + i - own_starts[r]);
    }
    const double before = (double)comm_counts(comm).sent_bytes;
    comm_wait(comm, comm_all_to_all(comm, tensor_vector(x, DT_F32, starts[size]), starts,
                                    tensor_vector(own, DT_F32, own_starts[size]), own_starts));
    for (int r = 0; r < size; r++)
        for (int64_t i = starts[r]; i < starts[r + 1]; i++)
            g_assert_true(x[i] == value(r, 100 * rank + i - starts[r]));
    g_assert_cmpfloat((double)comm_counts(comm).sent_bytes - before, ==,
                      (double)(own_starts[size] - crossed(rank, rank)) * sizeof *own * (size > 1));
}

static void check_messages(Comm *comm, void *context)
{
    int size = comm_size(comm), rank = comm_rank(comm);
    float x[N], y[N];
    (void)context;
    fill(x, rank);
    comm_wait(comm, comm_broadcast(comm, tensor_vector(x, DT_F32, N), size - 1));
    for (int64_t i = 0; i < N; i++)
        g_assert_true(x[i] == value(size - 1, i));
    if (size == 1)
        return;
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    fill(x, rank);
    if (rank == 0)
        comm_wait(comm, comm_send(comm, tensor_vector(x, DT_F32, N), next));
    comm_wait(comm, comm_receive(comm, tensor_vector(y, DT_F32, N), before));
    if (rank > 0)
        comm_wait(comm, comm_send(comm, tensor_vector(x, DT_F32, N), next));
    for (int64_t i = 0; i < N; i++)
        g_assert_true(y[i] == value(before, i));
}

/* More than a backend moves at once. */
static void check_large(Comm *comm, void *context)
{
    const int64_t n = (int64_t)comm_size(comm) * 600000 + 77;
    g_autofree double *x = g_new(double, n);
    (void)context;
    for (int64_t i = 0; i < n; i++)
        x[i] = (double)(i % 1009) + comm_rank(comm);
    comm_wait(comm, comm_all_reduce(comm, tensor_vector(x, DT_F64, n)));
    int size = comm_size(comm);
    for (int64_t i = 0; i < n; i++)
        g_assert_true(x[i] == (double)(i % 1009) * size + size * (size - 1) / 2.0);
}

static void check_host(Comm *comm, void *context)
{
    int size = comm_size(comm), rank = comm_rank(comm), all[8];
    double sums[2] = { rank + 1, 0.5 };
    (void)context;
    comm_share(comm, all, &rank, sizeof rank);
    for (int r = 0; r < size; r++)
        g_assert_cmpint(all[r], ==, r);
    comm_sum(comm, sums, 2);
    g_assert_cmpfloat(sums[0], ==, size * (size + 1) / 2.0);
    g_assert_cmpfloat(sums[1], ==, 0.5 * size);
    g_assert_cmpint(comm_max(comm, rank == 0 ? 7 : -rank), ==, 7);
}

/* The lowest rank that is not done tells the others why; the machine's reason comes with its number. */
static void check_agree(Comm *comm, void *context)
{
    int rank = comm_rank(comm), first = MAX(comm_size(comm) - 2, 0);
    GError *error = NULL;
    (void)context;
    g_assert_true(comm_agree(comm, true, &error));
    g_assert_no_error(error);
    bool done = rank < first || fail_machine(&error, "disk %d is full", rank);
    g_assert_false(comm_agree(comm, done, &error));
    g_autofree char *who = first > 0 && rank != first ? g_strdup_printf("rank %d: ", first) : g_strdup("");
    g_autofree char *why = g_strdup_printf("%sdisk %d is full", who, first);
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_MACHINE);
    g_assert_cmpstr(error->message, ==, why);
    g_clear_error(&error);
    done = rank != 0 || fail_user(&error, "no such file");
    g_assert_false(comm_agree(comm, done, &error));
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    g_assert_cmpstr(error->message, ==, "no such file");
    g_clear_error(&error);
}

/* Ranks as a grid of 2 columns: the groups of a row and of a column. */
static void check_split(Comm *comm, void *context)
{
    int rank = comm_rank(comm), size = comm_size(comm);
    (void)context;
    Comm *row = comm_split(comm, rank / 2), *column = comm_split(comm, rank % 2);
    g_assert_cmpint(comm_rank(row), ==, rank % 2);
    g_assert_cmpint(comm_rank(column), ==, rank / 2);
    g_assert_cmpint(comm_size(row), ==, rank == size - 1 && size % 2 ? 1 : 2);
    double sum[1] = { rank };
    comm_sum(row, sum, 1);
    g_assert_cmpfloat(sum[0], ==, comm_size(row) == 1 ? rank : rank / 2 * 4 + 1);
    comm_close(row);
    comm_close(column);
}

static const struct {
    const char *name;
    CommRankFn check;
} collective_checks[] = { { "all_reduce__adds_in_the_order_of_the_ranks", check_all_reduce },
                          { "all_reduce__of_bf16_rounds_once", check_bf16 },
                          { "reduce_scatter__then_all_gather_is_an_all_reduce", check_scatter },
                          { "all_to_all__exchanges_uneven_parts", check_all_to_all },
                          { "messages__arrive_whole", check_messages },
                          { "large_tensors__arrive_whole", check_large },
                          { "numbers_of_the_host__are_shared", check_host },
                          { "agree__gives_all_ranks_one_error", check_agree },
                          { "split__makes_groups_of_one_color", check_split } };
