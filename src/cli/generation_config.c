#include "cli/generation_config.h"

#include "base/log.h"

#include <stdlib.h>
#include <string.h>

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

bool generation_setting_matters(const char *key, const json_t *value)
{
    return !is_neutral(key, value) && !is_silent(key);
}

void generation_setting_append(GString *list, const char *key, const json_t *value)
{
    g_autofree char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6));
    g_string_append_printf(list, "%s%s %.60s", list->len ? ", " : "", key, text);
}

void generation_config_tell_unused(const json_t *settings)
{
    g_autoptr(GString) unused = g_string_new(NULL);
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)settings, key, value)
    {
        if (generation_setting_matters(key, value) || (strcmp(key, "do_sample") == 0 && json_is_true(value)))
            generation_setting_append(unused, key, value);
    }
    if (unused->len)
        log_info("settings of the model's generation_config.json that only loam generate may use: %s", unused->str);
}
