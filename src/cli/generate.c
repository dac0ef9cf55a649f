/* generate.c: `loam generate`: continues or answers prompts. */
#include "eval/generate.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/generation_config.h"
#include "cli/prompts.h"
#include "eval/answers.h"
#include "eval/fill_mask.h"
#include "run/config/config.h"
#include "run/model_path.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#define USAGE "loam generate --model MODEL [--max-tokens N] [--beams K | --temperature T] [--fill] [--json] < LINES"

static const char about[] =
    "Generates text: prints one line for every line of standard input. Decoding is greedy unless --beams, "
    "--temperature\n"
    "or the model's generation_config.json say otherwise; a line end in an answer is printed as \\n.\n"
    "\n"
    "A T5 fills blanks: the line contains <extra_id_0>, <extra_id_1> …, and the answer gives the text for each; "
    "--fill\n"
    "prints the whole line with its blanks filled. A GPT continues the line. A BERT gives the most likely tokens\n"
    "at each [MASK]. MODEL is a run directory, a checkpoint or a Hugging Face folder.\n"
    "\n"
    "  echo \"The <extra_id_0> walks in <extra_id_1> park\" | loam generate --model runs/a\n";

/* The settings of the command line, else of the model's generation_config.json, else greedy decoding of 64 tokens. */
#define COUNT_UNSET INT64_MIN
#define REAL_UNSET  (-DBL_MAX)

static struct {
    int64_t max_tokens, beams, top_k;
    double temperature, top_p, repetition_penalty;
} settings = { COUNT_UNSET, COUNT_UNSET, COUNT_UNSET, REAL_UNSET, REAL_UNSET, REAL_UNSET };

static LoadedModelSource model_source;
static char *jsonl_field, *on_error;
static int64_t n_answers = 1, seed = 1, batch = 16;
static double length_penalty = 0.6;
static gboolean fill, as_ids, as_json;
static bool skips; /* value of --on-error */
static const GOptionEntry entries[] = {
    CLI_MODEL(model_source.path),
    CLI_TOKENIZER(model_source.tokenizer),
    CLI_DEVICE(model_source.device),
    CLI_PRECISION(model_source.precision_name),
    CLI_VALUE("max-tokens", settings.max_tokens, "N", "maximum tokens of an answer (default 64, at most 32768)"),
    CLI_VALUE("beams", settings.beams, "K", "beam search with K hypotheses (default 1: no beam search)"),
    CLI_VALUE("length-penalty", length_penalty, "A",
              "A in the score of beam search, log p / ((5 + length) / 6)^A (default 0.6)"),
    CLI_VALUE("temperature", settings.temperature, "T", "sampling temperature; 0 means greedy decoding (default)"),
    CLI_VALUE("top-k", settings.top_k, "K", "sample from the K most likely tokens; 0 means all (default)"),
    CLI_VALUE("top-p", settings.top_p, "P",
              "sample from the smallest set of most likely tokens with total probability P (default 1)"),
    CLI_VALUE("repetition-penalty", settings.repetition_penalty, "R",
              "R > 1 makes tokens of the answer, and of a GPT's prompt, less likely to come again (default 1: off)"),
    CLI_VALUE("n", n_answers, "N", "answers per line: samples, or the best hypotheses of beam search (default 1)"),
    CLI_VALUE("seed", seed, "S", "seed of sampling (default 1)"),
    CLI_VALUE("batch", batch, "N", "maximum number of lines answered in one batch (default 16)"),
    CLI_SWITCH("fill", fill, "T5: print the whole line with its blanks filled"),
    CLI_SWITCH("ids", as_ids, "lines are token ids separated by spaces; no tokenizer is needed"),
    CLI_BLANKS(model_source.blanks),
    CLI_VALUE("jsonl", jsonl_field, "FIELD", "lines are JSON objects; the prompt is this field"),
    CLI_ON_ERROR(on_error, "a line"),
    CLI_SWITCH("json", as_json, "print one JSON object per answer: prompt, text, ids, logprob, finished"),
    { 0 },
};

/* ---- generation_config.json ---- */

#define MAX_TOKENS         64 /* default length of an answer */
#define TRANSFORMERS_TOP_K 50 /* default top_k of transformers for a model with do_sample */

/* The settings of a generation_config.json, while they are applied. */
typedef struct Source {
    const json_t *object;
    GHashTable *taken, *left; /* keys that were applied; keys that loam supports but that have no effect here */
    GError **error;
    bool wrong;
} Source;

