#include "data/corpus/corpus.h"

#include "base/file.h"
#include "base/foreign.h"
#include "base/git_lfs.h"
#include "base/log.h"
#include "data/corpus/corpus_reading.h"

#include <inttypes.h>
#include <string.h>

#define DEFAULT_MAX_BYTES ((int64_t)64 << 20)

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

/* Fails if the user named a file of a table (.csv, .tsv); those found in folders are left out elsewhere. */
static bool check_tables(const GPtrArray *files, GError **error)
{
    for (guint i = 0; i < files->len; i++) {
        const CorpusFile *file = files->pdata[i];
        if (file->table && !file->probe)
            return foreign_check_name(file->path, true, error);
    }
    return true;
}

bool corpus_format_find(CorpusFormat *format, const char *name, GError **error)
{
    static const char *const names[] = {
        [CORPUS_BY_NAME] = NULL, [CORPUS_TEXT] = "text", [CORPUS_JSON] = "jsonl", [CORPUS_WHOLE_FILE] = "file"
    };
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        if (g_strcmp0(name, names[i]) == 0) {
            *format = (CorpusFormat)i;
            return true;
        }
    return fail_user(error, "--input-format %s: text, jsonl or file is wanted; tables become JSON lines first", name);
}

Corpus *corpus_open(char *const *paths, int n_paths, const CorpusOptions *options, GError **error)
{
    char *one[] = { (char *)(options->field ? options->field : "text"), NULL };
    g_autoptr(GPtrArray) files = corpus_files_list(paths, n_paths, options->format, error);
    if (!files || !check_tables(files, error) || !check_replaced(files, options->outputs, error))
        return NULL;
    leave_out(files, is_table, NULL, "tables are no text; `loam prepare` of one says what to type");
    leave_out(files, is_output, options->outputs, "an earlier run wrote here what this one will write");
    Corpus *corpus = g_new0(Corpus, 1);
    corpus->files = g_steal_pointer(&files);
    corpus->options = *options;
    corpus->options.fields = g_strdupv(options->fields && options->fields[0] ? options->fields : one);
    corpus->options.longer = options->longer ? options->longer : "";
    corpus->max_bytes = (size_t)(options->max_bytes > 0 ? options->max_bytes : DEFAULT_MAX_BYTES);
    corpus->field_ends = g_array_new(false, false, sizeof(size_t));
    corpus->chunk = g_malloc(CORPUS_CHUNK_BYTES);
    corpus->line = g_string_new(NULL);
    corpus->document = g_string_new(NULL);
    corpus->where = g_string_new(NULL);
    for (guint i = 0; i < corpus->files->len; i++)
        corpus->total_bytes += ((CorpusFile *)corpus->files->pdata[i])->bytes;
    return corpus;
}

static void close_file(Corpus *corpus)
{
    if (corpus->file)
        corpus->finished_bytes += corpus->file->bytes;
    byte_stream_close(corpus->stream);
    corpus->stream = NULL;
    corpus->file = NULL;
}

void corpus_close(Corpus *corpus)
{
    if (!corpus)
        return;
    close_file(corpus);
    json_decref(corpus->object);
    g_ptr_array_unref(corpus->files);
    g_string_free(corpus->line, true);
    g_string_free(corpus->document, true);
    g_string_free(corpus->where, true);
    g_free(corpus->chunk);
    g_strfreev(corpus->options.fields);
    g_free(corpus->language);
    g_array_unref(corpus->field_ends);
    g_free(corpus);
}

/* Handles a file that is not text by its first bytes, or a Git LFS pointer to a large file that was not downloaded:
 * found in a folder it is ignored; a file that the user named is an error. */
static bool check_start(Corpus *corpus, GError **error)
{
    g_autoptr(GError) problem = NULL;
    if (git_lfs_is_pointer(corpus->chunk, corpus->end))
        git_lfs_fail(corpus->file->path, &problem);
    else if (foreign_check_start(corpus->file->path, corpus->chunk, corpus->end, &problem))
        return true;
    corpus->broken = !corpus->file->probe;
    corpus->at_end = true;
    if (corpus->file->probe)
        corpus_ignore(corpus, problem->message);
    else
        g_propagate_error(error, g_steal_pointer(&problem));
    return !corpus->broken;
}

/* The format of the open file, by its name and its first line. In a folder, where a file without suffix may be
 * anything, the object must have the field of the text. */
static CorpusFormat format_of(Corpus *corpus)
{
    const CorpusFile *file = corpus->file;
    const bool asks = file->nameless || (file->probe && file->format == CORPUS_JSON);
    const char *field = file->nameless && file->probe ? corpus->options.fields[0] : NULL;
    if (!asks || corpus->at_end)
        return file->format;
    if (!corpus_starts_with_object(corpus, field))
        return file->nameless ? file->format : CORPUS_WHOLE_FILE;
    if (file->nameless && !corpus->json_remarked)
        log_info("%s: its first line is a JSON object: read as JSON lines (--input-format text: as it is)", file->path);
    corpus->json_remarked |= file->nameless;
    return CORPUS_JSON;
}

