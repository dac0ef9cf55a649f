/* train.c: `loam tokenizer train`. */
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/tokenizer/tokenizer.h"
#include "data/corpus/corpus.h"
#include "model/hf/hf.h"
#include "text/tokenizer_train.h"

#include <glib/gstdio.h>
#include <inttypes.h>
#include <string.h>

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Corpus, corpus_close)

static const char usage[] =
    "loam tokenizer train --out FILE|FOLDER [--kind KIND] [--for FAMILY] [--vocab-size N] PATH…";
static const char about[] =
    "Trains a tokenizer on text files, .jsonl, .csv, .tsv, .gz, .zst, .xz, .bz2 and folders. Equal text gives equal "
    "bytes.\n"
    "SentencePiece kinds have T5's layout: pad 0, end 1, unknown 2, and last the 100 sentinels <extra_id_0..99>;\n"
    "OUT is a file. Other kinds write a folder that Hugging Face's libraries read.\n"
    "\n"
    "Models need special tokens: BERT and RoBERTa a mask token, T5 sentinels. --for FAMILY adds those of a family.\n"
    "\n"
    "  loam tokenizer train --kind sentencepiece-unigram --vocab-size 8000 --out tok.model corpus/\n"
    "  loam tokenizer train --kind byte-bpe --for roberta --vocab-size 32000 --out tok/ corpus/\n";
static TokenizerTraining training;
static char *kind, *out, *field, *specials, *on_error, *input_format, *delimiter;
static gboolean byte_fallback, sentinels, lowercase, replace;
static gint sentinel_count;
static const GOptionEntry entries[] = {
    CLI_VALUE("kind", kind,
              "sentencepiece-unigram (default), sentencepiece-bpe, byte-bpe (GPT-2's), wordpiece (BERT's)", "KIND"),
    CLI_VALUE("type", kind, "same as --kind; unigram and bpe mean those of SentencePiece", "KIND"),
    CLI_VALUE("for", training.family, "add the special tokens of a family; those of t5 include sentinels",
              "bert|roberta|t5|gpt"),
    CLI_VALUE("vocab-size", training.vocab_size, "number of pieces, without sentinels (default 32000)", "N"),
    CLI_PATH("out", out, "model file or folder to write", "OUT"),
    CLI_REPLACE(replace),
    CLI_VALUE("field", field, "JSON field, or column of a table, with the text (default: text)", "NAME"),
    CLI_INPUT_FORMAT(input_format),
    CLI_DELIMITER(delimiter),
    CLI_ON_ERROR(on_error, "a document"),
    CLI_VALUE("max-sentences", training.max_sentences,
              "SentencePiece: train on a random sample of N lines (default: all)", "N"),
    CLI_VALUE("character-coverage", training.character_coverage,
              "SentencePiece: share of the text's characters that get a piece (default 0.9995)", "SHARE"),
    CLI_SWITCH("byte-fallback", byte_fallback,
               "SentencePiece: encode other characters as bytes instead of the unknown token"),
    CLI_VALUE("special-tokens", specials,
              "first pieces of the vocabulary, each PIECE or ROLE=PIECE with role pad, unk, eos, bos, cls, sep or mask "
              "(default: by --kind)",
              "A,B"),
    CLI_SWITCH("sentinels", sentinels, "other kinds: add T5's 100 sentinels at the end of the vocabulary"),
    CLI_VALUE("sentinel-count", sentinel_count, "other kinds: number of sentinels, such as AST-T5's 1024 (default 100)",
              "N"),
    CLI_VALUE("min-frequency", training.min_frequency,
              "other kinds: do not merge pairs that occur less than N times (default 2)", "N"),
    CLI_VALUE("max-piece", training.max_piece,
              "other kinds: maximum bytes or characters of a piece (default: no limit)", "N"),
    CLI_VALUE("memory", training.memory,
              "other kinds: memory for counting words in MiB, beyond which the rarest are dropped (default 2048)",
              "MIB"),
    CLI_SWITCH("lowercase", lowercase, "WordPiece: convert text to lower case and remove accents"),
    CLI_VALUE("limit-alphabet", training.limit_alphabet,
              "WordPiece: only the N most frequent characters get a piece (default 1000)", "N"),
    CLI_VALUE("workers", training.workers, "other kinds: threads that count words (default: one per core)", "N"),
    { 0 },
};
static bool next_text(void *context, const char **text, size_t *bytes, GError **error)
{
    Corpus *corpus = context;
    if (!corpus_next(corpus, text, bytes, error)) {
        progress_close();
        return false;
    }
    progress_update(corpus_done_bytes(corpus));
    return true;
}

