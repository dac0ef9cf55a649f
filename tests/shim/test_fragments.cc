/* test_fragments.cc: the registers of tensor cores are those of the PTX ISA on the host too; products of tiles by mma
 * and by wgmma, masks of dropout by exchange between lanes, copies and products that have not been waited for. */
#include "device/cuda/kernels/attention_mma.h"

#include <glib.h>
#include <stdlib.h>

/* PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type": element i of a lane. */
static int row_of_a(int lane, int i)
{
    return i < 2 || (i >= 4 && i < 6) ? lane / 4 : lane / 4 + 8;
}

static int column_of_a(int lane, int i)
{
    return lane % 4 * 2 + (i & 1) + (i < 4 ? 0 : 8);
}

static int row_of_b(int lane, int i)
{
    return lane % 4 * 2 + (i & 1) + (i < 2 ? 0 : 8);
}

static int row_of_c(int lane, int i)
{
    return i < 2 ? lane / 4 : lane / 4 + 8;
}

static int column_of_c(int lane, int i)
{
    return lane % 4 * 2 + (i & 1);
}

/* Small integers, exact in bf16 and in f16. */
static float small(int row, int col, int salt)
{
    return (float)((row * 7 + col * 3 + salt) % 11 - 5);
}

static uint16_t element_of(const uint32_t *words, int i)
{
    return (uint16_t)(words[i / 2] >> 16 * (i % 2));
}

template <int DTYPE> static void one_product(void)
{
    float a[16][16], b[16][8];
    for (int r = 0; r < 16; r++)
        for (int c = 0; c < 16; c++) {
            a[r][c] = small(r, c, 1);
            if (c < 8)
                b[r][c] = small(r, c, 2);
        }
    int wrong = 0;
    shim_launch({ 1, 1, 1 }, { 64, 1, 1 }, [&] {
        int lane = lane_number();
        uint32_t left[4], right[2];
        float sums[4] = { 1, 2, 3, 4 };
        for (int x = 0; x < 4; x++)
            left[x] = pack_two<DTYPE>(a[row_of_a(lane, 2 * x)][column_of_a(lane, 2 * x)],
                                      a[row_of_a(lane, 2 * x + 1)][column_of_a(lane, 2 * x + 1)]);
        for (int x = 0; x < 2; x++)
            right[x] = pack_two<DTYPE>(b[row_of_b(lane, 2 * x)][lane / 4], b[row_of_b(lane, 2 * x + 1)][lane / 4]);
        mma<DTYPE>(sums, left, right[0], right[1]);
        for (int i = 0; i < 4; i++) {
            float want = (float)(i + 1);
            for (int k = 0; k < 16; k++)
                want += a[row_of_c(lane, i)][k] * b[k][column_of_c(lane, i)];
            wrong += sums[i] != want;
        }
    });
    g_assert_cmpint(wrong, ==, 0);
}

static void mma_has_the_registers_of_the_isa(void)
{
    one_product<DT_BF16>();
    one_product<DT_F16>();
}

enum { SIDE = 64 };

/* What ldmatrix brings of a tile is what the ISA says that mma takes. */
static void tiles_are_loaded_as_mma_takes_them(void)
{
    int wrong = 0;
    shim_launch({ 1, 1, 1 }, { 32, 1, 1 }, [&] {
        auto *tile = block_shared_large<Tile<SIDE, SIDE>>();
        int lane = lane_number();
        uint32_t a[4], b[4];
        for (int i = lane; i < SIDE * SIDE; i += WARP)
            tile->at(i / SIDE, i % SIDE / 8 * 8)[i % 8] = (uint16_t)i;
        __syncthreads();
        load_left(a, *tile, 16, 32);
        for (int i = 0; i < 8; i++)
            wrong += element_of(a, i) != (16 + row_of_a(lane, i)) * SIDE + 32 + column_of_a(lane, i);
        load_right(b, *tile, 16, 32);
        for (int i = 0; i < 8; i++)
            wrong += element_of(b, i) != (16 + row_of_b(lane, i % 4)) * SIDE + 32 + i / 4 * 8 + lane / 4;
        load_right_transposed(b, *tile, 16, 32);
        for (int i = 0; i < 8; i++)
            wrong += element_of(b, i) != (16 + i / 4 * 8 + lane / 4) * SIDE + 32 + row_of_b(lane, i % 4);
    });
    g_assert_cmpint(wrong, ==, 0);
}

