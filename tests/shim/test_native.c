/* test_native.c: the native files of the backend for GPUs (device/cuda/native) on a fake of CUDA's runtime (cuda/), in
 * each order in which CUDA may do queued work: memory, transfers, events, two GPUs, buckets of
 * gradients, launches. */
#include "model/decoder.h"
#include "model/kinds.h"
#include "shim/native.h"

#include <glib.h>
#include <string.h>

enum { LENGTH = 12 };
static const int32_t ids[LENGTH] = { 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8 };
enum { FIXED = 2 }; /* allocations of a GPU that is open: counters of kernels, workspace of products */

static float number(int64_t i)
{
    return (float)(i * 7 % 1001);
}

/* ---- transfers ---- */

/* Uploads `n` numbers from memory that is changed at once, doubles them, downloads them. */
static void send_and_fetch(Device *dev, int64_t n)
{
    g_autofree float *there = g_new(float, n), *back = g_new0(float, n);
    Tensor t = tensor_matrix(device_alloc(dev, (size_t)n * sizeof(float)), DT_F32, 1, n);
    for (int64_t i = 0; i < n; i++)
        there[i] = number(i);
    device_upload(dev, t.p, there, (size_t)n * sizeof(float));
    memset(there, 0, (size_t)n * sizeof(float));
    op_scale(dev, t, t, 2);
    device_download(dev, back, t.p, (size_t)n * sizeof(float));
    op_fill(dev, t, 0);
    device_synchronise(dev);
    for (int64_t i = 0; i < n; i++)
        g_assert_cmpfloat(back[i], ==, 2 * number(i));
    device_free(dev, t.p);
}

/* One number; late, where it matters, more than both buffers hold. */
static void transfers_keep_their_order(void)
{
    for (int order = 0; order < FAKE_ORDERS; order++) {
        Device *dev = open_gpu(0, (FakeOrder)order);
        for (int64_t n = 1; n < (order == FAKE_LATE ? 4 << 20 : 4096); n = n * 11 + 5)
            send_and_fetch(dev, n);
        device_close(dev);
    }
}

/* More downloads than a GPU keeps on their way, each of numbers that are changed after it. */
static void many_downloads_are_on_their_way(void)
{
    enum { MANY = 300 };
    for (int order = 0; order < FAKE_ORDERS; order++) {
        Device *dev = open_gpu(0, (FakeOrder)order);
        Tensor t = tensor_matrix(device_alloc(dev, sizeof(float)), DT_F32, 1, 1);
        float seen[MANY];
        for (int i = 0; i < MANY; i++) {
            op_fill(dev, t, (float)i);
            device_download(dev, &seen[i], t.p, sizeof(float));
        }
        device_synchronise(dev);
        for (int i = 0; i < MANY; i++)
            g_assert_cmpfloat(seen[i], ==, (float)i);
        device_free(dev, t.p);
        device_close(dev);
    }
}

/* What a step of training uploads is far less than a buffer: nobody waits until the numbers are asked for. */
static void small_transfers_do_not_wait(void)
{
    Device *dev = open_gpu(0, FAKE_LATE);
    Tensor t = tensor_matrix(device_alloc(dev, sizeof(float)), DT_F32, 1, 1),
           sum = tensor_matrix(device_alloc(dev, sizeof(float)), DT_F32, 1, 1);
    float seen = 0, again = 0;
    op_fill(dev, sum, 0);
    long before = fake_cuda_counts().waits;
    for (int i = 1; i <= 100; i++) {
        float x = (float)i;
        device_upload(dev, t.p, &x, sizeof x);
        op_add(dev, sum, sum, t);
    }
    device_download(dev, &seen, sum.p, sizeof seen);
    DeviceEvent first = device_record_event(dev);
    device_download(dev, &again, sum.p, sizeof again);
    g_assert_cmpint(fake_cuda_counts().waits, ==, before);
    device_synchronise(dev);
    device_wait_event(dev, first);
    g_assert_cmpint(fake_cuda_counts().waits, ==, before + 1);
    g_assert_true(seen == 5050 && again == 5050);
    device_free(dev, t.p);
    device_free(dev, sum.p);
    device_close(dev);
}

