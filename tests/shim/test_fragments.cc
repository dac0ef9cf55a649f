/* test_fragments.cc: the registers of tensor cores are those of the PTX ISA on the host too; products of tiles, masks
 * of dropout by exchange between lanes, copies that have not been waited for. */
#include "device/cuda/kernels/attention_mma.h"

#include <glib.h>

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

enum { SIDE = 48 };

/* What ldmatrix brings of a tile is what the ISA says that mma takes. */
static void tiles_are_loaded_as_mma_takes_them(void)
{
    int wrong = 0;
    shim_launch({ 1, 1, 1 }, { 32, 1, 1 }, [&] {
        auto *tile = block_shared_large<Tile<SIDE, SIDE>>();
        int lane = lane_number();
        uint32_t a[4], b[4];
        for (int i = lane; i < SIDE * SIDE; i += WARP)
            tile->of[i / SIDE][i % SIDE] = (uint16_t)i;
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
        uint16_t *shared = block_shared_large<Tile<8, 24>>()->of[0];
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
    g_test_add_func("/fragments/dropout_is_that_of_philox_bit_for_bit", dropout_is_that_of_philox_bit_for_bit);
    g_test_add_func("/fragments/a_copy_is_not_there_before_it_is_waited_for",
                    a_copy_is_not_there_before_it_is_waited_for);
    return g_test_run();
}
