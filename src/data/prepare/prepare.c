#include "data/prepare/prepare.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "data/prepare/prepare_pipeline.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- documents that were held out before ---- */

/* Whether `valid` is the held-out set of `train`, according to the PREFIX.json of both. */
static bool was_held_out_of(const char *valid, const char *train)
{
    g_autofree char *valid_path = g_strconcat(valid, ".json", NULL), *train_path = g_strconcat(train, ".json", NULL);
    g_auto(DatasetMeta) kept = { 0 }, rest = { 0 };
    return dataset_meta_read(&kept, valid_path, NULL) && dataset_meta_read(&rest, train_path, NULL) && kept.held_out &&
           strcmp(kept.tokenizer_hash, rest.tokenizer_hash) == 0;
}

static bool remove_dataset(const char *prefix, GError **error)
{
    if (!trees_remove(prefix, error))
        return false;
    for (const char *const *suffix = prepare_suffixes; *suffix; suffix++) {
        g_autofree char *path = g_strconcat(prefix, *suffix, NULL);
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
        log_warning(
            "%s exists from an earlier run: if its documents were held out of this corpus, they are now in %s too",
            valid, train);
        return true;
    }
    if (!remove_dataset(valid, error))
        return false;
    log_warning("%s was removed: a run before held its documents out, and without --valid they are in %s", valid,
                train);
    return true;
}

/* One execution of prepare_run. */
typedef struct Run {
    const Tokenizer *tok;
    const PrepareOptions *options;
    PrepareStats *stats;
    Corpus *corpus;
    SeenTable *seen, *repeats; /* hashes of whole texts seen so far; hashes of bands for CleaningRules.repeats (near
                                  duplicates). NULL means none */
    int n_outputs;
    DatasetWriter *outputs[PREPARE_OUTPUTS][N_PARTS]; /* the training and the held-out dataset per output; NULL if
                                                         nothing is held out, or no document was written */
    NdtypeDict *ndtypes;        /* dictionary of node types for PrepareOptions.ndtypes; NULL without that option */
    UnknownCharacters *unknown; /* of the documents that are written */
    double least_hash;          /* minimum of PipelineJob.least_hash over all jobs */
    int64_t *id_counts; /* how often each id occurs in training documents, for fairseq's dictionary; NULL without one */
} Run;

static bool open_part(Run *run, int output, bool valid, GError **error)
{
    const PrepareOptions *options = run->options;
    const ProgramOptions *programs = options->programs;
    g_autofree char *prefix = prepare_prefix(options, output, valid), *folder = g_path_get_dirname(prefix);
    DatasetMeta meta = dataset_meta_of(run->tok, options->append_eod);
    meta.held_out = valid;
    if (!io_make_directories(folder, error))
        return false;
    DatasetWriter *writer = run->outputs[output][valid] = dataset_writer_open(prefix, &meta, options->fairseq, error);
    if (!writer || !programs)
        return writer != NULL;
    if (!options->ndtypes)
        return dataset_writer_with_trees(writer, programs->grammars, error);
    return output == 0 || dataset_writer_with_ndtypes(writer, run->ndtypes, options->ffrecord, error);
}

/* Opens a dataset and, with --valid, its held-out set. */
static bool open_output(Run *run, int output, GError **error)
{
    return open_part(run, output, false, error) && (run->options->valid <= 0 || open_part(run, output, true, error));
}

static void count_ids(Run *run, const PipelineJob *job, const PipelineDocument *document)
{
    for (guint i = 0; run->id_counts && !document->valid && i < document->n_ids; i++)
        run->id_counts[g_array_index(job->ids, int32_t, document->first_id + i)]++;
}

/* The output that a document belongs to: that of its field, or of its language. */
static int output_of(const Run *run, const PipelineDocument *document)
{
    if (!run->options->programs)
        return document->field;
    return run->options->by_language && document->tree.outcome == SYNTAX_TREE ? document->tree.language + 1 : 0;
}

static bool write_document(Run *run, const PipelineJob *job, const PipelineDocument *document, GError **error)
{
    DatasetWriter *output = run->outputs[document->field][document->valid ? VALID : TRAIN];
    guint at = document->first_id;
    count_ids(run, job, document);
    for (guint i = 0; i < document->n_sequences; i++) {
        guint n = g_array_index(job->sequences, guint, document->first_sequence + i);
        if (!dataset_writer_add(output, &g_array_index(job->ids, int32_t, at), n, error))
            return false;
        at += n;
    }
    return dataset_writer_end_document(output, error);
}

