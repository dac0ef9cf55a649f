/* prepare.c: `loam prepare`: converts text into token datasets. */
#include "data/prepare/prepare.h"

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/prepare/programs.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#define USAGE "loam prepare --tokenizer TOK --out PREFIX [OPTION]… PATH…"

static const char about[] =
    "Tokenizes text into a token dataset: PREFIX.bin, PREFIX.idx and PREFIX.json. PATH is a text, JSON lines or a\n"
    "table (docs/prepare.md), plain or compressed, or a folder, which is read with all its subfolders. Equal input\n"
    "gives equal bytes, whatever the number of threads.\n"
    "\n"
    "  loam prepare --tokenizer tok.model --out data/c --valid 1% corpus.jsonl.zst src/\n"
    "  loam prepare --format fairseq --out data-bin --valid-files valid.txt train.txt\n";

static char *tokenizer_file, *out, *valid, *on_error, *input_format, *delimiter, *format, **fields, *fields_apart;
static gint workers;
static char *valid_files, *test_files, *dictionary;
static gint64 max_document, min_tokens, max_tokens, min_count, dict_size, padding_factor = 8;
static gboolean whole_file, paragraphs, append_eod, specials, split_sentences, keep_newlines, keep_duplicates, lines,
    as_json, replace;

/* Which documents are left out; max_line, max_mean and min_letters are negative if they are not given. */
static gboolean clean, repeats;
static gint64 max_line = -1, max_mean = -1, exclude_ngram = 13;
static double min_letters = -1, exclude_share = 0.5;
static char *licence_field, *licences, **exclude, **exclude_fields;