static const json_t *find_default(const Source *source, const char *key)
{
    const json_t *value = json_object_get(source->object, key);
    return json_is_null(value) ? NULL : value;
}

/* The value of `key`, which must be a number (whole: an integer); NULL if the key is missing, and with source->error if
 * it is of another type. */
static const json_t *take_default(Source *source, const char *key, bool whole)
{
    const json_t *value = find_default(source, key);
    if (value && !(whole ? json_is_integer(value) : json_is_number(value))) {
        if (!source->wrong)
            fail_user(source->error, "generation_config.json: %s is not %s", key,
                      whole ? "a whole number" : "a number");
        source->wrong = true;
        return NULL;
    }
    if (value)
        g_hash_table_add(source->taken, (char *)key);
    return value;
}

/* Sets *field, if it is unset, to the value of `key`, or to `otherwise` if there is no such key. */
static void take_count(Source *source, const char *key, int64_t otherwise, int64_t *field)
{
    if (*field != COUNT_UNSET)
        return;
    const json_t *value = take_default(source, key, true);
    *field = value ? json_integer_value(value) : otherwise;
}

static void take_real(Source *source, const char *key, double otherwise, double *field)
{
    if (*field > REAL_UNSET)
        return;
    const json_t *value = take_default(source, key, false);
    *field = value ? json_number_value(value) : otherwise;
}

/* Sets the length of answers from max_new_tokens or max_length. max_length includes the decoder's input: in an
 * encoder-decoder model only the start token; in a decoder-only model the prompt, so there max_length is ignored. */
static void take_length(Source *source, bool encodes)
{
    int64_t whole = COUNT_UNSET;
    if (settings.max_tokens == COUNT_UNSET && encodes && find_default(source, "max_new_tokens") == NULL) {
        take_count(source, "max_length", MAX_TOKENS + 1, &whole);
        settings.max_tokens = MAX(whole - 1, 1);
    } else if (settings.max_tokens == COUNT_UNSET && find_default(source, "max_new_tokens") == NULL) {
        g_hash_table_add(source->left, (char *)"max_length");
    }
    take_count(source, "max_new_tokens", MAX_TOKENS, &settings.max_tokens);
}

/* Chooses sampling, greedy decoding or beam search: by --temperature and --beams, else by the model's settings. */
static void take_choice(Source *source)
{
    bool samples = json_is_true(find_default(source, "do_sample")), given = settings.temperature > REAL_UNSET;
    if (!given) {
        settings.temperature = 0;
        if (samples && (settings.beams == COUNT_UNSET || settings.beams == 1)) {
            settings.temperature = REAL_UNSET;
            take_real(source, "temperature", 1, &settings.temperature);
            g_hash_table_add(source->taken, (char *)"do_sample");
            g_hash_table_add(source->left, (char *)(settings.beams == COUNT_UNSET ? "num_beams" : ""));
        }
    }
    if ((given || settings.temperature > 0) && settings.beams == COUNT_UNSET)
        settings.beams = 1;
    if (settings.temperature > 0) {
        take_count(source, "top_k", samples ? TRANSFORMERS_TOP_K : 0, &settings.top_k);
        take_real(source, "top_p", 1, &settings.top_p);
    }
    take_count(source, "num_beams", 1, &settings.beams);
    if (settings.top_k == COUNT_UNSET)
        settings.top_k = 0;
    if (settings.top_p <= REAL_UNSET)
        settings.top_p = 1;
}

static void list_settings(const Source *source, GString *used, GString *unused)
{
    static const char *const known[] = { "max_new_tokens", "max_length", "repetition_penalty", "num_beams", NULL };
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)source->object, key, value)
    {
        if (g_hash_table_contains(source->taken, key))
            generation_setting_append(used, key, value);
        else if (generation_setting_matters(key, value) &&
                 (!g_strv_contains(known, key) || g_hash_table_contains(source->left, key)))
            generation_setting_append(unused, key, value);
    }
}

/* ---- answers ---- */

static const int32_t *ids_of(const GArray *array)
{
    return (const int32_t *)(const void *)array->data;
}

/* Prints one answer as a JSON line. text NULL means that there is no tokenizer. */
static bool print_answer_json(const char *prompt, const char *text, const Generation *generation, GError **error)
{
    bool replaced = false;
    g_autofree char *valid = text ? valid_text(text, &replaced) : NULL;
    return print_json_line(json_pack("{s:s, s:s?, s:o, s:o, s:b, s:o*}", "prompt", prompt, "text", valid, "ids",
                                     json_ids(ids_of(generation->ids), generation->ids->len), "logprob",
                                     json_finite(generation->logprob), "finished", generation->finished, "invalid_utf8",
                                     replaced ? json_true() : NULL),
                           error);
}

