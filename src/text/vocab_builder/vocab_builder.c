#include "text/vocab_builder/vocab_builder.h"

#include "base/file.h"
#include "base/log.h"
#include "text/roles.h"
#include "text/tokenizer_config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SPECIAL        256  /* bytes */
#define STANDARD_MEMORY    2048 /* MiB; a constant, for the result may hang on it */
#define STANDARD_FREQUENCY 2

int32_t vocab_builder_id(const VocabBuilder *pieces, const char *name)
{
    return GPOINTER_TO_INT(g_hash_table_lookup(pieces->ids, name)) - 1;
}

int32_t vocab_builder_add(VocabBuilder *pieces, const char *name)
{
    int32_t id = vocab_builder_id(pieces, name);
    if (id >= 0)
        return id;
    char *copy = g_strdup(name);
    g_ptr_array_add(pieces->names, copy);
    g_hash_table_insert(pieces->ids, copy, GUINT_TO_POINTER(pieces->names->len));
    return (int32_t)pieces->names->len - 1;
}

/* A single character would be a letter of the alphabet; vocab.txt has a piece a line. */
static bool add_special(VocabBuilder *pieces, const char *name, GError **error)
{
    size_t n = strlen(name);
    if (n > MAX_SPECIAL || !g_utf8_validate(name, -1, NULL) || g_utf8_strlen(name, -1) < 2 || strpbrk(name, "\r\n") ||
        g_ascii_isspace(name[0]) || g_ascii_isspace(name[n - 1]))
        return fail_user(error,
                         "the special token \"%s\" is none: at least two characters, at most %d bytes, in one line, no "
                         "space around",
                         name, MAX_SPECIAL);
    vocab_builder_add(pieces, name);
    return true;
}

bool vocab_builder_init(VocabBuilder *pieces, const TokenizerTraining *training, const char *prefix,
                        const char *const *standard, GError **error)
{
    *pieces = (VocabBuilder){ .training = training, .prefix = prefix };
    pieces->names = g_ptr_array_new_with_free_func(g_free);
    pieces->ids = g_hash_table_new(g_str_hash, g_str_equal);
    pieces->merges = g_array_new(FALSE, FALSE, sizeof(TrainedMerge));
    const char *const *special = training->special_tokens ? training->special_tokens : standard;
    for (; *special; special++) {
        const char *name;
        token_role_parse(*special, &name);
        if (!add_special(pieces, name, error))
            return false;
    }
    pieces->n_specials = (int)pieces->names->len;
    return true;
}

void vocab_builder_clear(VocabBuilder *pieces)
{
    g_array_unref(pieces->merges);
    g_hash_table_unref(pieces->ids);
    g_ptr_array_unref(pieces->names);
}

/* The first that is hidden behind; NULL: none. */
static const char *find_mask(const json_t *roles, const VocabBuilder *pieces)
{
    const char *mask = json_string_value(json_object_get(roles, token_role_key(ROLE_MASK)));
    const char *const *name = token_role_pieces(ROLE_MASK);
    for (; mask == NULL && *name; name++)
        mask = vocab_builder_id(pieces, *name) >= 0 ? *name : NULL;
    return mask;
}

/* A mask takes the space before it where that belongs to the word that it hides: not in WordPiece. */
bool vocab_builder_write_config(const VocabBuilder *pieces, json_t *config, GError **error)
{
    static const char *const none[] = { NULL };
    const TokenizerTraining *training = pieces->training;
    g_autofree char *path = g_build_filename(training->out, "tokenizer_config.json", NULL);
    g_autoptr(GArray) added = g_array_new(FALSE, FALSE, sizeof(AddedToken));
    json_t *roles = token_roles_given(training->special_tokens ? training->special_tokens : none);
    const char *mask = *pieces->prefix == 0 ? find_mask(roles, pieces) : NULL;
    for (int id = 0; id < pieces->n_specials; id++) {
        AddedToken token = { .content = pieces->names->pdata[id], .id = id, .special = true };
        token.lstrip = g_strcmp0(token.content, mask) == 0;
        g_array_append_val(added, token);
    }
    json_object_update(config, roles);
    json_object_set_new(config, "added_tokens_decoder", tokenizer_config_decoder(added));
    char *text = json_dumps(config, JSON_INDENT(1));
    bool done = io_write_file(path, text, strlen(text), error);
    free(text);
    json_decref(roles);
    json_decref(config);
    return done;
}

/* ---- counting ---- */

typedef struct Texts {
    TokenizerText next;
    void *context;
    int64_t n;
} Texts;

static bool next_valid(void *context, const char **text, size_t *bytes, GError **error)
{
    Texts *texts = context;
    if (!texts->next(texts->context, text, bytes, error))
        return false;
    texts->n++;
    return g_utf8_validate_len(*text, *bytes, NULL) ||
           fail_user(error, "text %" PRId64 " of those to train on is not valid UTF-8", texts->n);
}

bool vocab_builder_count(const VocabBuilder *pieces, const WordSplitter *splitter, WordTable *words, TokenizerText next,
                         void *context, GError **error)
{
    const TokenizerTraining *training = pieces->training;
    WordCountOptions options = { training->workers, (training->memory ? training->memory : STANDARD_MEMORY) << 20 };
    Texts texts = { next, context, 0 };
    if (!word_count(words, splitter, &options, next_valid, &texts, error))
        return false;
    return words->n > 0 || fail_user(error, "there is no text to train on");
}

/* ---- merging ---- */

static char *join(const VocabBuilder *pieces, int32_t left, int32_t right)
{
    return g_strconcat(pieces->names->pdata[left], (char *)pieces->names->pdata[right] + strlen(pieces->prefix), NULL);
}

/* Characters without the prefix; of a byte-level piece these are its bytes. */
static int64_t length_of(const VocabBuilder *pieces, const char *name)
{
    return g_utf8_strlen(name + (g_str_has_prefix(name, pieces->prefix) ? strlen(pieces->prefix) : 0), -1);
}

static int32_t merge(void *context, int32_t left, int32_t right, int64_t count)
{
    (void)count;
    VocabBuilder *pieces = context;
    const TokenizerTraining *training = pieces->training;
    if ((int)pieces->names->len >= training->vocab_size)
        return MERGE_STOP;
    g_autofree char *name = join(pieces, left, right);
    int32_t id = vocab_builder_id(pieces, name);
    bool special = id >= 0 && id < pieces->n_specials;
    if (special || (training->max_piece > 0 && length_of(pieces, name) > training->max_piece))
        return MERGE_NOT;
    TrainedMerge merge = { left, right };
    g_array_append_val(pieces->merges, merge);
    progress_update(pieces->names->len);
    return vocab_builder_add(pieces, name);
}

void vocab_builder_learn(VocabBuilder *pieces, MergeLearner *learner)
{
    const TokenizerTraining *training = pieces->training;
    int64_t min_frequency = training->min_frequency ? training->min_frequency : STANDARD_FREQUENCY;
    progress_open("merging", "pieces", (uint64_t)training->vocab_size);
    merge_learner_run(learner, min_frequency, merge, pieces);
    progress_close();
    if ((int)pieces->names->len < training->vocab_size)
        log_warning("%u pieces are all that this text gives: no other pair occurs %" PRId64 " times",
                    pieces->names->len, min_frequency);
    for (int i = TOKENIZER_SENTINELS - 1; training->sentinels && i >= 0; i--) {
        g_autofree char *name = g_strdup_printf("<extra_id_%d>", i);
        vocab_builder_add(pieces, name);
    }
}