static const GOptionEntry entries[] = {
    CLI_PATH("tokenizer", tokenizer_file, "TOK",
             "tokenizer: a file or folder of any kind that loam tokenizer trains or reads, or \"bytes\""),
    CLI_PATH("out", out, "PREFIX", "path prefix of the dataset; missing folders are created"),
    CLI_VALUE("format", format, "megatron|fairseq",
              "megatron (default), or fairseq: PREFIX is a folder with dict.txt, train.* and valid.*; without "
              "--tokenizer, tokens are words separated by spaces"),
    CLI_VALUE("valid", valid, "SHARE", "share of documents held out into PREFIX-valid, such as 1%"),
    CLI_VALUE("workers", workers, "N", "number of threads (default: one per core)"),
    CLI_VALUE("field", fields, "NAME",
              "field or column that holds the text (default: text); repeat it to join several with "
              "newlines"),
    CLI_VALUE("fields", fields_apart, "text,summary",
              "fields or columns, each for a dataset of its own: PREFIX_text_document, PREFIX_summary_document"),
    CLI_SWITCH("split-sentences", split_sentences,
               "store every sentence as a sequence of its own, for BERT's sentence pairs"),
    CLI_SWITCH("keep-newlines", keep_newlines, "with --split-sentences: keep newlines at the end of sentences"),
    CLI_VALUE("min-tokens", min_tokens, "N", "leave out documents with fewer tokens"),
    CLI_VALUE("max-tokens", max_tokens, "N", "leave out documents with more tokens"),
    CLI_SWITCH("whole-file", whole_file,
               ".txt: each file is one document; default for a tokenizer without mask token and sentinels (GPT)"),
    CLI_SWITCH("paragraphs", paragraphs, ".txt: a blank line ends a document; default for other tokenizers"),
    CLI_SWITCH("append-eod", append_eod, "append an end-of-sequence token to every document"),
    CLI_SWITCH("specials", specials, "recognise special tokens in the text, such as <|endoftext|>"),
    CLI_SWITCH("keep-duplicates", keep_duplicates, "keep exact duplicates of documents"),
    CLI_ON_ERROR(on_error, "a document"),
    CLI_INPUT_FORMAT(input_format),
    CLI_DELIMITER(delimiter),
    CLI_VALUE("max-document", max_document, "MIB", "maximum size of a line or document in MiB (default 64)"),
    CLI_SWITCH("lines", lines, "fairseq: every line is a sequence, also empty lines"),
    CLI_VALUE("valid-files", valid_files, "FILE,FILE", "fairseq: files for valid.*, valid1.*, …"),
    CLI_VALUE("test-files", test_files, "FILE,FILE", "fairseq: files for test.*, test1.*, …"),
    CLI_PATH("dict", dictionary, "FILE", "fairseq without tokenizer: use this dict.txt instead of building one"),
    CLI_VALUE("min-count", min_count, "N",
              "fairseq without tokenizer: leave words that occur less than N times out of the dictionary"),
    CLI_VALUE(
        "dict-size", dict_size, "N",
        "fairseq without tokenizer: maximum size of the dictionary, four special tokens included (default: no limit)"),
    CLI_VALUE("padding-factor", padding_factor, "N",
              "fairseq without tokenizer: pad the size of the dictionary to a multiple of N (default 8)"),
    CLI_SWITCH("clean", clean,
               "leave out generated and minified files: by the next three rules, and by comments in their first lines"),
    CLI_VALUE("max-line", max_line, "CHARACTERS",
              "leave out documents with a line longer than this (default with --clean: 1000)"),
    CLI_VALUE("max-mean-line", max_mean, "CHARACTERS",
              "leave out documents whose mean line length is larger than this (default with --clean: 100)"),
    CLI_VALUE("min-letters", min_letters, "SHARE",
              "leave out documents with a smaller share of letters and digits than this (default with --clean: 0.25)"),
    CLI_SWITCH("near-duplicates", repeats,
               "leave out near duplicates: documents that share about 90% with an earlier one"),
    CLI_VALUE("licence-field", licence_field, "NAME",
              "JSON field with the licence, or a list of licences; a document is kept if all of them are in "
              "--licences"),
    CLI_VALUE("licences", licences, "MIT,Apache-2.0", "licences to keep"),
    CLI_ENTRY("exclude", G_OPTION_ARG_FILENAME_ARRAY, exclude, "PATH",
              "evaluation set: leave out documents that contain one of its documents; may be repeated"),
    CLI_VALUE("exclude-field", exclude_fields, "NAME",
              "JSON field of --exclude with the text (default: text); repeat it to join several fields with newlines"),
    CLI_VALUE("exclude-ngram", exclude_ngram, "N", "length of the compared n-grams in words (default 13)"),
    CLI_VALUE("exclude-share", exclude_share, "SHARE",
              "leave out a document that contains this share of the n-grams of an evaluation document (default 0.5)"),
    PROGRAM_ENTRIES,
    CLI_REPLACE(replace),
    CLI_SWITCH("json", as_json, "print the counts as one JSON object"),
    { 0 },
};

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    interrupted = 1;
    signal(number, SIG_DFL); /* a second signal ends the program at once */
}

/* Parses "1%" or "0.01". */
static bool parse_share(const char *text, double *share, GError **error)
{
    char *end;
    *share = g_ascii_strtod(text, &end);
    end += end != text ? strspn(end, " ") : 0;
    if (end != text && *end == '%') {
        *share /= 100;
        end++;
    }
    if (end == text || *end != 0 || !(*share >= 0 && *share < 1))
        return fail_user(error, "--valid %s: a share from 0 to below 1 is wanted, such as 1%% or 0.01", text);
    return true;
}

/* Parses --fields: two or more JSON fields become separate parts of a document; a single one is as with --field. */
static bool parse_fields(GError **error)
{
    g_auto(GStrv) names = text_list(fields_apart);
    if (fields)
        return fail_user(error, "--field joins fields and --fields keeps them apart; use one of them");
    for (int i = 0; names[i]; i++) {
        if (*names[i] == '\0' || strchr(names[i], '/'))
            return fail_user(error, "--fields %s: \"%s\" cannot be in the name of a file", fields_apart, names[i]);
        if (i >= PREPARE_FIELDS)
            return fail_user(error, "--fields: more than %d fields", PREPARE_FIELDS);
        for (int before = 0; before < i; before++)
            if (strcmp(names[before], names[i]) == 0)
                return fail_user(error, "--fields %s: \"%s\" comes twice", fields_apart, names[i]);
    }
    fields = g_steal_pointer(&names);
    return true;
}

