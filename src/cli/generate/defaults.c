#include "cli/generate/defaults.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TOKENS         64 /* default length of an answer */
#define TRANSFORMERS_TOP_K 50 /* default top_k of transformers for a model with do_sample */

/* The settings of a generation_config.json, while they are applied. */
typedef struct Source {
    const json_t *object;
    GHashTable *taken, *left; /* keys that were applied; keys that loam supports but that have no effect here */
    GError **error;
    bool wrong;
} Source;

/* Whether this number is the one with which the setting changes nothing in transformers. A number of any other setting,
 * such as a token id, always has an effect. */
static bool is_neutral_number(const char *key, double number)
{
    static const char zero[] = " min_length min_new_tokens no_repeat_ngram_size encoder_no_repeat_ngram_size "
                               "epsilon_cutoff eta_cutoff diversity_penalty penalty_alpha min_p ",
                      one[] = " num_beams num_beam_groups num_return_sequences encoder_repetition_penalty "
                              "repetition_penalty length_penalty typical_p guidance_scale ";
    g_autofree char *word = g_strdup_printf(" %s ", key);
    return (number == 0 && strstr(zero, word)) || (number == 1 && strstr(one, word));
}

/* Whether transformers answers with this value as it does without the setting. */
static bool is_neutral(const char *key, const json_t *value)
{
    return json_is_null(value) || json_is_false(value) ||
           (json_is_number(value) && is_neutral_number(key, json_number_value(value))) ||
           ((json_is_array(value) || json_is_object(value)) && json_array_size(value) + json_object_size(value) == 0);
}

/* Whether a key is not mentioned to the user: it does not influence the answers, or is read elsewhere. */
static bool is_silent(const char *key)
{
    static const char *const silent[] = {
        "use_cache", "cache_implementation", "pad_token_id", "do_sample", "temperature", "top_k", "top_p", NULL
    };
    return g_strv_contains(silent, key) || g_str_has_prefix(key, "output_") || g_str_has_prefix(key, "return_");
}

static const json_t *find_default(const Source *source, const char *key)
{
    const json_t *value = json_object_get(source->object, key);
    return json_is_null(value) ? NULL : value;
}

static bool says_true(const Source *source, const char *key)
{
    return json_is_true(find_default(source, key));
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
static void take_length(Source *source, bool encodes, GenerationSettings *settings)
{
    int64_t whole = COUNT_UNSET;
    if (settings->max_tokens == COUNT_UNSET && encodes && find_default(source, "max_new_tokens") == NULL) {
        take_count(source, "max_length", MAX_TOKENS + 1, &whole);
        settings->max_tokens = MAX(whole - 1, 1);
    } else if (settings->max_tokens == COUNT_UNSET && find_default(source, "max_new_tokens") == NULL) {
        g_hash_table_add(source->left, (char *)"max_length");
    }
    take_count(source, "max_new_tokens", MAX_TOKENS, &settings->max_tokens);
}

/* Chooses sampling, greedy decoding or beam search: by --temperature and --beams, else by the model's settings. */
static void take_choice(Source *source, GenerationSettings *settings)
{
    bool samples = says_true(source, "do_sample"), given = settings->temperature > REAL_UNSET;
    if (!given) {
        settings->temperature = 0;
        if (samples && (settings->beams == COUNT_UNSET || settings->beams == 1)) {
            settings->temperature = REAL_UNSET;
            take_real(source, "temperature", 1, &settings->temperature);
            g_hash_table_add(source->taken, (char *)"do_sample");
            g_hash_table_add(source->left, (char *)(settings->beams == COUNT_UNSET ? "num_beams" : ""));
        }
    }
    if ((given || settings->temperature > 0) && settings->beams == COUNT_UNSET)
        settings->beams = 1;
    if (settings->temperature > 0) {
        take_count(source, "top_k", samples ? TRANSFORMERS_TOP_K : 0, &settings->top_k);
        take_real(source, "top_p", 1, &settings->top_p);
    }
    take_count(source, "num_beams", 1, &settings->beams);
    if (settings->top_k == COUNT_UNSET)
        settings->top_k = 0;
    if (settings->top_p <= REAL_UNSET)
        settings->top_p = 1;
}

static void append_default(GString *list, const char *key, const json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6));
    g_string_append_printf(list, "%s%s %.60s", list->len ? ", " : "", key, text);
    free(text);
}

/* Lists the settings that were applied and those that were not; settings that the command line overrides are in neither
 * list. */
static void list_settings(const Source *source, GString *used, GString *unused)
{
    static const char *const known[] = { "max_new_tokens", "max_length", "repetition_penalty", "num_beams", NULL };
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)source->object, key, value)
    {
        if (g_hash_table_contains(source->taken, key))
            append_default(used, key, value);
        else if (!is_neutral(key, value) && !is_silent(key) &&
                 (!g_strv_contains(known, key) || g_hash_table_contains(source->left, key)))
            append_default(unused, key, value);
    }
}

bool generation_defaults(GenerationSettings *settings, const json_t *model, bool encodes, char **used, char **unused,
                         GError **error)
{
    g_autoptr(GHashTable) taken = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GHashTable) left = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GString) takes = g_string_new(NULL), leaves = g_string_new(NULL);
    Source source = { .object = model, .taken = taken, .left = left, .error = error };
    take_length(&source, encodes, settings);
    take_choice(&source, settings);
    take_real(&source, "repetition_penalty", 1, &settings->repetition_penalty);
    list_settings(&source, takes, leaves);
    *used = g_strdup(takes->str);
    *unused = g_strdup(leaves->str);
    return !source.wrong;
}
