#include "data/corpus/corpus.h"

#include "base/byte_stream.h"
#include "base/file.h"
#include "base/foreign.h"
#include "base/log.h"
#include "base/text.h"
#include "format/indexed.h"

#include <string.h>

#define NAMED 10 /* documents and files left out that are named one by one */

/* Fields that hold the language of a document, if CorpusOptions names none. */
static const char *const usual_languages[] = { "language", "lang", "path" };

struct Corpus {
    CorpusOptions options; /* a copy: `fields` is owned, has at least one entry and is used instead of `field` */
    GPtrArray *asked;      /* RecordSource.fields */
    char *language;        /* result of corpus_language for the current document; NULL if it was not asked for yet */
    GArray *field_ends;    /* of size_t: the byte of the current document at which each field ends */
    GPtrArray *files;      /* of CorpusFile * */
    guint next_file;
    uint64_t total_bytes, finished_bytes;
    CorpusCounts counts;
    const CorpusFile *file;  /* the open file, or NULL */
    RecordReader *reader;    /* its records; NULL if it could not be opened */
    RecordFormat format;     /* its format */
    Record record;           /* the current record, and its position */
    bool broken;             /* the file cannot be read any further */
    bool foreign;            /* the error says that the file is no text */
    const char *line_ends;   /* what became of the line ends of texts of fields; NULL means nothing */
    bool line_ends_remarked; /* the warning about line ends has been logged */
    bool json_remarked;      /* that a file without suffix is read as JSON lines has been logged */
    GString *document;       /* the text of the document, unless it is the record's own */
    const char *text;        /* the current document */
    size_t text_bytes;
};

static bool is_table(const CorpusFile *file, G_GNUC_UNUSED char *const *outputs)
{
    return file->table;
}

static bool is_output(const CorpusFile *file, char *const *outputs)
{
    g_autofree char *name = g_path_get_basename(file->path);
    for (; outputs && *outputs; outputs++)
        if (g_str_has_suffix(*outputs, name) && !io_check_apart(*outputs, &file->path, 1, NULL))
            return true;
    return false;
}

/* Whether the file, found in a folder, belongs to a token dataset. */
static bool is_dataset(const CorpusFile *file, G_GNUC_UNUSED char *const *outputs)
{
    static const char *const suffixes[] = { ".json", ".idx", ".bin", ".tree" };
    bool found = false;
    for (size_t i = 0; file->in_folder && i < G_N_ELEMENTS(suffixes) && !found; i++)
        if (g_str_has_suffix(file->path, suffixes[i])) {
            g_autofree char *prefix = g_strndup(file->path, strlen(file->path) - strlen(suffixes[i]));
            g_autoptr(Indexed) set = indexed_open(prefix, NULL);
            found = set != NULL;
        }
    return found;
}

/* Whether an earlier command has written these outputs: the .bin file of one exists. */
static bool written_before(char *const *outputs)
{
    for (; outputs && *outputs; outputs++)
        if (g_str_has_suffix(*outputs, ".bin") && g_file_test(*outputs, G_FILE_TEST_EXISTS))
            return true;
    return false;
}

/* Fails if an output would replace an input, unless an earlier command wrote that file as its output. */
static bool check_replaced(GPtrArray *files, char *const *outputs, GError **error)
{
    for (guint i = 0; !written_before(outputs) && i < files->len; i++)
        if (is_output(files->pdata[i], outputs))
            return fail_user(error, "%s would be replaced by what this run writes; give it another name",
                             ((CorpusFile *)files->pdata[i])->path);
    return true;
}

