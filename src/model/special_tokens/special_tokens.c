#include "model/special_tokens/special_tokens.h"

#include "base/json_line.h"
#include "nn/ctx.h"

#include <string.h>

static TextFrame frame_of_encoder(const ModelConfig *config, const Tokenizer *tok)
{
    const int32_t cls = tokenizer_encoder_role(tok, ROLE_CLS), sep = tokenizer_encoder_role(tok, ROLE_SEP);
    bool doubled = config->token_types < 2 && cls >= 0 && strcmp(tokenizer_piece(tok, cls), "<s>") == 0;
    return frame_of(cls, sep, doubled);
}

TextFrame model_text_frame(const ModelConfig *config, const Tokenizer *tok)
{
    const TextFrame own = *tokenizer_frame(tok);
    const FrameTokens *after = &own.after;
    bool t5 = config->n_dec > 0 || (config->norm == NORM_RMS && config->position == POSITION_RELATIVE_BIAS);
    if (config->n_enc == 0)
        return after->n == 0 ? own : (TextFrame){ .before = own.before };
    if (!t5)
        return own.before.n > 0 && after->n > 0 ? own : frame_of_encoder(config, tok);
    return after->n > 0 && after->ids[after->n - 1] == tokenizer_eos(tok) ? own
                                                                          : frame_of(-1, tokenizer_eos(tok), false);
}

/* ---- ids that start and end generated text ---- */

TokenRoles token_roles_none(void)
{
    return (TokenRoles){ .decoder_start = -1, .generation_start = -1, .pad = -1, .bos = -1 };
}

void token_roles_clear(TokenRoles *roles)
{
    json_decref(roles->generation);
    json_decref(roles->sentence);
    *roles = token_roles_none();
}

void token_roles_copy(TokenRoles *to, const TokenRoles *from)
{
    json_t *generation = json_deep_copy(from->generation), *sentence = json_deep_copy(from->sentence);
    token_roles_clear(to);
    *to = *from;
    to->generation = generation;
    to->sentence = sentence;
}

void token_roles_add_eos(TokenRoles *roles, int32_t id)
{
    TokenList *eos = &roles->eos;
    if (id >= 0 && !token_list_has(eos, id) && eos->n < TOKEN_LIST_MOST)
        eos->ids[eos->n++] = id;
}

/* Removes from suppress_tokens the ids that only pad the vocabulary, as an export adds them. */
static void drop_padding(TokenRoles *roles)
{
    json_t *list = json_object_get(roles->generation, "suppress_tokens");
    size_t n = json_array_size(list);
    while (n > 0 && json_integer_value(json_array_get(list, n - 1)) >= roles->n_ids)
        json_array_remove(list, --n);
    if (n == 0)
        json_object_del(roles->generation, "suppress_tokens");
}

void token_roles_complete(TokenRoles *roles, const Tokenizer *tok)
{
    roles->n_ids = tok ? tokenizer_size(tok) : 0;
    if (tok)
        drop_padding(roles);
    if (roles->pad < 0 && tok)
        roles->pad = tokenizer_pad(tok);
    int target_end = tok ? tokenizer_target_end(tok) : -1;
    if (roles->decoder_start < 0)
        roles->decoder_start = target_end >= 0 ? target_end : MAX(roles->pad, 0);
    if (roles->eos.n == 0 && tok) {
        token_roles_add_eos(roles, tokenizer_eos(tok));
        token_roles_add_eos(roles, target_end);
    }
    if (roles->bos < 0 && roles->eos.n > 0)
        roles->bos = roles->eos.ids[0];
}

/* ---- state.json ---- */

static const struct {
    const char *name;
    size_t offset;
} id_fields[] = {
    { "decoder_start", offsetof(TokenRoles, decoder_start) },
    { "generation_start", offsetof(TokenRoles, generation_start) },
    { "pad", offsetof(TokenRoles, pad) },
    { "bos", offsetof(TokenRoles, bos) },
};

json_t *token_roles_json(const TokenRoles *roles)
{
    json_t *object = json_object();
    for (size_t i = 0; i < G_N_ELEMENTS(id_fields); i++)
        json_object_set_new(object, id_fields[i].name,
                            json_integer(G_STRUCT_MEMBER(int32_t, roles, id_fields[i].offset)));
    json_object_set_new(object, "eos", json_ids(roles->eos.ids, roles->eos.n));
    if (roles->generation)
        json_object_set(object, "generation", roles->generation);
    if (roles->sentence)
        json_object_set(object, "sentence", roles->sentence);
    return object;
}

static bool parse_id(const json_t *value, const char *name, int64_t least, int64_t vocab, int32_t *out, GError **error)
{
    json_int_t id = json_integer_value(value);
    if (!json_is_integer(value) || id < least || id >= vocab)
        return fail_user(error, "tokens.%s is no id of a vocabulary of %" G_GINT64_FORMAT, name, vocab);
    *out = (int32_t)id;
    return true;
}

bool token_roles_parse(TokenRoles *roles, const json_t *object, int64_t vocab, GError **error)
{
    const json_t *eos = json_object_get(object, "eos"), *generation = json_object_get(object, "generation"),
                 *sentence = json_object_get(object, "sentence");
    if (!json_is_object(object) || !json_is_array(eos) || json_array_size(eos) > TOKEN_LIST_MOST ||
        (generation && !json_is_object(generation)) || (sentence && !json_is_object(sentence)))
        return fail_user(error, "tokens does not say which ids start and end a text");
    for (size_t i = 0; i < G_N_ELEMENTS(id_fields); i++)
        if (!parse_id(json_object_get(object, id_fields[i].name), id_fields[i].name, -1, vocab,
                      &G_STRUCT_MEMBER(int32_t, roles, id_fields[i].offset), error))
            return false;
    roles->eos.n = 0;
    for (size_t i = 0; i < json_array_size(eos); i++)
        if (!parse_id(json_array_get(eos, i), "eos", 0, vocab, &roles->eos.ids[roles->eos.n++], error))
            return false;
    json_decref(roles->generation);
    roles->generation = json_deep_copy(generation);
    json_decref(roles->sentence);
    roles->sentence = json_deep_copy(sentence);
    return true;
}
