#include "cli/help/help.h"

#include "base/log.h"
#include "base/table.h"
#include "base/text.h"
#include "run/config/config.h"

#include <string.h>
#include <unistd.h>

#define USAGE                                                                                                          \
    "loam help [VERB [ACTION] | GROUP | OPTION | WORD] [--options [GROUP] | --presets | --man DIR | --completion "     \
    "SHELL]"

static const char about[] =
    "Explains loam, or one verb, one group of options (run, model, lora, tokenizer, data, task, train, parallel,\n"
    "optim, fp16, fp8, log, hooks) or one option; any other word is searched for, in the documentation too. It also\n"
    "prints the manual pages and completion scripts that `make install` installs.\n"
    "\n"
    "  loam help train               the verb\n"
    "  loam help optim               the options optim.*; if a verb has the same name, add a dot: loam help train.\n"
    "  loam help optim.lr\n"
    "  loam help warmup              options, presets, verbs and pages that mention it\n"
    "  loam help --options | grep warmup\n"
    "  source <(loam help --completion bash)\n";

static gboolean options_reference, presets_reference;
static char *man_dir, *shell;
static const GOptionEntry entries[] = {
    CLI_SWITCH(
        "options", options_reference,
        "print all options of configurations, or those of GROUP: as text on a terminal, otherwise as Markdown, as in "
        "docs/options"),
    CLI_SWITCH("presets", presets_reference, "print all model presets and their sizes, as Markdown"),
    CLI_PATH("man", man_dir, "DIR", "write manual pages into the folder DIR"),
    CLI_VALUE("completion", shell, "bash|zsh|fish", "print a completion script for this shell"),
    { 0 },
};

/* Prints the number of parameters. If the vocabulary size comes from the tokenizer, it is printed as V. */
static char *params_text(ModelConfig *config)
{
    int64_t vocab = config->vocab;
    config->vocab = 1;
    int64_t with_one = model_config_params(config);
    config->vocab = 2;
    int64_t per_token = model_config_params(config) - with_one;
    char *fixed = text_grouped(with_one - per_token + vocab * per_token);
    if (vocab > 0)
        return fixed;
    char *text = g_strdup_printf("%s + %" G_GINT64_FORMAT " V", fixed, per_token);
    g_free(fixed);
    return text;
}

static bool list_preset(Table *table, const char *name, GError **error)
{
    g_auto(Config) config = { 0 };
    g_autofree char *override = g_strconcat("model.preset=", name, NULL);
    ModelConfig *model = &config.model;
    if (!config_load(&config, NULL, &override, 1, error))
        return false;
    table_add(table, g_strdup(name));
    table_add(table, g_strdup_printf("%" G_GINT64_FORMAT "+%" G_GINT64_FORMAT, model->n_enc, model->n_dec));
    table_add(table, g_strdup_printf("%" G_GINT64_FORMAT, model->width));
    table_add(table, g_strdup_printf("%" G_GINT64_FORMAT, model->ffn));
    table_add(table, g_strdup_printf("%" G_GINT64_FORMAT "×%" G_GINT64_FORMAT, model->heads, model->head_dim));
    table_add(table, model->vocab > 0 ? text_grouped(model->vocab) : g_strdup("V"));
    table_add(table, params_text(model));
    return true;
}

static bool print_presets(GError **error)
{
    static const char *const heading[] = { "preset", "encoder+decoder", "width",     "feed-forward",
                                           "heads",  "vocabulary",      "parameters" };
    Table table = table_new(G_N_ELEMENTS(heading));
    for (size_t i = 0; i < G_N_ELEMENTS(heading); i++)
        table_add(&table, g_strdup(heading[i]));
    bool ok = true;
    for (const char *const *name = model_preset_names; ok && *name; name++)
        ok = list_preset(&table, *name, error);
    fputs("# Presets\n\n```\n", stdout);
    table_print(&table);
    fputs("```\n", stdout);
    return ok;
}

static bool print_page(char *text)
{
    fputs(text, stdout);
    g_free(text);
    return true;
}

/* Width of the text of options, in columns. */
static int page_width(void)
{
    const int columns = log_columns(STDOUT_FILENO);
    return columns > 0 ? columns : 100;
}

/* Fails for words that nothing mentions. */
static bool fail_nothing_found(const char *words, GError **error)
{
    const char *nearest = cli_nearest_verb(words);
    return nearest ? fail_user(error, "nothing found for %s, did you mean %s?", words, nearest)
                   : fail_user(error,
                               "nothing found for %s; try another word, `loam help` lists the verbs and `loam "
                               "help --options` the options",
                               words);
}

/* Fails for words, the first of which is `name`, that are no verb, group of options or option, and found nowhere. */
static bool fail_unknown_topic(const char *name, const char *words, GError **error)
{
    g_autofree char *foreign = options_find_foreign(config_options(), name, NULL);
    if (foreign && strchr(foreign, '.') == NULL) /* no option */
        return fail_user(error, "%s is no option here: %s", name, foreign);
    if (foreign)
        return fail_user(error, "%s is called %s here; `loam help %.*s` tells more", name, foreign,
                         (int)strcspn(foreign, "=,"), foreign);
    if (strchr(name, '.'))
        return fail_user(error, "there is no option %s; `loam help %.*s.` lists its group", name,
                         (int)strcspn(name, "."), name);
    return fail_nothing_found(words, error);
}

/* group NULL means all options. */
static bool print_options(const char *group, GError **error)
{
    char *text = isatty(STDOUT_FILENO) ? options_to_text(config_options(), group, recipe_options, page_width())
                                       : options_to_markdown(config_options(), group, recipe_options);
    if (!text)
        return fail_user(error, "there is no group of options %s; `loam help --help` lists them", group);
    return print_page(text);
}

/* `loam help train` prints the same as `loam train --help`; `loam help train.` describes the options of this group. */
static bool help_of(int argc, char **argv, GError **error)
{
    g_autofree char *group = g_str_has_suffix(argv[0], ".") ? g_strndup(argv[0], strlen(argv[0]) - 1) : NULL;
    char *options = cli_find_verb(argv[0])
                        ? NULL
                        : options_to_text(config_options(), group ? group : argv[0], recipe_options, page_width());
    if (options)
        return print_page(options);
    g_autofree char **arguments = g_new0(char *, (gsize)argc + 2);
    for (int i = 0; i < argc; i++)
        arguments[i] = argv[i];
    arguments[argc] = (char *)"--help";
    const SubVerb *verb = cli_find_verb(argv[0]);
    if (verb)
        return verb->run(argc + 1, arguments, error);
    g_autofree char *foreign = options_find_foreign(config_options(), argv[0], NULL);
    g_autofree char *words = g_strjoinv(" ", argv);
    char *found = foreign ? NULL : help_search(words, config_options(), page_width());
    return found ? print_page(found) : fail_unknown_topic(argv[0], words, error);
}

bool verb_help(int argc, char **argv, GError **error)
{
    if (!cli_parse(&argc, &argv, entries, USAGE, about, error))
        return false;
    if (options_reference)
        return print_options(argc > 1 ? argv[1] : NULL, error);
    if (presets_reference)
        return print_presets(error);
    if (man_dir)
        return help_write_man(man_dir, config_options(), error);
    char *script = shell ? help_completion(shell, config_options()) : NULL;
    if (shell && !script)
        return fail_user(error, "--completion is %s, want bash, zsh or fish", shell);
    if (script)
        return print_page(script);
    if (argc > 1)
        return help_of(argc - 1, argv + 1, error);
    cli_print_verbs(stdout);
    return true;
}