/* Removes some files from the list, with a warning. */
static void leave_out(GPtrArray *files, bool (*unwanted)(const CorpusFile *, char *const *), char *const *outputs,
                      const char *why)
{
    g_autofree char *first = NULL;
    guint n = files->len;
    for (guint i = n; i-- > 0;) {
        if (!unwanted(files->pdata[i], outputs))
            continue;
        g_free(first);
        first = g_strdup(((CorpusFile *)files->pdata[i])->path);
        g_ptr_array_remove_index(files, i);
    }
    if (n - files->len == 1)
        log_warning("%s is left out: %s", first, why);
    else if (first)
        log_warning("%s and %u more are left out: %s", first, n - files->len - 1, why);
}

/* Fails if the user named a table that is not read; those found in folders are left out elsewhere. */
static bool check_tables(const GPtrArray *files, GError **error)
{
    for (guint i = 0; i < files->len; i++) {
        const CorpusFile *file = files->pdata[i];
        if (file->table && !file->in_folder)
            return foreign_check_name(file->path, error);
    }
    return true;
}

/* Warns that --delimiter has no effect, such as on a table that comes through a pipe and is read as text. */
static void advise_delimiter(const GPtrArray *files, const CorpusOptions *options)
{
    bool table = false;
    for (guint i = 0; i < files->len; i++)
        table |= record_traits(((CorpusFile *)files->pdata[i])->format)->delimiter != 0;
    if (options->delimiter && files->len > 0 && !table && !options->field_option)
        log_warning("--delimiter: without effect on %s, which is not read as a table (--input-format csv: as one)",
                    ((CorpusFile *)files->pdata[0])->path);
}

bool corpus_set_format(CorpusOptions *options, const char *format, const char *delimiter, GError **error)
{
    g_autofree char *names = text_choice(record_corpus_format_names);
    if (!record_delimiter_find(&options->delimiter, delimiter ? delimiter : ""))
        return fail_user(error, "--delimiter %s: one of , ; | and \\t is wanted", delimiter);
    options->format = format ? record_corpus_format_find(format) : RECORD_AUTO;
    return !format || options->format != RECORD_AUTO ||
           fail_user(error, "--input-format %s: %s is wanted", format, names);
}

/* The fields of records that will be asked for, NULL-terminated; their names are borrowed. */
static GPtrArray *list_asked(const CorpusOptions *options)
{
    GPtrArray *asked = g_ptr_array_new();
    for (char **field = options->fields; *field; field++)
        g_ptr_array_add(asked, *field);
    if (options->other_field)
        g_ptr_array_add(asked, (gpointer)(uintptr_t)options->other_field);
    if (options->languages && options->language_field)
        g_ptr_array_add(asked, (gpointer)(uintptr_t)options->language_field);
    for (size_t i = 0; options->languages && !options->language_field && i < G_N_ELEMENTS(usual_languages); i++)
        g_ptr_array_add(asked, (gpointer)(uintptr_t)usual_languages[i]);
    g_ptr_array_add(asked, NULL);
    return asked;
}

Corpus *corpus_open(char *const *paths, int n_paths, const CorpusOptions *options, GError **error)
{
    char *one[] = { (char *)(options->field ? options->field : "text"), NULL };
    g_autoptr(GPtrArray) files = corpus_files_list(paths, n_paths, options->format, error);
    if (!files || !check_tables(files, error) || !check_replaced(files, options->outputs, error))
        return NULL;
    leave_out(files, is_table, NULL, "tables are read if they are named, not from folders");
    leave_out(files, is_output, options->outputs, "an earlier run wrote here what this one will write");
    leave_out(files, is_dataset, NULL, "a token dataset is no text");
    advise_delimiter(files, options);
    Corpus *corpus = g_new0(Corpus, 1);
    corpus->files = g_steal_pointer(&files);
    corpus->options = *options;
    corpus->options.fields = g_strdupv(options->fields && options->fields[0] ? options->fields : one);
    corpus->asked = list_asked(&corpus->options);
    corpus->field_ends = g_array_new(false, false, sizeof(size_t));
    corpus->document = g_string_new(NULL);
    for (guint i = 0; i < corpus->files->len; i++)
        corpus->total_bytes += ((CorpusFile *)corpus->files->pdata[i])->bytes;
    return corpus;
}

