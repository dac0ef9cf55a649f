#include "data/prepare/prepare.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "data/dataset/dataset.h"
#include "data/prepare/fairseq_identity.h"
#include "data/prepare/prepare_pipeline.h"
#include "format/indexed.h"

#include <inttypes.h>
#include <string.h>

/* A dataset being written: the one to train on, or the one held out. */
typedef struct Output {
    char *prefix;
    IndexedWriter *writer;
    TreeWriter *trees; /* NULL without PrepareOptions.programs */
    int64_t documents, tokens;
    int64_t *counts; /* of each id, for fairseq's dictionary; NULL without it */
} Output;

enum { TRAIN, VALID, N_OUTPUTS };

char *prepare_prefix(const PrepareOptions *options, int field)
{
    if (!options->corpus.fields_apart)
        return g_strdup(options->out);
    return g_strdup_printf("%s_%s_%s", options->out, options->corpus.fields[field],
                           options->split_sentences ? "sentence" : "document");
}

/* The path prefix of the dataset of a field to train on, or of the one held out. g_free. */
static char *output_prefix(const PrepareOptions *options, int field, bool valid)
{
    g_autofree char *prefix = prepare_prefix(options, field);
    if (options->fairseq)
        return g_build_filename(options->out, valid ? "valid" : "train", NULL);
    return g_strconcat(prefix, valid ? "-valid" : "", NULL);
}

static bool output_open(Output *output, const Tokenizer *tok, const PrepareOptions *options, int field, bool valid,
                        GError **error)
{
    int64_t vocab = tokenizer_size(tok);
    output->prefix = output_prefix(options, field, valid);
    if (options->fairseq) {
        output->counts = g_new0(int64_t, vocab);
        output->writer = indexed_writer_open_fairseq(output->prefix, vocab, error);
    } else {
        output->writer = indexed_writer_open(output->prefix, vocab, error);
    }
    if (output->writer && options->programs &&
        !(output->trees = tree_writer_open(output->prefix, options->programs->grammars, error)))
        return false;
    return output->writer != NULL;
}

static void output_clear(Output *output)
{
    if (output->writer)
        indexed_writer_abort(output->writer);
    tree_writer_abort(output->trees);
    g_free(output->counts);
    g_free(output->prefix);
}

/* Adds a program: each segment is a document of the dataset, with a tree of its own. `node`: the first node of the
 * document within the job. */
static bool output_add_program(Output *output, const PipelineJob *job, const PipelineDocument *document, guint node,
                               GError **error)
{
    int language = document->tree.outcome == SYNTAX_TREE ? document->tree.language : -1;
    guint at = document->first_id;
    for (guint i = document->first_sequence; i < document->first_sequence + document->n_sequences; i++) {
        guint n = g_array_index(job->sequences, guint, i), n_nodes = g_array_index(job->n_nodes, guint, i);
        if (!indexed_writer_add(output->writer, &g_array_index(job->ids, int32_t, at), n, error) ||
            !indexed_writer_end_document(output->writer, error) ||
            !tree_writer_add(output->trees, language, (const TreeNode *)(void *)job->nodes->data + node, n_nodes,
                             error))
            return false;
        at += n;
        node += n_nodes;
    }
    output->documents += document->n_sequences;
    output->tokens += document->n_ids;
    return true;
}

static bool output_add(Output *output, const PipelineJob *job, const PipelineDocument *document, GError **error)
{
    guint at = document->first_id;
    output->documents++;
    output->tokens += document->n_ids;
    for (guint i = 0; output->counts && i < document->n_ids; i++)
        output->counts[g_array_index(job->ids, int32_t, at + i)]++;
    for (guint i = 0; i < document->n_sequences; i++) {
        guint n = g_array_index(job->sequences, guint, document->first_sequence + i);
        if (!indexed_writer_add(output->writer, &g_array_index(job->ids, int32_t, at), n, error))
            return false;
        at += n;
    }
    return indexed_writer_end_document(output->writer, error);
}

/* A PREFIX.tree of a run before is removed where this one has none. */
static bool finish_trees(Output *output, DatasetMeta *meta, GError **error)
{
    g_autofree char *path = g_strconcat(output->prefix, ".tree", NULL);
    return output->trees ? tree_writer_finish(g_steal_pointer(&output->trees), &meta->tree_bytes, meta->tree_hash, error)
                         : io_remove_file(path, error);
}

/* PREFIX.json is removed first and written last, so it never describes other data than those beside it. */
static bool output_finish(Output *output, const Tokenizer *tok, bool append_eod, bool held_out, GError **error)
{
    g_autofree char *path = g_strconcat(output->prefix, ".json", NULL);
    DatasetMeta meta = { .tokenizer_hash = (char *)tokenizer_hash(tok),
                               .tokenizer_kind = (char *)tokenizer_kind(tok),
                               .vocab = tokenizer_size(tok),
                               .append_eod = append_eod,
                               .documents = output->documents,
                               .tokens = output->tokens,
                               .held_out = held_out };
    if (!io_remove_file(path, error) || !indexed_writer_finish(g_steal_pointer(&output->writer), error) ||
        !finish_trees(output, &meta, error))
        return false;
    return dataset_meta_write(&meta, path, error);
}