/* An event stands for itself when many others have been recorded after it. */
static void old_marks_can_be_waited_for(void)
{
    Device *dev = open_gpu(0, FAKE_LATE);
    Tensor t = tensor_matrix(device_alloc(dev, sizeof(float)), DT_F32, 1, 1);
    float seen = 0;
    op_fill(dev, t, 3);
    device_download(dev, &seen, t.p, sizeof seen);
    DeviceEvent event = device_record_event(dev);
    for (int i = 0; i < 200; i++)
        device_record_event(dev);
    g_assert_cmpfloat(seen, ==, 0);
    device_wait_event(dev, event);
    g_assert_cmpfloat(seen, ==, 3);
    device_free(dev, t.p);
    device_close(dev);
}

/* ---- threads and GPUs ---- */

typedef struct Pair {
    Device *dev[2];
} Pair;

/* Each entry of the table for one GPU right after the same for the other. */
static void *use_both(void *context)
{
    const Pair *pair = context;
    const float number[2] = { 3, 5 };
    float back[2] = { 0 };
    Tensor t[2];
    for (int i = 0; i < 2; i++)
        t[i] = tensor_matrix(device_alloc(pair->dev[i], sizeof(float)), DT_F32, 1, 1);
    for (int i = 0; i < 2; i++)
        device_upload(pair->dev[i], t[i].p, &number[i], sizeof(float));
    for (int i = 0; i < 2; i++)
        op_scale(pair->dev[i], t[i], t[i], 2);
    for (int i = 0; i < 2; i++)
        device_follow(pair->dev[i], QUEUE_COPY_FROM, QUEUE_WORK);
    for (int i = 0; i < 2; i++)
        device_download(pair->dev[i], &back[i], t[i].p, sizeof(float));
    DeviceEvent events[2];
    for (int i = 0; i < 2; i++)
        events[i] = device_record_event(pair->dev[i]);
    for (int i = 0; i < 2; i++)
        device_wait_event(pair->dev[i], events[i]);
    for (int i = 0; i < 2; i++)
        device_free(pair->dev[i], t[i].p);
    g_assert_true(back[0] == 6 && back[1] == 10);
    return NULL;
}

/* CUDA's choice of a GPU is the thread's. */
static void each_call_is_for_its_gpu(void)
{
    for (int order = 0; order < FAKE_ORDERS; order++) {
        Pair pair = { { open_gpu(0, (FakeOrder)order), open_gpu(1, (FakeOrder)order) } };
        use_both(&pair);
        g_thread_join(g_thread_new("other", use_both, &pair));
        use_both(&pair);
        device_close(pair.dev[0]);
        device_close(pair.dev[1]);
    }
}

/* ---- memory ---- */

static void a_gpu_that_does_not_open_leaves_nothing(void)
{
    const CudaBackend *backend = loam_cuda_backend();
    void *impl = NULL;
    int failed = 0;
    for (; impl == NULL; failed++) {
        char why[CUDA_WHY] = "";
        fake_cuda_fail_after(failed);
        impl = backend->open(0, why);
        g_assert_true(impl ? !*why : g_str_has_prefix(why, "GPU 0 does not open: "));
        FakeCounts counts = fake_cuda_counts();
        g_assert_true(impl || (counts.used == 0 && counts.pinned == 0));
    }
    fake_cuda_fail_after(-1);
    g_assert_cmpint(failed, ==, FIXED + 1);
    device_close(device_new("cuda", backend->ops, precision_uniform(DT_F32), true, 1, "cuda", impl));
    g_assert_cmpuint(fake_cuda_counts().used, ==, 0);
    g_assert_cmpuint(fake_cuda_counts().pinned, ==, 0);
}

