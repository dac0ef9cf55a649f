#include "data/prepare/prepare_pipeline.h"

#include <string.h>
#include <xxhash.h>

#define JOB_BYTES ((size_t)128 << 10) /* a job gets documents until it has this many bytes of text */
/* No new job is read while the unfinished jobs have more bytes of text than this. */
#define BYTES_UNDER_WAY ((size_t)256 << 20)
#define JOBS_PER_WORKER 4
/* From a .txt file longer than this, read as one document, parts are held out. */
#define DIVIDED_BYTES ((size_t)64 << 10)
#define STRETCH_BYTES ((size_t)4 << 10) /* approximate size of such a part */
#define VALID_SEED    0x76616c6964u     /* seed of the hash that chooses held-out documents; an arbitrary constant */

/* Job i is in slot i mod n_slots. read, written: numbers of jobs read from the corpus and taken by the caller. */
struct Pipeline {
    const Tokenizer *tok;
    Corpus *corpus;
    SeenTable *seen;
    const PrepareOptions *options;

    GMutex mutex; /* guards the fields below and the states of the jobs */
    GCond changed;
    PipelineJob *slots;
    int64_t n_slots, read, written;
    size_t bytes_under_way;
    bool stop;

    GThread *reader;
    GThreadPool *workers;
};

static void job_init(PipelineJob *job)
{
    job->text = g_string_new(NULL);
    job->documents = g_array_new(false, false, sizeof(PipelineDocument));
    job->ids = g_array_new(false, false, sizeof(int32_t));
    job->sequences = g_array_new(false, false, sizeof(guint));
    job->n_nodes = g_array_new(false, false, sizeof(guint));
    job->nodes = g_array_new(false, false, sizeof(TreeNode));
    job->signatures = g_array_new(false, true, sizeof(RepeatSignature));
}

static void job_clear(PipelineJob *job)
{
    g_string_free(job->text, true);
    g_array_unref(job->documents);
    g_array_unref(job->ids);
    g_array_unref(job->sequences);
    g_array_unref(job->n_nodes);
    g_array_unref(job->nodes);
    g_array_unref(job->signatures);
    g_clear_error(&job->error);
    g_free(job->where);
}

/* Whether the text is held out: its hash, as a number in [0, 1), is less than the fraction to hold out. */
static bool is_held_out(PipelineJob *job, const char *text, size_t bytes, double share)
{
    double hash = (double)(XXH3_64bits_withSeed(text, bytes, VALID_SEED) >> 11) * 0x1p-53;
    job->least_hash = MIN(job->least_hash, hash);
    return hash < share;
}

/* A seed for the hash of a document, computed from the lengths of its fields, because documents whose fields are
 * divided differently are not duplicates. 0 for a single field. */
static uint64_t fields_seed(const Corpus *corpus)
{
    uint64_t seed = 0;
    for (int field = 1; field < corpus_fields(corpus); field++) {
        size_t range[2];
        corpus_field(corpus, field, &range[0], &range[1]);
        seed = XXH3_64bits_withSeed(range, sizeof range, seed);
    }
    return seed;
}

/* With PrepareOptions.programs: the grammars of the corpus's current document. */
static ProgramTree grammars_of(const Pipeline *pipeline)
{
    const ProgramOptions *programs = pipeline->options->programs;
    const char *name = programs ? corpus_language(pipeline->corpus) : NULL;
    return (ProgramTree){ .language = programs ? grammars_find(programs->grammars, name) : -1,
                          .rival = programs ? grammars_rival(programs->grammars, name) : -1 };
}

/* Adds each field of a document as a separate document; empty fields are only counted. */
static void add_fields(Pipeline *pipeline, PipelineJob *job, const char *text, size_t bytes)
{
    const ProgramTree tree = grammars_of(pipeline);
    bool valid = is_held_out(job, text, bytes, pipeline->options->valid);
    for (int field = 0; field < corpus_fields(pipeline->corpus); field++) {
        PipelineDocument document = { .field = field, .valid = valid, .tree = tree };
        corpus_field(pipeline->corpus, field, &document.begin, &document.bytes);
        document.begin += job->text->len;
        if (document.bytes > 0)
            g_array_append_val(job->documents, document);
        else
            job->empty++;
    }
    g_string_append_len(job->text, text, (gssize)bytes);
}

/* The end of a part of a text of about STRETCH_BYTES from `at` on: after an empty line, otherwise after a line. */
static size_t stretch_end(const char *text, size_t bytes, size_t at)
{
    static const char *const ends[] = { "\n\n", "\n" };
    if (bytes - at < 2 * STRETCH_BYTES)
        return bytes;
    const char *from = text + at + STRETCH_BYTES;
    for (size_t i = 0; i < G_N_ELEMENTS(ends); i++) {
        const char *end = memmem(from, STRETCH_BYTES, ends[i], strlen(ends[i]));
        if (end)
            return (size_t)(end - text) + strlen(ends[i]);
    }
    while (((unsigned char)*from & 0xC0) == 0x80)
        from++;
    return (size_t)(from - text);
}

