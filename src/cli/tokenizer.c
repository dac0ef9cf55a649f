/* tokenizer.c: `loam tokenizer`: trains tokenizers, and encodes, decodes, describes and exports with them. */
#include "base/file.h"
#include "base/foreign.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/cli.h"
#include "data/corpus/corpus.h"
#include "model/hf/hf.h"
#include "text/tokenizer_train.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define N_SAMPLE 16 /* number of example pieces that `describe` prints */

/* ---- train ---- */

static const char train_usage[] =
    "loam tokenizer train --out FILE|FOLDER [--kind KIND] [--for FAMILY] [--vocab-size N] PATH…";
static const char train_about[] =
    "Trains a tokenizer on the files and folders that loam prepare reads. Equal text gives equal bytes.\n"
    "SentencePiece kinds have T5's layout: pad 0, end 1, unknown 2, and last the 100 sentinels <extra_id_0..99>;\n"
    "OUT is a file. Other kinds write a folder that Hugging Face's libraries read.\n"
    "\n"
    "Models need special tokens: BERT and RoBERTa a mask token, T5 sentinels. --for FAMILY adds those of a family.\n"
    "\n"
    "  loam tokenizer train --kind sentencepiece-unigram --vocab-size 8000 --out tok.model corpus/\n"
    "  loam tokenizer train --kind byte-bpe --for roberta --vocab-size 32000 --out tok/ corpus/\n";
