/* batch.c: `loam inspect batch`: the samples that a training step reads, as text. */
#include "base/log.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/inspect/inspect.h"
#include "data/data_config.h"
#include "data/objectives/objectives.h"
#include "eval/heldout.h"
#include "run/checkpoint/checkpoint.h"
#include "run/config/config.h"
#include "run/metric_lines.h"
#include "run/run_dir.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define USAGE                                                                                                          \
    "loam inspect batch CONFIG.yaml [--step S | --first N] [--samples N] [--valid] [--json] [group.key=value]…"

static const char about[] =
    "Prints what the model sees at one step: inputs and targets with their sentinels, and the original text,\n"
    "on a terminal with the masked spans in colour. Steps count from 1, as in metrics.jsonl.\n"
    "\n"
    "  loam inspect batch config.yaml --step 3 --samples 2\n";

#define NOT_GIVEN INT64_MIN
static gint64 step = 1, first_sample = NOT_GIVEN, max_samples;
static gboolean as_json, held_out;
static const GOptionEntry entries[] = {
    CLI_VALUE("step", step, "S", "number of the step (default 1)"),
    CLI_VALUE("first", first_sample, "N",
              "show the samples from this one on, which counts from 0, instead of those of a step"),
    CLI_VALUE("samples", max_samples, "N", "show only the first N rows of the batch; 0 means all (default)"),
    CLI_SWITCH("valid", held_out, "show held-out data instead of training data"),
    CLI_SWITCH("json", as_json, "print one JSON object per sequence"),
    { 0 },
};

/* Target ids of the tokens [first, end); -100 if the loss ignores a token. */
static json_t *labels_json(const Batch *batch, int32_t first, int32_t end)
{
    json_t *array = json_array();
    for (int32_t row = first; row < end; row++)
        json_array_append_new(array, json_integer(batch->weights[row] > 0 ? batch->targets[row] : -100));
    return array;
}

static float label_value(const Batch *batch, int32_t i)
{
    float value;
    memcpy(&value, &batch->labels[i], sizeof value);
    return value;
}

/* Adds the label of sequence i, which has the tokens [first, end): "labels" of its tokens, a "value", the first and
 * last token of a "span", or a "label" (a class or a choice). Adds nothing if the sequence has no label. */
static void add_label(json_t *root, LabelKind kind, const Batch *batch, int32_t i, int32_t first, int32_t end)
{
    if (kind == LABELS_TOKENS)
        json_object_set_new(root, "labels", labels_json(batch, first, end));
    else if (batch->labels[i] == -1)
        return;
    else if (kind == LABELS_VALUE)
        json_object_set_new(root, "value", json_real((double)label_value(batch, i)));
    else if (kind == LABELS_SPAN)
        json_object_set_new(root, "span", json_pack("[i, i]", batch->labels[i], batch->label_ends[i]));
    else
        json_object_set_new(root, "label", json_integer(batch->labels[i]));
}

/* Sequence i of a batch: T5's inputs and targets, GPT's ids, BERT's inputs and labels. */
static bool print_batch_json(LabelKind kind, const Batch *batch, int32_t i, GError **error)
{
    const TokenStream *enc = &batch->enc, *dec = &batch->dec, *in = batch_input_stream(batch);
    int32_t first = in->cu[i], end = in->cu[i + 1];
    json_t *root = json_object();
    if (first_sample < 0)
        json_object_set_new(root, "step", json_integer(step));
    json_object_set_new(root, "sample", json_integer(in->sample[first]));
    json_object_set_new(root, enc->max_tokens > 0 ? "input_ids" : "ids", json_ids(in->ids + first, end - first));
    if (kind != LABELS_NONE)
        add_label(root, kind, batch, i, first, end);
    else if (enc->max_tokens > 0 && dec->max_tokens > 0)
        json_object_set_new(root, "target_ids", json_ids(batch->targets + dec->cu[i], dec->cu[i + 1] - dec->cu[i]));
    else
        json_object_set_new(root, "labels", labels_json(batch, first, end));
    if (in->prefix_length[i] > 0)
        json_object_set_new(root, "prefix", json_integer(in->prefix_length[i]));
    if (kind == LABELS_NONE && enc->max_tokens > 0 && dec->max_tokens == 0 && batch->labels[i] >= 0)
        json_object_set_new(root, "label", json_integer(batch->labels[i]));
    return print_json_line(root, error);
}