/* A long text, such as a novel, is held out in parts, not as a whole; the text between two parts is one document. */
static void add_stretches(Pipeline *pipeline, PipelineJob *job, const char *text, size_t bytes)
{
    const ProgramTree tree = grammars_of(pipeline);
    guint first = job->documents->len;
    for (size_t at = 0, end; at < bytes; at = end) {
        end = stretch_end(text, bytes, at);
        bool valid = is_held_out(job, text + at, end - at, pipeline->options->valid);
        PipelineDocument document = { .begin = job->text->len + at, .bytes = end - at, .valid = valid, .tree = tree };
        PipelineDocument *last = job->documents->len > first
                                     ? &g_array_index(job->documents, PipelineDocument, job->documents->len - 1)
                                     : NULL;
        if (last && last->valid == valid)
            last->bytes += document.bytes;
        else
            g_array_append_val(job->documents, document);
    }
    g_string_append_len(job->text, text, (gssize)bytes);
}

/* Adds a document to the job, unless an equal text was read before. */
static bool add_document(Pipeline *pipeline, PipelineJob *job, const char *text, size_t bytes)
{
    const CleaningRules *rules = pipeline->options->rules;
    if (rules && !cleaning_has_licence(rules, corpus_record(pipeline->corpus))) {
        job->unlicensed++;
        return true;
    }
    if (pipeline->seen && bytes > 0) {
        XXH128_hash_t hash = XXH3_128bits_withSeed(text, bytes, fields_seed(pipeline->corpus));
        bool fresh;
        if (!seen_table_add(pipeline->seen, hash.low64, hash.high64, &fresh, &job->error))
            return false;
        if (!fresh) {
            job->duplicates++;
            return true;
        }
    }
    if (pipeline->options->valid > 0 && bytes > DIVIDED_BYTES && corpus_is_whole_text(pipeline->corpus))
        add_stretches(pipeline, job, text, bytes);
    else
        add_fields(pipeline, job, text, bytes);
    if (!job->where)
        job->where = g_strdup(corpus_record(pipeline->corpus)->where);
    return true;
}

static void fill_job(Pipeline *pipeline, PipelineJob *job)
{
    const char *text;
    size_t bytes;
    g_string_truncate(job->text, 0);
    g_array_set_size(job->documents, 0);
    g_array_set_size(job->ids, 0);
    g_array_set_size(job->sequences, 0);
    g_array_set_size(job->n_nodes, 0);
    g_array_set_size(job->nodes, 0);
    g_array_set_size(job->signatures, 0);
    g_clear_pointer(&job->where, g_free);
    job->duplicates = job->empty = job->unlicensed = 0;
    job->least_hash = 1;
    job->last = false;
    while (!job->last && job->text->len < JOB_BYTES)
        job->last =
            !corpus_next(pipeline->corpus, &text, &bytes, &job->error) || !add_document(pipeline, job, text, bytes);
    job->done_bytes = corpus_done_bytes(pipeline->corpus);
}

static void *read_jobs(void *argument)
{
    Pipeline *pipeline = argument;
    g_mutex_lock(&pipeline->mutex);
    for (bool last = false; !last;) {
        PipelineJob *job = &pipeline->slots[pipeline->read % pipeline->n_slots];
        while (!pipeline->stop && (job->state != JOB_FREE || pipeline->bytes_under_way > BYTES_UNDER_WAY))
            g_cond_wait(&pipeline->changed, &pipeline->mutex);
        if (pipeline->stop)
            break;
        g_mutex_unlock(&pipeline->mutex);
        fill_job(pipeline, job);
        g_mutex_lock(&pipeline->mutex);
        last = job->last;
        job->state = JOB_ENCODING;
        pipeline->bytes_under_way += job->text->len;
        pipeline->read++;
        g_thread_pool_push(pipeline->workers, job, NULL);
    }
    g_mutex_unlock(&pipeline->mutex);
    return NULL;
}

/* Adds a sequence to the job unless the text has no token. */
static bool encode_sequence(const Tokenizer *tok, const PrepareOptions *options, PipelineJob *job, const char *text,
                            size_t bytes, GError **error)
{
    guint before = job->ids->len;
    if (!tokenizer_encode(tok, text, bytes, options->specials, job->ids, error))
        return false;
    guint n = job->ids->len - before;
    if (n > 0)
        g_array_append_val(job->sequences, n);
    return true;
}

