#include "data/batch.h"

#include "base/check.h"

#include <glib.h>
#include <inttypes.h>
#include <string.h>

static void stream_alloc(TokenStream *stream, int64_t rows, int32_t max_seq, int32_t max_len)
{
    CHECK(rows <= INT32_MAX, "%" PRId64 " rows", rows);
    stream->n_rows = (int32_t)rows;
    stream->max_seq = max_seq;
    stream->max_len = max_len;
    stream->ids = g_new0(int32_t, rows);
    stream->position = g_new0(int32_t, rows);
    stream->place = g_new0(int32_t, rows);
    stream->segment = g_new0(int32_t, rows);
    stream->sample = g_new0(int64_t, rows);
    stream->cu = g_new0(int32_t, stream->max_seq + 1);
    stream->prefix = g_new0(int32_t, stream->max_seq);
}

static void stream_init(TokenStream *stream, int32_t n, int32_t row_samples, int32_t max_len)
{
    int64_t sequences = (int64_t)n * row_samples;
    CHECK(n > 0 && row_samples > 0 && max_len >= 0 && sequences < INT32_MAX, "%d rows of %d tokens, %d samples each", n,
          max_len, row_samples);
    stream_alloc(stream, (int64_t)n * max_len, max_len > 0 ? (int32_t)sequences : 0, max_len);
}

static void stream_free(TokenStream *stream)
{
    g_free(stream->ids);
    g_free(stream->position);
    g_free(stream->place);
    g_free(stream->segment);
    g_free(stream->sample);
    g_free(stream->cu);
    g_free(stream->prefix);
}

static void clear(void *values, int32_t n, size_t size)
{
    if (n > 0)
        memset(values, 0, (size_t)n * size);
}

static void stream_clear(TokenStream *stream)
{
    clear(stream->ids, stream->n_used, sizeof *stream->ids);
    clear(stream->position, stream->n_used, sizeof *stream->position);
    clear(stream->place, stream->n_used, sizeof *stream->place);
    clear(stream->segment, stream->n_used, sizeof *stream->segment);
    clear(stream->sample, stream->n_used, sizeof *stream->sample);
    clear(stream->cu, stream->n_seq + 1, sizeof *stream->cu);
    clear(stream->prefix, stream->n_seq, sizeof *stream->prefix);
    stream->n_used = stream->n_seq = 0;
}

/* Opens a sequence of n rows and returns the first; the caller fills ids. */
static int32_t stream_add(TokenStream *stream, int64_t sample, int32_t first_position, int64_t n)
{
    CHECK(n >= 0 && n <= stream->max_len, "a sequence of %" PRId64 " tokens, at most %d fit", n, stream->max_len);
    CHECK(stream->n_seq < stream->max_seq && n <= stream->n_rows - stream->n_used,
          "%d of %d sequences, %d of %d rows, %" PRId64 " more", stream->n_seq, stream->max_seq, stream->n_used,
          stream->n_rows, n);
    int32_t first = stream->n_used;
    for (int32_t i = 0; i < (int32_t)n; i++) {
        stream->position[first + i] = first_position + i;
        stream->place[first + i] = i;
        stream->sample[first + i] = sample;
    }
    stream->n_used += (int32_t)n;
    stream->cu[++stream->n_seq] = stream->n_used;
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
    batch->targets = g_new0(int32_t, loss->n_rows);
    batch->weights = g_new0(float, loss->n_rows);
    batch->target_rows = g_new0(int32_t, loss->n_rows);
    batch->target_ids = g_new0(int32_t, loss->n_rows);
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
    g_free(batch->target_rows);
    g_free(batch->target_ids);
    g_free(batch->labels);
    g_free(batch);
}

const TokenStream *batch_loss_stream(const Batch *batch)
{
    return batch->dec.n_rows > 0 ? &batch->dec : &batch->enc;
}

const TokenStream *batch_input_stream(const Batch *batch)
{
    return batch->enc.n_rows > 0 ? &batch->enc : &batch->dec;
}

