/* byte_bpe/ends.c: finds the bytes of a text at which its ids end. */
#include "text/byte_bpe/model.h"
#include "text/offset_map.h"

#include <string.h>

/* The ids of a text, word by word. */
typedef struct Trace {
    const ByteBpe *model;
    const char *text;   /* as it was split into words */
    const GArray *from; /* uint32_t for each byte of `text`: the index of its byte in the original text; NULL means the
                           same index */
    const int32_t *ids;
    int64_t n, i;
    uint32_t *ends;
} Trace;

static size_t id_bytes(const ByteBpe *model, int32_t id)
{
    return id == model->unk ? 1 : g_bytes_get_size(model->bytes->pdata[id]);
}

static bool trace_word(void *context, const char *word, size_t bytes)
{
    Trace *trace = context;
    size_t begin = (size_t)(word - trace->text), at = 0;
    while (at < bytes && trace->i < trace->n) {
        at += id_bytes(trace->model, trace->ids[trace->i]);
        size_t end = begin + at;
        trace->ends[trace->i++] = trace->from ? offset_map_at(trace->from, end) : (uint32_t)end;
    }
    /* Without an unknown piece, bytes that are no piece are dropped. */
    return at == bytes || (at < bytes && trace->model->unk < 0);
}

bool byte_bpe_ends(const void *opaque, const char *text, size_t bytes, TextEdges edges, const int32_t *ids, int64_t n,
                   uint32_t *ends)
{
    const ByteBpe *model = opaque;
    bytes -= edges.before_blank && bytes > 0 && text[bytes - 1] == ' ';
    MappedText made;
    if (!byte_bpe_text(model, text, bytes, edges, true, &made, NULL))
        return false;
    text = made.text ? made.text->str : text;
    bytes = made.text ? made.text->len : bytes;
    Trace trace = { model, text, made.map, ids, n, 0, ends };
    EncodeScratch *scratch = encode_scratch_take(model->scratches, model->pre_tokenizer);
    bool good = pre_tokenizer_each(model->pre_tokenizer, scratch->pre_tokenizer, text, bytes, trace_word, &trace);
    g_async_queue_push_front(model->scratches, scratch);
    mapped_text_clear(&made);
    return good && trace.i == n;
}