static void close_file(Corpus *corpus)
{
    if (corpus->file)
        corpus->finished_bytes += corpus->file->bytes;
    record_reader_close(corpus->reader);
    corpus->reader = NULL;
    corpus->file = NULL;
}

void corpus_close(Corpus *corpus)
{
    if (!corpus)
        return;
    close_file(corpus);
    g_ptr_array_unref(corpus->files);
    g_string_free(corpus->document, true);
    g_ptr_array_unref(corpus->asked);
    g_strfreev(corpus->options.fields);
    g_free(corpus->language);
    g_array_unref(corpus->field_ends);
    g_free(corpus);
}

/* Whether the open file is a .txt, or is read like one. */
static bool is_text_file(const Corpus *corpus)
{
    return corpus->format == RECORD_TEXT || corpus->format == RECORD_PARTS;
}

static bool is_interrupted(const Corpus *corpus)
{
    return corpus->options.interrupted && *corpus->options.interrupted;
}

/* ---- the document of a record ---- */

static bool fail_no_field(Corpus *corpus, const char *field, GError **error)
{
    const CorpusOptions *options = &corpus->options;
    const char *option = options->field_option ? options->field_option : options->fields_apart ? "--fields" : "--field";
    g_autoptr(GString) names = g_string_new(NULL);
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)corpus->record.levels[0], name,
                        value) if ((corpus->record.columns || json_is_string(value)) && names->len < 200)
        g_string_append_printf(names, "%s\"%s\"", names->len ? ", " : "", name);
    corpus->broken = corpus->record.columns != NULL; /* no row of a table has another column */
    if (corpus->broken)
        return fail_user(error, "%s: no column \"%s\" in the table; choose one with %s: %s", corpus->file->path, field,
                         option, names->str);
    if (names->len == 0)
        return fail_user(error, "%s: no field \"%s\" in the record, nor any other text", corpus->record.where, field);
    return fail_user(error, "%s: no field \"%s\" in the record; choose one with %s: %s", corpus->record.where, field,
                     option, names->str);
}

/* Appends a text, with U+FFFD in place of NUL, which JSON may hold and tokenizers do not accept. */
static void append_without_nuls(Corpus *corpus, const char *text, size_t bytes)
{
    for (const char *end = text + bytes, *nul; text < end; text = nul + 1) {
        nul = memchr(text, 0, (size_t)(end - text));
        g_string_append_len(corpus->document, text, (nul ? nul : end) - text);
        if (!nul)
            return;
        g_string_append(corpus->document, "\xEF\xBF\xBD");
        corpus->counts.nuls++;
    }
}

/* Appends a text to the document, with LF for CRLF. */
static void append_to_document(Corpus *corpus, const char *text, size_t bytes)
{
    GString *document = corpus->document;
    size_t first = document->len;
    append_without_nuls(corpus, text, bytes);
    size_t length = first + record_drop_returns(document->str + first, document->len - first);
    if (length < document->len)
        corpus->line_ends = RECORD_CRLF;
    g_string_truncate(document, length);
}

/* Gets the document's text from the record's fields: a single one uncopied, several joined in corpus->document. */
static bool take_fields(Corpus *corpus, GError **error)
{
    g_string_truncate(corpus->document, 0);
    g_array_set_size(corpus->field_ends, 0);
    for (char **field = corpus->options.fields; *field; field++) {
        const json_t *text = record_value(&corpus->record, *field);
        if (!text)
            return fail_no_field(corpus, *field, error);
        if (!json_is_string(text))
            return fail_user(error, "%s: field \"%s\" is %s, not a string", corpus->record.where, *field,
                             record_type_name(text));
        corpus->text = json_string_value(text);
        corpus->text_bytes = json_string_length(text);
        if (corpus->options.fields[1] == NULL && !memchr(corpus->text, 0, corpus->text_bytes) &&
            !memchr(corpus->text, '\r', corpus->text_bytes))
            return true;
        if (field != corpus->options.fields)
            g_string_append_c(corpus->document, '\n');
        append_to_document(corpus, corpus->text, corpus->text_bytes);
        g_array_append_val(corpus->field_ends, corpus->document->len);
    }
    corpus->text = corpus->document->str;
    corpus->text_bytes = corpus->document->len;
    return true;
}