/* Warns once that line ends CRLF become LF. */
static void remark_crlf(Corpus *corpus)
{
    if (corpus->crlf && !corpus->crlf_remarked)
        log_warning("%s: lines end in CRLF: the text is read without the CRs", corpus->file->path);
    corpus->crlf_remarked |= corpus->crlf;
}

static bool open_next_file(Corpus *corpus, GError **error)
{
    static const char byte_order_mark[] = { '\xEF', '\xBB', '\xBF' };
    corpus->file = corpus->files->pdata[corpus->next_file++];
    corpus->begin = corpus->end = 0;
    corpus->line_number = 0;
    corpus->at_end = corpus->skipping = corpus->held_return = corpus->crlf = false;
    corpus->text_bytes = 0;
    g_string_truncate(corpus->document, 0);
    g_string_assign(corpus->where, corpus->file->path);
    corpus->stream = byte_stream_open(corpus->file->path, error);
    corpus->broken = !corpus->stream;
    if (corpus->broken || !corpus_refill(corpus, error) || !check_start(corpus, error))
        return false;
    if (corpus->end >= 3 && memcmp(corpus->chunk, byte_order_mark, 3) == 0)
        corpus->begin = 3;
    corpus->kind = format_of(corpus);
    corpus->counts.text_files += corpus->kind == CORPUS_TEXT;
    corpus->broken = corpus->options.fields_apart && corpus->kind != CORPUS_JSON;
    return !corpus->broken ||
           fail_user(error, "%s: no JSON lines, whose fields could be kept apart", corpus->file->path);
}

static Found next_document(Corpus *corpus, GError **error)
{
    if (!corpus->file && !open_next_file(corpus, error))
        return FOUND_ERROR;
    if (corpus->kind == CORPUS_JSON)
        return corpus_next_object(corpus, error);
    if (corpus->kind == CORPUS_WHOLE_FILE)
        return corpus_next_whole_file(corpus, error);
    Found found = corpus->options.whole_file ? corpus_next_whole_text(corpus, error) : corpus_next_block(corpus, error);
    corpus->counts.text_documents += found == FOUND_DOCUMENT;
    return found;
}

bool corpus_next(Corpus *corpus, const char **text, size_t *bytes, GError **error)
{
    while (!corpus_interrupted(corpus) && (corpus->file || corpus->next_file < corpus->files->len)) {
        g_autoptr(GError) problem = NULL;
        switch (next_document(corpus, &problem)) {
        case FOUND_DOCUMENT:
            remark_crlf(corpus);
            *text = corpus->text;
            *bytes = corpus->text_bytes;
            return true;
        case FOUND_END:
            close_file(corpus);
            break;
        case FOUND_ERROR:
            if (corpus_interrupted(corpus))
                return false; /* the command was stopped within a document */
            if (!corpus->options.skip_errors || problem->code != LOAM_ERROR_USER || corpus->endless) {
                g_propagate_error(error, g_steal_pointer(&problem));
                return false;
            }
            if (corpus->counts.skipped++ < CORPUS_NAMED)
                log_warning("left out: %s", problem->message);
            if (corpus->broken)
                close_file(corpus);
            break;
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
    return corpus->finished_bytes + (corpus->stream ? byte_stream_offset(corpus->stream) : 0);
}

bool corpus_is_whole_text(const Corpus *corpus)
{
    return corpus->kind == CORPUS_TEXT && corpus->options.whole_file;
}

const CorpusCounts *corpus_counts(const Corpus *corpus)
{
    return &corpus->counts;
}

const char *corpus_where(const Corpus *corpus)
{
    return corpus->where->str;
}

const char *corpus_language(Corpus *corpus)
{
    static const char *const usual[] = { "language", "lang", "path" };
    const char *field = corpus->options.language_field;
    const json_t *value = field ? json_object_get(corpus->object, field) : NULL;
    if (corpus->kind != CORPUS_JSON) {
        g_free(corpus->language);
        corpus->language = g_strdup(corpus->file->path);
        if (g_str_has_suffix(corpus->language, ".gz") || g_str_has_suffix(corpus->language, ".zst"))
            *strrchr(corpus->language, '.') = '\0';
        return corpus->language;
    }
    for (size_t i = 0; !field && !json_is_string(value) && i < G_N_ELEMENTS(usual); i++)
        value = json_object_get(corpus->object, usual[i]);
    corpus->counts.named += field && json_is_string(value);
    corpus->counts.unnamed += field && !json_is_string(value);
    return json_is_string(value) ? json_string_value(value) : "";
}

bool corpus_is_object(const Corpus *corpus)
{
    return corpus->kind == CORPUS_JSON;
}

char **corpus_strings(const Corpus *corpus, const char *field)
{
    g_autoptr(GStrvBuilder) list = g_strv_builder_new();
    const json_t *value = json_object_get(corpus->object, field), *item;
    size_t i;
    bool good = true;
    if (json_is_string(value))
        g_strv_builder_add(list, json_string_value(value));
    json_array_foreach(value, i, item) good = good && json_is_string(item);
    json_array_foreach(value, i, item) if (good) g_strv_builder_add(list, json_string_value(item));
    return g_strv_builder_end(list);
}
