#include "data/prepare.h"

#include "base/file.h"
#include "base/log.h"
#include "data/dataset_meta.h"
#include "data/prepare_pipeline.h"
#include "format/indexed.h"

/* One of the two datasets. */
typedef struct Output {
    char *prefix;
    IndexedWriter *writer;
    int64_t documents, tokens;
} Output;

enum { TRAIN, VALID, N_OUTPUTS };

static bool output_open(Output *output, const Tokenizer *tok, const char *prefix, const char *suffix, GError **error)
{
    output->prefix = g_strconcat(prefix, suffix, NULL);
    output->writer = indexed_writer_open(output->prefix, tokenizer_size(tok), error);
    return output->writer != NULL;
}

static void output_clear(Output *output)
{
    if (output->writer)
        indexed_writer_abort(output->writer);
    g_free(output->prefix);
}

static bool output_add(Output *output, const GArray *ids, const PipelineDocument *document, GError **error)
{
    output->documents++;
    output->tokens += document->n_ids;
    return indexed_writer_add(output->writer, &g_array_index(ids, int32_t, document->first_id), document->n_ids,
                              error) &&
           indexed_writer_end_document(output->writer, error);
}

/* PREFIX.json goes first and comes last, so that it never describes other data than those beside it. */
static bool output_finish(Output *output, const Tokenizer *tok, bool append_eod, GError **error)
{
    g_autofree char *path = g_strconcat(output->prefix, ".json", NULL);
    const DatasetMeta meta = { .tokenizer_hash = (char *)tokenizer_hash(tok),
                               .tokenizer_kind = (char *)tokenizer_kind(tok),
                               .vocab = tokenizer_size(tok),
                               .append_eod = append_eod,
                               .documents = output->documents,
                               .tokens = output->tokens };
    return io_remove_tree(path, error) && indexed_writer_finish(g_steal_pointer(&output->writer), error) &&
           dataset_meta_write(&meta, path, error);
}

typedef struct Run {
    const Tokenizer *tok;
    const PrepareOptions *options;
    PrepareStats *stats;
    Corpus *corpus;
    SeenTable *seen;
    Output outputs[N_OUTPUTS];
} Run;

static bool write_job(Run *run, const PipelineJob *job, GError **error)
{
    PrepareStats *stats = run->stats;
    for (guint i = 0; i < job->documents->len; i++) {
        const PipelineDocument *document = &g_array_index(job->documents, PipelineDocument, i);
        stats->bytes += document->bytes;
        if (document->n_ids == 0)
            stats->empty++;
        else if (!output_add(&run->outputs[document->valid ? VALID : TRAIN], job->ids, document, error))
            return false;
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
        if (job->last)
            return true;
        if (run->options->interrupted && *run->options->interrupted)
            return fail_user(error, "interrupted; nothing was written");
        progress_update(job->done_bytes);
    }
}

static bool open_all(Run *run, char *const *paths, int n_paths, GError **error)
{
    const PrepareOptions *options = run->options;
    g_autofree char *folder = g_path_get_dirname(options->out);
    if (options->append_eod && tokenizer_eos(run->tok) < 0)
        return fail_user(error, "--append-eod: the tokenizer %s has no end-of-sequence token",
                         tokenizer_path(run->tok));
    run->corpus = corpus_open(paths, n_paths, &options->corpus, error);
    if (!run->corpus || !io_make_directories(folder, error))
        return false;
    if (!options->keep_duplicates && !(run->seen = seen_table_open(folder, error)))
        return false;
    return output_open(&run->outputs[TRAIN], run->tok, options->out, "", error) &&
           (options->valid <= 0 || output_open(&run->outputs[VALID], run->tok, options->out, "-valid", error));
}

static bool encode_all(Run *run, GError **error)
{
    const PrepareOptions *options = run->options;
    Pipeline *pipeline =
        pipeline_open(run->tok, run->corpus, run->seen, options->valid, options->append_eod, options->workers);
    progress_open("prepare", "B", corpus_total_bytes(run->corpus));
    bool good = write_jobs(run, pipeline, error);
    progress_close();
    pipeline_close(pipeline);
    return good;
}

static bool finish_all(Run *run, GError **error)
{
    PrepareStats *stats = run->stats;
    const PrepareOptions *options = run->options;
    stats->skipped = corpus_skipped(run->corpus);
    stats->passed_over = corpus_passed_over(run->corpus);
    stats->documents = run->outputs[TRAIN].documents;
    stats->tokens = run->outputs[TRAIN].tokens;
    stats->valid_documents = run->outputs[VALID].documents;
    stats->valid_tokens = run->outputs[VALID].tokens;
    if (stats->documents == 0)
        return fail_user(error, "no document with text was found; nothing was written");
    if (options->valid > 0 && stats->valid_documents == 0)
        log_warning("no document fell into the %g %% held out: %s-valid is empty", 100 * options->valid, options->out);
    for (int i = 0; i < N_OUTPUTS; i++)
        if (run->outputs[i].writer && !output_finish(&run->outputs[i], run->tok, options->append_eod, error))
            return false;
    return true;
}

bool prepare_run(const Tokenizer *tok, char *const *paths, int n_paths, const PrepareOptions *options,
                 PrepareStats *stats, GError **error)
{
    int64_t start = g_get_monotonic_time();
    *stats = (PrepareStats){ 0 };
    Run run = { .tok = tok, .options = options, .stats = stats };
    bool good = open_all(&run, paths, n_paths, error) && encode_all(&run, error) && finish_all(&run, error);
    for (int i = 0; i < N_OUTPUTS; i++)
        output_clear(&run.outputs[i]);
    seen_table_close(run.seen);
    corpus_close(run.corpus);
    stats->seconds = (double)(g_get_monotonic_time() - start) / 1e6;
    return good;
}
