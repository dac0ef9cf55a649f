/* Context-dependent queries against the formula in plain loops, over packed sequences. */
#include "nn/attention.h"

#include <glib.h>
#include <math.h>

enum { WIDTH = 5, HEADS = 3, SIZE = 2, ROWS = 9, ROOM = 90, ARENA_SIZE = 1 << 18 };

typedef struct Weights {
    double hidden[WIDTH][WIDTH], score[HEADS][WIDTH], mix[WIDTH][2 * WIDTH], q[SIZE][WIDTH];
} Weights;

static void fill(Philox *rng, double *values, int n)
{
    for (int i = 0; i < n; i++)
        values[i] = philox_normal(rng);
}

/* pooled (WIDTH) of rows [begin, end) by head h: Σ softmax(score_h · relu(hidden n)) n. */
static void pool(double *pooled, const Weights *w, double (*n)[WIDTH], int begin, int end, int h)
{
    double weight[ROWS], sum = 0;
    for (int i = begin; i < end; i++) {
        double score = 0;
        for (int c = 0; c < WIDTH; c++) {
            double a = 0;
            for (int k = 0; k < WIDTH; k++)
                a += w->hidden[c][k] * n[i][k];
            score += w->score[h][c] * fmax(a, 0);
        }
        sum += weight[i] = exp(score);
    }
    for (int c = 0; c < WIDTH; c++) {
        pooled[c] = 0;
        for (int i = begin; i < end; i++)
            pooled[c] += weight[i] / sum * n[i][c];
    }
}

/* Channel d of the query of row i: q_d · mix · [pooled; n_i]. */
static double query(const Weights *w, const double *pooled, const double *n, int d)
{
    double sum = 0;
    for (int c = 0; c < WIDTH; c++) {
        double mixed = 0;
        for (int k = 0; k < WIDTH; k++)
            mixed += w->mix[c][k] * pooled[k] + w->mix[c][WIDTH + k] * n[k];
        sum += w->q[d][c] * mixed;
    }
    return sum;
}

/* q (rows, HEADS SIZE) of n (rows, WIDTH), the first rows of a stream with room for `rows` tokens. */
static void compute_queries(double *q, Weights *w, double *n, int32_t rows, int32_t *cu, int32_t n_seq, float dropout)
{
    static int64_t sample[ROOM];
    static int32_t position[ROOM];
    const TokenStream stream = { .max_tokens = rows,
                                 .n_tokens = cu[n_seq],
                                 .n_seq = n_seq,
                                 .max_seq = n_seq,
                                 .max_len = 4,
                                 .sample = sample,
                                 .dropout_position = position,
                                 .cu = cu };
    Device *dev = device_open_reference();
    Arena save, scratch;

    for (int32_t s = 0; s < n_seq; s++)
        for (int32_t i = cu[s]; i < cu[s + 1]; i++)
            sample[i] = 10 + s;
    arena_init(&save, "save", device_alloc(dev, ARENA_SIZE), ARENA_SIZE);
    arena_init(&scratch, "scratch", device_alloc(dev, ARENA_SIZE), ARENA_SIZE);
    Tokens tokens = tokens_upload(dev, &save, &stream);
    tokens_upload_firsts(&tokens, dev, &save, &stream);
    const ModelSpec model = { .heads = HEADS, .attention_dropout = dropout };
    const LayerSpec layer = { 0 };
    const Ctx cx = { .dev = dev,
                     .precision = precision_uniform(DT_F64),
                     .model = &model,
                     .layer = &layer,
                     .save = &save,
                     .scratch = &scratch,
                     .tokens = &tokens,
                     .train = dropout > 0 };
    const ContextQueryW weights = { .hidden = tensor_matrix(w->hidden, DT_F64, WIDTH, WIDTH),
                                    .score = tensor_matrix(w->score, DT_F64, HEADS, WIDTH),
                                    .mix = tensor_matrix(w->mix, DT_F64, WIDTH, 2 * WIDTH),
                                    .q = tensor_matrix(w->q, DT_F64, SIZE, WIDTH) };
    ContextQuerySave unused;
    context_query_fwd(&cx, tensor_matrix(q, DT_F64, rows, HEADS * SIZE), tensor_matrix(n, DT_F64, rows, WIDTH),
                      &weights, &unused);
    device_free(dev, save.base);
    device_free(dev, scratch.base);
    device_close(dev);
}

static void check_queries(int32_t *cu, int32_t n_seq)
{
    Weights w;
    double n[ROWS][WIDTH], q[ROWS][HEADS * SIZE], pooled[WIDTH];
    Philox rng = philox_open(philox_key(8, PHILOX_INIT, 0), 0);

    fill(&rng, (double *)&w, sizeof w / sizeof(double));
    fill(&rng, n[0], ROWS * WIDTH);
    compute_queries(q[0], &w, n[0], ROWS, cu, n_seq, 0);
    for (int s = 0; s < n_seq; s++)
        for (int h = 0; h < HEADS; h++) {
            pool(pooled, &w, n, cu[s], cu[s + 1], h);
            for (int i = cu[s]; i < cu[s + 1]; i++)
                for (int d = 0; d < SIZE; d++)
                    g_assert_cmpfloat_with_epsilon(q[i][h * SIZE + d], query(&w, pooled, n[i], d), 1e-12);
        }
}

/* The second sequence is empty, the last two rows belong to none. */
static void queries_follow_the_formula(void)
{
    check_queries((int32_t[]){ 0, 4, 4, 7 }, 3);
}

/* More sequences than are pooled at once, and not a multiple of those. */
static void short_sequences_are_pooled_in_parts(void)
{
    check_queries((int32_t[]){ 0, 1, 3, 3, 4, 5, 5, 7 }, 7);
}

/* A stream with room for more tokens pools all sequences at once. */
static void parts_draw_the_masks_of_the_whole(void)
{
    int32_t cu[] = { 0, 1, 3, 3, 4, 5, 5, 7 };
    Weights w;
    static double n[ROOM * WIDTH], whole[ROOM * HEADS * SIZE], parts[ROWS * HEADS * SIZE];
    Philox rng = philox_open(philox_key(8, PHILOX_INIT, 0), 0);

    fill(&rng, (double *)&w, sizeof w / sizeof(double));
    fill(&rng, n, ROOM * WIDTH);
    compute_queries(parts, &w, n, ROWS, cu, 7, 0.4f);
    compute_queries(whole, &w, n, ROOM, cu, 7, 0.4f);
    for (int i = 0; i < cu[7] * HEADS * SIZE; i++)
        g_assert_cmpfloat(parts[i], ==, whole[i]);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/context_query/follows_the_formula", queries_follow_the_formula);
    g_test_add_func("/context_query/of_short_sequences_in_parts", short_sequences_are_pooled_in_parts);
    g_test_add_func("/context_query/parts_draw_the_masks_of_the_whole", parts_draw_the_masks_of_the_whole);
    return g_test_run();
}
