/* roles.c: what a folder says beside its weights: special tokens and generation settings in config.json and
 * generation_config.json, and the files of sentence-transformers. */
#include "base/file.h"
#include "model/hf/config_json.h"
#include "model/hf/hf.h"
#include "text/tokenizer_json.h"

/* Settings of generation_config.json that change answers. In folders without this file config.json holds them. */
/* clang-format off */
static const char *const legacy_keys[] = {
    "max_new_tokens", "max_length", "min_new_tokens", "min_length", "do_sample", "temperature", "top_k", "top_p",
    "min_p", "typical_p", "epsilon_cutoff", "eta_cutoff", "num_beams", "num_beam_groups", "diversity_penalty",
    "early_stopping", "penalty_alpha", "repetition_penalty", "encoder_repetition_penalty", "length_penalty",
    "exponential_decay_length_penalty", "no_repeat_ngram_size", "encoder_no_repeat_ngram_size", "bad_words_ids",
    "suppress_tokens", "begin_suppress_tokens", "sequence_bias", "forced_bos_token_id", "forced_eos_token_id", NULL,
};
/* clang-format on */

/* Keys of generation_config.json that are fields of TokenRoles, or name the program that wrote the file. */
static const char *const own_keys[] = { "eos_token_id", "bos_token_id", "decoder_start_token_id", "_from_model_config",
                                        "transformers_version" };

/* Reads the JSON object in FOLDER/NAME; NULL without an error if there is no such file. */
static json_t *read_object(const char *folder, const char *name, GError **error)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    return g_file_test(path, G_FILE_TEST_EXISTS) ? hf_read_object(path, error) : NULL;
}

/* *out becomes the id, or -1 if the value is null, negative or beyond the vocabulary. */
static bool take_id(const json_t *value, const char *key, int64_t vocab, int32_t *out, GError **error)
{
    *out = -1;
    if (value == NULL || json_is_null(value))
        return true;
    if (!json_is_integer(value))
        return fail_user(error, "%s is not a token id", key);
    json_int_t id = json_integer_value(value);
    if (id >= vocab)
        log_warning("%s %lld is left out: the model's ids are 0 to %lld", key, (long long)id, (long long)vocab - 1);
    else if (id >= 0)
        *out = (int32_t)id;
    return true;
}

/* Reads the id at `key`; an absent key gives default_id. */
static bool read_id(const json_t *root, const char *key, int32_t default_id, int64_t vocab, int32_t *out,
                    GError **error)
{
    const json_t *value = json_object_get(root, key);
    if (!take_id(value, key, vocab, out, error))
        return false;
    if (value == NULL && default_id < vocab)
        *out = default_id;
    return true;
}

/* eos_token_id is one id or a list of ids. */
static bool read_eos(const json_t *root, int64_t vocab, TokenRoles *roles, GError **error)
{
    const json_t *value = json_object_get(root, "eos_token_id");
    size_t n = json_is_array(value) ? json_array_size(value) : 1;
    roles->eos.n = 0;
    if (n > TOKEN_LIST_MOST)
        return fail_user(error, "eos_token_id has %zu ids; loam reads at most %d", n, TOKEN_LIST_MOST);
    for (size_t i = 0; i < n; i++) {
        int32_t id;
        if (!take_id(json_is_array(value) ? json_array_get(value, i) : value, "eos_token_id", vocab, &id, error))
            return false;
        token_roles_add_eos(roles, id);
    }
    return true;
}

static bool read_hf_config(const json_t *root, const HfArchitecture *arch, const ModelConfig *config, TokenRoles *roles,
                           GError **error)
{
    if (!read_id(root, "pad_token_id", arch->default_ids.pad, config->vocab, &roles->pad, error) ||
        !read_id(root, "bos_token_id", arch->default_ids.bos, config->vocab, &roles->bos, error) ||
        !read_eos(root, config->vocab, roles, error))
        return false;
    if (json_object_get(root, "eos_token_id") == NULL && arch->default_ids.eos < config->vocab)
        token_roles_add_eos(roles, arch->default_ids.eos);
    if (config->family != FAMILY_T5)
        return true;
    json_int_t start = json_integer_value(json_object_get(root, "decoder_start_token_id"));
    if (start >= config->vocab)
        return fail_user(error, "decoder_start_token_id is %lld; the model's ids are 0 to %lld", (long long)start,
                         (long long)config->vocab - 1);
    return read_id(root, "decoder_start_token_id", roles->pad, config->vocab, &roles->decoder_start, error);
}