static TokenizerTraining training = { .type = "sentencepiece-unigram", .vocab_size = 32000 };
static char *field, *specials, *on_error, *input_format, *delimiter;
static gboolean byte_fallback, sentinels, lowercase, train_replace;
static gint sentinel_count;
static const GOptionEntry train_entries[] = {
    CLI_VALUE("kind", training.type, "KIND",
              "sentencepiece-unigram (default), sentencepiece-bpe, byte-bpe (GPT-2's), wordpiece (BERT's)"),
    CLI_VALUE("type", training.type, "KIND", "same as --kind; unigram and bpe mean those of SentencePiece"),
    CLI_VALUE("for", training.family, "bert|roberta|t5|gpt",
              "add the special tokens of a family; those of t5 include sentinels"),
    CLI_VALUE("vocab-size", training.vocab_size, "N", "number of pieces, without sentinels (default 32000)"),
    CLI_PATH("out", training.out, "OUT", "model file or folder to write"),
    CLI_REPLACE(train_replace),
    CLI_VALUE("field", field, "NAME", "field or column with the text (default: text)"),
    CLI_INPUT_FORMAT(input_format),
    CLI_DELIMITER(delimiter),
    CLI_ON_ERROR(on_error, "a document"),
    CLI_VALUE("max-sentences", training.max_sentences, "N",
              "SentencePiece: train on a random sample of N lines (default: all)"),
    CLI_VALUE("character-coverage", training.character_coverage, "SHARE",
              "SentencePiece: share of the text's characters that get a piece (default 0.9995)"),
    CLI_SWITCH("byte-fallback", byte_fallback,
               "SentencePiece: encode other characters as bytes instead of the unknown token"),
    CLI_VALUE("special-tokens", specials, "A,B",
              "first pieces of the vocabulary, each PIECE or ROLE=PIECE with role pad, unk, eos, bos, cls, sep or mask "
              "(default: by --kind)"),
    CLI_SWITCH("sentinels", sentinels, "other kinds: add T5's 100 sentinels at the end of the vocabulary"),
    CLI_VALUE("sentinel-count", sentinel_count, "N",
              "other kinds: number of sentinels, such as AST-T5's 1024 (default 100)"),
    CLI_VALUE("min-frequency", training.min_frequency, "N",
              "other kinds: do not merge pairs that occur less than N times (default 2)"),
    CLI_VALUE("max-piece", training.max_piece, "N",
              "other kinds: maximum bytes or characters of a piece (default: no limit)"),
    CLI_VALUE("memory", training.memory, "MIB",
              "other kinds: memory for counting words in MiB, beyond which the rarest are dropped (default 2048)"),
    CLI_SWITCH("lowercase", lowercase, "WordPiece: convert text to lower case and remove accents"),
    CLI_VALUE("limit-alphabet", training.limit_alphabet, "N",
              "WordPiece: only the N most frequent characters get a piece (default 1000)"),
    CLI_VALUE("workers", training.workers, "N", "other kinds: threads that count words (default: one per core)"),
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

/* Fails if the folder holds a tokenizer of another kind than `new_kind`: its files would be mixed with the new ones. */
static bool check_folder(const char *folder, const char *new_kind, GError **error)
{
    g_autoptr(GError) reason = NULL;
    g_autofree char *file = g_file_test(folder, G_FILE_TEST_IS_DIR) ? tokenizer_find(folder, NULL, &reason) : NULL;
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
    g_autofree char *path = file ? g_build_filename(training.out, file, NULL) : g_strdup(training.out);
    g_autofree char *map = g_build_filename(training.out, "special_tokens_map.json", NULL);
    if (file)
        g_unlink(map);
    g_autoptr(Tokenizer) tok = tokenizer_open(path, error);
    if (tok == NULL || (file && !hf_write_tokenizer(training.out, tok, NULL, 0, error)))
        return false;
    int n_sentinels = tokenizer_sentinels(tok);
    g_autofree char *on_top = n_sentinels ? g_strdup_printf(", and %d sentinels on top", n_sentinels) : g_strdup("");
    log_info("%s: %d pieces%s", training.out, tokenizer_size(tok) - n_sentinels, on_top);
    return true;
}

/* Checks before training starts that --out can be written. */
static bool check_out(const char *file, const char *folder, char *const *paths, int n_paths, GError **error)
{
    g_autofree char *example = g_build_filename(training.out, "tok.model", NULL), *word = text_shell_word(example);
    if (!file && g_file_test(training.out, G_FILE_TEST_IS_DIR))
        return fail_user(error, "--out %s is a folder; a SentencePiece model is one file, such as %s", training.out,
                         word);
    g_autofree char *path = file ? g_build_filename(folder, file, NULL) : g_strdup(training.out);
    return io_check_apart(path, paths, n_paths, error) &&
           cli_check_replaced(training.out, path, train_replace, error) &&
           (io_check_writable(path, error) || fail_context(error, "--out %s", training.out));
}

/* After an error, removes the folders that were created for --out. */
static bool train_on_files(char *const *paths, int n_paths, GError **error)
{
    const char *file = tokenizer_trained_file(training.type);
    g_autofree char *folder = file ? g_strdup(training.out) : g_path_get_dirname(training.out);
    g_autoptr(GPtrArray) made = io_missing_folders(folder);
    if (file && !check_folder(folder, training.type, error))
        return false;
    bool done = io_make_directories(folder, error) && check_out(file, folder, paths, n_paths, error) &&
                learn_from_files(paths, n_paths, error) && finish_tokenizer(file, error);
    if (!done)
        io_remove_empty(made);
    return done;
}

static bool train_command(int argc, char **argv, GError **error)
{
    if (!cli_parse(&argc, &argv, train_entries, train_usage, train_about, error))
        return false;
    if (training.out == NULL)
        return fail_user(error, "--out is missing; usage: %s", train_usage);
    if (argc < 2)
        return fail_user(error, "there is nothing to train on; usage: %s", train_usage);
    g_auto(GStrv) special_tokens = specials ? text_list(specials) : NULL;
    training.byte_fallback = byte_fallback;
    training.special_tokens = (const char *const *)special_tokens;
    training.sentinels = sentinel_count != 0 ? sentinel_count : sentinels ? TOKENIZER_SENTINELS : 0;
    training.lowercase = lowercase;
    return train_on_files(argv + 1, argc - 1, error);
}

/* ---- shared by encode, decode and describe ---- */

static char *model_path, *pattern, *layout, *blanks; /* --model, --pattern, --layout, --blanks */

#define MODEL_ENTRY CLI_PATH("model", model_path, "MODEL", "a file of a tokenizer, a folder with one, or \"bytes\"")

/* Parses the options, refuses other arguments, and opens --model. */
static Tokenizer *open_given(int argc, char **argv, const GOptionEntry *entries, const char *usage, const char *about,
                             GError **error)
{
    if (!cli_parse(&argc, &argv, entries, usage, about, error))
        return NULL;
    if (argc > 1)
        fail_user(error, "%s is not an option; usage: %s", argv[1], usage);
    else if (model_path == NULL)
        fail_user(error, "--model is missing; usage: %s", usage);
    else {
        g_autoptr(Tokenizer) tok = tokenizer_open_ranks(model_path, pattern, layout, error);
        if (tok && (!blanks || tokenizer_set_blanks(tok, blanks, error)))
            return g_steal_pointer(&tok);
    }
    return NULL;
}

/* Length of a line without its end, LF or CRLF. */
static size_t bytes_without_end(const GString *line)
{
    if (line->len == 0 || line->str[line->len - 1] != '\n')
        return line->len;
    return line->len - 1 - (line->len > 1 && line->str[line->len - 2] == '\r');
}

/* Calls `print` for every line of standard input, without its end or a first byte order mark; errors name the line. */
static bool each_line(bool (*print)(const Tokenizer *, char *, size_t, GError **), const Tokenizer *tok, GError **error)
{
    g_autoptr(GString) line = g_string_new(NULL);
    for (int64_t number = 1;; number++) {
        if (!io_read_line(line, stdin, error))
            return fail_context(error, "standard input, line %" PRId64, number);
        if (line->len == 0)
            return true;
        if (number == 1 && !foreign_check_start("standard input", line->str, line->len, error))
            return false;
        g_string_truncate(line, bytes_without_end(line));
        if (number == 1)
            g_string_erase(line, 0, (gssize)text_mark_bytes(line->str, line->len));
        if (!print(tok, line->str, line->len, error))
            return fail_context(error, "line %" PRId64, number);
        if (putchar('\n') == EOF || ferror(stdout))
            return fail_machine(error, "writing standard output: %s", g_strerror(errno));
    }
}

/* ---- encode ---- */

static const char encode_usage[] = "loam tokenizer encode --model MODEL [--pieces] [--plain] < TEXT";
static const char encode_about[] = "Prints the token ids of each line of standard input. Special tokens in the text, "
                                   "such as [MASK] and <extra_id_0>,\n"
                                   "become their own ids.\n"
                                   "\n"
                                   "  loam tokenizer encode --model tok.model < in.txt\n";

static gboolean show_pieces, read_plain;

static const GOptionEntry encode_entries[] = {
    MODEL_ENTRY,
    CLI_SWITCH("pieces", show_pieces, "print pieces instead of ids"),
    CLI_BLANKS(blanks),
    CLI_SWITCH("plain", read_plain, "treat special tokens as plain text, as `loam prepare` does"),
    { 0 },
};

/* Appends an id as decimal digits. printf for each id would make encoding a quarter slower. */
static void append_id(GString *line, int32_t id)
{
    char digits[12];
    int at = sizeof digits;
    do
        digits[--at] = (char)('0' + id % 10);
    while ((id /= 10) > 0);
    g_string_append_len(line, digits + at, (gssize)sizeof digits - at);
}

static void append_piece(GString *line, const Tokenizer *tok, int32_t id)
{
    g_autofree char *piece = one_line(tokenizer_piece(tok, id));
    g_string_append(line, piece);
}

static bool print_encoded(const Tokenizer *tok, char *line, size_t bytes, GError **error)
{
    g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(int32_t));
    if (!tokenizer_encode(tok, line, bytes, !read_plain, ids, error))
        return false;
    g_autoptr(GString) out = g_string_sized_new(8 * ids->len);
    for (guint i = 0; i < ids->len; i++) {
        int32_t id = g_array_index(ids, int32_t, i);
        if (i > 0)
            g_string_append_c(out, ' ');
        if (show_pieces)
            append_piece(out, tok, id);
        else
            append_id(out, id);
    }
    fwrite(out->str, 1, out->len, stdout);
    return true;
}