static bool check_use(int argc, GError **error)
{
    return (tokenizer_file && out && argc >= 2) || fail_user(error, "%s is missing; usage: " USAGE,
                                                             !tokenizer_file ? "--tokenizer"
                                                             : !out          ? "--out"
                                                                             : "a file or folder to read");
}

/* Whether a .txt file is one document by default: yes for a GPT's tokenizer; for T5 and BERT each paragraph is one. */
static bool reads_whole_files(const Tokenizer *tok)
{
    bool hides =
        tokenizer_id(tok, "[MASK]") >= 0 || tokenizer_id(tok, "<mask>") >= 0 || tokenizer_sentinel(tok, 0) >= 0;
    return whole_file || (!paragraphs && !split_sentences && !hides);
}

static bool fill_options(PrepareOptions *options, const Tokenizer *tok, GError **error)
{
    if (whole_file && paragraphs)
        return fail_user(error, "--whole-file and --paragraphs exclude each other");
    bool skips;
    CorpusOptions read = { 0 };
    if (!cli_parse_on_error(&skips, on_error, error) || !corpus_set_format(&read, input_format, delimiter, error))
        return false;
    if (format && strcmp(format, "megatron") != 0 && strcmp(format, "fairseq") != 0)
        return fail_user(error, "--format %s: megatron or fairseq is wanted", format);
    bool fairseq = format && strcmp(format, "fairseq") == 0;
    if (keep_newlines && !split_sentences)
        return fail_user(error, "--keep-newlines is about --split-sentences; without it newlines stay as they are");
    if (min_tokens < 0 || max_tokens < 0 || (max_tokens > 0 && max_tokens < min_tokens))
        return fail_user(error, "--min-tokens %" PRId64 " and --max-tokens %" PRId64 " let no document through",
                         min_tokens, max_tokens);
    if (fields_apart && !parse_fields(error))
        return false;
    if (fields_apart && fairseq)
        return fail_user(error, "--fields: a folder of fairseq's holds one dataset");
    if (workers < 0 || workers > 1024)
        return fail_user(error, "--workers %d: from 1 to 1024, or 0 for every core", workers);
    if (max_document < 0 || max_document > 1024)
        return fail_user(error, "--max-document %" PRId64 ": from 1 to 1024 MiB", max_document);
    *options = (PrepareOptions){ .corpus = { .format = read.format,
                                             .delimiter = read.delimiter,
                                             .fields = fields,
                                             .fields_apart = fields_apart && fields[1],
                                             .whole_file = reads_whole_files(tok),
                                             .without_last_end = !whole_file,
                                             .skip_errors = skips,
                                             .max_bytes = max_document << 20,
                                             .longer = " (--max-document takes longer ones)",
                                             .interrupted = &interrupted },
                                 .out = out,
                                 .workers = workers,
                                 .append_eod = append_eod || fairseq, /* fairseq appends EOS to every line */
                                 .specials = specials,
                                 .fairseq = fairseq,
                                 .split_sentences = split_sentences,
                                 .keep_newlines = keep_newlines,
                                 .min_tokens = min_tokens,
                                 .max_tokens = max_tokens,
                                 .keep_duplicates = keep_duplicates };
    return !valid || parse_share(valid, &options->valid, error);
}

/* ---- which documents are left out ---- */

/* Whether the user gave an option that selects documents to leave out. */
static bool cleaning_is_given(void)
{
    return clean || max_line >= 0 || max_mean >= 0 || min_letters >= 0 || licence_field || licences || exclude ||
           repeats;
}