static void blocks_are_cut_from_what_is_reserved(void)
{
    enum { BLOCKS = 100, BYTES = 1000 };
    Device *dev = open_gpu(0, FAKE_LATE);
    char *blocks[BLOCKS];
    long before = fake_cuda_counts().allocations;
    g_assert_true(loam_cuda_backend()->reserve(dev, BLOCKS * 1024));
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = device_alloc(dev, BYTES);
        g_assert_cmpuint((uintptr_t)blocks[i] % CUDA_ALIGN, ==, 0);
        g_assert_true(i == 0 || blocks[i] == blocks[i - 1] + 1024);
    }
    g_assert_cmpint(fake_cuda_counts().allocations, ==, before + 1);
    char *beside = device_alloc(dev, 1);
    g_assert_cmpint(fake_cuda_counts().allocations, ==, before + 2);
    device_free(dev, beside);
    for (int i = 10; i < 14; i++)
        device_free(dev, blocks[i]);
    g_assert_true(device_alloc(dev, 4096) == blocks[10]);
    device_free(dev, blocks[10]);
    g_assert_true(device_alloc(dev, 2049) == blocks[10]);
    g_assert_true(device_alloc(dev, 1024) == blocks[10] + 2304);
    g_assert_cmpint(fake_cuda_counts().allocations, ==, before + 2);
    device_free(dev, device_alloc(dev, 1024)); /* what is left of the gap is smaller */
    g_assert_cmpint(fake_cuda_counts().allocations, ==, before + 3);
    for (int i = 0; i < BLOCKS; i++)
        if (i <= 10 || i >= 14)
            device_free(dev, blocks[i]);
    device_close(dev);
}

/* A block that is freed while work with it is queued, and cut again for a copy of another queue. */
static void freed_blocks_are_written_after_their_last_use(void)
{
    enum { N = 64 };
    for (int order = 0; order < FAKE_ORDERS; order++) {
        Device *dev = open_gpu(0, (FakeOrder)order);
        float seen[N];
        g_assert_true(loam_cuda_backend()->reserve(dev, sizeof seen));
        float *host = device_host_alloc(dev, sizeof seen);
        for (int i = 0; i < N; i++)
            host[i] = number(i);
        Tensor block = tensor_matrix(device_alloc(dev, sizeof seen), DT_F32, 1, N);
        op_fill(dev, block, -1);
        device_free(dev, block.p);
        g_assert_true(device_alloc(dev, sizeof seen) == block.p);
        device_copy_to(dev, block.p, host, sizeof seen);
        device_follow(dev, QUEUE_WORK, QUEUE_COPY_TO);
        device_download(dev, seen, block.p, sizeof seen);
        device_settle(dev);
        for (int i = 0; i < N; i++)
            g_assert_cmpfloat(seen[i], ==, number(i));
        device_free(dev, block.p);
        device_host_free(dev, host);
        device_close(dev);
    }
}

static void more_than_there_is_cannot_be_reserved(void)
{
    Device *dev = open_gpu(0, FAKE_LATE);
    size_t room = device_memory_available(dev);
    g_assert_false(loam_cuda_backend()->reserve(dev, room + CUDA_ALIGN));
    g_assert_null(device_alloc(dev, room + CUDA_ALIGN));
    g_assert_true(loam_cuda_backend()->reserve(dev, room / 2));
    g_assert_cmpuint(device_memory_available(dev), <=, room - room / 2);
    g_assert_true(loam_cuda_backend()->reserve(dev, room)); /* instead of the one before, of which nothing was cut */
    device_close(dev);
}

/* Column sums of matrices (rows, 64), of which a plan has counted one of 8 rows. */
static void sum_columns(Device *dev, int64_t rows)
{
    Tensor x = tensor_matrix(device_alloc(dev, (size_t)(rows * 64) * sizeof(float)), DT_F32, rows, 64),
           sum = tensor_vector(device_alloc(dev, 64 * sizeof(float)), DT_F32, 64);
    op_fill(dev, x, 1);
    op_column_sums(dev, sum, x, 0);
    device_free(dev, x.p);
    device_free(dev, sum.p);
}

