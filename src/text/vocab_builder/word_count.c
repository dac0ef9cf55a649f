#include "text/vocab_builder/vocab_builder.h"

#include "base/log.h"
#include "base/text.h"

#include <inttypes.h>

/* Bytes of text per job; a constant, because it determines when rare words are removed. */
#define JOB_BYTES       ((size_t)1 << 20)
#define JOBS_PER_WORKER 3
#define DEFAULT_MEMORY  ((size_t)2 << 30) /* a constant, because the result may depend on it */

/* Estimated memory in bytes, in this table and later in the merge learner: per word (entry and slots), and per byte of
 * a word (symbol, positions, pairs). */
#define WORD_BYTES 48
#define BYTE_BYTES 48

/* Several texts of the corpus, counted by one thread. */
typedef struct Job {
    GString *text;
    GArray *ends; /* size_t: end of each text, as an offset in `text` */
    WordTable words;
    bool counted;
} Job;

typedef struct Counter {
    const WordSplitter *splitter;
    GMutex mutex; /* guards Job.counted */
    GCond changed;
    Job *jobs; /* job i is jobs[i % n_jobs] */
    int64_t n_jobs, started, taken, n_texts;
    GThreadPool *pool;
    WordTable *words;
    size_t memory;
    int64_t removed; /* the count of a word may be too low by at most this */
} Counter;

static void count_job(gpointer data, gpointer opaque)
{
    Job *job = data;
    Counter *counter = opaque;
    size_t start = 0;
    for (guint i = 0; i < job->ends->len; i++) {
        size_t end = g_array_index(job->ends, size_t, i);
        counter->splitter->split(counter->splitter->context, job->text->str + start, end - start, &job->words);
        start = end;
    }
    G_GNUC_UNUSED g_autoptr(GMutexLocker) held = g_mutex_locker_new(&counter->mutex);
    job->counted = true;
    g_cond_signal(&counter->changed);
}

static bool counter_init(Counter *counter, int workers, GError **error)
{
    workers = workers > 0 ? workers : (int)g_get_num_processors();
    g_mutex_init(&counter->mutex);
    g_cond_init(&counter->changed);
    counter->n_jobs = (int64_t)workers * JOBS_PER_WORKER;
    counter->jobs = g_new0(Job, counter->n_jobs);
    for (int64_t i = 0; i < counter->n_jobs; i++) {
        counter->jobs[i].text = g_string_new(NULL);
        counter->jobs[i].ends = g_array_new(FALSE, FALSE, sizeof(size_t));
        word_table_init(&counter->jobs[i].words);
    }
    g_autoptr(GError) refused = NULL;
    counter->pool = g_thread_pool_new(count_job, counter, workers, TRUE, &refused);
    return !refused || fail_machine(error, "%d threads could not be started: %s", workers, refused->message);
}

static void counter_clear(Counter *counter)
{
    if (counter->pool)
        g_thread_pool_free(counter->pool, FALSE, TRUE);
    for (int64_t i = 0; i < counter->n_jobs; i++) {
        g_string_free(counter->jobs[i].text, TRUE);
        g_array_unref(counter->jobs[i].ends);
        word_table_clear(&counter->jobs[i].words);
    }
    g_free(counter->jobs);
    g_mutex_clear(&counter->mutex);
    g_cond_clear(&counter->changed);
}

/* Memory for the words that occur more than `count` times, in bytes. */
static size_t cost_above(const WordTable *words, int64_t count)
{
    size_t cost = 0;
    for (size_t i = 0; i < words->n; i++)
        if (words->entries[i].count > count)
            cost += WORD_BYTES + BYTE_BYTES * (size_t)words->entries[i].bytes;
    return cost;
}

/* If the memory limit is exceeded, removes rare words until half of the memory is free. */
static void remove_rare(Counter *counter)
{
    WordTable *words = counter->words;
    if (WORD_BYTES * words->n + BYTE_BYTES * words->text_bytes <= counter->memory)
        return;
    int64_t count = 1;
    while (cost_above(words, count) > counter->memory / 2)
        count *= 2;
    word_table_prune(words, count);
    counter->removed += count;
}

/* Waits for the oldest job and adds its words to the table. */
static void take_job(Counter *counter)
{
    Job *job = &counter->jobs[counter->taken++ % counter->n_jobs];
    g_mutex_lock(&counter->mutex);
    while (!job->counted)
        g_cond_wait(&counter->changed, &counter->mutex);
    g_mutex_unlock(&counter->mutex);
    word_table_add_all(counter->words, &job->words);
    remove_rare(counter);
}

/* Fills a free job with the next texts; false at the end of the corpus or on an error. */
static bool fill_job(Counter *counter, Job *job, TokenizerText next, void *context, GError **error)
{
    const char *text;
    size_t bytes;
    g_string_truncate(job->text, 0);
    g_array_set_size(job->ends, 0);
    word_table_empty(&job->words);
    job->counted = false;
    while (job->text->len < JOB_BYTES) {
        if (!next(context, &text, &bytes, error))
            return false;
        counter->n_texts++;
        if (!g_utf8_validate_len(text, bytes, NULL))
            return fail_user(error, "text %" PRId64 " of those to train on is not valid UTF-8", counter->n_texts);
        g_string_append_len(job->text, text, (gssize)bytes);
        g_array_append_val(job->ends, job->text->len);
    }
    return true;
}

bool word_count(WordTable *words, const WordSplitter *splitter, int workers, int64_t memory, TokenizerText next,
                void *context, GError **error)
{
    Counter counter = { .splitter = splitter, .words = words, .memory = memory ? (size_t)memory : DEFAULT_MEMORY };
    GError *wrong = NULL;
    bool more = counter_init(&counter, workers, &wrong);
    while (more) {
        if (counter.started - counter.taken == counter.n_jobs)
            take_job(&counter);
        Job *job = &counter.jobs[counter.started++ % counter.n_jobs];
        more = fill_job(&counter, job, next, context, &wrong);
        g_thread_pool_push(counter.pool, job, NULL);
    }
    while (counter.taken < counter.started)
        take_job(&counter);
    counter_clear(&counter);
    if (wrong)
        return fail_with(error, wrong);
    if (counter.removed > 0) {
        g_autofree char *bound = text_bytes(counter.memory);
        log_warning("the words outgrew %s: the rarest were forgotten on the way, and counts may be %" PRId64
                    " too low; --memory raises the bound",
                    bound, counter.removed);
    }
    return word_table_report_long(words->left_out, splitter->longest, words->n > 0, error);
}
