/* eval.c: `loam eval`: the loss on held-out data, scores of given targets, scores on a task. */
#include "cli/eval/eval.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/task_model.h"
#include "eval/heldout.h"

#include <inttypes.h>
#include <string.h>

#define USAGE                                                                                                          \
    "loam eval MODEL (data.valid=PREFIX [--samples N] [--unigram] [--json] | --task [NAME] [--samples N] "             \
    "[--rank HOW] [--shots K] [--out FILE] | "                                                                         \
    "--score FILE [--out FILE]) [group.key=value]…"

static const char about[] =
    "Computes the loss (nats per target token), perplexity, accuracy and bits per byte of a model on held-out data.\n"
    "MODEL is a run directory (also RUN@best, RUN@1000), a checkpoint or a Hugging Face folder. A run has stored its\n"
    "data options and its precision; for other models give them on the command line (train.precision: default f32).\n"
    "\n"
    "--task instead lets the model answer the examples of its task (or of task.name and task.valid) and prints the "
    "task's\n"
    "scores. For humaneval, mbpp and similar tasks it runs the generated programs in a sandbox and prints pass@k.\n"
    "--rank chooses the most likely of the task's labels instead of generating text; --shots K puts K labelled "
    "examples\n"
    "before each input. --score computes the log-probability of given targets.\n"
    "\n"
    "  loam eval runs/a data.valid=data/valid\n"
    "  loam eval runs/rte --task --out predictions.jsonl\n"
    "  loam eval gpt2/ --task sst2 task.data=glue/SST-2 --shots 4 --rank sum\n"
    "  loam eval runs/a --task humaneval task.valid=HumanEval.jsonl.gz --n 10 --temperature 0.8\n"
    "  loam eval --task humaneval task.valid=HumanEval.jsonl.gz --predictions samples.jsonl\n"
    "  loam eval runs/a --score pairs.jsonl --out scores.jsonl\n";

static const EvalOptions defaults = {
    .beams = 1,
    .shots_seed = 1,
    .resample_seed = 1,
    .memory_mib = 2048,
    .confidence = 95,
    .shots_separator = "\\n\\n",
    .python_name = "python3",
    .k = "1,10,100",
    .n = 1,
    .length_penalty = 0.6,
    .top_p = 1,
    .seed = 1,
};

static const char out_help[] =
    "file for the results of --score or the predictions of --task; results that it already holds are kept, "
    "and a file with other contents is an error";