/* Products of a tile of 64 rows with one of KEYS rows, as attention makes them: left · rightᵀ, and OUT columns, from
 * column FROM on, of p · right. */
template <int DTYPE, int DIM, int KEYS> struct Operands {
    alignas(16) uint16_t left[64][DIM], right[KEYS][DIM];
    Operands()
    {
        for (int c = 0; c < DIM; c++) {
            for (int r = 0; r < 64; r++)
                left[r][c] = (uint16_t)pack_two<DTYPE>(small(r, c, 3), 0);
            for (int r = 0; r < KEYS; r++)
                right[r][c] = (uint16_t)pack_two<DTYPE>(small(r, c, 5), 0);
        }
    }
};

template <int DIM, int KEYS> struct Tiles {
    Tile<64, DIM> left;
    Tile<KEYS, DIM> right;
};

/* Starts to copy both, by the threads of a warpgroup. */
template <int DTYPE, int DIM, int KEYS>
static void stage(Tiles<DIM, KEYS> *tiles, const Operands<DTYPE, DIM, KEYS> &from)
{
    for (int i = (int)threadIdx.x % MMA_THREADS; i < 64 * DIM / 8; i += MMA_THREADS)
        copy_async(tiles->left.at(i * 8 / DIM, i * 8 % DIM), &from.left[i * 8 / DIM][i * 8 % DIM], true);
    for (int i = (int)threadIdx.x % MMA_THREADS; i < KEYS * DIM / 8; i += MMA_THREADS)
        copy_async(tiles->right.at(i * 8 / DIM, i * 8 % DIM), &from.right[i * 8 / DIM][i * 8 % DIM], true);
}

/* GROUPS warpgroups, each with tiles of its own. */
template <int DTYPE, int DIM, int KEYS, int OUT, int FROM, bool HELD, int GROUPS = 1> static int wrong_products(void)
{
    static const Operands<DTYPE, DIM, KEYS> operands;
    int wrong = 0;
    shim_launch({ 1, 1, 1 }, { GROUPS * MMA_THREADS, 1, 1 }, [&] {
        auto *tiles = block_shared_large<Tiles<DIM, KEYS>>() + threadIdx.x / MMA_THREADS;
        int first_row = (int)threadIdx.x / WARP % MMA_WARPS * 16;
        Left<1, 64, DIM, HELD> left = { tiles->left, first_row, {} };
        float s[1][KEYS / 8][4], p[1][KEYS / 8][4], o[1][OUT / 8][4];
        stage(tiles, operands);
        copy_wait();
        __syncthreads();
        left.hold();
        EACH_SUM(1, KEYS / 8) p[m][n][2 * h + e] = small(row_of(first_row, m, h), column_of(n, e), 4);
        EACH_SUM(1, OUT / 8) o[m][n][2 * h + e] = (float)(n - e);
        multiply_transposed<DTYPE>(s, left, tiles->right);
        multiply_add<DTYPE>(o, p, tiles->right, FROM);
        EACH_SUM(1, KEYS / 8) p[m][n][2 * h + e] = NAN;
        await_products<1>(s);
        EACH_SUM(1, KEYS / 8)
        {
            float want = 0;
            for (int k = 0; k < DIM; k++)
                want += small(row_of(first_row, m, h), k, 3) * small(column_of(n, e), k, 5);
            wrong += s[m][n][2 * h + e] != want;
        }
        await_products<0>(o);
        EACH_SUM(1, OUT / 8)
        {
            float want = (float)(n - e);
            for (int k = 0; k < KEYS; k++)
                want += small(row_of(first_row, m, h), k, 4) * small(k, FROM + column_of(n, e), 5);
            wrong += o[m][n][2 * h + e] != want;
        }
    });
    return wrong;
}