static bool check_cleaning(GError **error)
{
    if (max_line < -1 || max_mean < -1 || min_letters > 1)
        return fail_user(error,
                         "--max-line and --max-mean-line are numbers of characters, --min-letters a share up to 1");
    if (!licence_field != !licences)
        return fail_user(error,
                         "--licence-field and --licences belong together: the field, and the licences wanted in it");
    if (!exclude && (exclude_fields || exclude_ngram != 13 || exclude_share != 0.5))
        return fail_user(error, "--exclude-field, --exclude-ngram and --exclude-share are for --exclude");
    return (exclude_ngram >= 2 && exclude_ngram <= 1000 && exclude_share > 0 && exclude_share <= 1) ||
           fail_user(error, "--exclude-ngram wants 2 to 1000 words, --exclude-share a share above 0 and up to 1");
}

/* The value that the user gave to an option; without one, the value that --clean implies. */
static double value_or(double given, double implied)
{
    return given >= 0 ? given : clean ? implied : 0;
}

/* Checks the options of what is left out. If there is a rule, fills `rules` and sets options->rules to it. Free with
 * cleaning_clear. */
static bool cleaning_options(CleaningRules *rules, PrepareOptions *options, GError **error)
{
    if (!check_cleaning(error))
        return false;
    *rules = (CleaningRules){ .generated = clean,
                              .max_line = (int64_t)value_or((double)max_line, 1000),
                              .max_mean = (int64_t)value_or((double)max_mean, 100),
                              .min_letters = value_or(min_letters, 0.25),
                              .repeats = repeats,
                              .licence_field = licence_field,
                              .licences = licences ? text_list(licences) : NULL };
    const OverlapOptions overlap = { .paths = exclude,
                                     .fields = exclude_fields,
                                     .delimiter = options->corpus.delimiter,
                                     .n = exclude_ngram,
                                     .share = exclude_share };
    if (exclude && !(rules->overlap = overlap_open(&overlap, error)))
        return fail_context(error, "--exclude");
    if (rules->overlap && overlap_documents(rules->overlap) == 0)
        return fail_user(error, "--exclude: no document in %s", exclude[0]);
    options->rules = cleaning_is_given() ? rules : NULL;
    return true;
}

static void cleaning_clear(CleaningRules *rules)
{
    overlap_close((OverlapIndex *)rules->overlap);
    g_strfreev(rules->licences);
}

/* ---- lines and words, in fairseq's format ---- */

/* The output formats, and which options each of them takes. */
enum { DOCUMENTS = 1, LINES = 2, WORDS = 4 };

/* Fails for an option that does not apply to the output format. */
static bool check_way(int way, GError **error)
{
    const struct {
        const char *name;
        bool given;
        int ways;
    } options[] = {
        { "--lines", lines, LINES | WORDS },
        { "--valid-files", valid_files != NULL, LINES | WORDS },
        { "--test-files", test_files != NULL, LINES | WORDS },
        { "--dict", dictionary != NULL, WORDS },
        { "--min-count", min_count != 0, WORDS },
        { "--dict-size", dict_size != 0, WORDS },
        { "--padding-factor", padding_factor != 8, WORDS },
        { "--specials", specials, DOCUMENTS | LINES },
        { "--valid", valid != NULL, DOCUMENTS },
        { "--field", fields != NULL, DOCUMENTS },
        { "--fields", fields_apart != NULL, DOCUMENTS },
        { "--split-sentences", split_sentences, DOCUMENTS },
        { "--min-tokens", min_tokens != 0, DOCUMENTS },
        { "--max-tokens", max_tokens != 0, DOCUMENTS },
        { "--whole-file", whole_file, DOCUMENTS },
        { "--paragraphs", paragraphs, DOCUMENTS },
        { "--max-document", max_document != 0, DOCUMENTS },
        { "--append-eod", append_eod, DOCUMENTS },
        { "--keep-newlines", keep_newlines, DOCUMENTS },
        { "--keep-duplicates", keep_duplicates, DOCUMENTS },
        { "--on-error", on_error != NULL, DOCUMENTS },
        { "--input-format", input_format != NULL, DOCUMENTS },
        { "--delimiter", delimiter != NULL, DOCUMENTS },
        { program_option_given(), program_option_given() != NULL, DOCUMENTS },
        { "an option about documents to leave out", cleaning_is_given(), DOCUMENTS },
    };
    const char *what = way == WORDS   ? "lines of words (--format fairseq without --tokenizer)"
                       : way == LINES ? "lines (--format fairseq --lines)"
                                      : "documents; lines are --format fairseq with --lines or without --tokenizer";
    for (size_t i = 0; i < G_N_ELEMENTS(options); i++)
        if (options[i].given && !(options[i].ways & way))
            return fail_user(error, "%s is not for %s", options[i].name, what);
    return true;
}

