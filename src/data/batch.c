#include "data/batch.h"

#include "base/check.h"

#include <glib.h>
#include <inttypes.h>
#include <string.h>

static void stream_alloc(TokenStream *stream, int64_t rows, int32_t max_seq, int32_t max_len)
{
    CHECK(rows <= INT32_MAX, "%" PRId64 " tokens", rows);
    stream->max_tokens = (int32_t)rows;
    stream->max_seq = max_seq;
    stream->max_len = max_len;
    stream->ids = g_new0(int32_t, rows);
    stream->dropout_position = g_new0(int32_t, rows);
    stream->position_ids = g_new0(int32_t, rows);
    stream->token_types = g_new0(int32_t, rows);
    stream->sample = g_new0(int64_t, rows);
    stream->cu = g_new0(int32_t, stream->max_seq + 1);
    stream->prefix_length = g_new0(int32_t, stream->max_seq);
}

static void stream_init(TokenStream *stream, int32_t n, int32_t row_samples, int32_t max_len)
{
    int64_t sequences = (int64_t)n * row_samples;
    CHECK(n > 0 && row_samples > 0 && max_len >= 0 && sequences < INT32_MAX,
          "%d packed sequences of %d tokens, %d samples each", n, max_len, row_samples);
    stream_alloc(stream, (int64_t)n * max_len, max_len > 0 ? (int32_t)sequences : 0, max_len);
}

static void stream_free(TokenStream *stream)
{
    g_free(stream->ids);
    g_free(stream->dropout_position);
    g_free(stream->position_ids);
    g_free(stream->token_types);
    g_free(stream->sample);
    g_free(stream->cu);
    g_free(stream->prefix_length);
}

static void clear(void *values, int32_t n, size_t size)
{
    if (n > 0)
        memset(values, 0, (size_t)n * size);
}

static void stream_clear(TokenStream *stream)
{
    clear(stream->ids, stream->n_tokens, sizeof *stream->ids);
    clear(stream->dropout_position, stream->n_tokens, sizeof *stream->dropout_position);
    clear(stream->position_ids, stream->n_tokens, sizeof *stream->position_ids);
    clear(stream->token_types, stream->n_tokens, sizeof *stream->token_types);
    clear(stream->sample, stream->n_tokens, sizeof *stream->sample);
    clear(stream->cu, stream->n_seq + 1, sizeof *stream->cu);
    clear(stream->prefix_length, stream->n_seq, sizeof *stream->prefix_length);
    stream->n_tokens = stream->n_seq = 0;
}

/* Opens a sequence of n tokens and returns the index of the first; the caller fills in the ids. */
static int32_t stream_add(TokenStream *stream, int64_t sample, int32_t first_dropout_position, int64_t n)
{
    CHECK(n >= 0 && n <= stream->max_len, "a sequence of %" PRId64 " tokens, at most %d fit", n, stream->max_len);
    CHECK(stream->n_seq < stream->max_seq && n <= stream->max_tokens - stream->n_tokens,
          "%d of %d sequences, %d of %d tokens, %" PRId64 " more", stream->n_seq, stream->max_seq, stream->n_tokens,
          stream->max_tokens, n);
    int32_t first = stream->n_tokens;
    for (int32_t i = 0; i < (int32_t)n; i++) {
        stream->dropout_position[first + i] = first_dropout_position + i;
        stream->position_ids[first + i] = i;
        stream->sample[first + i] = sample;
    }
    stream->n_tokens += (int32_t)n;
    stream->cu[++stream->n_seq] = stream->n_tokens;
    return first;
}

Batch *batch_new(int32_t max_samples, int32_t enc_len, int32_t dec_len)
{
    return batch_new_packed(max_samples, 1, enc_len, dec_len);
}

Batch *batch_new_packed(int32_t rows, int32_t row_samples, int32_t enc_len, int32_t dec_len)
{
    Batch *batch = g_new0(Batch, 1);
    CHECK(enc_len > 0 || dec_len > 0, "a batch without a stream");
    stream_init(&batch->enc, rows, row_samples, enc_len);
    stream_init(&batch->dec, rows, row_samples, dec_len);
    const TokenStream *loss = batch_loss_stream(batch);
    batch->targets = g_new0(int32_t, loss->max_tokens);
    batch->weights = g_new0(float, loss->max_tokens);
    batch->target_indices = g_new0(int32_t, loss->max_tokens);
    batch->target_ids = g_new0(int32_t, loss->max_tokens);
    batch->labels = g_new0(int32_t, loss->max_seq);
    return batch;
}

void batch_free(Batch *batch)
{
    if (!batch)
        return;
    stream_free(&batch->enc);
    stream_free(&batch->dec);
    g_free(batch->targets);
    g_free(batch->weights);
    g_free(batch->target_indices);
    g_free(batch->target_ids);
    g_free(batch->labels);
    g_free(batch);
}

const TokenStream *batch_loss_stream(const Batch *batch)
{
    return batch->dec.max_tokens > 0 ? &batch->dec : &batch->enc;
}

const TokenStream *batch_input_stream(const Batch *batch)
{
    return batch->enc.max_tokens > 0 ? &batch->enc : &batch->dec;
}

void batch_clear(Batch *batch)
{
    const TokenStream *loss = batch_loss_stream(batch);
    clear(batch->targets, loss->n_tokens, sizeof *batch->targets);
    clear(batch->weights, loss->n_tokens, sizeof *batch->weights);
    clear(batch->target_indices, (int32_t)batch->n_targets, sizeof *batch->target_indices);
    clear(batch->target_ids, (int32_t)batch->n_targets, sizeof *batch->target_ids);
    clear(batch->labels, loss->n_seq, sizeof *batch->labels);
    stream_clear(&batch->enc);
    stream_clear(&batch->dec);
    batch->first_sample = batch->n_samples = batch->n_targets = 0;
}