/* The text of ids with the end tokens between documents, which a decoded text leaves out. */
static char *text_with_ends(const Tokenizer *tok, const int32_t *ids, int64_t n, GError **error)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (int64_t start = 0, end; start < n; start = end + 1) {
        for (end = start; end < n - 1 && ids[end] != tokenizer_eos(tok);)
            end++;
        g_autofree char *part = tokenizer_decode(tok, ids + start, end + 1 - start, error);
        if (part == NULL)
            return NULL;
        g_string_append(text, part);
        if (end < n - 1)
            g_string_append(text, tokenizer_piece(tok, ids[end]));
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static bool print_ids(const char *what, const Tokenizer *tok, const int32_t *ids, int64_t n, GError **error)
{
    g_autofree char *text = text_with_ends(tok, ids, n, error);
    if (text)
        printf("%s (%" PRId64 ")\n%s\n", what, n, text);
    return text != NULL;
}

/* For a pair [CLS] A [SEP] B [SEP]: the label, and the text of B. */
static bool print_label(const Batch *batch, int32_t i, const Tokenizer *tok, GError **error)
{
    const TokenStream *enc = &batch->enc;
    if (enc->max_tokens == 0 || batch->labels[i] < 0)
        return true;
    int32_t at = enc->cu[i], end = enc->cu[i + 1];
    while (at < end && enc->ids[at] != tokenizer_eos(tok))
        at++;
    g_autofree char *what = g_strdup_printf("label %" PRId32 ", second part", batch->labels[i]);
    return at == end || print_ids(what, tok, enc->ids + at + 1, end - at - 1, error);
}

/* Prints the label of sequence i for a classifier: class numbers, a value, a span of tokens or a choice. */
static void print_answer(LabelKind kind, const Batch *batch, int32_t i)
{
    const TokenStream *stream = &batch->enc;
    if (kind == LABELS_VALUE)
        printf("value\n%g\n", (double)label_value(batch, i));
    else if (kind == LABELS_SPAN)
        printf("tokens\n%d to %d\n", batch->labels[i], batch->label_ends[i]);
    else if (kind != LABELS_TOKENS)
        printf("label\n%d\n", batch->labels[i]);
    for (int32_t row = stream->cu[i]; kind == LABELS_TOKENS && row < stream->cu[i + 1]; row++)
        if (batch->weights[row] > 0)
            printf("token %d: label %d\n", row - stream->cu[i], batch->targets[row]);
}

/* A sequence of an encoder-only model or a decoder-only model: its input and its targets. */
static bool print_single(const Loader *loader, const Batch *batch, int32_t i, const Tokenizer *tok, GError **error)
{
    const TokenStream *stream = batch_loss_stream(batch);
    const LabelKind kind = (LabelKind)loader_objective(loader)->label_kind;
    if (kind != LABELS_NONE) {
        bool good = print_ids("input", tok, stream->ids + stream->cu[i], stream->cu[i + 1] - stream->cu[i], error);
        print_answer(kind, batch, i);
        return good;
    }
    g_autofree int32_t *predicted = g_new(int32_t, stream->n_tokens);
    int64_t n = 0;
    for (int32_t row = stream->cu[i]; row < stream->cu[i + 1]; row++)
        if (batch->weights[row] > 0)
            predicted[n++] = batch->targets[row];
    return print_ids("input", tok, stream->ids + stream->cu[i], stream->cu[i + 1] - stream->cu[i], error) &&
           print_ids("predicted", tok, predicted, n, error) && print_label(batch, i, tok, error);
}

/* Terminal escape codes: underlined, in colours that are readable on light and dark backgrounds. */
static const char *const colours[] = { "\x1b[4;31m", "\x1b[4;32m", "\x1b[4;34m",
                                       "\x1b[4;35m", "\x1b[4;36m", "\x1b[4;33m" };
#define PLAIN "\x1b[0m"

static bool has_colours(void)
{
    const char *off = g_getenv("NO_COLOR"), *force = g_getenv("CLICOLOR_FORCE");
    if (off && *off)
        return false;
    return (force && *force && strcmp(force, "0") != 0) ||
           (isatty(STDOUT_FILENO) && g_strcmp0(g_getenv("TERM"), "dumb") != 0);
}

/* Prints the text with the tokens of each span coloured. The end of a run of tokens in the text is found by decoding
 * all tokens up to there. */
static bool print_runs(const int32_t *tokens, const int32_t *spans, int64_t n, const char *text, const Tokenizer *tok,
                       GError **error)
{
    size_t at = 0;
    for (int64_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && spans[end] == spans[i];)
            end++;
        g_autofree char *before = tokenizer_decode(tok, tokens, end, error);
        if (!before)
            return false;
        size_t stop = end == n ? strlen(text) : MAX(text_common(before, text), at);
        printf("%s%.*s%s", spans[i] < 0 ? "" : colours[(size_t)spans[i] % G_N_ELEMENTS(colours)], (int)(stop - at),
               text + at, spans[i] < 0 ? "" : PLAIN);
        at = stop;
    }
    printf("\n");
    return true;
}