static bool parse_options(EvalOptions *o, int *argc, char ***argv, GError **error)
{
    const GOptionEntry entries[] = {
        CLI_VALUE("samples", o->samples, "N",
                  "evaluate only N samples, drawn by a constant seed, or the first N examples of a task; 0 means all "
                  "(default)"),
        CLI_SWITCH("unigram", o->unigram, "also print the loss of the best unigram model of the same targets"),
        CLI_SWITCH("json", o->as_json, "print one JSON object per dataset or score"),
        CLI_SWITCH("task", o->with_task,
                   "answer the examples of task.valid and score the answers; NAME sets task.name"),
        CLI_VALUE("beams", o->beams, "K", "with --task: beam search with K hypotheses (default 1: greedy decoding)"),
        CLI_RANK(o->rank_by, "with --task: "),
        CLI_SWITCH("no-eos", o->no_eos, "with --rank: do not append EOS to labels (default for a GPT with --shots)"),
        CLI_VALUE("shots", o->shots, "K",
                  "with --task: K labelled examples of task.data before each input (default 0)"),
        CLI_VALUE("shots-seed", o->shots_seed, "S", "with --shots: seed of the choice of examples (default 1)"),
        CLI_VALUE("shots-separator", o->shots_separator, "TEXT",
                  "with --shots: text after each example (default \\n\\n, an empty line)"),
        CLI_VALUE("bootstrap", o->resamples, "N",
                  "with --task: confidence intervals from N bootstrap resamples; 0 means none (default)"),
        CLI_VALUE("confidence", o->confidence, "PERCENT",
                  "with --bootstrap: share of resamples within the interval, in percent (default 95)"),
        CLI_VALUE("bootstrap-seed", o->resample_seed, "S", "with --bootstrap: seed of the resamples (default 1)"),
        CLI_PATH("score", o->score_path, "FILE",
                 "compute log-probabilities for JSON lines with \"input\" and \"target\", as text or ids"),
        CLI_ON_ERROR(o->on_error, "a line of --score"),
        CLI_PATH("out", o->out, "FILE", out_help),
        CLI_PATH("predictions", o->predictions, "FILE",
                 "programs: test these completions instead of a model's: JSON lines with task_id and completion (or "
                 "solution)"),
        CLI_VALUE("n", o->n, "N", "programs: number of completions per problem (default 1)"),
        CLI_VALUE("k", o->k, "K,…", "programs: values of k for pass@k (default 1,10,100)"),
        CLI_VALUE("length-penalty", o->length_penalty, "A",
                  "programs: A in the score of beam search, log p / ((5 + length) / 6)^A (default 0.6)"),
        CLI_VALUE("temperature", o->temperature, "T",
                  "programs: sampling temperature; 0 means greedy decoding (default)"),
        CLI_VALUE("top-p", o->top_p, "P",
                  "programs: sample from the smallest set of most likely tokens with total probability P (default 1)"),
        CLI_VALUE("seed", o->seed, "S", "programs: seed of sampling (default 1)"),
        CLI_VALUE(
            "stop", o->stop, "TEXT",
            "programs: end a completion before TEXT, in which \\n means a line end; may be repeated (default: the "
            "task's)"),
        CLI_VALUE("jobs", o->run.jobs, "N", "programs: number of programs that run at once (default: one per core)"),
        CLI_VALUE("timeout", o->timeout_s, "S",
                  "programs: time limit per program in seconds (default 3; EvalPlus: 60)"),
        CLI_VALUE("memory", o->memory_mib, "MIB", "programs: memory limit per process in MiB (default 2048)"),
        CLI_PATH("python", o->python_name, "FILE", "programs: Python interpreter (default: python3 in PATH)"),
        CLI_SWITCH("unsafe-no-sandbox", o->unsafe, "programs: run without a sandbox, with only time and memory limits"),
        { 0 },
    };
    return cli_parse(argc, argv, entries, USAGE, about, error);
}

typedef struct Evaluation {
    const EvalOptions *options;
    Config config;
    LoadedModel loaded;
    GPtrArray *sets;  /* HeldoutSet * */
    char **overrides; /* "group.key=value" from the command line */
    int n_overrides;
} Evaluation;

static bool open_data(Evaluation *e, GError **error)
{
    config_fit_model(&e->config, model_config(e->loaded.model));
    if (!config_check_objective(&e->config.data, model_config(e->loaded.model), error) ||
        !config_check_kept(&e->config, e->config.data.valid, "--task task.valid=TABLE scores those of a table", error))
        return false;
    e->sets = heldout_sets_open(&e->config.data, e->loaded.tok, (uint64_t)e->config.run.seed, error);
    if (e->sets == NULL)
        return false;
    heldout_sets_start_decoder(e->sets, model_roles(e->loaded.model)->decoder_start);
    if (e->sets->len == 0)
        return fail_user(error, "data.valid is not set; usage: " USAGE);
    const HeldoutSet *set = e->sets->pdata[0];
    const ModelLoss plain = { 0 };
    return model_reserve(e->loaded.model, (int32_t)config_micro_samples(&e->config), loader_enc_length(set->loader),
                         loader_dec_length(set->loader), &plain, NULL, error);
}

/* Says that the loss over tokens has, as in training, rows of the vocabulary without an id among the possible tokens.
 */