static void count_sample(Batch *batch, int64_t sample)
{
    if (batch->n_samples == 0)
        batch->first_sample = sample;
    batch->n_samples++;
}

static void add_target(Batch *batch, int32_t row, int32_t target, float weight)
{
    batch->targets[row] = target;
    batch->weights[row] = weight;
    if (weight == 0)
        return;
    batch->target_indices[batch->n_targets] = row;
    batch->target_ids[batch->n_targets++] = target;
}

void batch_add(Batch *batch, int64_t sample, const int32_t *inputs, int64_t n_inputs, const int32_t *targets,
               int64_t n_targets, int32_t decoder_start)
{
    int32_t enc = stream_add(&batch->enc, sample, 0, n_inputs);
    int32_t dec = stream_add(&batch->dec, sample, 0, n_targets);

    memcpy(batch->enc.ids + enc, inputs, (size_t)n_inputs * sizeof *inputs);
    for (int32_t i = 0; i < (int32_t)n_targets; i++) {
        batch->dec.ids[dec + i] = i == 0 ? decoder_start : targets[i - 1];
        add_target(batch, dec + i, targets[i], 1);
    }
    batch->labels[batch->dec.n_seq - 1] = -1;
    count_sample(batch, sample);
}

void batch_add_sequence(Batch *batch, const BatchSequence *sequence)
{
    CHECK((batch->enc.max_tokens == 0) != (batch->dec.max_tokens == 0), "%d tokens and %d", batch->enc.max_tokens,
          batch->dec.max_tokens);
    TokenStream *stream = batch->dec.max_tokens > 0 ? &batch->dec : &batch->enc;
    int32_t first = stream_add(stream, sequence->sample, sequence->first_dropout_position, sequence->n);

    for (int32_t i = 0; i < (int32_t)sequence->n; i++) {
        stream->ids[first + i] = sequence->ids[i];
        add_target(batch, first + i, sequence->targets[i], sequence->weights[i]);
        if (sequence->position_ids)
            stream->position_ids[first + i] = sequence->position_ids[i];
        if (sequence->token_types)
            stream->token_types[first + i] = sequence->token_types[i];
    }
    stream->prefix_length[stream->n_seq - 1] = sequence->prefix_length;
    batch->labels[stream->n_seq - 1] = sequence->label;
    if (sequence->first_dropout_position == 0)
        count_sample(batch, sequence->sample);
}

static void copy(void *to, const void *from, int32_t n, size_t size)
{
    if (n > 0)
        memcpy(to, from, (size_t)n * size);
}

static void stream_copy(TokenStream *to, const TokenStream *from)
{
    CHECK(to->max_tokens == from->max_tokens && to->max_seq == from->max_seq, "capacities %d and %d tokens",
          to->max_tokens, from->max_tokens);
    stream_clear(to);
    to->n_tokens = from->n_tokens;
    to->n_seq = from->n_seq;
    copy(to->ids, from->ids, from->n_tokens, sizeof *to->ids);
    copy(to->dropout_position, from->dropout_position, from->n_tokens, sizeof *to->dropout_position);
    copy(to->position_ids, from->position_ids, from->n_tokens, sizeof *to->position_ids);
    copy(to->token_types, from->token_types, from->n_tokens, sizeof *to->token_types);
    copy(to->sample, from->sample, from->n_tokens, sizeof *to->sample);
    copy(to->cu, from->cu, from->n_seq + 1, sizeof *to->cu);
    copy(to->prefix_length, from->prefix_length, from->n_seq, sizeof *to->prefix_length);
}

void batch_copy(Batch *to, const Batch *from)
{
    const TokenStream *loss = batch_loss_stream(from);
    stream_copy(&to->enc, &from->enc);
    stream_copy(&to->dec, &from->dec);
    copy(to->targets, from->targets, loss->max_tokens, sizeof *to->targets);
    copy(to->weights, from->weights, loss->max_tokens, sizeof *to->weights);
    copy(to->target_indices, from->target_indices, (int32_t)from->n_targets, sizeof *to->target_indices);
    copy(to->target_ids, from->target_ids, (int32_t)from->n_targets, sizeof *to->target_ids);
    copy(to->labels, from->labels, loss->max_seq, sizeof *to->labels);
    to->first_sample = from->first_sample;
    to->n_samples = from->n_samples;
    to->n_targets = from->n_targets;
}

TokenStream *stream_memory_new(const TokenStream *from, int32_t n_memory, int32_t rows)
{
    TokenStream *stream = g_new0(TokenStream, 1);
    stream_alloc(stream, from->max_tokens + (int64_t)n_memory * rows, from->max_seq, from->max_len + n_memory);
    return stream;
}

void stream_close(TokenStream *stream)
{
    if (stream)
        stream_free(stream);
    g_free(stream);
}

void stream_copy_behind_memory(TokenStream *to, const TokenStream *from, int32_t n_memory)
{
    stream_clear(to);
    for (int32_t s = 0; s < from->n_seq; s++) {
        int32_t at = from->cu[s], n = from->cu[s + 1] - at;
        int64_t sample = n > 0 ? from->sample[at] : 0;
        int32_t first = stream_add(to, sample, n > 0 ? from->dropout_position[at] : 0, n + n_memory) + n_memory;
        copy(to->ids + first, from->ids + at, n, sizeof *to->ids);
        copy(to->token_types + first, from->token_types + at, n, sizeof *to->token_types);
    }
}