/* Prints the original text of a sample, restored from its inputs and targets. On a terminal masked spans are coloured,
 * unless NO_COLOR is set in the environment. Prints nothing if inputs and targets do not match. */
static bool print_spans(const ObjectiveConfig *config, const Example *example, const Tokenizer *tok, GError **error)
{
    g_autofree int32_t *tokens = g_new(int32_t, config->raw_length), *spans = g_new(int32_t, config->raw_length);
    int64_t n = span_corruption_splice(config, example, tokens, spans);
    if (n < 0)
        return true;
    g_autofree char *text = tokenizer_decode(tok, tokens, n, error);
    if (!text)
        return false;
    printf("text (%" PRId64 ")\n", n);
    if (has_colours())
        return print_runs(tokens, spans, n, text, tok, error);
    printf("%s\n", text);
    return true;
}

static bool print_pair(const Loader *loader, const Batch *batch, int32_t i, const Tokenizer *tok, GError **error)
{
    const TokenStream *enc = &batch->enc, *dec = &batch->dec;
    const Example example = { .inputs = enc->ids + enc->cu[i],
                              .targets = batch->targets + dec->cu[i],
                              .n_inputs = enc->cu[i + 1] - enc->cu[i],
                              .n_targets = dec->cu[i + 1] - dec->cu[i] };
    return print_ids("input", tok, example.inputs, example.n_inputs, error) &&
           print_ids("target", tok, example.targets, example.n_targets, error) &&
           print_spans(loader_objective(loader), &example, tok, error);
}

static bool print_row(const Loader *loader, const Tokenizer *tok, int64_t row, const Batch *batch, GError **error)
{
    const TokenStream *in = batch_input_stream(batch);
    bool good = true;
    for (int32_t i = 0; good && i < in->n_seq; i++) {
        if (as_json) {
            good = print_batch_json((LabelKind)loader_objective(loader)->label_kind, batch, i, error);
            continue;
        }
        if (first_sample < 0)
            printf("=== step %" PRId64 ", ", step);
        printf("%srow %" PRId64 ", sample %" PRId64 "\n", first_sample < 0 ? "" : "=== ", row, in->sample[in->cu[i]]);
        good = batch->enc.max_tokens > 0 && batch->dec.max_tokens > 0 ? print_pair(loader, batch, i, tok, error)
                                                                      : print_single(loader, batch, i, tok, error);
    }
    return good;
}

static bool print_rows(Loader *loader, const Tokenizer *tok, int64_t first, int64_t n, GError **error)
{
    g_autoptr(Batch) batch = loader_batch(loader, 1);
    bool good = true;
    for (int64_t i = first; good && i < first + n; i++)
        good = loader_get(loader, i, 1, batch, error) && print_row(loader, tok, i, batch, error);
    return good;
}

/* ---- which samples a step of a run has read, or will read ---- */

/* Samples of a step: [first, first + n). */
typedef struct StepSamples {
    int64_t first, n;
} StepSamples;

#define FAR ((int64_t)1000000000000000000)

/* What a run had read after a step. */
typedef struct Point {
    int64_t step, samples, tokens;
} Point;

/* The last known point before a step, and the first one at or after it; its step is -1 if there is none. */
typedef struct Around {
    int64_t step;
    Point before, after;
} Around;

static void take_point(Around *around, Point point)
{
    if (point.step < around->step && point.step >= around->before.step)
        around->before = point;
    else if (point.step >= around->step && (around->after.step < 0 || point.step <= around->after.step))
        around->after = point;
}