/* Adds a program: each segment is a document with a tree of its own. node: the program's first node within the job. */
static bool write_program(Run *run, const PipelineJob *job, const PipelineDocument *document, guint node,
                          GError **error)
{
    const ProgramTree *tree = &document->tree;
    const TreeNode *nodes = (const TreeNode *)(void *)job->nodes->data;
    int language = tree->outcome == SYNTAX_TREE ? tree->language : -1, of = output_of(run, document);
    guint at = document->first_id;
    if (!run->outputs[of][TRAIN] && !open_output(run, of, error))
        return false;
    DatasetWriter *output = run->outputs[of][document->valid ? VALID : TRAIN];
    count_ids(run, job, document);
    program_count(&run->stats->programs[tree->language + 1], tree, (int64_t)document->bytes, document->n_ids);
    for (guint i = document->first_sequence; i < document->first_sequence + document->n_sequences; i++) {
        guint n = g_array_index(job->sequences, guint, i), n_nodes = g_array_index(job->n_nodes, guint, i);
        if (!dataset_writer_add_tree(output, &g_array_index(job->ids, int32_t, at), n, language, nodes + node, n_nodes,
                                     error))
            return false;
        at += n;
        node += n_nodes;
    }
    return true;
}

/* Whether a document is kept, judged by its length and text alone; counts one that is not. */
static bool is_wanted_document(const PrepareOptions *options, PrepareStats *stats, const PipelineDocument *document)
{
    int64_t n = (int64_t)document->n_ids - options->append_eod;
    if (document->dropped != DROPPED_NOT)
        stats->dropped[document->dropped]++;
    else if (document->n_ids == 0)
        stats->empty++;
    else if (n < options->min_tokens)
        stats->too_short++;
    else if (options->max_tokens > 0 && n > options->max_tokens)
        stats->too_long++;
    else
        return true;
    return false;
}

/* *kept becomes whether document i of the job is written; counts one that is not. */
static bool choose_document(Run *run, const PipelineJob *job, guint i, bool *kept, GError **error)
{
    bool repeats = false;
    *kept = is_wanted_document(run->options, run->stats, &g_array_index(job->documents, PipelineDocument, i));
    if (*kept && run->repeats &&
        !repeats_add(run->repeats, &g_array_index(job->signatures, RepeatSignature, i), &repeats, error))
        return false;
    run->stats->dropped[DROPPED_REPEAT] += repeats;
    *kept &= !repeats;
    return true;
}

/* Counts the characters of a document that has unknown tokens. */
static void count_unknown(Run *run, const PipelineJob *job, const PipelineDocument *document)
{
    const int32_t unk = tokenizer_unk(run->tok);
    for (guint i = 0; unk >= 0 && i < document->n_ids; i++)
        if (g_array_index(job->ids, int32_t, document->first_id + i) == unk) {
            unknown_characters_add(run->unknown, N_PARTS * output_of(run, document) + document->valid,
                                   job->text->str + document->begin, document->bytes);
            return;
        }
}

static bool write_job(Run *run, const PipelineJob *job, GError **error)
{
    PrepareStats *stats = run->stats;
    const PrepareOptions *options = run->options;
    guint node = 0;
    for (guint i = 0; i < job->documents->len; i++) {
        const PipelineDocument *document = &g_array_index(job->documents, PipelineDocument, i);
        bool kept;
        stats->bytes += document->bytes;
        if (!choose_document(run, job, i, &kept, error) ||
            (kept && !(options->programs ? write_program(run, job, document, node, error)
                                         : write_document(run, job, document, error))))
            return false;
        if (kept)
            count_unknown(run, job, document);
        for (guint k = 0; options->programs && k < document->n_sequences; k++)
            node += g_array_index(job->n_nodes, guint, document->first_sequence + k);
    }
    run->least_hash = MIN(run->least_hash, job->least_hash);
    stats->duplicates += job->duplicates;
    stats->empty += job->empty;
    stats->dropped[DROPPED_LICENCE] += job->unlicensed;
    return true;
}