static bool print_answer(const Model *model, const Tokenizer *tok, const Prompt *prompt, const Generation *generation,
                         GError **error)
{
    const GArray *ids = generation->ids;
    if (!isfinite(generation->logprob))
        return fail_not_finite(model, "its answer a log-probability", generation->logprob, error);
    if (tok == NULL && !as_json) {
        for (guint i = 0; i < ids->len; i++)
            printf("%s%d", i > 0 ? " " : "", ids_of(ids)[i]);
        puts("");
        return true;
    }
    g_autofree char *text = tok == NULL ? NULL
                            : fill      ? generate_fill(tok, ids_of(prompt->ids), prompt->ids->len, ids, error)
                                        : tokenizer_decode_answer(tok, ids, error);
    if (text == NULL && tok)
        return false;
    if (as_json)
        return print_answer_json(prompt->text, text, generation, error);
    g_autofree char *line = one_line(text);
    puts(line);
    return true;
}

/* Warns once if an answer was cut because it reached the model's largest position. */
static void remark_limit(const ModelConfig *config, const Prompt *prompt, const Generation *answer)
{
    static bool said;
    const int64_t most = generate_most_tokens(config, prompt->ids->len, settings.max_tokens);
    if (said || answer->finished || most == settings.max_tokens || answer->ids->len < most)
        return;
    log_warning("answers end where the model's context does: model.max_positions=%" PRId64 "%s", config->max_positions,
                config->n_enc > 0 ? "" : ", prompt included");
    said = true;
}

/* Answers prompts as one batch; `first` is the index of the batch's first prompt in the input. */
static bool answer_prompt_batch(Model *model, const Tokenizer *tok, const GPtrArray *prompts, int64_t first,
                                GError **error)
{
    const TokenRoles *roles = model_roles(model);
    const GenerateOptions options = {
        .sampling = { settings.temperature, settings.top_k, settings.top_p, settings.repetition_penalty },
        .beams = (int32_t)settings.beams,
        .length_penalty = length_penalty,
        .n = (int32_t)n_answers,
        .max_tokens = settings.max_tokens,
        .seed = (uint64_t)seed,
        .eos = roles->eos,
        .decoder_start = roles->generation_start >= 0 ? roles->generation_start : roles->decoder_start,
    };
    g_autoptr(GArray) ids = g_array_new(false, false, sizeof(int32_t));
    g_autofree int32_t *cu = g_new0(int32_t, prompts->len + 1);
    for (guint i = 0; i < prompts->len; i++) {
        const Prompt *prompt = prompts->pdata[i];
        g_array_append_vals(ids, prompt->ids->data, prompt->ids->len);
        cu[i + 1] = (int32_t)ids->len;
    }
    guint n = prompts->len * (guint)n_answers;
    g_autofree Generation *answers = g_new0(Generation, n);
    bool done = generate(model, &(Prompts){ ids_of(ids), cu, (int32_t)prompts->len }, first, &options, answers, error);
    for (guint i = 0; i < n; i++) {
        if (done && answers[i].ids)
            remark_limit(model_config(model), prompts->pdata[i / (guint)n_answers], &answers[i]);
        if (done && answers[i].ids)
            done = print_answer(model, tok, prompts->pdata[i / (guint)n_answers], &answers[i], error);
        generation_clear(&answers[i]);
    }
    return done && (fflush(stdout) == 0 || fail_errno(error, "writing", "standard output"));
}

/* The model that answers, and its place in the input. */
typedef struct Answering {
    Model *model;
    const Tokenizer *tok;
    int32_t mask;  /* id of BERT's mask token */
    int64_t first; /* number of prompts before those of this batch */
} Answering;

static bool answer_lines(void *context, G_GNUC_UNUSED PromptReader *reader, GPtrArray *prompts, GError **error)
{
    Answering *a = context;
    if (!answer_prompt_batch(a->model, a->tok, prompts, a->first, error))
        return fail_context(error, "standard input, lines %" PRId64 " to %" PRId64, ((Prompt *)prompts->pdata[0])->line,
                            ((Prompt *)prompts->pdata[prompts->len - 1])->line);
    a->first += prompts->len;
    return true;
}

/* ---- masks ---- */

