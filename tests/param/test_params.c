#include "param/store.h"
#include "reference/reference.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Bucket 0: a block with q, k, v fused; bucket 1: empty, as a tied head is; bucket 2: an embedding and a norm. */
typedef struct BlockView {
    Tensor norm, q, k, v, qkv, out;
} BlockView;

typedef struct EmbedView {
    Tensor table, norm;
} EmbedView;

#define BLOCK(member) offsetof(BlockView, member)
#define EMBED(member) offsetof(EmbedView, member)

static const ParamSpec specs[] = {
    { "block.norm.w", 0, BLOCK(norm), -1, 7, 0, SPLIT_NONE, TIE_NONE, INIT_CONSTANT, 1, false, false, PARAM_MATRIX, 1,
      1 },
    { "block.q.w", 0, BLOCK(q), BLOCK(qkv), 3, 7, SPLIT_NONE, TIE_NONE, INIT_NORMAL, 0.5, true, false, PARAM_MATRIX, 1,
      1 },
    { "block.k.w", 0, BLOCK(k), BLOCK(qkv), 2, 7, SPLIT_NONE, TIE_NONE, INIT_NORMAL, 0.25, true, false, PARAM_MATRIX, 1,
      1 },
    { "block.v.w", 0, BLOCK(v), BLOCK(qkv), 4, 7, SPLIT_NONE, TIE_NONE, INIT_UNIFORM, 0.25, true, false, PARAM_MATRIX,
      1, 1 },
    { "block.out.w", 0, BLOCK(out), -1, 7, 5, SPLIT_NONE, TIE_NONE, INIT_TRUNCATED_NORMAL, 0.5, true, false,
      PARAM_MATRIX, 1, 1 },
    { "embed.w", 2, EMBED(table), -1, 11, 7, SPLIT_NONE, TIE_NONE, INIT_NORMAL, 1, true, false, PARAM_MATRIX, 1, 1 },
    { "norm.w", 2, EMBED(norm), -1, 7, 0, SPLIT_NONE, TIE_NONE, INIT_ZEROS, 0, false, false, PARAM_MATRIX, 1, 1 },
};
enum { N_SPECS = G_N_ELEMENTS(specs) };

static bool same_view(Tensor a, Tensor b)
{
    return a.p == b.p && tensor_same_shape(a, b) && a.ld == b.ld && a.dtype == b.dtype;
}

static void test_views(void)
{
    Device *dev = device_open_reference();
    ParamStore *store = params_open(dev, specs, N_SPECS, NULL, true);
    BlockView w, g;
    grads_begin(store, 1);
    params_acquire(store, 0, &w);
    grads_acquire(store, 0, &g);
    g_assert_cmpint(params_elements(store), ==, 7 + 9 * 7 + 35 + 77 + 7);
    g_assert_true(same_view(w.norm, params_find(store, "block.norm.w")->w));
    g_assert_true(same_view(w.out, params_find(store, "block.out.w")->w));
    g_assert_true(same_view(g.out, params_find(store, "block.out.w")->g));
    g_assert_true(w.out.p != g.out.p);
    *at(w.k, 1, 3) = 42; /* a view: what is written through it is in the store */
    g_assert_cmpfloat(*at(params_find(store, "block.k.w")->w, 1, 3), ==, 42);
    params_release(store, 0);
    grads_ready(store, 0);
    params_close(store);
    device_close(dev);
}

/* The group is one matrix: rows of q, k, v one after another, in the order of the table. */
static void test_fusion_group(void)
{
    Device *dev = device_open_reference();
    ParamStore *store = params_open(dev, specs, N_SPECS, NULL, true);
    BlockView w, g;
    params_acquire(store, 0, &w);
    grads_acquire(store, 0, &g);
    const BlockView *both[] = { &w, &g };
    for (int i = 0; i < 2; i++) {
        const BlockView *view = both[i];
        g_assert_cmpint(view->qkv.d[0], ==, 9);
        g_assert_cmpint(view->qkv.d[1], ==, 7);
        g_assert_true(same_view(view->q, tensor_slice_rows(view->qkv, 0, 3)));
        g_assert_true(same_view(view->k, tensor_slice_rows(view->qkv, 3, 2)));
        g_assert_true(same_view(view->v, tensor_slice_rows(view->qkv, 5, 4)));
        g_assert_cmpuint((guintptr)view->qkv.p % 64, ==, 0);
        g_assert_cmpuint((guintptr)view->out.p % 64, ==, 0);
        g_assert_cmpuint((guintptr)view->norm.p % 64, ==, 0);
    }
    params_close(store);
    device_close(dev);
}