void batch_clear(Batch *batch)
{
    const TokenStream *loss = batch_loss_stream(batch);
    clear(batch->targets, loss->n_used, sizeof *batch->targets);
    clear(batch->weights, loss->n_used, sizeof *batch->weights);
    clear(batch->target_rows, (int32_t)batch->n_targets, sizeof *batch->target_rows);
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
    batch->target_rows[batch->n_targets] = row;
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
    CHECK((batch->enc.n_rows == 0) != (batch->dec.n_rows == 0), "%d rows and %d", batch->enc.n_rows, batch->dec.n_rows);
    TokenStream *stream = batch->dec.n_rows > 0 ? &batch->dec : &batch->enc;
    int32_t first = stream_add(stream, sequence->sample, sequence->first_position, sequence->n);

    for (int32_t i = 0; i < (int32_t)sequence->n; i++) {
        stream->ids[first + i] = sequence->ids[i];
        add_target(batch, first + i, sequence->targets[i], sequence->weights[i]);
        if (sequence->place)
            stream->place[first + i] = sequence->place[i];
        if (sequence->segment)
            stream->segment[first + i] = sequence->segment[i];
    }
    stream->prefix[stream->n_seq - 1] = sequence->prefix;
    batch->labels[stream->n_seq - 1] = sequence->label;
    if (sequence->first_position == 0)
        count_sample(batch, sequence->sample);
}

static void copy(void *to, const void *from, int32_t n, size_t size)
{
    if (n > 0)
        memcpy(to, from, (size_t)n * size);
}

static void stream_copy(TokenStream *to, const TokenStream *from)
{
    CHECK(to->n_rows == from->n_rows && to->max_seq == from->max_seq, "capacities %d and %d rows", to->n_rows,
          from->n_rows);
    stream_clear(to);
    to->n_used = from->n_used;
    to->n_seq = from->n_seq;
    copy(to->ids, from->ids, from->n_used, sizeof *to->ids);
    copy(to->position, from->position, from->n_used, sizeof *to->position);
    copy(to->place, from->place, from->n_used, sizeof *to->place);
    copy(to->segment, from->segment, from->n_used, sizeof *to->segment);
    copy(to->sample, from->sample, from->n_used, sizeof *to->sample);
    copy(to->cu, from->cu, from->n_seq + 1, sizeof *to->cu);
    copy(to->prefix, from->prefix, from->n_seq, sizeof *to->prefix);
}

void batch_copy(Batch *to, const Batch *from)
{
    const TokenStream *loss = batch_loss_stream(from);
    stream_copy(&to->enc, &from->enc);
    stream_copy(&to->dec, &from->dec);
    copy(to->targets, from->targets, loss->n_rows, sizeof *to->targets);
    copy(to->weights, from->weights, loss->n_rows, sizeof *to->weights);
    copy(to->target_rows, from->target_rows, (int32_t)from->n_targets, sizeof *to->target_rows);
    copy(to->target_ids, from->target_ids, (int32_t)from->n_targets, sizeof *to->target_ids);
    copy(to->labels, from->labels, loss->max_seq, sizeof *to->labels);
    to->first_sample = from->first_sample;
    to->n_samples = from->n_samples;
    to->n_targets = from->n_targets;
}

TokenStream *stream_behind_new(const TokenStream *from, int32_t n_first, int32_t rows)
{
    TokenStream *stream = g_new0(TokenStream, 1);
    stream_alloc(stream, from->n_rows + (int64_t)n_first * rows, from->max_seq, from->max_len + n_first);
    return stream;
}

void stream_close(TokenStream *stream)
{
    if (stream)
        stream_free(stream);
    g_free(stream);
}

void stream_put_behind(TokenStream *to, const TokenStream *from, int32_t n_first)
{
    stream_clear(to);
    for (int32_t s = 0; s < from->n_seq; s++) {
        int32_t at = from->cu[s], n = from->cu[s + 1] - at;
        int64_t sample = n > 0 ? from->sample[at] : 0;
        int32_t first = stream_add(to, sample, n > 0 ? from->position[at] : 0, n + n_first) + n_first;
        copy(to->ids + first, from->ids + at, n, sizeof *to->ids);
        copy(to->segment + first, from->segment + at, n, sizeof *to->segment);
    }
}