static void print_masks_text(const Tokenizer *tok, const GArray *masks)
{
    for (guint m = 0; m < masks->len; m++) {
        const MaskGuesses *mask = &g_array_index(masks, MaskGuesses, m);
        for (int32_t i = 0; i < mask->n; i++) {
            g_autofree char *piece = one_line(tokenizer_piece(tok, mask->ids[i]));
            printf("%s%s %.4f", i > 0 ? ", " : m > 0 ? " | " : "", piece, mask->probability[i]);
        }
    }
    puts("");
}

static bool print_masks_json(const Tokenizer *tok, const char *prompt, const GArray *masks, GError **error)
{
    json_t *list = json_array();
    bool replaced = false;
    for (guint m = 0; m < masks->len; m++) {
        const MaskGuesses *mask = &g_array_index(masks, MaskGuesses, m);
        json_t *guesses = json_array();
        for (int32_t i = 0; i < mask->n; i++) {
            g_autofree char *piece = valid_text(tokenizer_piece(tok, mask->ids[i]), &replaced);
            json_array_append_new(guesses, json_pack("{s:i, s:s, s:o}", "id", mask->ids[i], "piece", piece,
                                                     "probability", json_finite(mask->probability[i])));
        }
        json_array_append_new(list, json_pack("{s:I, s:o}", "place", (json_int_t)mask->index, "guesses", guesses));
    }
    return print_json_line(
        json_pack("{s:s, s:o, s:o*}", "prompt", prompt, "masks", list, "invalid_utf8", replaced ? json_true() : NULL),
        error);
}

static bool answer_mask(Model *model, const Tokenizer *tok, const Prompt *prompt, int32_t mask, GError **error)
{
    g_autoptr(GArray) masks = g_array_new(false, false, sizeof(MaskGuesses));
    const int32_t *ids = (const int32_t *)(void *)prompt->ids->data;
    if (!fill_mask(model, ids, prompt->ids->len, mask, tokenizer_size(tok), masks, error))
        return fail_context(error, "\"%s\"", prompt->text);
    if (masks->len == 0)
        return fail_user(error, "\"%s\" has no %s to fill", prompt->text,
                         mask < 0 ? "mask" : tokenizer_piece(tok, mask));
    if (as_json && !print_masks_json(tok, prompt->text, masks, error))
        return false;
    if (!as_json)
        print_masks_text(tok, masks);
    fflush(stdout);
    return true;
}

/* For family bert, prints one line per prompt: for every mask in it the most likely tokens and their probabilities. */
static bool fill_mask_lines(void *context, PromptReader *reader, GPtrArray *prompts, GError **error)
{
    const Answering *a = context;
    const Prompt *prompt = prompts->pdata[0];
    GError *problem = NULL;
    if (answer_mask(a->model, a->tok, prompt, a->mask, &problem))
        return true;
    fail_context(&problem, "standard input, line %" G_GINT64_FORMAT, prompt->line);
    if (prompts_skip(reader, &problem))
        return true;
    return fail_with(error, problem);
}

/* ---- options ---- */

static bool check_real(const char *name, double value, double least, double most, GError **error)
{
    return (value >= least && value <= most) ||
           fail_user(error, "--%s %g is out of range, it must be between %g and %g", name, value, least, most);
}

/* Range of each setting; settings that are unset pass. */
static bool check_generate_ranges(GError **error)
{
    return (settings.max_tokens == COUNT_UNSET ||
            cli_check_count("max-tokens", settings.max_tokens, 1, MAX_PROMPT_TOKENS, error)) &&
           (settings.beams == COUNT_UNSET || cli_check_count("beams", settings.beams, 1, 256, error)) &&
           (settings.top_k == COUNT_UNSET || cli_check_count("top-k", settings.top_k, 0, INT32_MAX, error)) &&
           (settings.temperature <= REAL_UNSET || check_real("temperature", settings.temperature, 0, 1000, error)) &&
           (settings.top_p <= REAL_UNSET || check_real("top-p", settings.top_p, 1e-9, 1, error)) &&
           (settings.repetition_penalty <= REAL_UNSET ||
            check_real("repetition-penalty", settings.repetition_penalty, 0.01, 100, error)) &&
           cli_check_count("n", n_answers, 1, 256, error) && cli_check_count("batch", batch, 1, 1024, error) &&
           check_real("length-penalty", length_penalty, 0, 100, error);
}