/* Data: not NULL means that the operation needs more than was planned. */
static void scratch_memory_of_a_run_does_not_grow(const void *data)
{
    if (data && !g_test_subprocess()) {
        g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
        g_test_trap_assert_failed();
        g_test_trap_assert_stderr("*an operation needs 512 bytes of scratch memory, planned are 256*");
        return;
    }
    Device *dev = open_gpu(0, FAKE_LATE);
    dev->gpu.scratch = 64 * sizeof(float);
    g_assert_true(loam_cuda_backend()->reserve(dev, 64 << 10));
    const long before = fake_cuda_counts().allocations;
    sum_columns(dev, data ? 16 : 8);
    g_assert_cmpint(fake_cuda_counts().allocations, ==, before);
    device_close(dev);
    g_assert_cmpuint(fake_cuda_counts().used, ==, 0);
}

/* ---- buckets of gradients ---- */

enum { SEQUENCES = 2, MICROBATCHES = 2, STEPS = 1, MOST_BUCKETS = 16 };

/* Copies that a second queue takes of each bucket as soon as it is whole, as a reduction over ranks would. */
typedef struct Exchange {
    Device *dev;
    ParamStore *params;
    float *taken[MOST_BUCKETS], *expected[MOST_BUCKETS];
    int n_taken;
} Exchange;

static Tensor gradients(const Exchange *e, int bucket)
{
    return params_bucket(e->params, bucket)->memory[SPAN_TRAINED][REGION_GRADIENTS].all;
}

static size_t bucket_bytes(const Exchange *e, int bucket)
{
    return (size_t)tensor_count(gradients(e, bucket)) * sizeof(float);
}

/* A bucket fires: the second queue takes it while backward goes on. */
static void take(void *context, int bucket)
{
    Exchange *e = context;
    g_assert_cmpint(bucket, <, MOST_BUCKETS);
    size_t bytes = bucket_bytes(e, bucket);
    if (e->taken[bucket] == NULL) {
        e->taken[bucket] = device_host_alloc(e->dev, bytes);
        e->expected[bucket] = g_malloc(bytes);
    }
    device_follow(e->dev, QUEUE_COPY_FROM, QUEUE_WORK);
    device_copy_from(e->dev, e->taken[bucket], gradients(e, bucket).p, bytes);
    e->n_taken++;
}

static Batch *new_batch(const ModelConfig *config)
{
    static const float weights[LENGTH] = { 1, 0, 1, 0, 1, 1 };
    Batch *batch = batch_new(SEQUENCES, config->n_enc ? LENGTH : 0, config->n_dec ? LENGTH : 0);
    for (int64_t s = 0; s < SEQUENCES; s++) {
        const BatchSequence sequence = { .sample = s, .n = LENGTH, .ids = ids, .targets = ids, .weights = weights };
        if (batch->enc.max_tokens > 0 && batch->dec.max_tokens > 0)
            batch_add(batch, s, ids, LENGTH, ids, LENGTH, 0);
        else
            batch_add_sequence(batch, &sequence);
    }
    return batch;
}

static void run_passes(Exchange *e, Model *model, const Batch *batch, uint64_t seed, BucketFn hook)
{
    ModelLoss loss = { .n_targets = { LENGTH }, .seed = seed, .train = true, .grad = true };
    grads_on_ready(e->params, hook, e);
    grads_begin(e->params, MICROBATCHES);
    for (int i = 0; i < MICROBATCHES; i++)
        model_pass(model, batch, &loss);
}

/* The gradients of a step as the second queue took them are those that operations see at its end, though the next step
 * overwrites them; and no step waits. */
static void check_step(Exchange *e, Model *model, const Batch *batch, uint64_t step)
{
    long before = fake_cuda_counts().waits;
    run_passes(e, model, batch, 2 * step, take);
    for (int b = 0; b < MOST_BUCKETS; b++)
        if (e->taken[b])
            device_download(e->dev, e->expected[b], gradients(e, b).p, bucket_bytes(e, b));
    device_follow(e->dev, QUEUE_WORK, QUEUE_COPY_FROM);
    run_passes(e, model, batch, 2 * step + 1, NULL);
    g_assert_cmpint(fake_cuda_counts().waits, ==, before);
    device_synchronise(e->dev);
    for (int b = 0; b < MOST_BUCKETS; b++)
        g_assert_true(e->taken[b] == NULL || memcmp(e->taken[b], e->expected[b], bucket_bytes(e, b)) == 0);
}