static bool encode_command(int argc, char **argv, GError **error)
{
    g_autoptr(Tokenizer) tok = open_given(argc, argv, encode_entries, encode_usage, encode_about, error);
    return tok && each_line(print_encoded, tok, error);
}

/* ---- decode ---- */

static const char decode_usage[] = "loam tokenizer decode --model MODEL < IDS";
static const char decode_about[] =
    "Prints the text of each line of token ids, as one line: a line end in it is printed as \\n. Sentinels are shown\n"
    "as <extra_id_N>; padding, end-of-sequence and ids beyond the vocabulary are left out.\n"
    "\n"
    "  echo \"8774 296\" | loam tokenizer decode --model t5/spiece.model\n";

static const GOptionEntry decode_entries[] = {
    MODEL_ENTRY,
    { 0 },
};

static bool print_decoded(const Tokenizer *tok, char *line, G_GNUC_UNUSED size_t bytes, GError **error)
{
    g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(int32_t));
    char *rest;
    for (char *word = strtok_r(line, " \t\r,", &rest); word; word = strtok_r(NULL, " \t\r,", &rest)) {
        char *end;
        errno = 0;
        long long value = strtoll(word, &end, 10);
        if (*end || errno || value < INT32_MIN || value > INT32_MAX)
            return fail_user(error, "\"%s\" is not a token id", word);
        int32_t id = (int32_t)value;
        g_array_append_val(ids, id);
    }
    g_autofree char *text = tokenizer_decode(tok, (const int32_t *)(void *)ids->data, ids->len, error);
    if (text == NULL)
        return false;
    g_autofree char *shown = one_line(text);
    fputs(shown, stdout);
    return true;
}