template <int DTYPE> static void all_products(void)
{
    g_assert_cmpint((wrong_products<DTYPE, 32, 64, 32, 0, true>()), ==, 0);
    g_assert_cmpint((wrong_products<DTYPE, 32, 64, 32, 0, false>()), ==, 0);
    g_assert_cmpint((wrong_products<DTYPE, 64, 64, 64, 0, true>()), ==, 0);
    g_assert_cmpint((wrong_products<DTYPE, 64, 32, 64, 0, false>()), ==, 0);
    g_assert_cmpint((wrong_products<DTYPE, 128, 16, 128, 0, false>()), ==, 0);
    g_assert_cmpint((wrong_products<DTYPE, 256, 16, 128, 128, true>()), ==, 0);
    g_assert_cmpint((wrong_products<DTYPE, 64, 64, 64, 0, true, 2>()), ==, 0);
    g_assert_cmpint((wrong_products<DTYPE, 64, 64, 64, 0, false, 2>()), ==, 0);
}

static void tiles_are_multiplied_by_mma_and_by_wgmma(void)
{
    int by_wgmma = 0;
    for (int order = 0; order < SHIM_ORDERS; order++)
        for (int copies = 0; copies <= SHIM_COPIES_BETWEEN; copies++) {
            shim_set_order((ShimOrder)order);
            shim_set_copies((ShimCopies)copies);
            by_wgmma += by_warpgroup();
            all_products<DT_BF16>();
            all_products<DT_F16>();
        }
    g_assert_cmpint(by_wgmma, ==, 6);
    shim_set_order(SHIM_FORWARD);
}

/* A product with a mistake. */
enum Mistake { NO_WAIT, NO_FENCE, A_WARP_LESS, NO_WAIT_AT_ALL };

static int old_sums_after(Mistake mistake)
{
    static const Operands<DT_BF16, 64, 64> operands;
    int old = 0;
    shim_launch({ 1, 1, 1 }, { MMA_THREADS, 1, 1 }, [&] {
        auto *tiles = block_shared_large<Tiles<64, 64>>();
        Left<1, 64, 64, false> left = { tiles->left, 0, {} };
        float s[1][8][4] = {};
        stage(tiles, operands);
        if (mistake == NO_FENCE)
            shim_copy_now();
        else
            copy_wait();
        __syncthreads();
        if (mistake != A_WARP_LESS || threadIdx.x < 96)
            multiply_transposed<DT_BF16>(s, left, tiles->right);
        EACH_SUM(1, 8) old += s[m][n][2 * h + e] == 0;
        if (mistake != NO_WAIT_AT_ALL)
            await_products<0>(s);
        __syncthreads();
    });
    return old;
}

static void a_product_is_not_there_before_it_is_waited_for(void)
{
    g_assert_cmpint(old_sums_after(NO_WAIT), ==, 64 * 64);
}

static void mistakes_with_products_are_found(void)
{
    static const char *const said[] = { NULL, "*a product before the proxy fences*",
                                        "*other products than its warpgroup*",
                                        "*products that it has not waited for*" };
    const char *planted = g_getenv("MISTAKE");
    if (planted) {
        old_sums_after((Mistake)atoi(planted));
        return;
    }
    for (int mistake = NO_FENCE; mistake <= NO_WAIT_AT_ALL; mistake++) {
        g_autofree char *number = g_strdup_printf("%d", mistake);
        g_setenv("MISTAKE", number, TRUE);
        g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
        g_test_trap_assert_failed();
        g_test_trap_assert_stderr(said[mistake]);
    }
    g_unsetenv("MISTAKE");
}

/* Bits of dropout, as base/philox.h says, for a sequence of queries whose samples and positions differ. */
enum { QUERIES = 64, KEYS = 64, SEQUENCE = 3 };

struct Masked {
    Attn attn;
    Pairs pairs;
    int64_t sample[SEQUENCE + QUERIES];
    int32_t position[SEQUENCE + QUERIES];
};