static bool write_jobs(Run *run, Pipeline *pipeline, GError **error)
{
    for (;;) {
        PipelineJob *job = pipeline_next(pipeline);
        if (!write_job(run, job, error))
            return false;
        if (job->error)
            return fail_with(error, g_steal_pointer(&job->error));
        const volatile sig_atomic_t *interrupted = run->options->corpus.interrupted;
        if (interrupted && *interrupted)
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
    g_auto(GStrv) files = prepare_files(options);
    if (options->append_eod && tokenizer_eos(run->tok) < 0)
        return fail_user(error, "--append-eod: the tokenizer %s has no end-of-sequence token",
                         tokenizer_path(run->tok));
    CorpusOptions corpus = options->corpus;
    corpus.outputs = files;
    corpus.languages = options->programs != NULL;
    corpus.other_field = options->rules ? options->rules->licence_field : NULL;
    run->corpus = corpus_open(paths, n_paths, &corpus, error);
    if (!run->corpus || !io_make_directories(folder, error))
        return false;
    run->id_counts = options->fairseq ? g_new0(int64_t, tokenizer_size(run->tok)) : NULL;
    bool done = options->keep_duplicates || (run->seen = seen_table_open(folder, error));
    if (done && options->rules && options->rules->repeats)
        done = (run->repeats = seen_table_open(folder, error));
    if (done && options->ndtypes)
        done = (run->ndtypes = ndtype_dict_new(options->programs->grammars, options->programs->segment_tokens, error));
    for (int output = 0; done && !options->by_language && output < run->n_outputs; output++)
        done = open_output(run, output, error);
    return done || fail_context(error, "%s cannot be written", options->out);
}

static bool encode_all(Run *run, GError **error)
{
    const PrepareOptions *options = run->options;
    Pipeline *pipeline = pipeline_open(run->tok, run->corpus, run->seen, options, error);
    if (!pipeline)
        return false;
    progress_open("prepare", "B", corpus_total_bytes(run->corpus));
    bool good = write_jobs(run, pipeline, error);
    progress_close();
    pipeline_close(pipeline);
    return good;
}

static void add_counts(DatasetCounts *to, DatasetCounts *all, const DatasetWriter *output)
{
    *to = output ? output->meta.counts : (DatasetCounts){ 0 };
    all->documents += to->documents;
    all->tokens += to->tokens;
    all->unknown += to->unknown;
}

static void warn_nothing_held_out(const Run *run, int field)
{
    const char *prefix = run->outputs[field][VALID]->prefix;
    int64_t n = run->stats->outputs[field].train.documents;
    if (n == 1)
        log_warning("the only document is to be trained on: %s is empty, and no run can evaluate on it", prefix);
    else
        log_warning("none of %" PRId64 " documents fell into the %g %% held out: %s is empty, and no run can evaluate "
                    "on it; --valid %.0f%% holds one out",
                    n, 100 * run->options->valid, prefix, floor(100 * run->least_hash) + 1);
}

static void add_reason(GString *reasons, int64_t n, const char *reason)
{
    if (n > 0)
        g_string_append_printf(reasons, "%s%" PRId64 " since %s", reasons->len > 0 ? ", " : "", n, reason);
}

/* Fails because a dataset would have no documents; the message says how many each rule left out. */
static bool fail_no_document(const PrepareStats *stats, const char *prefix, GError **error)
{
    g_autoptr(GString) reasons = g_string_new(NULL);
    for (int i = DROPPED_NOT + 1; i < DROPPED_REASONS; i++)
        add_reason(reasons, stats->dropped[i], dropped_names[i].reason);
    add_reason(reasons, stats->too_short, "they are shorter than --min-tokens");
    add_reason(reasons, stats->too_long, "they are longer than --max-tokens");
    if (reasons->len == 0)
        return fail_user(error, "no document with text was found for %s; nothing was written", prefix);
    return fail_user(error, "every document for %s was dropped, %s; nothing was written", prefix, reasons->str);
}

static bool fail_all_held_out(const Run *run, const char *prefix, int64_t n, GError **error)
{
    return fail_user(error,
                     "every document of %s, %" PRId64 " of them, was held out by --valid %g%%, none is left to "
                     "train on; nothing was written",
                     prefix, n, 100 * run->options->valid);
}

/* Fails for a dataset without documents to train on. */
static bool check_output(const Run *run, int field, GError **error)
{
    const PrepareOptions *options = run->options;
    const PrepareCounts *counts = &run->stats->outputs[field];
    if (options->by_language)
        return true;
    const char *prefix = run->outputs[field][TRAIN]->prefix;
    if (counts->train.documents == 0 && counts->valid.documents > 0)
        return fail_all_held_out(run, prefix, counts->valid.documents, error);
    if (counts->train.documents == 0)
        return fail_no_document(run->stats, prefix, error);
    if (options->valid > 0 && counts->valid.documents == 0)
        warn_nothing_held_out(run, field);
    return true;
}

/* Whether all datasets are still this run's: files beside those of another process are its own, too. */
static bool check_owner(const Run *run, GError **error)
{
    for (int i = 0; i < run->n_outputs * N_PARTS; i++) {
        const DatasetWriter *output = run->outputs[i / N_PARTS][i % N_PARTS];
        if (output && !indexed_writer_check_owner(output->files, error))
            return false;
    }
    return true;
}

/* Removes an earlier PREFIX-valid first, so that it never holds documents of PREFIX, even if the program is killed. */
static bool finish_output(Run *run, int field, GError **error)
{
    DatasetWriter *train = run->outputs[field][TRAIN], *valid = run->outputs[field][VALID];
    g_autofree char *before = prepare_prefix(run->options, field, true);
    if (run->options->by_language && valid && valid->meta.counts.documents == 0)
        valid = NULL; /* no document of this language is held out */
    if (run->options->by_language && train->meta.counts.documents == 0)
        log_warning("all of %s is held out", train->prefix);
    for (int part = TRAIN; part < N_PARTS; part++)
        if (run->outputs[field][part] && run->outputs[field][part]->meta.counts.unknown > 0)
            unknown_characters_commonest(run->unknown, N_PARTS * field + part,
                                         run->outputs[field][part]->meta.commonest, sizeof train->meta.commonest);
    dataset_report_unknown(&train->meta, train->prefix);
    return (valid ? remove_dataset(before, error) : remove_held_out(before, train->prefix, error)) &&
           dataset_writer_finish(train, error) && (!valid || dataset_writer_finish(valid, error));
}

static bool finish_all(Run *run, GError **error)
{
    PrepareStats *stats = run->stats;
    stats->corpus = *corpus_counts(run->corpus);
    for (int i = 0; i < run->n_outputs; i++) {
        add_counts(&stats->outputs[i].train, &stats->all.train, run->outputs[i][TRAIN]);
        add_counts(&stats->outputs[i].valid, &stats->all.valid, run->outputs[i][VALID]);
        if (!check_output(run, i, error))
            return false;
    }
    if (stats->all.train.documents == 0 && stats->all.valid.documents > 0)
        return fail_all_held_out(run, run->options->out, stats->all.valid.documents, error);
    if (stats->all.train.documents == 0)
        return fail_no_document(stats, run->options->out, error);
    for (int i = 0; i < run->n_outputs; i++)
        if (run->outputs[i][TRAIN] && (!check_owner(run, error) || !finish_output(run, i, error)))
            return false;
    if (!check_owner(run, error))
        return false;
    if (run->options->by_language && !prepare_weights_write(run->options, stats, error))
        return false;
    if (run->ndtypes && !ndtype_dict_write(run->ndtypes, run->options->out, error))
        return false;
    return !run->id_counts || fairseq_lines_write_identity(run->tok, run->options->out, run->id_counts, error);
}

bool prepare_run(const Tokenizer *tok, char *const *paths, int n_paths, const PrepareOptions *options,
                 PrepareStats *stats, GError **error)
{
    double start = clock_seconds();
    *stats = (PrepareStats){ 0 };
    Run run = {
        .tok = tok, .options = options, .stats = stats, .n_outputs = prepare_outputs(options), .least_hash = 1
    };
    run.unknown = unknown_characters_new(tok, run.n_outputs * N_PARTS);
    bool good = open_all(&run, paths, n_paths, error) && encode_all(&run, error) && finish_all(&run, error);
    for (int i = 0; i < run.n_outputs * N_PARTS; i++)
        dataset_writer_close(run.outputs[i / N_PARTS][i % N_PARTS]);
    ndtype_dict_free(run.ndtypes);
    unknown_characters_free(run.unknown);
    g_free(run.id_counts);
    seen_table_close(run.seen);
    seen_table_close(run.repeats);
    corpus_close(run.corpus);
    stats->seconds = clock_seconds() - start;
    return good;
}
