#include "text/roles.h"

#include <string.h>

/* For each role: its name in "ROLE=PIECE", its key in tokenizer_config.json, and its pieces by convention. */
static const struct {
    const char *name, *key;
    const char *pieces[5];
} roles[TOKEN_ROLES] = {
    [ROLE_PAD] = { "pad", "pad_token", { "<pad>", "[PAD]", "<|padding|>" } },
    [ROLE_UNK] = { "unk", "unk_token", { "<unk>", "[UNK]" } },
    [ROLE_BOS] = { "bos", "bos_token", { "<s>", "<|begin_of_text|>", "<|endoftext|>", "[CLS]" } },
    [ROLE_EOS] = { "eos", "eos_token", { "</s>", "<|endoftext|>", "<|end_of_text|>", "[SEP]" } },
    [ROLE_CLS] = { "cls", "cls_token", { "[CLS]", "<s>", "<cls>" } },
    [ROLE_SEP] = { "sep", "sep_token", { "[SEP]", "</s>" } },
    [ROLE_MASK] = { "mask", "mask_token", { "[MASK]", "<mask>" } },
};

#define BERT    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"
#define ROBERTA "<s>", "<pad>", "</s>", "<unk>", "<mask>" /* <pad> must be 1: RoBERTa's position ids start after it */
#define T5      "<pad>", "</s>", "<unk>"

static const TokenFamily families[] = {
    { "bert", { { BERT }, { BERT }, { BERT } }, false },
    { "roberta", { { ROBERTA }, { "[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]" }, { ROBERTA } }, false },
    { "t5", { { T5 }, { "[PAD]", "[SEP]", "[UNK]" }, { T5 } }, true },
    { "gpt",
      { { "eos=<|endoftext|>", "bos=<|endoftext|>", "pad=<|endoftext|>" },
        { "[PAD]", "[SEP]", "[UNK]" },
        { "<pad>", "</s>", "<unk>",
          "bos=<s>" } }, /* <s> distinguishes such a SentencePiece model from T5's, which gets sentinels */
      false },
};

const TokenFamily *token_family_find(const char *name, GError **error)
{
    g_autoptr(GString) names = g_string_new(NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(families); i++) {
        if (strcmp(families[i].name, name) == 0)
            return &families[i];
        g_string_append_printf(names, "%s%s", i ? ", " : "", families[i].name);
    }
    return fail_user(error, "tokenizers are not made for %s: one of %s", name, names->str);
}

const char *token_role_key(TokenRole role)
{
    return roles[role].key;
}

const char *const *token_role_pieces(TokenRole role)
{
    return roles[role].pieces;
}

TokenRole token_role_parse(const char *entry, const char **piece)
{
    *piece = entry;
    for (int role = 0; role < TOKEN_ROLES; role++) {
        size_t n = strlen(roles[role].name);
        if (strncmp(entry, roles[role].name, n) == 0 && entry[n] == '=') {
            *piece = entry + n + 1;
            return (TokenRole)role;
        }
    }
    return TOKEN_ROLES;
}

TokenRole token_role_of(const char *entry, const char **piece)
{
    TokenRole role = token_role_parse(entry, piece);
    for (int i = 0; role == TOKEN_ROLES && i < TOKEN_ROLES; i++)
        for (const char *const *name = token_role_pieces((TokenRole)i); *name; name++)
            if (strcmp(*name, *piece) == 0)
                role = (TokenRole)i;
    return role;
}

json_t *token_roles_given(const char *const *entries)
{
    json_t *given = json_object();
    for (; entries && *entries; entries++) {
        const char *piece;
        TokenRole role = token_role_parse(*entries, &piece);
        if (role < TOKEN_ROLES)
            json_object_set_new(given, token_role_key(role), json_string(piece));
    }
    return given;
}

/* The entry that has the role by convention; NULL means there is none. */
static const char *known_by_convention(TokenRole role, const char *const *entries)
{
    const char *name;
    for (const char *const *piece = token_role_pieces(role); *piece; piece++)
        for (const char *const *entry = entries; *entry; entry++) {
            token_role_parse(*entry, &name);
            if (strcmp(name, *piece) == 0)
                return *piece;
        }
    return NULL;
}

bool token_roles_check(const char *const *entries, GError **error)
{
    const char *given[TOKEN_ROLES] = { NULL };
    for (const char *const *entry = entries; *entry; entry++) {
        const char *piece;
        TokenRole role = token_role_parse(*entry, &piece);
        if (role == TOKEN_ROLES)
            continue;
        const char *named = known_by_convention(role, entries);
        if (given[role])
            return fail_user(error, "two special tokens are %s: \"%s\" and \"%s\"", roles[role].name, given[role],
                             piece);
        if (named && strcmp(named, piece) != 0)
            return fail_user(error, "the special token \"%s\" is %s by its name, so \"%s\" cannot be: leave one out",
                             named, roles[role].name, piece);
        given[role] = piece;
    }
    return true;
}