static bool decode_command(int argc, char **argv, GError **error)
{
    g_autoptr(Tokenizer) tok = open_given(argc, argv, decode_entries, decode_usage, decode_about, error);
    return tok && each_line(print_decoded, tok, error);
}

/* ---- describe ---- */

static const char describe_usage[] = "loam tokenizer describe --model MODEL [--json]";
static const char describe_about[] =
    "Prints the kind, size, special ids, hash and a sample of the pieces of a tokenizer.\n\n"
    "  loam tokenizer describe --model tok.model\n";

static gboolean as_json;

static const GOptionEntry describe_entries[] = {
    MODEL_ENTRY,
    CLI_SWITCH("json", as_json, "one JSON object"),
    { 0 },
};

/* Id of the i-th example piece: N_SAMPLE ids are spread evenly below the sentinels. */
static int sample_id(const Tokenizer *tok, int i)
{
    return (int)((int64_t)i * (tokenizer_size(tok) - tokenizer_sentinels(tok)) / N_SAMPLE);
}

static bool print_tokenizer_json(const Tokenizer *tok, GError **error)
{
    json_t *sample = json_object();
    for (int i = 0; i < N_SAMPLE; i++) {
        char id[16];
        g_snprintf(id, sizeof id, "%d", sample_id(tok, i));
        json_object_set_new(sample, id, json_string(tokenizer_piece(tok, sample_id(tok, i))));
    }
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:[i, i], s:o}", "path", tokenizer_path(tok), "kind",
                  tokenizer_kind(tok), "hash", tokenizer_hash(tok), "size", tokenizer_size(tok), "pad",
                  tokenizer_pad(tok), "eos", tokenizer_eos(tok), "unk", tokenizer_unk(tok), "bos", tokenizer_bos(tok),
                  "mask", tokenizer_role(tok, ROLE_MASK), "sentinels", tokenizer_sentinel(tok, 0),
                  tokenizer_sentinel(tok, MAX(tokenizer_sentinels(tok), 1) - 1), "sample", sample);
    return print_json_line(object, error) || fail_context(error, "%s", tokenizer_path(tok));
}

static void print_special(const char *name, int id, const Tokenizer *tok)
{
    g_autofree char *piece = id >= 0 ? one_line(tokenizer_piece(tok, id)) : NULL;
    if (piece)
        printf("%-10s %d  %s\n", name, id, piece);
    else
        printf("%-10s none\n", name);
}