/* No two tensors share memory: each is filled with its number and found unharmed. */
static void test_tensors_do_not_overlap(void)
{
    Device *dev = device_open_reference();
    ParamStore *store = params_open(dev, specs, N_SPECS, NULL, true);
    for (int i = 0; i < N_SPECS; i++) {
        op_fill(dev, params_get(store, i)->w, i);
        op_fill(dev, params_get(store, i)->g, 100 + i);
    }
    for (int i = 0; i < N_SPECS; i++) {
        const Param *param = params_get(store, i);
        for (int64_t r = 0; r < tensor_rows(param->w); r++) {
            for (int64_t c = 0; c < tensor_cols(param->w); c++) {
                g_assert_cmpfloat(*at(param->w, r, c), ==, i);
                g_assert_cmpfloat(*at(param->g, r, c), ==, 100 + i);
            }
        }
    }
    params_close(store);
    device_close(dev);
}

static void test_beta(void)
{
    Device *dev = device_open_reference();
    ParamStore *store = params_open(dev, specs, N_SPECS, NULL, true);
    BlockView block;
    EmbedView embed;
    for (int step = 0; step < 2; step++) {
        grads_begin(store, 0);
        g_assert_cmpfloat(grads_acquire(store, 2, &embed), ==, 0);
        g_assert_cmpfloat(grads_acquire(store, 0, &block), ==, 0);
        g_assert_cmpfloat(grads_acquire(store, 2, &embed), ==, 1);
        g_assert_cmpfloat(grads_acquire(store, 2, &embed), ==, 1);
    }
    params_close(store);
    device_close(dev);
}

static void test_norm(void)
{
    Device *dev = device_open_reference();
    ParamStore *store = params_open(dev, specs, N_SPECS, NULL, true);
    BlockView block;
    EmbedView embed;
    double sum = 0;
    grads_begin(store, 0);
    grads_acquire(store, 0, &block);
    grads_acquire(store, 2, &embed);
    for (int i = 0; i < N_SPECS; i++) {
        Tensor g = params_get(store, i)->g;
        op_fill(dev, g, i + 1);
        sum += (i + 1) * (i + 1) * (double)tensor_count(g);
    }
    g_assert_cmpfloat_with_epsilon(grads_norm(store), sqrt(sum), 1e-12);

    grads_begin(store, 0); /* the embedding's bucket is not touched in this step: its old gradient must not count */
    grads_acquire(store, 0, &block);
    double untouched = 36.0 * 77 + 49.0 * 7;
    g_assert_cmpfloat_with_epsilon(grads_norm(store), sqrt(sum - untouched), 1e-12);
    g_assert_cmpfloat(*at(embed.table, 3, 3), ==, 0);
    params_close(store);
    device_close(dev);
}

static void test_null(void)
{
    Device *dev = device_open_null();
    ParamStore *store = params_open(dev, specs, N_SPECS, NULL, true);
    BlockView w, g;
    params_init(store, 1);
    grads_begin(store, 0);
    params_acquire(store, 0, &w);
    g_assert_cmpfloat(grads_acquire(store, 0, &g), ==, 0);
    g_assert_cmpint(w.qkv.d[0], ==, 9);
    g_assert_cmpint(params_elements(store), ==, 7 + 9 * 7 + 35 + 77 + 7);
    g_assert_true(isfinite(grads_norm(store)));
    params_close(store);
    device_close(dev);
}

/* A fusion group is one matrix only if its members follow each other. */
static void test_group_apart(void)
{
    ParamSpec apart[4];
    memcpy(apart, specs, sizeof apart);
    apart[2] = specs[4]; /* between q and v */
    apart[3] = specs[3];
    if (g_test_subprocess()) {
        params_open(device_open_reference(), apart, 4, NULL, false);
        return;
    }
    g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
    g_test_trap_assert_failed();
    g_test_trap_assert_stderr("*block.v.w stands apart from its fusion group*");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/params/acquired_tensors_are_views", test_views);
    g_test_add_func("/params/fusion_group_is_one_matrix", test_fusion_group);
    g_test_add_func("/params/members_of_a_group_apart_are_a_bug", test_group_apart);
    g_test_add_func("/params/tensors_do_not_overlap", test_tensors_do_not_overlap);
    g_test_add_func("/params/first_gradient_of_a_step_has_beta_zero", test_beta);
    g_test_add_func("/params/norm_is_of_the_gradients_of_this_step", test_norm);
    g_test_add_func("/params/null_device_touches_no_memory", test_null);
    return g_test_run();
}
