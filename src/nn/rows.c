#include "nn/nn.h"

#include <glib.h>

/* n numbers of the host as a vector with room for `room`; absent where there are none. */
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

/* Sequences are as many as a stream has, but no fewer than its rows have room for: a dry run, whose sequences are as
 * long as can be, measures what any batch of its capacity needs. */
Rows rows_upload(Device *dev, Arena *arena, const TokenStream *stream)
{
    int64_t n = stream->max_tokens, n_seq = stream->n_seq, room = n_seq > n ? n_seq : n;
    Rows rows = { .n_rows = stream->max_tokens, .n_seq = stream->n_seq, .max_len = stream->max_len };

    rows.ids = indices_upload(dev, arena, stream->ids, n, n, "rows.ids");
    rows.place = indices_upload(dev, arena, stream->position_ids, n, n, "rows.place");
    rows.segment = indices_upload(dev, arena, stream->token_types, n, n, "rows.segment");
    rows.position = indices_upload(dev, arena, stream->dropout_position, n, n, "rows.position");
    rows.sample = upload(dev, arena, DT_I64, stream->sample, n, n, "rows.sample");
    Tensor cu = indices_upload(dev, arena, stream->cu, n_seq + 1, room + 1, "rows.cu");
    Tensor prefix = indices_upload(dev, arena, stream->prefix_length, n_seq, room, "rows.prefix");
    rows.starts = tensor_slice_rows(cu, 0, n_seq);
    rows.cu = both_sides(stream->cu, cu);
    rows.prefix = both_sides(stream->prefix_length, prefix);
    return rows;
}

void rows_upload_memory(Rows *rows, Device *dev, Arena *arena, int32_t n_memory)
{
    const int32_t *cu = rows->cu.host;
    int64_t room = rows->n_rows, n = 0, n_text = 0;
    g_autofree int32_t *at = g_new(int32_t, room), *row = g_new(int32_t, room), *text = g_new(int32_t, room);

    for (int32_t s = 0; s < rows->n_seq; s++) {
        for (int32_t i = 0; i < n_memory; i++) {
            at[n] = cu[s] + i;
            row[n++] = i;
        }
        for (int32_t i = cu[s] + n_memory; i < cu[s + 1]; i++)
            text[n_text++] = i;
    }
    rows->memory_at = indices_upload(dev, arena, at, n, room, "memory.at");
    rows->memory_row = indices_upload(dev, arena, row, n, room, "memory.row");
    rows->text = indices_upload(dev, arena, text, n_text, room, "rows.text");
}