/* ---- files ---- */

/* Opens the records of the current file. *foreign becomes true if the error says that it is no text. */
static bool open_records(Corpus *corpus, bool *foreign, GError **error)
{
    const CorpusFile *file = corpus->file;
    const CorpusOptions *options = &corpus->options;
    const bool parts = options->whole_file;
    const RecordSource source = { .path = file->path,
                                  .format = file->format == RECORD_TEXT && parts ? RECORD_PARTS : file->format,
                                  .delimiter = options->delimiter,
                                  .delimiter_option = "--delimiter",
                                  .texts = true,
                                  .fields = (char *const *)corpus->asked->pdata,
                                  .otherwise = file->otherwise == RECORD_TEXT && parts ? RECORD_PARTS : file->otherwise,
                                  /* In a folder a file without suffix may be anything: it must have the text. */
                                  .first_field = file->nameless && file->in_folder ? options->fields[0] : NULL,
                                  .most_bytes = (size_t)options->max_bytes,
                                  .longer = options->longer,
                                  .probe = file->probe,
                                  .without_last_end = options->without_last_end,
                                  .foreign = foreign,
                                  .interrupted = options->interrupted };
    corpus->reader = record_reader_open(&source, error);
    return corpus->reader != NULL;
}

/* Counts a file of a folder that is not text, and warns of the first ones. */
static void ignore(Corpus *corpus, const GError *why)
{
    if (corpus->counts.ignored++ < NAMED)
        log_warning("left out: %s", why->message);
}

static bool open_next_file(Corpus *corpus, GError **error)
{
    const CorpusFile *file = corpus->file = corpus->files->pdata[corpus->next_file++];
    corpus->record = (Record){ .where = file->path };
    corpus->broken = !open_records(corpus, &corpus->foreign, error);
    if (corpus->broken)
        return false;
    corpus->format = record_reader_format(corpus->reader);
    if (file->nameless && corpus->format == RECORD_JSONL && !corpus->json_remarked)
        log_info("%s: its first line is a JSON object: read as JSON lines (--input-format text: as it is)", file->path);
    corpus->json_remarked |= file->nameless && corpus->format == RECORD_JSONL;
    corpus->counts.text_files += is_text_file(corpus);
    corpus->broken = corpus->options.fields_apart && !record_traits(corpus->format)->values;
    return !corpus->broken || fail_user(error, "%s: its format has no fields, which could be kept apart", file->path);
}

/* Warns once that other line ends became LF. */
static void remark_line_ends(Corpus *corpus)
{
    /* CRLF between objects is not part of any text. */
    const char *what =
        record_traits(corpus->format)->values ? corpus->line_ends : record_reader_line_ends(corpus->reader);
    if (what && !corpus->line_ends_remarked)
        log_warning("%s: %s", corpus->file->path, what);
    corpus->line_ends_remarked |= what != NULL;
}

/* Reads the next document of the current file, or of the next one; false without an error at the end of a file. */
static bool next_document(Corpus *corpus, GError **error)
{
    GError *problem = NULL;
    if (!corpus->file && !open_next_file(corpus, error))
        return false;
    if (!record_reader_next(corpus->reader, &corpus->record, &problem)) {
        corpus->broken = problem && !record_reader_goes_on(corpus->reader);
        if (problem)
            g_propagate_error(error, problem);
        return false;
    }
    corpus->counts.text_documents += is_text_file(corpus);
    corpus->text = corpus->record.text;
    corpus->text_bytes = corpus->record.text_bytes;
    return corpus->record.n_levels == 0 || take_fields(corpus, error);
}

