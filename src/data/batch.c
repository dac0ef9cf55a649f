#include "data/batch.h"

#include "base/check.h"

#include <glib.h>
#include <inttypes.h>
#include <string.h>

/* The number of tokens of a batch is rounded up to a multiple of this: oneDNN compiles code for each shape of a matrix
 * product, so fewer shapes mean less compiling. */
enum { ROWS_MULTIPLE = 32 };

void stream_init(TokenStream *stream, int64_t max_tokens, int32_t max_seq, int32_t max_len)
{
    CHECK(max_tokens <= INT32_MAX, "%" PRId64 " tokens", max_tokens);
    *stream = (TokenStream){ .max_tokens = (int32_t)max_tokens, .max_seq = max_seq, .max_len = max_len };
    stream->ids = g_new0(int32_t, max_tokens);
    stream->dropout_position = g_new0(int32_t, max_tokens);
    stream->position_ids = g_new0(int32_t, max_tokens);
    stream->token_types = g_new0(int32_t, max_tokens);
    stream->sample = g_new0(int64_t, max_tokens);
    stream->cu = g_new0(int32_t, stream->max_seq + 1);
    stream->prefix_length = g_new0(int32_t, stream->max_seq);
}

void stream_free(TokenStream *stream)
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

int32_t stream_rows(const TokenStream *stream)
{
    const int32_t multiples = MAX((stream->n_tokens + ROWS_MULTIPLE - 1) / ROWS_MULTIPLE, 1);
    return MIN(multiples * ROWS_MULTIPLE, stream->max_tokens);
}

int32_t stream_add(TokenStream *stream, int64_t sample, int32_t first_dropout_position, int64_t n)
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

Batch *batch_new_packed(int32_t n_packed, int32_t most_samples, int32_t enc_len, int32_t dec_len)
{
    Batch *batch = g_new0(Batch, 1);
    int64_t sequences = (int64_t)n_packed * most_samples;
    CHECK(n_packed > 0 && most_samples > 0 && sequences < INT32_MAX && enc_len >= 0 && dec_len >= 0 &&
              enc_len + dec_len > 0,
          "%d packed sequences of %d and %d tokens, %d samples each", n_packed, enc_len, dec_len, most_samples);
    stream_init(&batch->enc, (int64_t)n_packed * enc_len, enc_len > 0 ? (int32_t)sequences : 0, enc_len);
    stream_init(&batch->dec, (int64_t)n_packed * dec_len, dec_len > 0 ? (int32_t)sequences : 0, dec_len);
    const TokenStream *loss = batch_loss_stream(batch);
    batch->targets = g_new0(int32_t, loss->max_tokens);
    batch->weights = g_new0(float, loss->max_tokens);
    batch->target_indices = g_new0(int32_t, loss->max_tokens);
    batch->target_ids = g_new0(int32_t, loss->max_tokens);
    batch->labels = g_new0(int32_t, loss->max_seq);
    batch->label_ends = g_new0(int32_t, loss->max_seq);
    batch->label_weights = g_new0(float, loss->max_seq);
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
    g_free(batch->label_ends);
    g_free(batch->label_weights);
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
    clear(batch->label_ends, loss->n_seq, sizeof *batch->label_ends);
    clear(batch->label_weights, loss->n_seq, sizeof *batch->label_weights);
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
    batch->label_ends[stream->n_seq - 1] = sequence->label_end;
    batch->label_weights[stream->n_seq - 1] = sequence->label >= 0;
    if (sequence->first_dropout_position == 0)
        count_sample(batch, sequence->sample);
}

TokenStream *stream_memory_new(const TokenStream *from, int32_t n_memory, int32_t n_seq)
{
    TokenStream *stream = g_new(TokenStream, 1);
    stream_init(stream, from->max_tokens + (int64_t)n_memory * n_seq, from->max_seq, from->max_len + n_memory);
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
        memcpy(to->ids + first, from->ids + at, (size_t)n * sizeof *to->ids);
        memcpy(to->token_types + first, from->token_types + at, (size_t)n * sizeof *to->token_types);
    }
}