static void note_padding(Model *model)
{
    const int64_t vocab = model_config(model)->vocab, n_ids = model_roles(model)->n_ids;
    if (n_ids > 0 && n_ids < vocab && !model_config(model)->classifier)
        log_info("%" PRId64 " of the vocabulary's %" PRId64 " rows are padding: possible tokens for this loss, as in "
                 "training, but not for --score, --rank and loam generate",
                 vocab - n_ids, vocab);
}

typedef struct Result {
    const char *name;
    LossSums sums;
    double unigram; /* nats per target token; only with --unigram */
    int64_t bytes;  /* bytes of the text; -1 means unknown */
} Result;

/* If several heads have a loss, adds the mean loss of each, and the accuracy of each but that of the tokens; "loss",
 * which the caller adds, is the sum of the losses. */
static void add_heads(json_t *object, const LossSums *sums)
{
    for (HeadId h = 0; loss_sums_heads(sums) > 1 && h < HEAD_COUNT; h++) {
        if (sums->head[h].weight == 0)
            continue;
        json_object_set_new(object, loss_names(h)->loss, json_finite(loss_sums_mean(sums, h)));
        if (h != HEAD_TOKENS && loss_names(h)->accuracy)
            json_object_set_new(object, loss_names(h)->accuracy, json_finite(loss_sums_accuracy(sums, h)));
    }
}

static bool print_scores_json(const Result *result, bool unigram, GError **error)
{
    const LossSums *sums = &result->sums;
    const HeadId main = loss_sums_main(sums);
    double nll = loss_sums_mean(sums, HEAD_TOKENS),
           accuracy = loss_names(main)->accuracy ? loss_sums_accuracy(sums, main) : (double)NAN;
    json_t *object =
        json_pack("{s:s, s:o, s:I, s:o, s:o, s:o}", "name", result->name, "loss", json_finite(loss_sums_total(sums)),
                  main == HEAD_TOKENS ? "tokens" : "labels", (json_int_t)sums->head[main].weight, "bits",
                  json_finite(nll / G_LN2), "perplexity", json_finite(exp(nll)), "accuracy", json_finite(accuracy));
    add_heads(object, sums);
    if (result->bytes > 0)
        json_object_set_new(object, "bits_per_byte", json_finite(heldout_bits_per_byte(sums, result->bytes)));
    if (unigram)
        json_object_set_new(object, "unigram", json_finite(result->unigram));
    return print_json_line(object, error);
}

/* The accuracy of a head in percent: "91.3 %", or "nan" if it has no target. g_free. */
static char *accuracy_text(const LossSums *sums, HeadId head)
{
    const double accuracy = 100 * loss_sums_accuracy(sums, head);
    g_autofree char *text = text_fixed(accuracy, 1);
    return g_strconcat(text, isnan(accuracy) ? "" : " %", NULL);
}

static void print_heads(const char *set, const LossSums *sums)
{
    g_autofree char *tokens = text_fixed(loss_sums_mean(sums, HEAD_TOKENS), 4);
    printf("%s: tokens: loss %s", set, tokens);
    for (HeadId h = HEAD_TOKENS + 1; h < HEAD_COUNT; h++) {
        g_autofree char *loss = text_fixed(loss_sums_mean(sums, h), 4), *accuracy = accuracy_text(sums, h);
        if (sums->head[h].weight > 0)
            printf("; %ss: loss %s, accuracy %s, over %.0f %s", loss_names(h)->name, loss, accuracy,
                   sums->head[h].weight, loss_names(h)->rows);
    }
    printf("\n");
}

/* Prints the accuracy and the loss of a classifier. */
static void print_labels(const Result *result)
{
    const LossSums *sums = &result->sums;
    const HeadId main = loss_sums_main(sums);
    g_autofree char *loss = text_fixed(loss_sums_total(sums), 4), *accuracy = accuracy_text(sums, main);
    printf("%s: loss %s", result->name, loss);
    if (loss_names(main)->accuracy)
        printf(", accuracy %s", accuracy);
    printf(", over %.0f %s\n", sums->head[main].weight, loss_names(main)->rows);
}