static void print_description(const Tokenizer *tok)
{
    int last = tokenizer_sentinels(tok) - 1;
    printf("%-10s %s\n%-10s %s\n%-10s %s\n%-10s %d%s\n", "file", tokenizer_path(tok), "kind", tokenizer_kind(tok),
           "hash", tokenizer_hash(tok), "size", tokenizer_size(tok),
           tokenizer_sentinel(tok, 0) >= 0 ? " with sentinels" : "");
    print_special("padding", tokenizer_pad(tok), tok);
    print_special("end", tokenizer_eos(tok), tok);
    print_special("unknown", tokenizer_unk(tok), tok);
    print_special("beginning", tokenizer_bos(tok), tok);
    print_special("mask", tokenizer_role(tok, ROLE_MASK), tok);
    if (tokenizer_sentinel(tok, 0) >= 0)
        printf("%-10s %d  %s … %d  %s\n", "sentinels", tokenizer_sentinel(tok, 0),
               tokenizer_piece(tok, tokenizer_sentinel(tok, 0)), tokenizer_sentinel(tok, last),
               tokenizer_piece(tok, tokenizer_sentinel(tok, last)));
    puts("sample");
    for (int i = 0; i < N_SAMPLE; i++) {
        g_autofree char *piece = one_line(tokenizer_piece(tok, sample_id(tok, i)));
        printf("%10d  %s\n", sample_id(tok, i), piece);
    }
}

static bool describe_command(int argc, char **argv, GError **error)
{
    g_autoptr(Tokenizer) tok = open_given(argc, argv, describe_entries, describe_usage, describe_about, error);
    if (tok == NULL)
        return false;
    if (as_json)
        return print_tokenizer_json(tok, error);
    print_description(tok);
    return true;
}

/* ---- export ---- */

static const char export_usage[] = "loam tokenizer export --model MODEL --out FOLDER [--replace]";
static const char export_about[] = "Writes tokenizer.json, tokenizer_config.json and special_tokens_map.json, which "
                                   "Hugging Face's AutoTokenizer reads,\n"
                                   "and the tokenizer's own file.\n"
                                   "\n"
                                   "  loam tokenizer export --model tok.model --out hf-tok/\n";

static char *export_out;
static gboolean replace;

static const GOptionEntry export_entries[] = {
    MODEL_ENTRY,
    CLI_PATH("out", export_out, "FOLDER", "folder to write"),
    CLI_REPLACE(replace),
    CLI_BLANKS(blanks),
    CLI_VALUE("pattern", pattern, "gpt2|cl100k|o200k", "for a rank file (tiktoken): pattern that splits text"),
    CLI_VALUE("layout", layout, "NAME",
              "for a rank file: ast-t5 gives the ids of AST-T5: <s> <pad> </s> <unk>, the pieces without gaps, 1,024 "
              "sentinels"),
    { 0 },
};

static bool export(int argc, char **argv, GError **error)
{
    g_autoptr(Tokenizer) tok = open_given(argc, argv, export_entries, export_usage, export_about, error);
    if (tok == NULL)
        return false;
    if (export_out == NULL)
        return fail_user(error, "--out is missing; usage: %s", export_usage);
    g_autofree char *json = g_build_filename(export_out, "tokenizer.json", NULL);
    const bool done = check_folder(export_out, tokenizer_kind(tok), error) &&
                      cli_check_replaced(export_out, json, replace, error) && io_make_directories(export_out, error) &&
                      hf_write_tokenizer(export_out, tok, NULL, 0, error);
    if (done)
        hf_report_blanks(tok);
    return done;
}

/* ---- the verb ---- */

static const SubVerb sub_verbs[] = {
    { "train", train_command, "train a tokenizer on a corpus" },
    { "encode", encode_command, "convert lines of text to ids" },
    { "decode", decode_command, "convert ids to text" },
    { "describe", describe_command, "print kind, size and special tokens" },
    { "export", export, "write the files that Hugging Face reads" },
};

bool verb_tokenizer(int argc, char **argv, GError **error)
{
    return cli_run_sub_verb(sub_verbs, G_N_ELEMENTS(sub_verbs), "tokenizer",
                            "loam tokenizer train --vocab-size 8000 --out tok.model corpus/", argc, argv, error);
}