bool tokenizer_check_folder(const char *folder, const char *new_kind, GError **error)
{
    g_autoptr(GError) reason = NULL;
    g_autofree char *file = g_file_test(folder, G_FILE_TEST_IS_DIR) ? tokenizer_find(folder, &reason) : NULL;
    g_autofree char *json = g_build_filename(folder, "tokenizer.json", NULL);
    if (reason && g_file_test(json, G_FILE_TEST_EXISTS))
        return fail_user(error, "%s holds a tokenizer already (%s); choose another folder", folder, reason->message);
    g_autoptr(Tokenizer) old = file ? tokenizer_open(file, error) : NULL;
    if (file && old == NULL)
        return false;
    return old == NULL || strcmp(tokenizer_kind(old), new_kind) == 0 ||
           fail_user(error, "%s holds a tokenizer of kind %s; choose another folder", folder, tokenizer_kind(old));
}

static void report_left_out(const CorpusCounts *counts)
{
    if (counts->skipped > 0)
        log_info("documents left out, since they could not be read: %" PRId64, counts->skipped);
    if (counts->ignored > 0)
        log_info("files left out, since they are not text: %" PRId64, counts->ignored);
}

static bool learn_from_files(char *const *paths, int n_paths, GError **error)
{
    CorpusOptions options = { .field = field ? field : "text" };
    if (!cli_parse_on_error(&options.skip_errors, on_error, error) ||
        !corpus_set_format(&options, input_format, delimiter, error))
        return false;
    g_autoptr(Corpus) corpus = corpus_open(paths, n_paths, &options, error);
    if (corpus == NULL)
        return false;
    progress_open("reading", "B", corpus_total_bytes(corpus));
    bool ok = tokenizer_train(&training, next_text, corpus, error);
    progress_close();
    report_left_out(corpus_counts(corpus));
    return ok;
}

/* Adds the files that Hugging Face expects, and removes a special_tokens_map.json that an earlier tokenizer left. */
static bool finish_tokenizer(const char *file, GError **error)
{
    g_autofree char *path = file ? g_build_filename(out, file, NULL) : g_strdup(out);
    g_autofree char *map = g_build_filename(out, "special_tokens_map.json", NULL);
    if (file)
        g_unlink(map);
    g_autoptr(Tokenizer) tok = tokenizer_open(path, error);
    if (tok == NULL || (file && !hf_write_tokenizer(out, tok, NULL, error)))
        return false;
    int n_sentinels = tokenizer_sentinels(tok);
    g_autofree char *on_top = n_sentinels ? g_strdup_printf(", and %d sentinels on top", n_sentinels) : g_strdup("");
    log_info("%s: %d pieces%s", out, tokenizer_size(tok) - n_sentinels, on_top);
    return true;
}

/* Checks before training starts that --out can be written. */
static bool check_out(const char *file, const char *folder, char *const *paths, int n_paths, GError **error)
{
    g_autofree char *example = g_build_filename(out, "tok.model", NULL), *word = text_shell_word(example);
    if (!file && g_file_test(out, G_FILE_TEST_IS_DIR))
        return fail_user(error, "--out %s is a folder; a SentencePiece model is one file, such as %s", out, word);
    g_autofree char *path = file ? g_build_filename(folder, file, NULL) : g_strdup(out);
    return io_check_apart(path, paths, n_paths, error) && cli_check_replaced(out, path, replace, error) &&
           (io_check_writable(path, error) || fail_context(error, "--out %s", out));
}

/* After an error, removes the folders that were created for --out. */
static bool train_on_files(char *const *paths, int n_paths, GError **error)
{
    const char *file = tokenizer_trained_file(kind);
    g_autofree char *folder = file ? g_strdup(out) : g_path_get_dirname(out);
    g_autoptr(GPtrArray) made = io_missing_folders(folder);
    if (file && !tokenizer_check_folder(folder, kind, error))
        return false;
    bool done = io_make_directories(folder, error) && check_out(file, folder, paths, n_paths, error) &&
                learn_from_files(paths, n_paths, error) && finish_tokenizer(file, error);
    if (!done)
        io_remove_empty(made);
    return done;
}

bool verb_tokenizer_train(int argc, char **argv, GError **error)
{
    training = (TokenizerTraining){ .vocab_size = 32000 };
    if (!cli_parse(&argc, &argv, entries, usage, about, error))
        return false;
    if (out == NULL)
        return fail_user(error, "--out is missing; usage: %s", usage);
    if (argc < 2)
        return fail_user(error, "there is nothing to train on; usage: %s", usage);
    kind = kind ? kind : "sentencepiece-unigram";
    g_auto(GStrv) special_tokens = specials ? text_list(specials) : NULL;
    training.type = kind;
    training.out = out;
    training.byte_fallback = byte_fallback;
    training.special_tokens = (const char *const *)special_tokens;
    training.sentinels = sentinels ? TOKENIZER_SENTINELS : 0;
    if (sentinel_count != 0)
        training.sentinels = sentinel_count;
    training.lowercase = lowercase;
    return train_on_files(argv + 1, argc - 1, error);
}
