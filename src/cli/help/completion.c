/* completion.c: makes completion scripts for shells, which complete verbs, their actions and options, configuration
 * options, kinds of tokenizers, and files. */
#include "cli/help/help.h"
#include "model/config/config.h"
#include "text/tokenizer_train.h"

#include <string.h>

/* The words that may follow a verb, an action or an option: name "bench step", words "--help --seconds …". */
typedef struct Words {
    char *name, *words;
} Words;

typedef struct Gathered {
    GArray *verbs; /* Words */
    char *keys;    /* the options of a configuration: "optim.lr= optim.schedule=constant …" */
} Gathered;

static void words_clear(gpointer data)
{
    Words *words = data;
    g_free(words->name);
    g_free(words->words);
}

/* Values of verbs' options that no table has; "--device" stands for that of every verb. */
static const struct {
    const char *name, *words;
} option_values[] = {
    { "export --to", "hf peft" },
    { "import --from", "hf t5x fairseq" },
    { "collect --format", "text markdown tsv latex json" },
    { "prepare --format", "megatron fairseq" },
    { "report --by", "step tokens hours" },
    { "--device", "cpu cuda auto" },
    { "--precision", "f32 bf16 fp16 auto" },
    { "--rank", "sum bytes tokens" },
    { "--for", "bert roberta t5 gpt" },
    { "--machine", "h200 h100 a100 v100 cpu" },
    { "--completion", "bash zsh fish" },
};

static void add_key(const OptionRow *row, const char *accepts, gpointer data)
{
    (void)accepts;
    g_string_append_printf(data, " %s=", row->name);
    for (const char *const *name = model_preset_names; strcmp(row->name, "model.preset") == 0 && *name; name++)
        g_string_append_printf(data, " %s=%s", row->name, *name);
    for (const char *const *choice = row->type == OPT_ENUM ? row->choices : NULL; choice && *choice; choice++)
        g_string_append_printf(data, " %s=%s", row->name, *choice);
}

static void add_words(Gathered *gathered, const char *name, const char *list)
{
    const Words words = { g_strdup(name), g_strdup(list) };
    g_array_append_val(gathered->verbs, words);
}

static void add_page(const HelpPage *page, gpointer data)
{
    Gathered *gathered = data;
    g_autoptr(GString) list = g_string_new("--help");
    for (const GOptionEntry *entry = page->entries; entry->long_name; entry++)
        g_string_append_printf(list, " --%s", entry->long_name);
    if (strstr(page->usage, "group.key=value"))
        g_string_append(list, gathered->keys);
    add_words(gathered, page->name, list->str);
}

/* The actions of a verb, from the pages named "VERB ACTION"; NULL if it has none. g_free. */
static char *actions_of(const Gathered *gathered, const char *verb)
{
    g_autofree char *start = g_strconcat(verb, " ", NULL);
    GString *list = g_string_new(NULL);
    for (guint i = 0; i < gathered->verbs->len; i++) {
        const Words *words = &g_array_index(gathered->verbs, Words, i);
        if (g_str_has_prefix(words->name, start))
            g_string_append_printf(list, "%s%s", list->len ? " " : "", words->name + strlen(start));
    }
    return g_string_free(list, list->len == 0);
}

static Gathered gather(const OptionTable *options)
{
    Gathered gathered = { .verbs = g_array_new(FALSE, FALSE, sizeof(Words)) };
    g_array_set_clear_func(gathered.verbs, words_clear);
    GString *keys = g_string_new(NULL), *names = g_string_new(NULL);
    options_each(options, add_key, keys);
    gathered.keys = g_string_free(keys, FALSE);
    cli_each_page(add_page, &gathered);
    size_t n_verbs;
    const SubVerb *verbs = cli_verbs(&n_verbs);
    for (size_t i = 0; i < n_verbs; i++) {
        g_autofree char *actions = actions_of(&gathered, verbs[i].name);
        if (actions)
            add_words(&gathered, verbs[i].name, actions);
        g_string_append_printf(names, "%s%s", i ? " " : "", verbs[i].name);
    }
    add_words(&gathered, "", names->str);
    g_string_truncate(names, 0);
    for (size_t i = 0; tokenizer_trained_kind(i); i++)
        g_string_append_printf(names, "%s%s", i ? " " : "", tokenizer_trained_kind(i));
    add_words(&gathered, "--kind", names->str);
    for (size_t i = 0; i < G_N_ELEMENTS(option_values); i++)
        add_words(&gathered, option_values[i].name, option_values[i].words);
    g_string_free(names, TRUE);
    return gathered;
}