static bool has_key(const json_t *root, const char *key)
{
    const json_t *value = json_object_get(root, key);
    return value && !json_is_null(value);
}

/* Whether generation_config.json says something else at a key than config.json, which has been read. */
static bool differs(const json_t *root, const json_t *base, const char *key)
{
    return has_key(root, key) && !json_equal(json_object_get(root, key), json_object_get(base, key));
}

/* base: config.json. */
static bool read_generation(const json_t *generation, const json_t *base, const ModelConfig *config, TokenRoles *roles,
                            GError **error)
{
    if (differs(generation, base, "eos_token_id") && !read_eos(generation, config->vocab, roles, error))
        return false;
    if (differs(generation, base, "bos_token_id") &&
        !read_id(generation, "bos_token_id", -1, config->vocab, &roles->bos, error))
        return false;
    if (config->family == FAMILY_T5 &&
        !read_id(generation, "decoder_start_token_id", -1, config->vocab, &roles->generation_start, error))
        return false;
    if (roles->generation_start == roles->decoder_start)
        roles->generation_start = -1;
    roles->generation = json_deep_copy(generation);
    for (size_t i = 0; i < G_N_ELEMENTS(own_keys); i++)
        json_object_del(roles->generation, own_keys[i]);
    return true;
}

/* Takes the generation settings that old folders have in config.json. */
static void take_legacy(const json_t *root, TokenRoles *roles)
{
    json_auto_t *settings = json_object();
    for (const char *const *key = legacy_keys; *key; key++)
        if (has_key(root, *key))
            json_object_set(settings, *key, json_object_get(root, *key));
    if (json_object_size(settings) > 0)
        roles->generation = json_incref(settings);
}

bool hf_roles_read(const char *folder, const HfArchitecture *arch, const ModelConfig *config, TokenRoles *roles,
                   GError **error)
{
    GError *problem = NULL;
    json_auto_t *root = read_object(folder, "config.json", &problem);
    json_auto_t *generation =
        config->n_dec > 0 && problem == NULL ? read_object(folder, "generation_config.json", &problem) : NULL;
    token_roles_clear(roles);
    if (problem)
        return fail_with(error, problem);
    if (!read_hf_config(root, arch, config, roles, error))
        return fail_context(error, "%s/config.json", folder);
    if (generation && !read_generation(generation, root, config, roles, error))
        return fail_context(error, "%s/generation_config.json", folder);
    if (generation == NULL && config->n_dec > 0)
        take_legacy(root, roles);
    return true;
}

/* Adds the ids n_ids … vocab - 1 to suppress_tokens: they only pad the vocabulary and stand for no token. */
static void suppress_padding(json_t *root, int64_t n_ids, int64_t vocab)
{
    json_t *list = json_object_get(root, "suppress_tokens");
    if (n_ids >= vocab)
        return;
    if (!json_is_array(list))
        json_object_set_new(root, "suppress_tokens", list = json_array());
    for (int64_t id = n_ids; id < vocab; id++)
        json_array_append_new(list, json_integer(id));
}

json_t *hf_roles_generation(const TokenRoles *roles, const ModelConfig *config, int64_t n_ids)
{
    json_t *root = roles->generation ? json_deep_copy(roles->generation) : json_object();
    suppress_padding(root, n_ids, config->vocab);
    if (roles->eos.n > 0)
        hf_eos_write(root, roles);
    if (json_object_get(root, "pad_token_id") == NULL)
        hf_id_write(root, "pad_token_id", roles->pad);
    if (config->n_enc > 0)
        hf_id_write(root, "decoder_start_token_id",
                    roles->generation_start >= 0 ? roles->generation_start : roles->decoder_start);
    else
        hf_id_write(root, "bos_token_id", roles->bos);
    return root;
}

/* ---- the files of sentence-transformers beside a model, which say how a text's hidden states become its vector.
 * TokenRoles.sentence holds them. ---- */

#define LIST      "modules.json"
#define MOST_LIST (1 << 20)

/* Names of the file with the limits of a Transformer; sentence-transformers takes the first that is there. */
static const char *const limits[] = { HF_SENTENCE_LIMITS,
                                      "sentence_roberta_config.json",
                                      "sentence_distilbert_config.json",
                                      "sentence_camembert_config.json",
                                      "sentence_albert_config.json",
                                      "sentence_xlm-roberta_config.json",
                                      "sentence_xlnet_config.json" };