static void print_scores_text(const Result *result, bool unigram)
{
    const LossSums *sums = &result->sums;
    if (loss_sums_main(sums) != HEAD_TOKENS) {
        print_labels(result);
        return;
    }
    double nll = loss_sums_mean(sums, HEAD_TOKENS);
    g_autofree char *loss = text_fixed(loss_sums_total(sums), 4), *bits = text_fixed(nll / G_LN2, 4),
                    *perplexity = text_fixed(exp(nll), 2), *accuracy = accuracy_text(sums, HEAD_TOKENS);
    printf("%s: loss %s, %s bits, perplexity %s, accuracy %s, over %.0f target tokens\n", result->name, loss, bits,
           perplexity, accuracy, sums->head[HEAD_TOKENS].weight);
    if (loss_sums_heads(sums) > 1)
        print_heads(result->name, sums);
    if (result->bytes > 0)
        printf("%s: %.4f bits per byte of the targets' text\n", result->name,
               heldout_bits_per_byte(sums, result->bytes));
    else
        printf("%s: no bits per byte: %s\n", result->name,
               result->bytes < 0 ? "a target is the unknown token, whose text is lost" : "the targets have no text");
    if (unigram)
        printf("%s: the best unigram model of the same targets: loss %.4f\n", result->name, result->unigram);
}

static bool evaluate_set(const Evaluation *e, const HeldoutSet *set, GError **error)
{
    const EvalOptions *o = e->options;
    Result result = { .name = set->name ? set->name : set->path_prefix };
    if (!heldout_loss(e->loaded.model, set->loader, o->samples, config_micro_samples(&e->config), (HeldoutPart){ 0 },
                      NULL, &result.sums, error) ||
        !heldout_bytes(set->loader, e->loaded.tok, o->samples, &result.bytes, error) ||
        (o->unigram &&
         !heldout_unigram(set->loader, o->samples, model_config(e->loaded.model)->vocab, &result.unigram, error)))
        return false;
    const HeadId main = loss_sums_main(&result.sums);
    if (main != HEAD_TOKENS)
        result.bytes = 0; /* a classifier's targets are classes, so bits per byte do not apply */
    if (result.sums.head[main].weight == 0)
        return fail_user(error, "%s: nothing is to be predicted: its samples have no target token", result.name);
    double nll = result.sums.head[main].loss;
    if (!isfinite(nll))
        return fail_not_finite(e->loaded.model, "a loss", nll, error) || fail_context(error, "%s", result.name);
    if (o->as_json)
        return print_scores_json(&result, o->unigram, error);
    print_scores_text(&result, o->unigram);
    return true;
}

static bool tests_programs(const EvalOptions *o, const Config *config)
{
    const Task *task = task_find(config->task.name);
    return o->predictions || (task && task->tests);
}

/* loaded: NULL with --predictions. */
static bool evaluate_programs(const EvalOptions *o, const LoadedModel *loaded, const Config *config,
                              const char *model_path, GError **error)
{
    EvalOptions options = *o;
    g_auto(Python) python = { 0 };
    if (o->rank_by || o->shots > 0)
        return fail_user(error, "--rank and --shots are for tasks whose answers are texts, not programs");
    if (!python_find(&python, o->python_name, error))
        return false;
    for (char **text = o->stop; text && *text; text++) {
        g_autofree char *escaped = *text;
        *text = g_strcompress(escaped);
    }
    options.run.python = &python;
    options.run.memory_bytes = o->memory_mib << 20;
    options.run.unsafe = o->unsafe;
    if (options.run.jobs == 0)
        options.run.jobs = (int)g_get_num_processors();
    return eval_programs(loaded, config, model_path, &options, error);
}

