#include "data/batch.h"

#include "data/data_test.h"

static void add_packs_sequences_back_to_back(void)
{
    Batch *batch = batch_new(2, 8, 4);
    batch_add(batch, 40, (int32_t[]){ 11, 12, 13, 1 }, 4, (int32_t[]){ 21, 22, 1 }, 3, 0);
    batch_add(batch, 41, (int32_t[]){ 14, 1 }, 2, (int32_t[]){ 23, 1 }, 2, 0);

    g_assert_cmpint(batch->enc.max_tokens, ==, 16);
    g_assert_cmpint(batch->dec.max_tokens, ==, 8);
    assert_same(batch->enc.ids, ((int32_t[]){ 11, 12, 13, 1, 14, 1, 0 }), 7 * 4);
    assert_same(batch->enc.dropout_position, ((int32_t[]){ 0, 1, 2, 3, 0, 1, 0 }), 7 * 4);
    assert_same(batch->enc.position_ids, batch->enc.dropout_position, 7 * 4);
    assert_same(batch->labels, ((int32_t[]){ -1, -1 }), 2 * 4);
    assert_same(batch->enc.sample, ((int64_t[]){ 40, 40, 40, 40, 41, 41, 0 }), 7 * 8);
    assert_same(batch->enc.cu, ((int32_t[]){ 0, 4, 6 }), 3 * 4);
    assert_same(batch->dec.cu, ((int32_t[]){ 0, 3, 5 }), 3 * 4);
    assert_same(batch->targets, ((int32_t[]){ 21, 22, 1, 23, 1, 0 }), 6 * 4);
    assert_same(batch->weights, ((float[]){ 1, 1, 1, 1, 1, 0 }), 6 * 4);
    g_assert_cmpint(batch->first_sample, ==, 40);
    g_assert_cmpint(batch->n_samples, ==, 2);
    g_assert_cmpint(batch->n_targets, ==, 5);
    batch_free(batch);
}

static void decoder_input_is_targets_shifted_right(void)
{
    Batch *batch = batch_new(2, 4, 4);
    batch_add(batch, 0, (int32_t[]){ 1 }, 1, (int32_t[]){ 21, 22, 1 }, 3, 7);
    batch_add(batch, 1, (int32_t[]){ 1 }, 1, (int32_t[]){ 23, 1 }, 2, 7);
    assert_same(batch->dec.ids, ((int32_t[]){ 7, 21, 22, 7, 23, 0 }), 6 * 4);
    batch_free(batch);
}

static const int32_t ids[] = { 11, 12, 13 }, targets[] = { 21, 22, 23 }, position_ids[] = { 0, 0, 1 },
                     token_types[] = { 0, 1, 1 };
static const float weights[] = { 0, 1, 1 };

static void a_sample_of_one_stream_may_be_cut_into_sequences(void)
{
    Batch *batch = batch_new(2, 0, 4);
    const BatchSequence head = {
        .sample = 7, .n = 3, .ids = ids, .targets = targets, .weights = weights, .prefix_length = 2
    };
    const BatchSequence tail = { .sample = 7,
                                 .n = 2,
                                 .ids = ids,
                                 .targets = targets,
                                 .weights = weights,
                                 .first_dropout_position = 3,
                                 .label = -1 };
    batch_add_sequence(batch, &head);
    batch_add_sequence(batch, &tail);
    g_assert_cmpint(batch->enc.max_tokens + batch->enc.n_tokens + batch->enc.n_seq, ==, 0);
    g_assert_true(batch_loss_stream(batch) == &batch->dec);
    assert_same(batch->dec.ids, ((int32_t[]){ 11, 12, 13, 11, 12, 0 }), 6 * 4);
    assert_same(batch->dec.dropout_position, ((int32_t[]){ 0, 1, 2, 3, 4, 0 }), 6 * 4);
    assert_same(batch->dec.position_ids, ((int32_t[]){ 0, 1, 2, 0, 1, 0 }), 6 * 4);
    assert_same(batch->dec.cu, ((int32_t[]){ 0, 3, 5 }), 3 * 4);
    assert_same(batch->dec.prefix_length, ((int32_t[]){ 2, 0 }), 2 * 4);
    assert_same(batch->targets, ((int32_t[]){ 21, 22, 23, 21, 22, 0 }), 6 * 4);
    assert_same(batch->weights, ((float[]){ 0, 1, 1, 0, 1, 0 }), 6 * 4);
    assert_same(batch->target_indices, ((int32_t[]){ 1, 2, 4 }), 3 * 4);
    assert_same(batch->target_ids, ((int32_t[]){ 22, 23, 22 }), 3 * 4);
    g_assert_cmpint(batch->n_samples, ==, 1);
    g_assert_cmpint(batch->n_targets, ==, 3);
    batch_free(batch);
}