const char *hf_sentence_module(const json_t *module)
{
    const char *type = json_text(module, "type"), *dot = strrchr(type, '.');
    return dot ? dot + 1 : type;
}

/* Adds a file to `files`, as `name`, unless it is there already or the folder lacks it. */
static bool take_module(const char *folder, const char *file, const char *name, json_t *files, GError **error)
{
    json_t *content = NULL;
    if (json_object_get(files, name) == NULL && !tokenizer_json_read(folder, file, &content, error))
        return false;
    if (content)
        json_object_set_new(files, name, content);
    return true;
}

/* The folder of a module below the model's; "" is the model's own. */
static bool is_below(const char *path)
{
    return *path != '/' && strstr(path, "..") == NULL;
}

static bool read_module(const char *folder, const json_t *module, json_t *files, GError **error)
{
    const char *path = json_text(module, "path");
    if (!is_below(path))
        return fail_user(error, "%s/" LIST " has the module in \"%s\", which is no folder below it", folder, path);
    bool transformer = strcmp(hf_sentence_module(module), "Transformer") == 0;
    g_autofree char *config = g_build_filename(path, "config.json", NULL),
                    *limit = g_build_filename(path, HF_SENTENCE_LIMITS, NULL);
    for (size_t i = 0; transformer && i < G_N_ELEMENTS(limits); i++) {
        g_autofree char *file = g_build_filename(path, limits[i], NULL);
        if (!take_module(folder, file, limit, files, error))
            return false;
    }
    return transformer || take_module(folder, config, config, files, error);
}

/* Without a max_seq_length the tokenizer's model_max_length counts; 10^30 there means that there is none. */
static bool take_length(const char *folder, json_t *files, GError **error)
{
    json_auto_t *settings = NULL;
    json_t *own = json_object_get(files, HF_SENTENCE_LIMITS);
    if (json_is_integer(json_object_get(own, "max_seq_length")))
        return true;
    if (!tokenizer_json_read(folder, "tokenizer_config.json", &settings, error))
        return false;
    json_t *length = json_object_get(settings, "model_max_length");
    if (own == NULL)
        json_object_set_new(files, HF_SENTENCE_LIMITS, own = json_object());
    if (json_is_integer(length))
        json_object_set(own, "max_seq_length", length);
    return true;
}

bool hf_sentence_read(const char *folder, json_t **sentence, GError **error)
{
    g_autofree char *path = g_build_filename(folder, LIST, NULL);
    size_t bytes, i;
    const json_t *module;
    if (!g_file_test(path, G_FILE_TEST_EXISTS))
        return true;
    g_autofree char *text = io_read_regular(path, MOST_LIST, &bytes, error);
    json_auto_t *list = text ? json_loadb(text, bytes, 0, NULL) : NULL, *files = json_object();
    if (!json_is_array(list))
        return text && fail_user(error, "%s is no list of modules", path);
    json_object_set(files, LIST, list);
    json_array_foreach(list, i, module) if (!read_module(folder, module, files, error)) return false;
    if (!take_length(folder, files, error) ||
        !take_module(folder, HF_SENTENCE_PROMPTS, HF_SENTENCE_PROMPTS, files, error))
        return false;
    json_decref(*sentence);
    *sentence = json_incref(files);
    return true;
}

/* A module whose files an export has. */
static bool is_whole_module(const json_t *module)
{
    const char *name = hf_sentence_module(module);
    return strcmp(name, "Transformer") == 0 ? *json_text(module, "path") == '\0'
                                            : strcmp(name, "Pooling") == 0 || strcmp(name, "Normalize") == 0;
}

bool hf_sentence_write(const char *folder, const json_t *sentence, GError **error)
{
    size_t i;
    const char *name;
    json_t *module, *content, *files = (json_t *)(uintptr_t)sentence;
    json_array_foreach(json_object_get(sentence, LIST), i, module) if (!is_whole_module(module))
    {
        log_warning(LIST " is left out: it has the module %s, which an export does not have",
                    json_text(module, "type"));
        return true;
    }
    json_object_foreach(files, name, content)
    {
        g_autofree char *path = g_build_filename(folder, name, NULL), *parent = g_path_get_dirname(path);
        if (!is_below(name))
            return fail_user(error, "\"%s\" is no file of a folder of sentence-transformers", name);
        if (!io_make_directories(parent, error) || !hf_write_object(folder, name, json_incref(content), error) ||
            !io_sync_directory(parent, error))
            return false;
    }
    return true;
}