static void take_logged(Around *around, const char *dir)
{
    MetricReader reader;
    if (!metric_reader_open(&reader, dir, NULL))
        return;
    while (metric_reader_next(&reader)) {
        const MetricRecord *record = &reader.record;
        const double samples = metric_number(record->json, "samples"), tokens = metric_number(record->json, "tokens");
        if (record->kind == METRIC_TRAIN && record->step >= 0 && samples >= 0 && samples <= 0x1p53)
            take_point(around, (Point){ record->step, (int64_t)samples, tokens <= 0x1p53 ? (int64_t)tokens : 0 });
    }
    metric_reader_close(&reader, NULL);
}

static void take_saved(Around *around, const char *dir)
{
    TrainState state;
    g_autoptr(GArray) steps = run_checkpoints(dir);
    for (guint i = 0; i < steps->len; i++) {
        g_autofree char *folder = run_checkpoint_path(dir, g_array_index(steps, int64_t, i));
        if (checkpoint_state(folder, &state, NULL))
            take_point(around, (Point){ state.steps, state.samples, state.tokens });
    }
}

/* The options by which samples are counted. */
typedef struct Counting {
    BatchSchedule batches;
    SkipRange skips[SKIP_RANGES];
    int n_skips;
} Counting;

static int64_t after_skips(const Counting *by, Point at)
{
    for (int64_t next;
         (next = config_skip_range(by->skips, by->n_skips, &by->batches, at.samples, at.tokens)) > at.samples;)
        at.samples = next;
    return at.samples;
}

/* Number of next steps, at most `most`, that read as many samples as the next one and skip none. at: after_skips. */
static int64_t steps_alike(const Counting *by, Point at, int64_t batch, int64_t most)
{
    int64_t n = MIN(most, batch_lasts(&by->batches, at.samples, at.tokens));
    for (int i = 0; i < by->n_skips; i++)
        if (by->skips[i].first >= at.samples)
            n = MIN(n, (by->skips[i].first - at.samples) / batch);
    return n;
}

/* The point after step `last`, as the options lead to it. The counts of many steps stop at FAR. */
static Point advance(const Counting *by, Point at, int64_t last)
{
    while (at.step < last) {
        at.samples = after_skips(by, at);
        const int64_t batch = batch_at(&by->batches, at.samples, at.tokens), length = by->batches.input_length,
                      n = steps_alike(by, at, batch, last - at.step),
                      samples = n <= (FAR - at.samples) / batch ? n * batch : MAX(batch, FAR - at.samples);
        at = (Point){ at.step + n, at.samples + samples,
                      samples <= (FAR - at.tokens) / length ? at.tokens + samples * length : FAR };
    }
    return at;
}

/* The samples of step `number`, which counts from 1, by the options of the configuration (train.batch, its schedule and
 * train.skip_samples), from the last step before it on of which metrics.jsonl or a checkpoint of the run `dir` says how
 * many samples were read; dir NULL means from step 0. If the options do not lead to the number that the run recorded
 * next, they were others at that time: then the samples are those of equal steps in between, and a warning says so if
 * that is not certain. */
static StepSamples step_samples(const Config *config, const char *dir, int64_t number)
{
    Counting by;
    Around around = { .step = number, .after = { .step = -1 } };
    config_batch_schedule(config, true, &by.batches, NULL);
    config_skip_ranges(config, by.skips, &by.n_skips, NULL);
    if (dir) {
        take_logged(&around, dir);
        take_saved(&around, dir);
    }
    Point at = advance(&by, around.before, number - 1);
    at.samples = after_skips(&by, at);
    const StepSamples samples = { at.samples, advance(&by, at, number).samples - at.samples };
    const Point before = around.before, after = around.after;
    if (after.step < 0 || advance(&by, at, after.step).samples == after.samples)
        return samples;
    const int64_t n = MAX(1, (after.samples - before.samples) / (after.step - before.step));
    if (after.step > before.step + 1)
        log_warning("%s read samples %" PRId64 " to %" PRId64 " in steps %" PRId64 " to %" PRId64
                    ", with another train.batch or train.skip_samples than it has now; which of them were step %" PRId64
                    " is a guess",
                    dir, before.samples, after.samples - 1, before.step + 1, after.step, number);
    return (StepSamples){ after.samples - n * (after.step - number + 1), n };
}