static void print_lines_text(const FairseqLinesStats *stats)
{
    g_autofree char *ids = text_grouped(stats->dictionary);
    printf("%s/dict.txt: %s ids\n", out, ids);
    for (guint i = 0; i < stats->sets->len; i++) {
        const FairseqLinesSet *set = stats->sets->pdata[i];
        g_autofree char *sentences = text_grouped(set->sentences), *tokens = text_grouped(set->tokens),
                        *unknown = text_percent((double)set->unknown / (double)set->tokens);
        printf("%s: %s sentences, %s tokens, %s replaced by <unk>\n", set->prefix, sentences, tokens, unknown);
    }
}

static bool print_lines_json(const FairseqLinesStats *stats, GError **error)
{
    json_t *sets = json_array();
    for (guint i = 0; i < stats->sets->len; i++) {
        const FairseqLinesSet *set = stats->sets->pdata[i];
        json_array_append_new(sets, json_pack("{s:s, s:I, s:I, s:I}", "prefix", set->prefix, "sentences",
                                              (json_int_t)set->sentences, "tokens", (json_int_t)set->tokens, "unknown",
                                              (json_int_t)set->unknown));
    }
    return print_json_line(json_pack("{s:I, s:o}", "dictionary", (json_int_t)stats->dictionary, "sets", sets), error);
}

static bool run_lines(char **paths, const Tokenizer *tok, GError **error)
{
    g_auto(GStrv) valid_paths = valid_files ? text_list(valid_files) : NULL,
                  test_paths = test_files ? text_list(test_files) : NULL;
    if (!out)
        return fail_user(error, "--out is missing; usage: " USAGE);
    if (!*paths && (tok || !dictionary || (!valid_paths && !test_paths)))
        return fail_user(error, "a file or folder to read is missing; usage: " USAGE);
    if (min_count < 0 || dict_size < 0 || padding_factor < 0)
        return fail_user(error, "--min-count, --dict-size and --padding-factor are numbers not below 0");
    const FairseqLinesOptions options = { .out = out,
                                          .train = paths,
                                          .valid = valid_paths,
                                          .test = test_paths,
                                          .tok = tok,
                                          .specials = specials,
                                          .dictionary = dictionary,
                                          .min_count = min_count,
                                          .most_ids = dict_size,
                                          .factor = padding_factor,
                                          .interrupted = &interrupted };
    g_auto(GStrv) prefixes = fairseq_lines_prefixes(&options);
    for (char **prefix = prefixes; *prefix; prefix++)
        if (!cli_check_dataset(*prefix, replace, error))
            return false;
    FairseqLinesStats stats;
    bool good = fairseq_lines_run(&options, &stats, error);
    if (good && as_json)
        good = print_lines_json(&stats, error);
    else if (good)
        print_lines_text(&stats);
    g_ptr_array_unref(stats.sets);
    return good;
}

/* ---- documents ---- */

static void print_dataset(const PrepareOptions *options, int output, bool held_out, const DatasetCounts *counts)
{
    g_autofree char *prefix = prepare_prefix(options, output, held_out);
    g_autofree char *documents = text_grouped(counts->documents), *tokens = text_grouped(counts->tokens);
    g_autofree char *share = dataset_unknown_share(counts);
    printf("%s: %s documents, %s tokens%s%s\n", prefix, documents, tokens, counts->unknown > 0 ? ", unknown " : "",
           counts->unknown > 0 ? share : "");
}

