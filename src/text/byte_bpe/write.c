/* byte_bpe/write.c: writes a byte-level BPE model as a tokenizer.json. */
#include "text/byte_bpe/model.h"

/* "left right": names hold no spaces, and every version of the tokenizers library reads this form. */
static void append_merge(const ByteBpe *model, int32_t left, int32_t right, json_t *list)
{
    g_autofree char *merge = g_strconcat(model->names->pdata[left], " ", model->names->pdata[right], NULL);
    json_array_append_new(list, json_string(merge));
}

/* Appends every split of a piece into two pieces, the shortest left part first. */
static void append_splits(const ByteBpe *model, const char *bytes, size_t n, json_t *list)
{
    for (size_t cut = 1; cut < n; cut++) {
        g_autofree char *left = byte_bpe_name(bytes, cut), *right = byte_bpe_name(bytes + cut, n - cut);
        int32_t left_id = byte_bpe_id(model, left), right_id = byte_bpe_id(model, right);
        if (left_id >= 0 && right_id >= 0)
            append_merge(model, left_id, right_id, list);
    }
}

/* The merges of a tiktoken model. Of the splits of a piece only one ever happens: the two parts that the merges of
 * lower rank make of it. If those make more than two parts, all splits of the piece are written. */
static json_t *recover_merges(const ByteBpe *model)
{
    json_t *list = json_array();
    MergesScratch *scratch = merges_scratch_open();
    for (guint id = 0; id < model->bytes->len; id++) {
        size_t n;
        const char *bytes = g_bytes_get_data(model->bytes->pdata[id], &n);
        const int32_t *parts;
        if (n < 2 || byte_bpe_added(model->added, (int)id))
            continue;
        if (merges_apply(model->merges, scratch, bytes, n, id, &parts) == 2)
            append_merge(model, parts[0], parts[1], list);
        else
            append_splits(model, bytes, n, list);
    }
    merges_scratch_close(scratch);
    return list;
}

static json_t *merges_of(const ByteBpe *model)
{
    if (model->pairs == NULL)
        return recover_merges(model);
    json_t *list = json_array();
    for (guint i = 0; i < model->pairs->len; i += 2)
        append_merge(model, g_array_index(model->pairs, int32_t, i), g_array_index(model->pairs, int32_t, i + 1), list);
    return list;
}

static json_t *byte_level(const ByteBpe *model)
{
    return json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space", (int)model->add_prefix_space,
                     "trim_offsets", 0, "use_regex", model->pattern == NULL);
}

static json_t *pre_tokenizer(const ByteBpe *model)
{
    if (model->pattern == NULL)
        return byte_level(model);
    return json_pack("{s:s, s:[{s:s, s:{s:s}, s:s, s:b}, o]}", "type", "Sequence", "pretokenizers", "type", "Split",
                     "pattern", "Regex", model->pattern, "behavior", "Isolated", "invert", 0, byte_level(model));
}

json_t *byte_bpe_to_json(const void *opaque, const char *data, size_t bytes, GError **error)
{
    (void)data, (void)bytes, (void)error;
    const ByteBpe *model = opaque;
    json_t *added = json_array();
    for (guint id = 0; id < model->names->len; id++) {
        const AddedToken *token = byte_bpe_added(model->added, (int)id);
        if (token)
            json_array_append_new(added, json_added_token(token));
    }
    json_t *whole = json_pack("{s:s, s:n, s:n, s:s, s:s, s:b, s:b, s:b, s:o, s:o}", "type", "BPE", "dropout",
                              "unk_token", "continuing_subword_prefix", "", "end_of_word_suffix", "", "fuse_unk", 0,
                              "byte_fallback", 0, "ignore_merges", (int)model->whole_words, "vocab",
                              json_vocab(model->names), "merges", merges_of(model));
    return json_tokenizer(added, NULL, pre_tokenizer(model), byte_level(model), byte_level(model), whole);
}