static void exchange_buckets(const ModelConfig *config, FakeOrder order)
{
    GError *error = NULL;
    Device *dev = open_gpu(0, order);
    Model *model = model_open(dev, config, true, &error);
    g_assert_no_error(error);
    params_init(model_params(model), 7);
    Batch *batch = new_batch(config);
    const ModelLoss loss = { .train = true, .grad = true };
    model_reserve(model, SEQUENCES, batch->enc.max_len, batch->dec.max_len, &loss, NULL, &error);
    g_assert_no_error(error);
    Exchange e = { .dev = dev, .params = model_params(model) };
    run_passes(&e, model, batch, 100, take); /* takes the memory of the host; scratch memory grows, which waits */
    device_settle(dev);
    for (uint64_t step = 0; step < STEPS; step++)
        check_step(&e, model, batch, step);
    g_assert_cmpint(e.n_taken, >, 4 * STEPS);
    for (int b = 0; b < MOST_BUCKETS; b++) {
        device_host_free(dev, e.taken[b]);
        g_free(e.expected[b]);
    }
    batch_free(batch);
    model_close(model);
    device_close(dev);
}

static void buckets_are_whole_when_they_fire(const void *data)
{
    const Kind *kind = data;
    ModelConfig config = tiny_config(&tiny_gated);
    if (kind)
        kind->shape(&config);
    config.max_positions = MAX(config.max_positions, LENGTH);
    exchange_buckets(&config, FAKE_LATE);
    exchange_buckets(&config, FAKE_EARLY);
}

/* ---- launches ---- */

/* Blocks of each stack of T5-1.1, the kernels and products of a microbatch that bench/results/gpu-counts.md names, and
 * of them the kernels that may begin before the kernel before them has ended. */
static const struct {
    const char *name;
    int blocks;
    long launches, early;
} sizes[] = { { "small", 8, 573, 136 }, { "base", 12, 837, 188 }, { "large and XL", 24, 1629, 344 } };

static FakeCounts counts_since(FakeCounts before)
{
    FakeCounts counts = fake_cuda_counts();
    counts.launches -= before.launches;
    counts.shared -= before.shared;
    counts.early -= before.early;
    counts.products -= before.products;
    counts.copies -= before.copies;
    counts.uploads -= before.uploads;
    counts.graphs -= before.graphs;
    counts.waits -= before.waits;
    return counts;
}

/* What a microbatch of a T5-1.1 with so many blocks and channels of a head, in bf16, asks of CUDA. */
static FakeCounts count_microbatch(int blocks, int head_dim)
{
    GError *error = NULL;
    ModelConfig config = tiny_config(&tiny_gated);
    config.n_enc = config.n_dec = blocks;
    config.head_dim = head_dim;
    config.dropout = 0;
    const ModelLoss loss = { .n_targets = { 2 * LENGTH }, .train = true, .grad = true };
    Device *dev = open_gpu_of(0, FAKE_LATE, in_bf16());
    Model *model = model_open(dev, &config, true, &error);
    g_assert_no_error(error);
    Batch *batch = batch_new(2, LENGTH, LENGTH);
    for (int64_t s = 0; s < 2; s++)
        batch_add(batch, s, ids, LENGTH, ids, LENGTH, 0);
    model_reserve(model, 2, LENGTH, LENGTH, &loss, NULL, &error);
    g_assert_no_error(error);
    grads_begin(model_params(model), 2);
    model_pass(model, batch, &loss); /* scratch memory grows, which waits */
    FakeCounts before = fake_cuda_counts();
    model_pass(model, batch, &loss);
    FakeCounts counts = counts_since(before);
    batch_free(batch);
    model_close(model);
    device_close(dev);
    return counts;
}