/* The name of an option for programming tasks that the user set; NULL means none. */
static const char *program_option_given(const EvalOptions *o)
{
    const EvalOptions *none = &defaults;
    const struct {
        const char *name;
        bool given;
    } options[] = {
        { "--n", o->n != none->n },
        { "--k", strcmp(o->k, none->k) != 0 },
        { "--length-penalty", o->length_penalty != none->length_penalty },
        { "--temperature", o->temperature != none->temperature },
        { "--top-p", o->top_p != none->top_p },
        { "--seed", o->seed != none->seed },
        { "--stop", o->stop != NULL },
        { "--jobs", o->run.jobs != 0 },
        { "--timeout", o->timeout_s != none->timeout_s },
        { "--memory", o->memory_mib != none->memory_mib },
        { "--unsafe-no-sandbox", o->unsafe },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(options); i++)
        if (options[i].given)
            return options[i].name;
    return NULL;
}

static bool evaluate_model(Evaluation *e, const char *model_path, GError **error)
{
    const EvalOptions *o = e->options;
    const bool runs_programs = o->with_task && tests_programs(o, &e->config);
    if (!runs_programs && program_option_given(o))
        return fail_user(error, "%s is for programs: --task humaneval, mbpp and their like (loam task list)",
                         program_option_given(o));
    if (!model_path)
        return evaluate_programs(o, NULL, &e->config, NULL, error);
    if (!cli_open_model(&e->loaded, model_path, &e->config, o->score_path == NULL, e->overrides, e->n_overrides, error))
        return false;
    if (runs_programs)
        return evaluate_programs(o, &e->loaded, &e->config, model_path, error);
    if (o->score_path)
        return score_file(&e->loaded, o, error);
    if (o->with_task)
        return config_fit_lengths(&e->config, e->loaded.tok, error) &&
               eval_task(&e->loaded, &e->config, model_path, o, error);
    if (!open_data(e, error))
        return false;
    if (!o->as_json)
        note_padding(e->loaded.model);
    for (guint i = 0; i < e->sets->len; i++)
        if (!evaluate_set(e, e->sets->pdata[i], error))
            return false;
    return true;
}

static bool check_eval_count(const char *name, int64_t value, int64_t least, int64_t most, GError **error)
{
    return (value >= least && value <= most) ||
           fail_user(error, "--%s %" PRId64 " is out of range: %" PRId64 " to %" PRId64, name, value, least, most);
}

static bool check_ranking(const EvalOptions *o, GError **error)
{
    if ((o->rank_by || o->shots > 0 || o->beams > 1) && !o->with_task)
        return fail_user(error, "--beams, --rank and --shots need --task");
    if (!ranking_check_options(o->rank_by, o->no_eos, o->beams, error))
        return false;
    return *o->shots_separator || fail_user(error, "--shots-separator is empty: examples would run into each other");
}

static bool check_eval_options(EvalOptions *o, GError **error)
{
    if (o->unigram && (o->with_task || o->score_path))
        return fail_user(error, "--unigram is for the loss on data.valid: leave out --task and --score");
    if (o->on_error && !o->score_path)
        return fail_user(error, "--on-error is for the lines of --score; a task has task.on_error");
    if (o->resamples > 0 && !o->with_task)
        return fail_user(error, "--bootstrap is for the scores of a task: give --task too");
    if (!(o->confidence > 0 && o->confidence < 100))
        return fail_user(error, "--confidence %g is out of range: more than 0 and less than 100 percent",
                         o->confidence);
    if (!cli_check_suffix("out", o->out, ".jsonl", error))
        return false;
    if (o->out && !o->score_path && !o->with_task)
        return fail_user(error, "--out needs --score FILE or --task; usage: " USAGE);
    if (o->samples < 0)
        return fail_user(error, "--samples %" PRId64 " is out of range: a number of samples, or 0 for all", o->samples);
    if (o->predictions && !o->with_task)
        return fail_user(error, "--predictions needs a task with tests: give --task NAME too");
    if (o->predictions && (o->beams > 1 || o->n > 1 || o->temperature > 0 || o->stop))
        return fail_user(error,
                         "--predictions are not generated: --beams, --n, --temperature and --stop are for a model");
    if (!(o->temperature >= 0 && o->temperature <= 1000) || !(o->top_p > 0 && o->top_p <= 1) ||
        !(o->length_penalty >= 0 && o->length_penalty <= 100))
        return fail_user(error, "--temperature is 0 to 1000, --top-p above 0 and at most 1, --length-penalty 0 to 100");
    if (!(o->timeout_s >= 0 && o->timeout_s <= 86400))
        return fail_user(error, "--timeout %g is out of range: seconds, up to 86400", o->timeout_s);
    if (o->beams > 1 && o->temperature > 0)
        return fail_user(error, "--beams searches, --temperature draws: give one of them");
    if (o->n > 1 && o->temperature == 0 && o->n > o->beams)
        return fail_user(error,
                         "--n %" PRId64 " needs --temperature above 0, or as many --beams: greedy completions are "
                         "all the same",
                         o->n);
    return cli_parse_on_error(&o->skips, o->on_error, error) && check_ranking(o, error) &&
           check_eval_count("shots", o->shots, 0, 1000, error) && check_eval_count("beams", o->beams, 1, 256, error) &&
           check_eval_count("bootstrap", o->resamples, 0, 1000000, error) &&
           check_eval_count("n", o->n, 1, 256, error) && check_eval_count("jobs", o->run.jobs, 0, 1024, error) &&
           check_eval_count("memory", o->memory_mib, 64, 1 << 20, error);
}