/* ---- documents that were held out before ---- */

/* Whether `valid` was held out of `train`, by what the PREFIX.json of both say. */
static bool was_held_out_of(const char *valid, const char *train)
{
    g_autofree char *valid_path = g_strconcat(valid, ".json", NULL), *train_path = g_strconcat(train, ".json", NULL);
    DatasetMeta kept = { 0 }, rest = { 0 };
    bool was = dataset_meta_read(&kept, valid_path, NULL) && dataset_meta_read(&rest, train_path, NULL) &&
               kept.held_out && strcmp(kept.tokenizer_hash, rest.tokenizer_hash) == 0;
    dataset_meta_clear(&kept);
    dataset_meta_clear(&rest);
    return was;
}

static bool remove_dataset(const char *prefix, GError **error)
{
    static const char *const suffixes[] = { ".json", ".idx", ".bin", ".tree" };
    for (size_t i = 0; i < G_N_ELEMENTS(suffixes); i++) {
        g_autofree char *path = g_strconcat(prefix, suffixes[i], NULL);
        if (!io_remove_file(path, error))
            return false;
    }
    return true;
}

/* A run without --valid puts all documents into PREFIX, so a dataset PREFIX-valid that an earlier run held out of
 * PREFIX is removed. Another dataset of that name stays. */
static bool remove_held_out(const char *valid, const char *train, GError **error)
{
    g_autofree char *index = g_strconcat(valid, ".idx", NULL);
    if (!g_file_test(index, G_FILE_TEST_EXISTS))
        return true;
    if (!was_held_out_of(valid, train)) {
        log_warning("%s is there from before: if its documents were held out of this corpus, they are now in %s too",
                    valid, train);
        return true;
    }
    if (!remove_dataset(valid, error))
        return false;
    log_warning("%s was removed: a run before held its documents out, and without --valid they are in %s", valid,
                train);
    return true;
}

typedef struct Run {
    const Tokenizer *tok;
    const PrepareOptions *options;
    PrepareStats *stats;
    Corpus *corpus;
    SeenTable *seen;
    int n_fields;
    Output outputs[PREPARE_FIELDS][N_OUTPUTS];
} Run;

/* Whether a document is written, which is counted otherwise. */
static bool is_kept(const Run *run, const PipelineDocument *document)
{
    const PrepareOptions *options = run->options;
    PrepareStats *stats = run->stats;
    int64_t n = (int64_t)document->n_ids - options->append_eod;
    bool too_short = n < options->min_tokens, too_long = options->max_tokens > 0 && n > options->max_tokens;
    if (document->n_ids == 0)
        stats->empty++;
    else if (too_short)
        stats->too_short++;
    else if (too_long)
        stats->too_long++;
    return document->n_ids > 0 && !too_short && !too_long;
}

static bool write_document(Run *run, const PipelineJob *job, const PipelineDocument *document, guint node,
                           GError **error)
{
    Output *output = &run->outputs[document->field][document->valid ? VALID : TRAIN];
    if (!output->trees)
        return output_add(output, job, document, error);
    program_count(&run->stats->programs[document->tree.language + 1], &document->tree, (int64_t)document->bytes,
                  document->n_ids);
    return output_add_program(output, job, document, node, error);
}

static bool write_job(Run *run, const PipelineJob *job, GError **error)
{
    PrepareStats *stats = run->stats;
    guint node = 0;
    for (guint i = 0; i < job->documents->len; i++) {
        const PipelineDocument *document = &g_array_index(job->documents, PipelineDocument, i);
        stats->bytes += document->bytes;
        if (is_kept(run, document) && !write_document(run, job, document, node, error))
            return false;
        for (guint k = 0; run->options->programs && k < document->n_sequences; k++)
            node += g_array_index(job->n_nodes, guint, document->first_sequence + k);
    }
    stats->duplicates += job->duplicates;
    stats->empty += job->empty;
    return true;
}

static bool write_jobs(Run *run, Pipeline *pipeline, GError **error)
{
    for (;;) {
        PipelineJob *job = pipeline_next(pipeline);
        if (!write_job(run, job, error))
            return false;
        if (job->error) {
            g_propagate_error(error, g_steal_pointer(&job->error));
            return false;
        }
        if (run->options->interrupted && *run->options->interrupted)
            return fail_user(error, "interrupted; nothing was written");
        if (job->last)
            return true;
        progress_update(job->done_bytes);
    }
}