static bool encode_document(const Tokenizer *tok, ProgramEncoder *programs, const PrepareOptions *options,
                            PipelineJob *job, PipelineDocument *document, GError **error)
{
    const char *at = job->text->str + document->begin, *end = at + document->bytes, *sentence;
    const int32_t eos = tokenizer_eos(tok);
    size_t bytes;
    document->first_id = job->ids->len;
    document->first_sequence = job->sequences->len;
    document->dropped = options->rules ? cleaning_check(options->rules, at, document->bytes) : DROPPED_NOT;
    if (document->dropped != DROPPED_NOT)
        return true;
    const ProgramSegments segments = { job->ids, job->sequences, job->nodes, job->n_nodes };
    if (programs && !program_encode(programs, at, document->bytes, options->specials, &document->tree, segments, error))
        return false;
    if (!programs && !options->split_sentences && !encode_sequence(tok, options, job, at, document->bytes, error))
        return false;
    while (options->split_sentences && sentence_next(&at, end, options->keep_newlines, &sentence, &bytes))
        if (!encode_sequence(tok, options, job, sentence, bytes, error))
            return false;
    if (options->append_eod && !programs && job->ids->len > document->first_id) {
        g_array_append_val(job->ids, eos);
        g_array_index(job->sequences, guint, job->sequences->len - 1)++;
    }
    document->n_ids = job->ids->len - document->first_id;
    document->n_sequences = job->sequences->len - document->first_sequence;
    return true;
}

static void encode_job(void *data, void *opaque)
{
    PipelineJob *job = data;
    Pipeline *pipeline = opaque;
    const ProgramOptions *options = pipeline->options->programs;
    ProgramEncoder *programs = options ? program_encoder_open(pipeline->tok, options) : NULL;
    const bool signs = pipeline->options->rules && pipeline->options->rules->repeats;
    g_autoptr(GError) problem = NULL;
    g_array_set_size(job->signatures, signs ? job->documents->len : 0);
    for (guint i = 0; i < job->documents->len; i++) {
        PipelineDocument *document = &g_array_index(job->documents, PipelineDocument, i);
        if (signs)
            repeats_sign(job->text->str + document->begin, document->bytes,
                         &g_array_index(job->signatures, RepeatSignature, i));
        if (!encode_document(pipeline->tok, programs, pipeline->options, job, document, &problem))
            g_array_set_size(job->documents, i);
    }
    program_encoder_close(programs);
    if (problem) {
        g_clear_error(&job->error);
        g_propagate_prefixed_error(&job->error, g_steal_pointer(&problem), "near %s: ", job->where);
    }
    G_GNUC_UNUSED g_autoptr(GMutexLocker) held = g_mutex_locker_new(&pipeline->mutex);
    job->state = JOB_ENCODED;
    g_cond_broadcast(&pipeline->changed);
}

Pipeline *pipeline_open(const Tokenizer *tok, Corpus *corpus, SeenTable *seen, const PrepareOptions *options,
                        GError **error)
{
    Pipeline *pipeline = g_new0(Pipeline, 1);
    int n_workers = options->workers > 0 ? options->workers : (int)g_get_num_processors();
    g_autoptr(GError) refused = NULL;
    pipeline->tok = tok;
    pipeline->corpus = corpus;
    pipeline->seen = seen;
    pipeline->options = options;
    pipeline->n_slots = (int64_t)n_workers * JOBS_PER_WORKER;
    pipeline->slots = g_new0(PipelineJob, pipeline->n_slots);
    for (int64_t i = 0; i < pipeline->n_slots; i++)
        job_init(&pipeline->slots[i]);
    g_mutex_init(&pipeline->mutex);
    g_cond_init(&pipeline->changed);
    pipeline->workers = g_thread_pool_new(encode_job, pipeline, n_workers, TRUE, &refused);
    if (refused) {
        fail_machine(error, "%d threads could not be started: %s", n_workers, refused->message);
        g_clear_pointer(&pipeline, pipeline_close);
        return NULL;
    }
    pipeline->reader = g_thread_new("corpus", read_jobs, pipeline);
    return pipeline;
}

void pipeline_close(Pipeline *pipeline)
{
    if (!pipeline)
        return;
    g_mutex_lock(&pipeline->mutex);
    pipeline->stop = true;
    g_cond_broadcast(&pipeline->changed);
    g_mutex_unlock(&pipeline->mutex);
    g_clear_pointer(&pipeline->reader, g_thread_join);
    g_thread_pool_free(pipeline->workers, TRUE, TRUE);
    for (int64_t i = 0; i < pipeline->n_slots; i++)
        job_clear(&pipeline->slots[i]);
    g_mutex_clear(&pipeline->mutex);
    g_cond_clear(&pipeline->changed);
    g_free(pipeline->slots);
    g_free(pipeline);
}

PipelineJob *pipeline_next(Pipeline *pipeline)
{
    G_GNUC_UNUSED g_autoptr(GMutexLocker) held = g_mutex_locker_new(&pipeline->mutex);
    if (pipeline->written > 0) {
        PipelineJob *previous = &pipeline->slots[(pipeline->written - 1) % pipeline->n_slots];
        pipeline->bytes_under_way -= previous->text->len;
        previous->state = JOB_FREE;
        g_cond_broadcast(&pipeline->changed);
    }
    PipelineJob *job = &pipeline->slots[pipeline->written++ % pipeline->n_slots];
    while (job->state != JOB_ENCODED)
        g_cond_wait(&pipeline->changed, &pipeline->mutex);
    return job;
}
