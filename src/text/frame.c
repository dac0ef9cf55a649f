#include "text/frame.h"

#include "text/tokenizer.h"

#include <string.h>

static bool add_to_frame(FrameTokens *tokens, int32_t id, GError **error)
{
    if (id < 0)
        return true;
    if (tokens->n == FRAME_MOST)
        return fail_user(error, "its post_processor puts more than %d special tokens in one place", FRAME_MOST);
    tokens->ids[tokens->n++] = id;
    return true;
}

TextFrame frame_of(int32_t begin, int32_t end, bool doubled)
{
    TextFrame frame = { 0 };
    add_to_frame(&frame.before, begin, NULL);
    add_to_frame(&frame.after, end, NULL);
    frame.between = frame.last = frame.after;
    if (doubled)
        add_to_frame(&frame.between, end, NULL);
    return frame;
}

bool frame_is_empty(const TextFrame *frame)
{
    return frame->before.n + frame->after.n == 0;
}

bool frame_equal(const TextFrame *a, const TextFrame *b)
{
    return memcmp(a, b, sizeof *a) == 0; /* places beyond n are 0 */
}

void frame_append(GArray *ids, const FrameTokens *tokens)
{
    g_array_append_vals(ids, tokens->ids, (guint)tokens->n);
}

/* ---- reading ---- */

static int32_t id_of_special(const Tokenizer *tok, const json_t *piece)
{
    return json_is_string(piece) ? tokenizer_id(tok, json_string_value(piece)) : -1;
}

/* Adds the tokens of a template's name: of "special_tokens": {"name": {"tokens": […]}}, or the piece of that name. */
static bool add_named(FrameTokens *to, const json_t *processor, const json_t *name, const Tokenizer *tok,
                      GError **error)
{
    const char *key = json_string_value(name);
    const json_t *entry = key ? json_object_get(json_object_get(processor, "special_tokens"), key) : NULL;
    const json_t *pieces = json_object_get(entry, "tokens");
    for (size_t i = 0; i < json_array_size(pieces); i++)
        if (!add_to_frame(to, id_of_special(tok, json_array_get(pieces, i)), error))
            return false;
    return json_is_array(pieces) || add_to_frame(to, id_of_special(tok, name), error);
}

/* Reads [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}]: places[i] gets the tokens after i texts. */
static bool read_template(FrameTokens *const *places, int n_places, const json_t *processor, const char *which,
                          const Tokenizer *tok, GError **error)
{
    const json_t *parts = json_object_get(processor, which);
    int at = 0;
    for (size_t i = 0; i < json_array_size(parts); i++) {
        const json_t *part = json_array_get(parts, i), *special = json_object_get(part, "SpecialToken");
        if (json_object_get(part, "Sequence"))
            at = MIN(at + 1, n_places - 1);
        if (special && !add_named(places[at], processor, json_object_get(special, "id"), tok, error))
            return false;
    }
    return true;
}

static bool read_processor(TextFrame *frame, const json_t *processor, const Tokenizer *tok, GError **error)
{
    const char *type = json_string_value(json_object_get(processor, "type"));
    bool roberta = g_strcmp0(type, "RobertaProcessing") == 0;
    if (roberta || g_strcmp0(type, "BertProcessing") == 0)
        *frame = frame_of(id_of_special(tok, json_array_get(json_object_get(processor, "cls"), 0)),
                          id_of_special(tok, json_array_get(json_object_get(processor, "sep"), 0)), roberta);
    if (g_strcmp0(type, "TemplateProcessing") == 0) {
        FrameTokens before = { 0 };
        *frame = (TextFrame){ 0 };
        return read_template((FrameTokens *[]){ &frame->before, &frame->after }, 2, processor, "single", tok, error) &&
               read_template((FrameTokens *[]){ &before, &frame->between, &frame->last }, 3, processor, "pair", tok,
                             error);
    }
    return true;
}

bool frame_read(TextFrame *frame, const json_t *post_processor, const Tokenizer *tok, GError **error)
{
    const char *type = json_string_value(json_object_get(post_processor, "type"));
    const json_t *list = g_strcmp0(type, "Sequence") == 0 ? json_object_get(post_processor, "processors") : NULL;
    *frame = (TextFrame){ 0 };
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!read_processor(frame, json_array_get(list, i), tok, error))
            return false;
    return read_processor(frame, post_processor, tok, error);
}

/* The id of config[name], "<s>" or {"content": "<s>", …}, if config[flag] is true; otherwise -1. */
static int32_t flagged_id(const json_t *config, const char *flag, const char *name, const Tokenizer *tok)
{
    const json_t *token = json_object_get(config, name), *content = json_object_get(token, "content");
    return json_is_true(json_object_get(config, flag)) ? id_of_special(tok, content ? content : token) : -1;
}

/* In a pair, both texts get both tokens: <s> A </s> <s> B </s>, as in transformers' update_post_processor. */
TextFrame frame_of_flags(const json_t *config, const Tokenizer *tok)
{
    int32_t begin = flagged_id(config, "add_bos_token", "bos_token", tok);
    TextFrame frame = frame_of(begin, flagged_id(config, "add_eos_token", "eos_token", tok), false);
    add_to_frame(&frame.between, begin, NULL);
    return frame;
}

/* ---- writing ---- */

static void put_tokens(json_t *parts, json_t *names, const FrameTokens *tokens, int type, const Tokenizer *tok)
{
    for (int32_t i = 0; i < tokens->n; i++) {
        const char *piece = tokenizer_piece(tok, tokens->ids[i]);
        json_array_append_new(parts, json_pack("{s:{s:s, s:i}}", "SpecialToken", "id", piece, "type_id", type));
        json_object_set_new(names, piece,
                            json_pack("{s:s, s:[i], s:[s]}", "id", piece, "ids", tokens->ids[i], "tokens", piece));
    }
}

static void put_text(json_t *parts, const char *name, int type)
{
    json_array_append_new(parts, json_pack("{s:{s:s, s:i}}", "Sequence", "id", name, "type_id", type));
}

json_t *frame_json(const TextFrame *frame, bool typed, const Tokenizer *tok)
{
    if (frame_is_empty(frame))
        return json_null();
    json_t *single = json_array(), *pair = json_array(), *names = json_object();
    put_tokens(single, names, &frame->before, 0, tok);
    put_text(single, "A", 0);
    put_tokens(single, names, &frame->after, 0, tok);
    put_tokens(pair, names, &frame->before, 0, tok);
    put_text(pair, "A", 0);
    put_tokens(pair, names, &frame->between, 0, tok);
    put_text(pair, "B", typed);
    put_tokens(pair, names, &frame->last, typed, tok);
    return json_pack("{s:s, s:o, s:o, s:o}", "type", "TemplateProcessing", "single", single, "pair", pair,
                     "special_tokens", names);
}