/* The arguments after MODEL as "group.key=value". With --task, one argument without "=" is the task's name. NULL with
 * an error if there are two of those. */
static GPtrArray *take_eval_settings(const EvalOptions *o, char **words, int n, GError **error)
{
    GPtrArray *settings = g_ptr_array_new_with_free_func(g_free);
    const char *task = NULL;
    for (int i = 0; i < n; i++) {
        const bool names = o->with_task && !strchr(words[i], '=');
        if (names && task) {
            fail_user(error, "%s and %s: one task is wanted%s", task, words[i],
                      o->predictions ? ", and no model with --predictions" : "");
            g_ptr_array_unref(settings);
            return NULL;
        }
        task = names ? words[i] : task;
        g_ptr_array_add(settings, names ? g_strconcat("task.name=", words[i], NULL) : g_strdup(words[i]));
    }
    return settings;
}

/* With --task and only one argument: if it is no path but like a task's name, fails and says that MODEL is missing. */
static bool check_word(const char *word, GError **error)
{
    const char *task = g_file_test(word, G_FILE_TEST_EXISTS) || strpbrk(word, "/@") ? NULL : task_nearest(word);
    return task == NULL ||
           fail_user(error,
                     "%s: no such run, checkpoint or Hugging Face folder; if you mean the task %s, give the model "
                     "before it: loam eval MODEL --task %s",
                     word, task, task);
}

bool verb_eval(int argc, char **argv, GError **error)
{
    static EvalOptions o; /* the parser's texts in it are in use until the program ends */
    o = defaults;
    if (!parse_options(&o, &argc, &argv, error))
        return false;
    const int first = o.predictions ? 1 : 2;
    if (argc < first)
        return fail_user(error, "no model given; usage: " USAGE);
    if (!check_eval_options(&o, error) || (o.with_task && first == 2 && argc == 2 && !check_word(argv[1], error)))
        return false;
    const char *model = o.predictions ? NULL : argv[1];
    g_autoptr(GPtrArray) settings = take_eval_settings(&o, argv + first, argc - first, error);
    if (!settings)
        return false;
    Evaluation e = { .options = &o, .overrides = (char **)settings->pdata, .n_overrides = (int)settings->len };
    bool done = (model ? cli_model_config(&e.config, model, e.overrides, e.n_overrides, error)
                       : config_load(&e.config, NULL, e.overrides, e.n_overrides, error)) &&
                evaluate_model(&e, model, error);
    g_clear_pointer(&e.sets, g_ptr_array_unref);
    loaded_model_close(&e.loaded);
    config_clear(&e.config);
    return done;
}