static void print_datasets(const PrepareStats *stats, const PrepareOptions *options)
{
    for (int output = 0; output < prepare_outputs(options); output++) {
        const PrepareCounts *counts = &stats->outputs[output];
        if (options->by_language && counts->train.documents == 0 && counts->valid.documents == 0)
            continue;
        print_dataset(options, output, false, &counts->train);
        if (options->valid > 0 && (!options->by_language || counts->valid.documents > 0))
            print_dataset(options, output, true, &counts->valid);
    }
    g_autofree char *weights = options->by_language ? prepare_weights_path(options) : NULL;
    if (weights)
        printf("%s: use it as data.train\n", weights);
}

static void print_count(const char *what, int64_t n)
{
    g_autofree char *count = text_grouped(n);
    if (n > 0)
        printf("%s: %s\n", what, count);
}

/* Prints how many documents were left out, by reason, and the number of evaluation documents. */
static void print_dropped(const PrepareStats *stats, const PrepareOptions *options)
{
    for (int i = 0; i < DROPPED_REASONS; i++) {
        g_autofree char *count = text_grouped(stats->dropped[i]);
        if (stats->dropped[i] > 0)
            printf("documents dropped, since %s: %s\n", dropped_names[i].reason, count);
    }
    if (!options->rules || !options->rules->overlap)
        return;
    g_autofree char *count = text_grouped(overlap_documents(options->rules->overlap));
    printf("compared with %s documents of evaluation sets\n", count);
}

/* Reports how .txt files were cut into documents. */
static void print_texts(const PrepareStats *stats, const PrepareOptions *options)
{
    g_autofree char *files = text_grouped(stats->corpus.text_files),
                    *documents = text_grouped(stats->corpus.text_documents);
    if (stats->corpus.text_documents > stats->corpus.text_files && options->corpus.whole_file)
        printf(".txt files: %s, of which some are longer than --max-document: %s documents in the order of the text\n",
               files, documents);
    else if (stats->corpus.text_files > 0 && options->corpus.whole_file)
        printf(".txt files: %s, each read whole, in its order (--paragraphs: blank lines end documents)\n", files);
    else if (stats->corpus.text_documents > stats->corpus.text_files)
        printf(".txt files: %s, cut at blank lines into %s documents, which training shuffles (--whole-file: kept in "
               "order)\n",
               files, documents);
    if (stats->corpus.text_files == 0 && paragraphs)
        log_warning(
            "--paragraphs: without effect, since no file is .txt; --input-format text reads every file like one");
}

static void print_stats(const PrepareStats *stats, const PrepareOptions *options)
{
    print_datasets(stats, options);
    print_texts(stats, options);
    if (options->programs)
        print_programs(stats->programs, options->programs);
    if (stats->corpus.unnamed > 0 && stats->corpus.named == 0)
        log_warning("--language-field %s: no object has a string of this name, so that all of them are text",
                    options->corpus.language_field);
    print_count("objects without a string in the field of --language-field, which are text", stats->corpus.unnamed);
    print_count("duplicates dropped (--keep-duplicates keeps them)", stats->duplicates);
    print_count("empty documents dropped", stats->empty);
    print_count("documents dropped, since they are too short", stats->too_short);
    print_count("documents dropped, since they are too long", stats->too_long);
    print_dropped(stats, options);
    print_count("skipped, since they could not be read", stats->corpus.skipped);
    print_count("files ignored, since they are not text", stats->corpus.ignored);
    print_count("NUL characters replaced by U+FFFD", stats->corpus.nuls);
    g_autofree char *bytes = text_bytes(stats->bytes), *time = text_duration(stats->seconds);
    printf("%s of text in %s, %.1f MB/s\n", bytes, time, (double)stats->bytes / 1e6 / stats->seconds);
}

static json_t *counts_json(const PrepareCounts *counts)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "documents", (json_int_t)counts->train.documents, "tokens",
                     (json_int_t)counts->train.tokens, "unknown", (json_int_t)counts->train.unknown, "valid_documents",
                     (json_int_t)counts->valid.documents, "valid_tokens", (json_int_t)counts->valid.tokens,
                     "valid_unknown", (json_int_t)counts->valid.unknown);
}