/* ---- the verb ---- */

/* Warns if the newest checkpoint of the run was trained on another dataset. */
static void compare_data(const Loader *loader, const char *dir, const Config *config)
{
    TrainState state;
    g_autoptr(GArray) steps = run_checkpoints(dir);
    for (guint i = 0; i < steps->len; i++) {
        g_autofree char *folder = run_checkpoint_path(dir, g_array_index(steps, int64_t, i));
        if (!checkpoint_state(folder, &state, NULL))
            continue;
        if (state.data != loader_fingerprint(loader))
            log_warning("%s was trained on other data than %s holds now: it is another dataset, or was made again; the "
                        "run has not read these samples",
                        folder, config->data.train);
        return;
    }
}

/* Prints the batch of a step; with --valid, of the first held-out set. */
static bool show_rows(const Config *config, const char *dir, const Tokenizer *tok, GError **error)
{
    uint64_t seed = (uint64_t)config->run.seed;
    const StepSamples samples = step_samples(config, held_out ? NULL : dir, step);
    const int64_t first = first_sample >= 0 ? first_sample : samples.first,
                  n = max_samples > 0 ? MIN(max_samples, samples.n) : samples.n;
    if (held_out) {
        g_autoptr(GPtrArray) sets = heldout_sets_open(&config->data, tok, seed, error);
        if (sets && sets->len == 0)
            return fail_user(error, "data.valid is not set: name a dataset that loam prepare made");
        return sets && print_rows(((HeldoutSet *)sets->pdata[0])->loader, tok, first, n, error);
    }
    g_autofree char *train = sources_train(&config->data, error);
    g_autoptr(Loader) loader = train ? loader_open(&config->data, train, tok, seed, false, error) : NULL;
    if (loader && dir)
        compare_data(loader, dir, config);
    return loader && print_rows(loader, tok, first, n, error);
}

/* Sets the error for a dataset that the configuration `source` does not name. */
static bool fail_no_data(const Config *config, const char *option, const char *source, GError **error)
{
    if (!task_is_set(&config->task))
        return fail_user(error, "%s is not set: name a dataset that loam prepare made", option);
    g_autofree char *file = text_shell_word(source), *dir = text_shell_word(config->run.dir);
    const bool named = *config->run.dir != '\0';
    return fail_user(error,
                     "%s is not set, and a run makes the dataset of its task when it begins: loam task show %s prints "
                     "examples, loam inspect batch %s the batches of the run",
                     option, file, named ? dir : "RUN");
}

static bool show_batch(const Config *config, const char *source, const char *dir, GError **error)
{
    int64_t samples = config_batch_samples(config);
    if (*config->tokenizer.path == 0)
        return fail_user(error, "tokenizer.path is not set: name the tokenizer of the dataset");
    if (*config->data.train == 0 && !(held_out && *config->data.valid))
        return fail_no_data(config, held_out ? "data.valid" : "data.train", source, error);
    if (step > INT64_MAX / samples)
        return fail_user(error, "--step %" PRId64 ": too large", step);
    if (!config_check_kept(config, held_out ? config->data.valid : config->data.train,
                           "loam task show RUN/config.yaml prints those of its table", error))
        return false;
    g_autoptr(Tokenizer) tok = config_open_tokenizer(config, error);
    return tok && show_rows(config, dir, tok, error);
}

bool inspect_batch(int argc, char **argv, GError **error)
{
    if (!cli_parse(&argc, &argv, entries, USAGE, about, error))
        return false;
    if (argc < 2)
        return fail_user(error, "no configuration given; usage: " USAGE);
    if (step < 1)
        return fail_user(error, "--step %" PRId64 ": steps count from 1", step);
    if (first_sample < 0 && first_sample != NOT_GIVEN)
        return fail_user(error, "--first %" PRId64 ": samples count from 0", first_sample);
    if (max_samples < 0)
        return fail_user(error, "--samples %" PRId64 " is out of range: a number of rows, or 0 for all", max_samples);
    g_auto(Config) config = { 0 };
    g_autofree char *dir = run_of(argv[1]);
    return config_load_run(&config, argv[1], argv + 2, argc - 2, error) && show_batch(&config, argv[1], dir, error);
}