/* Whether the corpus goes on after an error: at the next document, or with the next file. */
static bool corpus_goes_on(Corpus *corpus, const GError *problem)
{
    const bool ignored = corpus->foreign && corpus->file->probe,
               endless = corpus->reader && record_reader_is_endless(corpus->reader);
    if (ignored)
        ignore(corpus, problem);
    else if (!corpus->options.skip_errors || problem->code != LOAM_ERROR_USER || endless)
        return false;
    else if (corpus->counts.skipped++ < NAMED)
        log_warning("left out: %s", problem->message);
    corpus->foreign = false;
    if (ignored || corpus->broken)
        close_file(corpus);
    return true;
}

bool corpus_next(Corpus *corpus, const char **text, size_t *bytes, GError **error)
{
    while (!is_interrupted(corpus) && (corpus->file || corpus->next_file < corpus->files->len)) {
        g_autoptr(GError) problem = NULL;
        if (next_document(corpus, &problem)) {
            remark_line_ends(corpus);
            *text = corpus->text;
            *bytes = corpus->text_bytes;
            return true;
        }
        if (problem && is_interrupted(corpus))
            return false; /* the command was stopped within a document */
        if (!problem) {
            close_file(corpus);
        } else if (!corpus_goes_on(corpus, problem)) {
            return fail_with(error, g_steal_pointer(&problem));
        }
    }
    return false;
}

int corpus_fields(const Corpus *corpus)
{
    return corpus->options.fields_apart ? (int)g_strv_length(corpus->options.fields) : 1;
}

void corpus_field(const Corpus *corpus, int field, size_t *begin, size_t *bytes)
{
    bool apart = corpus->options.fields_apart && corpus->options.fields[1];
    size_t end = apart ? g_array_index(corpus->field_ends, size_t, field) : corpus->text_bytes;
    *begin = field > 0 ? g_array_index(corpus->field_ends, size_t, field - 1) + 1 : 0; /* after the newline */
    *bytes = end - *begin;
}

uint64_t corpus_total_bytes(const Corpus *corpus)
{
    return corpus->total_bytes;
}

uint64_t corpus_done_bytes(const Corpus *corpus)
{
    return corpus->finished_bytes + (corpus->reader ? record_reader_offset(corpus->reader) : 0);
}

bool corpus_is_whole_text(const Corpus *corpus)
{
    return corpus->format == RECORD_PARTS;
}

const CorpusCounts *corpus_counts(const Corpus *corpus)
{
    return &corpus->counts;
}

const Record *corpus_record(const Corpus *corpus)
{
    return &corpus->record;
}

const char *corpus_language(Corpus *corpus)
{
    const char *field = corpus->options.language_field;
    const json_t *value = field ? record_value(&corpus->record, field) : NULL;
    if (corpus->record.n_levels == 0) {
        g_free(corpus->language);
        corpus->language = byte_stream_stem(corpus->file->path);
        return corpus->language;
    }
    for (size_t i = 0; !field && !json_is_string(value) && i < G_N_ELEMENTS(usual_languages); i++)
        value = record_value(&corpus->record, usual_languages[i]);
    corpus->counts.named += field && json_is_string(value);
    corpus->counts.unnamed += field && !json_is_string(value);
    return json_is_string(value) ? json_string_value(value) : "";
}

bool corpus_each_line(char *const *paths, int n_paths, const volatile sig_atomic_t *interrupted, RecordLineFn use,
                      void *context, GError **error)
{
    g_autoptr(GPtrArray) files = corpus_files_list(paths, n_paths, RECORD_AUTO, error);
    for (guint i = 0; files && i < files->len; i++)
        if (!record_each_line(((CorpusFile *)files->pdata[i])->path, interrupted, use, context, error))
            return false;
    return files != NULL;
}