/* Rules across settings; settings that are unset pass. */
static bool check_rules(GError **error)
{
    int64_t beams = settings.beams;
    if (beams > 1 && settings.temperature > 0)
        return fail_user(error, "--beams searches, --temperature draws: give one of them");
    if (settings.temperature == 0 && (settings.top_k > 0 || (settings.top_p > 0 && settings.top_p < 1)))
        return fail_user(error, "--top-k and --top-p restrict sampling: give --temperature above 0 too");
    if (beams > 1 && n_answers > beams)
        return fail_user(error, "--n %" PRId64 " answers of a search with --beams %" PRId64 ": at most as many",
                         n_answers, beams);
    if (beams == 1 && settings.temperature == 0 && n_answers > 1)
        return fail_user(error,
                         "--n %" PRId64 " needs --temperature above 0 or --beams: greedy answers are all the same",
                         n_answers);
    return true;
}

/* Fills in unset options from the model's generation_config.json, and logs which of its settings apply, and which have
 * no effect; settings that the command line overrides are in neither list. */
static bool settle_options(Model *model, GError **error)
{
    g_autoptr(GHashTable) taken = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GHashTable) left = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GString) used = g_string_new(NULL), unused = g_string_new(NULL);
    Source source = { .object = model_roles(model)->generation, .taken = taken, .left = left, .error = error };
    take_length(&source, model_config(model)->n_enc > 0);
    take_choice(&source);
    take_real(&source, "repetition_penalty", 1, &settings.repetition_penalty);
    list_settings(&source, used, unused);
    if (source.wrong ||
        !(check_generate_ranges(error) || fail_context(error, "%s: generation_config.json", model_source.path)) ||
        !check_rules(error))
        return false;
    if (used->len)
        log_info("settings from the model's generation_config.json: %s", used->str);
    if (settings.beams > 1 && g_hash_table_contains(taken, "num_beams"))
        log_info("the beam search is T5X's with --length-penalty %g; that of transformers may find other answers",
                 length_penalty);
    if (unused->len)
        log_info("settings of the model's generation_config.json that loam does not use: %s", unused->str);
    return true;
}

static bool answer_input(Model *model, const Tokenizer *tok, GError **error)
{
    const ModelConfig *config = model_config(model);
    if (tok == NULL && (fill || config->n_dec == 0))
        return fail_user(error, "%s has no tokenizer with it, which says what a %s is; give --tokenizer FILE",
                         model_source.path, fill ? "blank" : "mask");
    if (fill && (config->n_enc == 0 || config->n_dec == 0))
        return fail_user(error, "--fill fills the blanks of a T5; %s has no %s", model_source.path,
                         config->n_enc == 0 ? "encoder" : "decoder");
    if (config->classifier != LABELS_NONE)
        return fail_user(error,
                         "%s is a classifier (model.classifier=%s), which cannot generate text; use `loam predict`",
                         model_source.path, label_kind_names[config->classifier]);
    if (config->n_dec == 0 && (settings.beams > 1 || settings.temperature > 0))
        return fail_user(error, "%s has no decoder: it predicts masked tokens, without --beams and --temperature",
                         model_source.path);
    token_roles_complete(model_roles(model), tok);
    if (config->n_dec > 0 && !settle_options(model, error))
        return false;
    PromptFormat format = prompt_format(model, tok);
    format.field = jsonl_field;
    format.as_ids = as_ids;
    format.skip_errors = skips;
    Answering answering = { .model = model, .tok = tok, .mask = format.mask };
    return config->n_dec > 0
               ? prompts_each(STDIN_FILENO, "standard input", &format, (guint)batch, answer_lines, &answering, error)
               : prompts_each(STDIN_FILENO, "standard input", &format, 1, fill_mask_lines, &answering, error);
}

bool verb_generate(int argc, char **argv, GError **error)
{
    if (!cli_parse(&argc, &argv, entries, USAGE, about, error))
        return false;
    if (model_source.path == NULL)
        return fail_user(error, "--model is missing; usage: " USAGE);
    if (argc > 1)
        return fail_user(error, "%s is not an option, and lines come from standard input; usage: " USAGE, argv[1]);
    if (!check_generate_ranges(error) || !check_rules(error) || !cli_parse_on_error(&skips, on_error, error))
        return false;
    g_auto(LoadedModel) loaded = { 0 };
    model_source.advice = as_ids || jsonl_field ? NULL : "give --tokenizer FILE, or --ids";
    return loaded_model_open(&loaded, &model_source, error) && answer_input(loaded.model, loaded.tok, error);
}
