#include "nn/tokens.h"

#include <glib.h>

/* n integers from the host as a vector whose memory has room for `room` integers; absent if n is 0. */
static Tensor upload(Device *dev, Arena *arena, DType dtype, const void *from, int64_t n, int64_t room, const char *tag)
{
    if (from == NULL)
        return NO_TENSOR;
    Tensor whole = arena_vector(arena, dtype, room, tag), used = tensor_slice_rows(whole, 0, n);
    tensor_upload(dev, used, from);
    return used;
}

Tensor indices_upload(Device *dev, Arena *arena, const int32_t *from, int64_t n, int64_t room, const char *tag)
{
    return upload(dev, arena, DT_I32, from, n, room, tag);
}

BothSides both_sides(const int32_t *host, Tensor device)
{
    return tensor_present(device) ? (BothSides){ host, device.p } : (BothSides){ 0 };
}

/* Memory is allocated for as many sequences as tokens, so that a dry run, whose batch has few long sequences, measures
 * enough memory for any batch of the same capacity. */
Tokens tokens_upload(Device *dev, Arena *arena, const TokenStream *stream)
{
    int64_t n = stream_rows(stream), n_seq = stream->n_seq, room = n_seq > n ? n_seq : n;
    Tokens tokens = { .n = (int32_t)n, .all = (int32_t)n, .seq = { .n = stream->n_seq, .max_len = stream->max_len } };

    tokens.ids = indices_upload(dev, arena, stream->ids, n, n, "tokens.ids");
    tokens.position_ids = indices_upload(dev, arena, stream->position_ids, n, n, "tokens.position_ids");
    tokens.token_types = indices_upload(dev, arena, stream->token_types, n, n, "tokens.token_types");
    tokens.dropout_position = indices_upload(dev, arena, stream->dropout_position, n, n, "tokens.dropout_position");
    tokens.sample = upload(dev, arena, DT_I64, stream->sample, n, n, "tokens.sample");
    tokens.all_samples = tokens.sample;
    tokens.all_positions = tokens.dropout_position;
    Tensor cu = indices_upload(dev, arena, stream->cu, n_seq + 1, room + 1, "tokens.cu");
    Tensor prefix = indices_upload(dev, arena, stream->prefix_length, n_seq, room, "tokens.prefix");
    tokens.starts = tensor_slice_rows(cu, 0, n_seq);
    tokens.seq.cu = both_sides(stream->cu, cu);
    tokens.seq.prefix = both_sides(stream->prefix_length, prefix);
    return tokens;
}

void tokens_upload_own(Tokens *tokens, Device *dev, Arena *arena, const int32_t *ids, int64_t first, int64_t end)
{
    g_autofree int32_t *at = g_new(int32_t, tokens->n), *own = g_new(int32_t, tokens->n);
    int32_t n = 0;

    for (int32_t i = 0; i < tokens->n; i++)
        if (ids[i] >= first && ids[i] < end) {
            at[n] = i;
            own[n++] = (int32_t)(ids[i] - first);
        }
    if (!tensor_present(tokens->own_at)) {
        tokens->own_at = arena_vector(arena, DT_I32, tokens->n, "tokens.own_at");
        tokens->own_ids = arena_vector(arena, DT_I32, tokens->n, "tokens.own_ids");
    }
    tokens->own_at.d[0] = tokens->own_ids.d[0] = n;
    tensor_upload(dev, tokens->own_at, at);
    tensor_upload(dev, tokens->own_ids, own);
}

void tokens_take_rows(Tokens *tokens, int32_t first, int32_t n)
{
    Tensor *of_rows[] = { &tokens->ids, &tokens->position_ids, &tokens->token_types, &tokens->dropout_position,
                          &tokens->sample };
    tokens->first = first;
    tokens->n = n;
    for (size_t i = 0; i < G_N_ELEMENTS(of_rows); i++)
        if (tensor_present(*of_rows[i]))
            *of_rows[i] = tensor_slice_rows(*of_rows[i], first, n);
}

void tokens_upload_firsts(Tokens *tokens, Device *dev, Arena *arena, const TokenStream *stream)
{
    int64_t n = stream->n_seq, room = MAX(n, stream_rows(stream));
    g_autofree int64_t *sample = g_new0(int64_t, n);
    g_autofree int32_t *position = g_new0(int32_t, n);

    if (stream->sample == NULL)
        return;
    for (int32_t s = 0; s < stream->n_seq; s++)
        if (stream->cu[s] < stream->cu[s + 1]) {
            sample[s] = stream->sample[stream->cu[s]];
            position[s] = stream->dropout_position[stream->cu[s]];
        }
    tokens->first_sample = upload(dev, arena, DT_I64, sample, n, room, "tokens.first_sample");
    tokens->first_position = indices_upload(dev, arena, position, n, room, "tokens.first_position");
}

void tokens_upload_memory(Tokens *tokens, Device *dev, Arena *arena, int32_t n_memory)
{
    const int32_t *cu = tokens->seq.cu.host;
    int64_t room = tokens->n, n = 0, n_text = 0;
    g_autofree int32_t *at = g_new(int32_t, room), *index = g_new(int32_t, room), *text = g_new(int32_t, room);

    for (int32_t s = 0; s < tokens->seq.n; s++) {
        for (int32_t i = 0; i < n_memory; i++) {
            at[n] = cu[s] + i;
            index[n++] = i;
        }
        for (int32_t i = cu[s] + n_memory; i < cu[s + 1]; i++)
            text[n_text++] = i;
    }
    tokens->memory_at = indices_upload(dev, arena, at, n, room, "tokens.memory_at");
    tokens->memory_index = indices_upload(dev, arena, index, n, room, "tokens.memory_index");
    tokens->text = indices_upload(dev, arena, text, n_text, room, "tokens.text");
}