static bool open_all(Run *run, char *const *paths, int n_paths, GError **error)
{
    const PrepareOptions *options = run->options;
    g_autofree char *folder = options->fairseq ? g_strdup(options->out) : g_path_get_dirname(options->out);
    if (options->append_eod && tokenizer_eos(run->tok) < 0)
        return fail_user(error, "--append-eod: the tokenizer %s has no end-of-sequence token",
                         tokenizer_path(run->tok));
    CorpusOptions corpus = options->corpus;
    corpus.interrupted = options->interrupted;
    run->corpus = corpus_open(paths, n_paths, &corpus, error);
    if (!run->corpus || !io_make_directories(folder, error))
        return false;
    run->n_fields = corpus_fields(run->corpus);
    bool done = options->keep_duplicates || (run->seen = seen_table_open(folder, error));
    for (int field = 0; done && field < run->n_fields; field++)
        done = output_open(&run->outputs[field][TRAIN], run->tok, options, field, false, error) &&
               (options->valid <= 0 || output_open(&run->outputs[field][VALID], run->tok, options, field, true, error));
    return done || fail_context(error, "%s cannot be written", options->out);
}

static bool encode_all(Run *run, GError **error)
{
    const PrepareOptions *options = run->options;
    Pipeline *pipeline = pipeline_open(run->tok, run->corpus, run->seen, options);
    progress_open("prepare", "B", corpus_total_bytes(run->corpus));
    bool good = write_jobs(run, pipeline, error);
    progress_close();
    pipeline_close(pipeline);
    return good;
}

static void count_fields(Run *run)
{
    PrepareStats *stats = run->stats;
    for (int field = 0; field < run->n_fields; field++) {
        const Output *train = &run->outputs[field][TRAIN], *valid = &run->outputs[field][VALID];
        stats->fields[field] = (PrepareCounts){ train->documents, valid->documents, train->tokens, valid->tokens };
        stats->documents += train->documents;
        stats->valid_documents += valid->documents;
        stats->tokens += train->tokens;
        stats->valid_tokens += valid->tokens;
    }
}

/* Fails for a field without documents to train on. */
static bool check_field(const Run *run, int field, GError **error)
{
    const PrepareOptions *options = run->options;
    const PrepareCounts *counts = &run->stats->fields[field];
    g_autofree char *prefix = prepare_prefix(options, field);
    if (counts->documents == 0 && counts->valid_documents > 0)
        return fail_user(error,
                         "every document of %s, %" PRId64 " of them, was held out by the share %g %%, none is left to "
                         "train on; nothing was written",
                         prefix, counts->valid_documents, 100 * options->valid);
    if (counts->documents == 0)
        return fail_user(error, "no document with text was found for %s; nothing was written", prefix);
    if (options->valid > 0 && counts->valid_documents == 0)
        log_warning("no document fell into the %g %% held out: %s is empty", 100 * options->valid,
                    run->outputs[field][VALID].prefix);
    return true;
}

/* An earlier PREFIX-valid is removed first: even if the program is killed here, PREFIX-valid never holds documents of
 * PREFIX. */
static bool finish_field(Run *run, int field, GError **error)
{
    const bool append_eod = run->options->append_eod;
    Output *train = &run->outputs[field][TRAIN], *valid = &run->outputs[field][VALID];
    g_autofree char *before = output_prefix(run->options, field, true);
    return (valid->writer ? remove_dataset(before, error) : remove_held_out(before, train->prefix, error)) &&
           output_finish(train, run->tok, append_eod, false, error) &&
           (!valid->writer || output_finish(valid, run->tok, append_eod, true, error));
}

static bool finish_all(Run *run, GError **error)
{
    const PrepareOptions *options = run->options;
    run->stats->skipped = corpus_skipped(run->corpus);
    run->stats->ignored = corpus_ignored(run->corpus);
    run->stats->nuls = corpus_nuls(run->corpus);
    corpus_texts(run->corpus, &run->stats->text_files, &run->stats->text_documents);
    count_fields(run);
    for (int field = 0; field < run->n_fields; field++)
        if (!check_field(run, field, error))
            return false;
    for (int field = 0; field < run->n_fields; field++)
        if (!finish_field(run, field, error))
            return false;
    return !options->fairseq || fairseq_identity_write(run->tok, options->out, run->outputs[0][TRAIN].counts, error);
}

bool prepare_run(const Tokenizer *tok, char *const *paths, int n_paths, const PrepareOptions *options,
                 PrepareStats *stats, GError **error)
{
    double start = clock_seconds();
    *stats = (PrepareStats){ 0 };
    Run run = { .tok = tok, .options = options, .stats = stats };
    bool good = open_all(&run, paths, n_paths, error) && encode_all(&run, error) && finish_all(&run, error);
    for (int i = 0; i < run.n_fields * N_OUTPUTS; i++)
        output_clear(&run.outputs[i / N_OUTPUTS][i % N_OUTPUTS]);
    seen_table_close(run.seen);
    corpus_close(run.corpus);
    stats->seconds = clock_seconds() - start;
    return good;
}