/* The text of a script that sets `words` to the words that may follow the typed verb and action. */
static char *script(const Gathered *gathered, const char *head, const char *entry, const char *tail)
{
    GString *text = g_string_new(head);
    for (guint i = 0; i < gathered->verbs->len; i++) {
        const Words *words = &g_array_index(gathered->verbs, Words, i);
        g_string_append_printf(text, entry, words->name, words->words);
    }
    g_string_append(text, tail);
    return g_string_free(text, FALSE);
}

/* Shell code. It looks up the typed words first as a verb and an action, then as a verb. */
#define BASH_BODY                                                                                                      \
    "_loam_words() {\n"                                                                                                \
    "    case $1 in\n"
#define BASH_ENTRY "    '%s') words='%s' ;;\n"
#define BASH_TAIL                                                                                                      \
    "    *) return 1 ;;\n"                                                                                             \
    "    esac\n"                                                                                                       \
    "}\n"                                                                                                              \
    "_loam() {\n"                                                                                                      \
    "    local current=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]} action=${COMP_WORDS[2]} words=\n"               \
    "    local previous=${COMP_WORDS[COMP_CWORD-1]}\n"                                                                 \
    "    COMP_WORDBREAKS=${COMP_WORDBREAKS//=/}\n"                                                                     \
    "    if [[ $previous = --* ]] && { _loam_words \"$verb $previous\" || _loam_words \"$previous\"; }; then\n"        \
    "        COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"                                                   \
    "        return\n"                                                                                                 \
    "    fi\n"                                                                                                         \
    "    if [ \"$COMP_CWORD\" = 1 ]; then\n"                                                                           \
    "        _loam_words ''\n"                                                                                         \
    "    elif [ \"$COMP_CWORD\" = 2 ] || ! _loam_words \"$verb $action\"; then\n"                                      \
    "        _loam_words \"$verb\"\n"                                                                                  \
    "    fi\n"                                                                                                         \
    "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"                                                       \
    "    [ \"$COMP_CWORD\" = 1 ] || COMPREPLY+=($(compgen -f -- \"$current\"))\n"                                      \
    "    case ${COMPREPLY[0]} in *=) compopt -o nospace ;; esac\n"                                                     \
    "}\n"                                                                                                              \
    "complete -o filenames -F _loam loam\n"

static const char fish_head[] = "function __loam_words\n"
                                "    set -l typed (commandline -opc)[2..]\n"
                                "    set -l option (string match -- '--*' $typed[-1])\n"
                                "    test (count $typed) -gt 2; and set typed $typed[1..2]\n"
                                "    for name in \"$typed[1] $option\" $option \"$typed\" $typed[1] ''\n"
                                "        switch \"$name\"\n";
static const char fish_entry[] = "            case '%s'\n"
                                 "                string split ' ' -- '%s'\n"
                                 "                return\n";
static const char fish_tail[] = "        end\n"
                                "        test -z \"$typed\"; and return\n"
                                "    end\n"
                                "end\n"
                                "complete -c loam -a '(__loam_words)'\n";

static const struct {
    const char *shell, *head, *entry, *tail;
} shells[] = {
    { "bash", BASH_BODY, BASH_ENTRY, BASH_TAIL },
    { "zsh", "#compdef loam\nautoload -U +X bashcompinit && bashcompinit\n" BASH_BODY, BASH_ENTRY, BASH_TAIL },
    { "fish", fish_head, fish_entry, fish_tail },
};

char *help_completion(const char *shell, const OptionTable *options)
{
    for (size_t i = 0; i < G_N_ELEMENTS(shells); i++) {
        if (strcmp(shells[i].shell, shell) != 0)
            continue;
        Gathered gathered = gather(options);
        char *text = script(&gathered, shells[i].head, shells[i].entry, shells[i].tail);
        g_array_unref(gathered.verbs);
        g_free(gathered.keys);
        return text;
    }
    return NULL;
}
