#include "text/vocab_builder/vocab_builder.h"

#include "base/log.h"
#include "text/tokenizer_json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SPECIAL       256 /* bytes */
#define DEFAULT_FREQUENCY 2

int32_t vocab_builder_id(const VocabBuilder *builder, const char *name)
{
    return GPOINTER_TO_INT(g_hash_table_lookup(builder->ids, name)) - 1;
}

int32_t vocab_builder_add(VocabBuilder *builder, const char *name)
{
    int32_t id = vocab_builder_id(builder, name);
    if (id >= 0)
        return id;
    char *copy = g_strdup(name);
    g_ptr_array_add(builder->names, copy);
    g_hash_table_insert(builder->ids, copy, GUINT_TO_POINTER(builder->names->len));
    return (int32_t)builder->names->len - 1;
}

/* Adds a special token. Fails for one that could not be distinguished from a letter of the alphabet (a single
 * character) or not be written in vocab.txt (line breaks, spaces at its ends). */
static bool add_special(VocabBuilder *builder, const char *name, GError **error)
{
    size_t n = strlen(name);
    if (n > MAX_SPECIAL || !g_utf8_validate(name, -1, NULL) || g_utf8_strlen(name, -1) < 2 || strpbrk(name, "\r\n") ||
        g_ascii_isspace(name[0]) || g_ascii_isspace(name[n - 1]))
        return fail_user(error,
                         "the special token \"%s\" is none: at least two characters, at most %d bytes, in one line, no "
                         "space around",
                         name, MAX_SPECIAL);
    vocab_builder_add(builder, name);
    return true;
}

bool vocab_builder_init(VocabBuilder *builder, const TokenizerTraining *training, const char *prefix,
                        const char *const *default_specials, GError **error)
{
    *builder = (VocabBuilder){ .training = training, .prefix = prefix };
    builder->names = g_ptr_array_new_with_free_func(g_free);
    builder->ids = g_hash_table_new(g_str_hash, g_str_equal);
    builder->merges = g_array_new(FALSE, FALSE, sizeof(VocabMerge));
    word_table_init(&builder->words);
    const char *const *special = training->special_tokens ? training->special_tokens : default_specials;
    for (; *special; special++) {
        const char *name;
        token_role_parse(*special, &name);
        if (!add_special(builder, name, error))
            return false;
    }
    builder->n_specials = (int)builder->names->len;
    return true;
}

void vocab_builder_clear(VocabBuilder *builder)
{
    word_table_clear(&builder->words);
    g_array_unref(builder->merges);
    g_hash_table_unref(builder->ids);
    g_ptr_array_unref(builder->names);
}

/* The mask token: the one given as "mask=PIECE", else the first that is one by convention; NULL means none. */
static const char *find_mask(const json_t *roles, const VocabBuilder *builder)
{
    const char *mask = json_string_value(json_object_get(roles, token_role_key(ROLE_MASK)));
    const char *const *name = token_role_pieces(ROLE_MASK);
    for (; mask == NULL && *name; name++)
        mask = vocab_builder_id(builder, *name) >= 0 ? *name : NULL;
    return mask;
}

/* In BPE the space before a word is part of it, so a mask token takes it (lstrip); WordPiece has no spaces. */
bool vocab_builder_write_config(const VocabBuilder *builder, json_t *config, GError **error)
{
    const TokenizerTraining *training = builder->training;
    g_autofree char *path = g_build_filename(training->out, "tokenizer_config.json", NULL);
    g_autoptr(GArray) added = g_array_new(FALSE, FALSE, sizeof(AddedToken));
    json_auto_t *roles = token_roles_given(training->special_tokens);
    const char *mask = *builder->prefix == 0 ? find_mask(roles, builder) : NULL;
    for (int id = 0; id < builder->n_specials; id++) {
        AddedToken token = { .content = builder->names->pdata[id], .id = id, .special = true };
        token.lstrip = g_strcmp0(token.content, mask) == 0;
        g_array_append_val(added, token);
    }
    json_object_update(config, roles);
    json_object_set_new(config, "added_tokens_decoder", tokenizer_settings_decoder(added));
    const bool done = json_write_file(path, config, JSON_INDENT(1), "", error);
    json_decref(config);
    return done;
}

/* ---- merging ---- */

/* The name of the piece that two merged pieces form; g_free. */
static char *join_pieces(const VocabBuilder *builder, int32_t left, int32_t right)
{
    return g_strconcat(builder->names->pdata[left], (char *)builder->names->pdata[right] + strlen(builder->prefix),
                       NULL);
}

/* The length of a piece without its prefix: characters, which for byte-level pieces are bytes. */
static int64_t piece_length(const VocabBuilder *builder, const char *name)
{
    return g_utf8_strlen(name + (g_str_has_prefix(name, builder->prefix) ? strlen(builder->prefix) : 0), -1);
}

static int32_t merge_pair(void *context, int32_t left, int32_t right, G_GNUC_UNUSED int64_t count)
{
    VocabBuilder *builder = context;
    const TokenizerTraining *training = builder->training;
    if ((int)builder->names->len >= training->vocab_size)
        return MERGE_STOP;
    g_autofree char *name = join_pieces(builder, left, right);
    int32_t id = vocab_builder_id(builder, name);
    bool special = id >= 0 && id < builder->n_specials;
    if (special || (training->max_piece > 0 && piece_length(builder, name) > training->max_piece))
        return MERGE_NOT;
    VocabMerge merge = { left, right };
    g_array_append_val(builder->merges, merge);
    progress_update(builder->names->len);
    return vocab_builder_add(builder, name);
}

void vocab_builder_learn(VocabBuilder *builder, MergeLearner *learner)
{
    const TokenizerTraining *training = builder->training;
    int64_t min_frequency = training->min_frequency ? training->min_frequency : DEFAULT_FREQUENCY;
    progress_open("merging", "pieces", (uint64_t)training->vocab_size);
    merge_learner_run(learner, min_frequency, merge_pair, builder);
    progress_close();
    if ((int)builder->names->len < training->vocab_size)
        log_warning("%u pieces are all that this text gives: no other pair occurs %" PRId64 " times",
                    builder->names->len, min_frequency);
    for (int i = training->sentinels - 1; i >= 0; i--) {
        g_autofree char *name = g_strdup_printf("<extra_id_%d>", i);
        vocab_builder_add(builder, name);
    }
}