static void an_encoder_alone_carries_token_types_and_labels(void)
{
    Batch *batch = batch_new(2, 4, 0);
    const BatchSequence sequence = { .sample = 9,
                                     .n = 3,
                                     .ids = ids,
                                     .targets = targets,
                                     .weights = weights,
                                     .position_ids = position_ids,
                                     .token_types = token_types,
                                     .label = 1 };
    batch_add_sequence(batch, &sequence);
    g_assert_true(batch_loss_stream(batch) == &batch->enc);
    assert_same(batch->enc.ids, ((int32_t[]){ 11, 12, 13, 0 }), 4 * 4);
    assert_same(batch->enc.position_ids, position_ids, 3 * 4);
    assert_same(batch->enc.token_types, token_types, 3 * 4);
    assert_same(batch->labels, ((int32_t[]){ 1, 0 }), 2 * 4);
    assert_same(batch->targets, targets, 3 * 4);
    assert_same(batch->weights, weights, 3 * 4);
    g_assert_cmpint(batch->first_sample, ==, 9);
    g_assert_cmpint(batch->n_targets, ==, 2);
    batch_clear(batch);
    g_assert_cmpint(batch->labels[0] + batch->enc.token_types[1] + batch->enc.position_ids[2] + batch->targets[0], ==,
                    0);
    batch_free(batch);
}

static void a_cleared_batch_is_a_new_batch(void)
{
    Batch *used = batch_new(2, 4, 4), *fresh = batch_new(2, 4, 4);
    batch_add(used, 5, (int32_t[]){ 9, 8, 7, 1 }, 4, (int32_t[]){ 6, 5, 4, 1 }, 4, 3);
    batch_add(used, 6, (int32_t[]){ 9, 8, 7, 1 }, 4, (int32_t[]){ 6, 5, 4, 1 }, 4, 3);
    batch_clear(used);
    assert_same(used->enc.ids, fresh->enc.ids, 8 * 4);
    assert_same(used->enc.dropout_position, fresh->enc.dropout_position, 8 * 4);
    assert_same(used->enc.sample, fresh->enc.sample, 8 * 8);
    assert_same(used->enc.cu, fresh->enc.cu, 3 * 4);
    assert_same(used->dec.ids, fresh->dec.ids, 8 * 4);
    assert_same(used->targets, fresh->targets, 8 * 4);
    assert_same(used->weights, fresh->weights, 8 * 4);
    g_assert_cmpint(used->enc.n_tokens + used->enc.n_seq + used->dec.n_tokens + used->dec.n_seq, ==, 0);
    g_assert_cmpint(used->first_sample + used->n_samples + used->n_targets, ==, 0);
    batch_free(used);
    batch_free(fresh);
}

/* Whatever the stream held before; a sequence without tokens gets memory tokens too. */
static void memory_tokens_stand_before_each_sequence(void)
{
    Batch *batch = batch_new(3, 4, 4);
    TokenStream *behind = stream_memory_new(&batch->enc, 2, 3);
    batch_add(batch, 40, (int32_t[]){ 11, 12, 1 }, 3, (int32_t[]){ 1 }, 1, 0);
    stream_copy_behind_memory(behind, &batch->enc, 2);
    batch_add(batch, 41, (int32_t[]){ 1 }, 0, (int32_t[]){ 1 }, 1, 0);
    batch_add(batch, 42, (int32_t[]){ 1 }, 1, (int32_t[]){ 1 }, 1, 0);
    stream_copy_behind_memory(behind, &batch->enc, 2);
    g_assert_cmpint(behind->max_tokens, ==, 3 * 4 + 3 * 2);
    g_assert_cmpint(behind->max_len, ==, 6);
    g_assert_cmpint(behind->n_seq, ==, 3);
    assert_same(behind->cu, ((int32_t[]){ 0, 5, 7, 10 }), 4 * 4);
    assert_same(behind->ids, ((int32_t[]){ 0, 0, 11, 12, 1, 0, 0, 0, 0, 1, 0 }), 11 * 4);
    assert_same(behind->dropout_position, ((int32_t[]){ 0, 1, 2, 3, 4, 0, 1, 0, 1, 2, 0 }), 11 * 4);
    assert_same(behind->position_ids, behind->dropout_position, 11 * 4);
    assert_same(behind->sample, ((int64_t[]){ 40, 40, 40, 40, 40 }), 5 * 8);
    stream_close(behind);
    batch_free(batch);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/batch/add_packs_sequences_back_to_back", add_packs_sequences_back_to_back);
    g_test_add_func("/batch/decoder_input_is_targets_shifted_right", decoder_input_is_targets_shifted_right);
    g_test_add_func("/batch/a_sample_of_one_stream_may_be_cut_into_sequences",
                    a_sample_of_one_stream_may_be_cut_into_sequences);
    g_test_add_func("/batch/an_encoder_alone_carries_token_types_and_labels",
                    an_encoder_alone_carries_token_types_and_labels);
    g_test_add_func("/batch/a_cleared_batch_is_a_new_batch", a_cleared_batch_is_a_new_batch);
    g_test_add_func("/batch/memory_tokens_stand_before_each_sequence", memory_tokens_stand_before_each_sequence);
    return g_test_run();
}