/* Number of documents left out, by reason: {"generated": 3, …}. json_decref. */
static json_t *dropped_json(const PrepareStats *stats)
{
    json_t *dropped = json_object();
    for (int i = 0; i < DROPPED_REASONS; i++)
        if (stats->dropped[i] > 0)
            json_object_set_new(dropped, dropped_names[i].key, json_integer(stats->dropped[i]));
    return dropped;
}

static bool print_prepared_json(const PrepareStats *stats, const PrepareOptions *options, GError **error)
{
    const CorpusCounts *corpus = &stats->corpus;
    json_t *root = counts_json(&stats->all), *by_field = options->corpus.fields_apart ? json_object() : NULL;
    for (int i = 0; by_field && i < prepare_outputs(options); i++)
        json_object_set_new(by_field, options->corpus.fields[i], counts_json(&stats->outputs[i]));
    json_object_update_new(
        root,
        json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o*, s:o*, s:o*}", "duplicates",
                  (json_int_t)stats->duplicates, "empty", (json_int_t)stats->empty, "skipped",
                  (json_int_t)corpus->skipped, "too_short", (json_int_t)stats->too_short, "too_long",
                  (json_int_t)stats->too_long, "passed_over", (json_int_t)corpus->ignored, "nuls",
                  (json_int_t)corpus->nuls, "text_files", (json_int_t)corpus->text_files, "text_documents",
                  (json_int_t)corpus->text_documents, "bytes", (json_int_t)stats->bytes, "seconds",
                  json_finite(stats->seconds), "dropped", options->rules ? dropped_json(stats) : NULL, "languages",
                  options->programs ? programs_json(stats->programs, options->programs) : NULL, "fields", by_field));
    return print_json_line(root, error);
}

/* Checks that --out is a path prefix, and that what will be written is neither read nor an earlier dataset. */
static bool check_out(char **paths, int n_paths, const PrepareOptions *options, GError **error)
{
    if (!options->fairseq && !cli_check_prefix(out, error))
        return false;
    g_auto(GStrv) files = prepare_files(options);
    for (char **file = files; *file; file++)
        if (!io_check_apart(*file, paths, n_paths, error))
            return false;
    for (int i = 0; i < 2 * prepare_outputs(options); i++) {
        const bool held_out = i % 2 == 1;
        g_autofree char *prefix = prepare_prefix(options, i / 2, held_out);
        if ((!held_out || options->valid > 0) && !cli_check_dataset(prefix, replace, error))
            return false;
    }
    return true;
}

static bool run_documents(int argc, char **argv, const Tokenizer *tok, GError **error)
{
    PrepareOptions options;
    PrepareStats stats;
    ProgramOptions programs = { 0 };
    CleaningRules rules = { 0 };
    bool good = fill_options(&options, tok, error) && cleaning_options(&rules, &options, error) &&
                program_options(&programs, &options, tok, error) && check_out(argv + 1, argc - 1, &options, error) &&
                prepare_run(tok, argv + 1, argc - 1, &options, &stats, error);
    if (good && as_json)
        good = print_prepared_json(&stats, &options, error);
    else if (good)
        print_stats(&stats, &options);
    if (programs.grammars)
        g_ptr_array_unref((Grammars *)programs.grammars);
    cleaning_clear(&rules);
    return good;
}

bool verb_prepare(int argc, char **argv, GError **error)
{
    if (!cli_parse(&argc, &argv, entries, USAGE, about, error))
        return false;
    bool fairseq = format && strcmp(format, "fairseq") == 0;
    int way = !fairseq ? DOCUMENTS : !tokenizer_file ? WORDS : lines ? LINES : DOCUMENTS;
    if (!check_way(way, error) || (way != WORDS && !check_use(argc, error)))
        return false;
    g_autoptr(Tokenizer) tok = way == WORDS ? NULL : tokenizer_open(tokenizer_file, error);
    if (way != WORDS && !tok)
        return false;
    signal(SIGINT, on_interrupt);
    signal(SIGTERM, on_interrupt);
    bool good = way == DOCUMENTS ? run_documents(argc, argv, tok, error) : run_lines(argv + 1, tok, error);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    return good;
}