static void masked_init(Masked *m)
{
    *m = {};
    for (int i = 0; i < SEQUENCE + QUERIES; i++) {
        m->sample[i] = ((int64_t)i << 33) + 5 * i;
        m->position[i] = 1000 - i;
    }
    m->attn.spec.first_head = 3;
    m->attn.mask = { philox_key(9, PHILOX_DROPOUT, 2), m->sample, m->position, 0, philox_threshold(0.3f), 1 };
    m->pairs.q0 = SEQUENCE;
    m->pairs.head = 2;
    m->pairs.of = { QUERIES, 4 * KEYS, 0 };
}

static bool kept(const Masked *m, int query, int64_t key)
{
    uint64_t sample = (uint64_t)m->sample[SEQUENCE + query];
    PhiloxWords words = philox4x32(m->attn.mask.key, (uint32_t)sample, (uint32_t)(sample >> 32) | 5 << 16,
                                   (uint32_t)m->position[SEQUENCE + query], (uint32_t)(key / PHILOX_ELEMENTS));
    return philox_element(words, key) >= m->attn.mask.threshold;
}

template <int M, int N> static int wrong_masks(const Masked *m)
{
    int wrong = 0;
    int64_t j = 2 * KEYS;
    shim_launch({ 1, 1, 1 }, { 32, 1, 1 }, [&] {
        uint32_t of_queries[M], of_keys[M];
        keep_of_queries<M, N>(of_queries, m->attn, m->pairs, 16, 16, j);
        keep_of_keys<M, N>(of_keys, m->attn, m->pairs, 0, j, 16);
        EACH(m_, M) EACH(n, N) EACH(h, 2) EACH(e, 2)
        {
            wrong += is_kept(of_queries[m_], n, h, e) != kept(m, 16 + row_of(16, m_, h), j + column_of(n, e));
            wrong += is_kept(of_keys[m_], n, h, e) != kept(m, column_of(n, e), j + row_of(16, m_, h));
        }
    });
    return wrong;
}

static void dropout_is_that_of_philox_bit_for_bit(void)
{
    Masked m;
    masked_init(&m);
    for (int order = 0; order < SHIM_ORDERS; order++) {
        shim_set_order((ShimOrder)order);
        g_assert_cmpint((wrong_masks<1, 8>(&m)), ==, 0);
        g_assert_cmpint((wrong_masks<2, 8>(&m)), ==, 0);
        g_assert_cmpint((wrong_masks<1, 4>(&m)), ==, 0);
        g_assert_cmpint((wrong_masks<1, 2>(&m)), ==, 0);
    }
    shim_set_order(SHIM_FORWARD);
}

static int numbers_that_arrive(bool wait)
{
    alignas(16) uint16_t from[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    int arrived = 0;
    shim_launch({ 1, 1, 1 }, { 32, 1, 1 }, [&] {
        uint16_t *shared = block_shared_large<Tile<16, 32>>()->of[0][0];
        if (threadIdx.x == 0)
            copy_async(shared, from, true);
        if (wait)
            copy_wait();
        __syncthreads();
        arrived += threadIdx.x < 8 && shared[threadIdx.x] == from[threadIdx.x];
        __syncthreads();
        copy_wait();
    });
    return arrived;
}

static void a_copy_is_not_there_before_it_is_waited_for(void)
{
    g_assert_cmpint(numbers_that_arrive(true), ==, 8);
    g_assert_cmpint(numbers_that_arrive(false), ==, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/fragments/mma_has_the_registers_of_the_isa", mma_has_the_registers_of_the_isa);
    g_test_add_func("/fragments/tiles_are_loaded_as_mma_takes_them", tiles_are_loaded_as_mma_takes_them);
    g_test_add_func("/fragments/tiles_are_multiplied_by_mma_and_by_wgmma", tiles_are_multiplied_by_mma_and_by_wgmma);
    g_test_add_func("/fragments/a_product_is_not_there_before_it_is_waited_for",
                    a_product_is_not_there_before_it_is_waited_for);
    g_test_add_func("/fragments/mistakes_with_products_are_found", mistakes_with_products_are_found);
    g_test_add_func("/fragments/dropout_is_that_of_philox_bit_for_bit", dropout_is_that_of_philox_bit_for_bit);
    g_test_add_func("/fragments/a_copy_is_not_there_before_it_is_waited_for",
                    a_copy_is_not_there_before_it_is_waited_for);
    return g_test_run();
}