/* Each pair of blocks asks for as many, so two models tell of all. */
static void launches_of_a_microbatch_are_those_of_its_blocks(void)
{
    FakeCounts two = count_microbatch(2, 8), three = count_microbatch(3, 8);
    g_assert_true(two.waits == 0 && three.waits == 0 && two.uploads == 16 && three.uploads == 16);
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        long kernels = two.launches + (sizes[i].blocks - 2) * (three.launches - two.launches) + two.copies +
                       (sizes[i].blocks - 2) * (three.copies - two.copies); /* fills are kernels, too */
        long products = two.products + (sizes[i].blocks - 2) * (three.products - two.products);
        long early = two.early + (sizes[i].blocks - 2) * (three.early - two.early);
        g_test_message("T5-1.1 %s: a microbatch is %ld kernels, %ld of them early, and %ld products", sizes[i].name,
                       kernels, early, products);
        g_assert_cmpint(kernels + products, ==, sizes[i].launches);
        g_assert_cmpint(early, ==, sizes[i].early);
    }
}

/* GPUs with 100 KiB of shared memory on a multiprocessor have smaller tiles in attention's backward pass, only for
 * heads of 33 to 64 channels. */
static void tiles_are_those_of_the_gpu(void)
{
    static const char *const large[] = { "80", "87", "90", "100", "103" }, *const little[] = { "86", "89", "120",
                                                                                               "121" };
    enum { DIM = 40 };
    g_setenv("LOAM_FAKE_GPU", *large, TRUE);
    size_t most = count_microbatch(1, DIM).shared, other = count_microbatch(1, 2 * DIM).shared, least = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(large); i++) {
        g_setenv("LOAM_FAKE_GPU", large[i], TRUE);
        g_assert_cmpuint(count_microbatch(1, DIM).shared, ==, most);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(little); i++) {
        g_setenv("LOAM_FAKE_GPU", little[i], TRUE);
        size_t shared = count_microbatch(1, DIM).shared;
        g_assert_cmpuint(shared, <, most);
        g_assert_true(least == 0 || shared == least);
        least = shared;
        g_assert_cmpuint(count_microbatch(1, 2 * DIM).shared, ==, other);
    }
    g_unsetenv("LOAM_FAKE_GPU");
}

/* Blocks of the decoder, and what a decoding step asks of CUDA: kernels and fills, those of them that may begin before
 * the kernel before them has ended, products and uploads; and, when a graph is launched in their place, the kernels and
 * products that remain: as bench/results/gpu-counts.md names them. */
static const struct {
    const char *name;
    void (*shape)(ModelConfig *config);
    int blocks;
    long kernels, early, products, uploads, remaining;
} decoded[] = { { "T5-1.1-base", NULL, 12, 88, 14, 73, 4, 2 }, { "GPT-2", gpt2, 12, 114, 64, 49, 4, 2 } };

/* What the greedy step for token `number` of two answers, counted from 0, asks of CUDA. */
static FakeCounts count_token(void (*shape)(ModelConfig *config), int blocks, int number)
{
    static const int32_t cu[] = { 0, LENGTH / 2, LENGTH }, tokens[] = { 1, 2 };
    GError *error = NULL;
    ModelConfig config = tiny_config(&tiny_gated);
    if (shape)
        shape(&config);
    config.n_enc = MIN(config.n_enc, 1);
    config.max_positions = MAX(config.max_positions, LENGTH);
    config.n_dec = blocks;
    config.head_dim = 8;
    config.dropout = 0;
    Device *dev = open_gpu_of(0, FAKE_LATE, in_bf16());
    Model *model = model_open(dev, &config, false, &error);
    g_assert_no_error(error);
    Decoder *decoder = decoder_open(model, &(Prompts){ ids, cu, 2 }, 1, 4, &error);
    g_assert_no_error(error);
    for (int i = 0; i < number; i++)
        decoder_step_top(decoder, tokens, 1); /* scratch memory grows in the first, which waits */
    FakeCounts before = fake_cuda_counts();
    decoder_step_top(decoder, tokens, 1);
    FakeCounts counts = counts_since(before);
    counts.launches += counts.copies;
    decoder_close(decoder);
    model_close(model);
    device_close(dev);
    return counts;
}

