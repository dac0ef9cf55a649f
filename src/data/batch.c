#include "data/batch.h"

#include "base/check.h"

#include <glib.h>
#include <string.h>

static void stream_init(TokenStream *stream, int32_t max_samples, int32_t max_len)
{
    int64_t rows = (int64_t)max_samples * max_len;
    CHECK(max_samples > 0 && max_len > 0 && rows <= INT32_MAX, "%d samples of %d tokens", max_samples, max_len);
    stream->n_rows = (int32_t)rows;
    stream->max_seq = max_samples;
    stream->max_len = max_len;
    stream->ids = g_new0(int32_t, rows);
    stream->position = g_new0(int32_t, rows);
    stream->sample = g_new0(int64_t, rows);
    stream->cu = g_new0(int32_t, max_samples + 1);
}

static void stream_free(TokenStream *stream)
{
    g_free(stream->ids);
    g_free(stream->position);
    g_free(stream->sample);
    g_free(stream->cu);
}

static void stream_clear(TokenStream *stream)
{
    size_t used = (size_t)stream->n_used;
    memset(stream->ids, 0, used * sizeof *stream->ids);
    memset(stream->position, 0, used * sizeof *stream->position);
    memset(stream->sample, 0, used * sizeof *stream->sample);
    memset(stream->cu, 0, (size_t)(stream->n_seq + 1) * sizeof *stream->cu);
    stream->n_used = stream->n_seq = 0;
}

/* Opens a sequence of n rows and returns the first; the caller fills ids. */
static int32_t stream_add(TokenStream *stream, int64_t sample, int64_t n)
{
    CHECK(n >= 0 && n <= stream->max_len, "a sequence of %ld tokens, at most %d fit", n, stream->max_len);
    CHECK(stream->n_seq < stream->max_seq && n <= stream->n_rows - stream->n_used,
          "%d of %d sequences, %d of %d rows, %ld more", stream->n_seq, stream->max_seq, stream->n_used, stream->n_rows,
          n);
    int32_t first = stream->n_used;
    for (int32_t i = 0; i < (int32_t)n; i++) {
        stream->position[first + i] = i;
        stream->sample[first + i] = sample;
    }
    stream->n_used += (int32_t)n;
    stream->cu[++stream->n_seq] = stream->n_used;
    return first;
}

Batch *batch_new(int32_t max_samples, int32_t enc_len, int32_t dec_len)
{
    Batch *batch = g_new0(Batch, 1);
    stream_init(&batch->enc, max_samples, enc_len);
    stream_init(&batch->dec, max_samples, dec_len);
    batch->targets = g_new0(int32_t, batch->dec.n_rows);
    batch->weights = g_new0(float, batch->dec.n_rows);
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
    g_free(batch);
}

void batch_clear(Batch *batch)
{
    memset(batch->targets, 0, (size_t)batch->dec.n_used * sizeof *batch->targets);
    memset(batch->weights, 0, (size_t)batch->dec.n_used * sizeof *batch->weights);
    stream_clear(&batch->enc);
    stream_clear(&batch->dec);
    batch->first_sample = batch->n_samples = batch->n_targets = 0;
}

void batch_add(Batch *batch, int64_t sample, const int32_t *inputs, int64_t n_inputs, const int32_t *targets,
               int64_t n_targets, int32_t decoder_start)
{
    int32_t enc = stream_add(&batch->enc, sample, n_inputs);
    int32_t dec = stream_add(&batch->dec, sample, n_targets);

    memcpy(batch->enc.ids + enc, inputs, (size_t)n_inputs * sizeof *inputs);
    memcpy(batch->targets + dec, targets, (size_t)n_targets * sizeof *targets);
    for (int32_t i = 0; i < (int32_t)n_targets; i++) {
        batch->dec.ids[dec + i] = i == 0 ? decoder_start : targets[i - 1];
        batch->weights[dec + i] = 1;
    }
    if (batch->n_samples == 0)
        batch->first_sample = sample;
    batch->n_samples++;
    batch->n_targets += n_targets;
}

static void stream_copy(TokenStream *to, const TokenStream *from)
{
    CHECK(to->n_rows == from->n_rows && to->max_seq == from->max_seq, "capacities %d and %d rows", to->n_rows,
          from->n_rows);
    size_t used = (size_t)from->n_used;
    stream_clear(to);
    to->n_used = from->n_used;
    to->n_seq = from->n_seq;
    memcpy(to->ids, from->ids, used * sizeof *to->ids);
    memcpy(to->position, from->position, used * sizeof *to->position);
    memcpy(to->sample, from->sample, used * sizeof *to->sample);
    memcpy(to->cu, from->cu, (size_t)(from->n_seq + 1) * sizeof *to->cu);
}

void batch_copy(Batch *to, const Batch *from)
{
    stream_copy(&to->enc, &from->enc);
    stream_copy(&to->dec, &from->dec);
    memcpy(to->targets, from->targets, (size_t)from->dec.n_rows * sizeof *to->targets);
    memcpy(to->weights, from->weights, (size_t)from->dec.n_rows * sizeof *to->weights);
    to->first_sample = from->first_sample;
    to->n_samples = from->n_samples;
    to->n_targets = from->n_targets;
}