static void launches_of_a_token_are_those_of_its_blocks(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(decoded); i++) {
        FakeCounts two = count_token(decoded[i].shape, 2, 1), three = count_token(decoded[i].shape, 3, 1);
        FakeCounts later = count_token(decoded[i].shape, 2, 3);
        long more = decoded[i].blocks - 2, kernels = two.launches + more * (three.launches - two.launches),
             early = two.early + more * (three.early - two.early),
             products = two.products + more * (three.products - two.products);
        g_test_message("%s: a token is %ld kernels, %ld of them early, %ld products, %ld uploads", decoded[i].name,
                       kernels, early, products, two.uploads);
        g_assert_true(two.waits == 1 && three.waits == 1 && two.uploads == three.uploads);
        g_assert_cmpint(kernels, ==, decoded[i].kernels);
        g_assert_cmpint(early, ==, decoded[i].early);
        g_assert_cmpint(products, ==, decoded[i].products);
        g_assert_cmpint(two.uploads, ==, decoded[i].uploads);
        g_assert_cmpint(two.graphs, ==, 0);
        g_test_message("by a graph: %ld kernels, %ld products, %ld uploads, %ld graphs", later.launches, later.products,
                       later.uploads, later.graphs);
        g_assert_true(later.graphs == 1 && later.waits == 1 && later.uploads == two.uploads);
        g_assert_cmpint(later.launches + later.products, ==, decoded[i].remaining);
    }
}

int main(int argc, char **argv)
{
    g_setenv("LOAM_FAKE_GPUS", "2", TRUE);
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/native/transfers_keep_their_order", transfers_keep_their_order);
    g_test_add_func("/native/many_downloads_are_on_their_way", many_downloads_are_on_their_way);
    g_test_add_func("/native/small_transfers_do_not_wait", small_transfers_do_not_wait);
    g_test_add_func("/native/old_marks_can_be_waited_for", old_marks_can_be_waited_for);
    g_test_add_func("/native/each_call_is_for_its_gpu", each_call_is_for_its_gpu);
    g_test_add_func("/native/a_gpu_that_does_not_open_leaves_nothing", a_gpu_that_does_not_open_leaves_nothing);
    g_test_add_func("/native/blocks_are_cut_from_what_is_reserved", blocks_are_cut_from_what_is_reserved);
    g_test_add_func("/native/freed_blocks_are_written_after_their_last_use",
                    freed_blocks_are_written_after_their_last_use);
    g_test_add_func("/native/more_than_there_is_cannot_be_reserved", more_than_there_is_cannot_be_reserved);
    g_test_add_data_func("/native/scratch_memory_of_a_run_does_not_grow", NULL, scratch_memory_of_a_run_does_not_grow);
    g_test_add_data_func("/native/scratch_memory_of_a_run_does_not_grow/more", "more",
                         scratch_memory_of_a_run_does_not_grow);
    g_test_add_data_func("/native/buckets_are_whole_when_they_fire/t5", NULL, buckets_are_whole_when_they_fire);
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
        if (g_str_equal(kinds[i].name, "gpt2") || g_str_equal(kinds[i].name, "bert")) {
            g_autofree char *path = g_strdup_printf("/native/buckets_are_whole_when_they_fire/%s", kinds[i].name);
            g_test_add_data_func(path, &kinds[i], buckets_are_whole_when_they_fire);
        }
    g_test_add_func("/native/launches_of_a_microbatch_are_those_of_its_blocks",
                    launches_of_a_microbatch_are_those_of_its_blocks);
    g_test_add_func("/native/tiles_are_those_of_the_gpu", tiles_are_those_of_the_gpu);
    g_test_add_func("/native/launches_of_a_token_are_those_of_its_blocks", launches_of_a_token_are_those_of_its_blocks);
    return g_test_run();
}
