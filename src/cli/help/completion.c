/* completion.c: makes completion scripts for shells, which complete verbs, their actions and options, configuration
 * options, values of both, and files. */
#include "cli/help/help.h"
#include "data/task/task.h"
#include "model/config/config.h"
#include "text/tokenizer_train.h"

#include <string.h>

/* What may follow or be the value of something: name "bench step", words "--help --seconds …"; name "bench", words
 * "comm step …"; name "export --to", words "hf peft"; name "optim.schedule", words "constant linear …". The words after
 * a verb or an action start with --help if files may follow, too; they end with CONFIG if it takes options of a
 * configuration. The values of an option end with FILES if it may be a file, too. */
typedef struct Words {
    char *name, *words;
} Words;

#define CONFIG "group.key=value"
#define FILES  "FILE"

static void words_clear(gpointer data)
{
    Words *words = data;
    g_free(words->name);
    g_free(words->words);
}

static void add_words(GArray *all, const char *name, const char *list)
{
    const Words words = { g_strdup(name), g_strdup(list) };
    g_array_append_val(all, words);
}

static void add_completion(GString *list, const char *word)
{
    g_string_append_printf(list, "%s%s", list->len ? " " : "", word);
}

static void add_list(GString *list, const char *const *words)
{
    for (; words && *words; words++)
        add_completion(list, *words);
}

static void add_key(const OptionRow *row, G_GNUC_UNUSED const char *accepts, gpointer data)
{
    g_string_append_printf(data, "%s%s=", ((GString *)data)->len ? " " : "", row->name);
}

/* The values of an option of a configuration that are words. */
static void add_key_values(const OptionRow *row, G_GNUC_UNUSED const char *accepts, gpointer data)
{
    g_autoptr(GString) list = g_string_new(row->type == OPT_BOOL ? "true false" : NULL);
    if (row->type == OPT_ENUM)
        add_list(list, row->choices);
    if (strcmp(row->name, "model.preset") == 0)
        add_list(list, model_preset_names);
    for (size_t i = 0; strcmp(row->name, "task.name") == 0 && task_at(i); i++)
        add_completion(list, task_at(i)->name);
    if (list->len)
        add_words(data, row->name, list->str);
}

/* The values of a verb's option, which are its placeholder in the help: "hf|peft". Words with capitals, as in
 * "cpu|cuda:N", stand for others; FILE, as in "h100|FILE", is kept as the last word, since files are offered, too. */
static void add_option_values(GArray *all, const char *page, const GOptionEntry *entry)
{
    g_autoptr(GString) list = g_string_new(NULL);
    g_auto(GStrv) values = g_strsplit(entry->arg_description ? entry->arg_description : "", "|", -1);
    const bool kinds = strcmp(entry->long_name, "kind") == 0 || strcmp(entry->long_name, "type") == 0;
    for (char **value = values; *value && values[1]; value++) {
        g_autofree char *small = g_ascii_strdown(*value, -1);
        if (strcmp(small, *value) == 0 || strcmp(*value, FILES) == 0)
            add_completion(list, *value);
    }
    for (size_t i = 0; kinds && tokenizer_trained_kind(i); i++)
        add_completion(list, tokenizer_trained_kind(i));
    g_autofree char *verb = g_strndup(page, strcspn(page, " ")),
                    *name = g_strdup_printf("%s --%s", verb, entry->long_name);
    if (list->len)
        add_words(all, name, list->str);
}

static void add_verbs(GString *list)
{
    for (const SubVerb *verb = cli_verbs; verb->name; verb++)
        add_completion(list, verb->name);
}

static void add_page(const HelpPage *page, gpointer data)
{
    g_autoptr(GString) list = g_string_new("--help");
    for (const GOptionEntry *entry = page->entries; entry->long_name; entry++) {
        g_string_append_printf(list, " --%s", entry->long_name);
        add_option_values(data, page->name, entry);
    }
    if (strcmp(page->name, "help") == 0)
        add_verbs(list);
    if (strstr(page->usage, CONFIG) || strcmp(page->name, "help") == 0)
        add_completion(list, CONFIG);
    add_words(data, page->name, list->str);
}

/* The actions of a verb, from the pages named "VERB ACTION"; NULL if it has none. g_free. */
static char *actions_of(const GArray *all, const char *verb)
{
    g_autofree char *before = g_strconcat(verb, " ", NULL);
    GString *list = g_string_new(NULL);
    for (guint i = 0; i < all->len; i++) {
        const char *page = g_array_index(all, Words, i).name;
        if (g_str_has_prefix(page, before) && page[strlen(before)] != '-')
            add_completion(list, page + strlen(before));
    }
    return g_string_free(list, list->len == 0);
}

static GArray *gather_words(const OptionTable *options)
{
    GArray *all = g_array_new(FALSE, FALSE, sizeof(Words));
    g_array_set_clear_func(all, words_clear);
    g_autoptr(GString) list = g_string_new(NULL);
    cli_each_page(add_page, all);
    add_verbs(list);
    add_words(all, "", list->str);
    for (const SubVerb *verb = cli_verbs; verb->name; verb++) {
        g_autofree char *actions = actions_of(all, verb->name);
        if (actions)
            add_words(all, verb->name, actions);
    }
    g_string_truncate(list, 0);
    options_each(options, add_key, list);
    add_words(all, CONFIG, list->str);
    options_each(options, add_key_values, all);
    return all;
}

/* Shell code. It looks up the typed words first as a verb and an action, then as a verb. _loam_words sets `found` to
 * the words of a name. */
#define POSIX_HEAD                                                                                                     \
    "_loam_words() {\n"                                                                                                \
    "    case $1 in\n"
#define POSIX_ENTRY "    '%s') found='%s' ;;\n"
#define POSIX_TAIL                                                                                                     \
    "    *) return 1 ;;\n"                                                                                             \
    "    esac\n"                                                                                                       \
    "}\n"                                                                                                              \
    "_loam_rest() {\n" /* what follows a verb and perhaps an action */                                                 \
    "    _loam_words \"$1 $2\" || _loam_words \"$1\" || found=\n"                                                      \
    "    local page=$found\n"                                                                                          \
    "    case $page in *' " CONFIG "')\n"                                                                              \
    "        _loam_words " CONFIG "\n"                                                                                 \
    "        found=\"${page% *} $found\" ;;\n"                                                                         \
    "    esac\n"                                                                                                       \
    "}\n"

/* bash cuts words at = if COMP_WORDBREAKS says so: then a reply is what follows the =. */
static const char bash_tail[] = POSIX_TAIL
    "_loam() {\n"
    "    local line=${COMP_LINE:0:COMP_POINT} found= files=1 prefix=\n"
    "    local -a typed\n"
    "    read -a typed <<<\"$line\"\n"
    "    [[ $line = *[[:space:]] ]] && typed+=('')\n"
    "    local n=${#typed[@]} verb=${typed[1]} current=${typed[-1]} previous=${typed[-2]}\n"
    "    local name=${current%%=*}\n"
    "    if [[ $n = 2 ]]; then\n"
    "        _loam_words '' && files=\n"
    "    elif [[ $previous = --* ]] && _loam_words \"$verb $previous\"; then\n"
    "        [[ $found = *' " FILES "' ]] || files=\n"
    "    elif [[ $current = *=* ]]; then\n"
    "        { _loam_words \"$verb $name\" || _loam_words \"$name\"; } && [[ $found != *' " FILES "' ]] && files=\n"
    "        [[ $COMP_WORDBREAKS = *=* ]] || prefix=$name=\n"
    "        current=${current#*=}\n"
    "    else\n"
    "        [[ $n = 3 ]] && _loam_rest \"$verb\" || _loam_rest \"$verb\" \"${typed[2]}\"\n"
    "        [[ $found = --help* ]] || files=\n"
    "    fi\n"
    "    mapfile -t COMPREPLY < <(compgen -W \"${found% " FILES "}\" -- \"$current\"\n"
    "        [ -z \"$files\" ] || compgen -f -- \"$current\")\n"
    "    COMPREPLY=(\"${COMPREPLY[@]/#/$prefix}\")\n"
    "    [[ ${#COMPREPLY[@]} = 1 && $COMPREPLY = *= ]] && compopt -o nospace +o filenames\n"
    "}\n"
    "complete -o filenames -F _loam loam\n";

static const char zsh_tail[] =
    POSIX_TAIL "_loam_values() {\n"
               "    compadd -- ${=${found% " FILES "}}\n"
               "    [[ -n $found && $found != *' " FILES "' ]] || _files\n"
               "}\n"
               "_loam() {\n"
               "    local verb=$words[2] previous=$words[CURRENT-1] name=${PREFIX%%=*} found=\n"
               "    if (( CURRENT == 2 )); then\n"
               "        _loam_words ''\n"
               "        compadd -- ${=found}\n"
               "    elif [[ $previous = --* ]] && _loam_words \"$verb $previous\"; then\n"
               "        _loam_values\n"
               "    elif compset -P 1 '*='; then\n"
               "        _loam_words \"$verb $name\" || _loam_words \"$name\"\n"
               "        _loam_values\n"
               "    else\n"
               "        if (( CURRENT == 3 )); then _loam_rest \"$verb\"; else _loam_rest \"$verb\" \"$words[3]\"; fi\n"
               "        local -a offered=(${=found})\n"
               "        compadd -S '' -- ${(M)offered:#*=}\n"
               "        compadd -- ${offered:#*=}\n"
               "        [[ $found != --help* ]] || _files\n"
               "    fi\n"
               "}\n"
               "if [[ $funcstack[1] = _loam ]]; then _loam \"$@\"; else compdef _loam loam; fi\n";

static const char fish_head[] = "function __loam_words\n"
                                "    switch \"$argv\"\n";
static const char fish_entry[] = "        case '%s'\n"
                                 "            string split ' ' -- '%s'\n";
static const char fish_tail[] =
    "        case '*'\n"
    "            return 1\n"
    "    end\n"
    "end\n"
    "function __loam_rest\n"
    "    set -l page (__loam_words \"$argv\"; or __loam_words \"$argv[1]\")\n"
    "    string match -v -- '" CONFIG "' $page\n"
    "    contains -- '" CONFIG "' $page; and __loam_words '" CONFIG "'\n"
    "end\n"
    /* the words of a place where files make no sense, the values of an option, or nothing */
    "function __loam_values\n"
    "    set -l typed (commandline -opc)\n"
    "    set -e typed[1]\n"
    "    set -l name (string match -r -- '^[^=]+(?==)' (commandline -ct))\n"
    "    set -l verb \"$typed[1]\"\n"
    "    if test -z \"$verb\"\n"
    "        __loam_words ''\n"
    "    else if set -q name[1]\n"
    "        set -l values (__loam_words \"$verb $name\"; or __loam_words $name)\n"
    "        string replace -r -- '^' \"$name=\" $values\n"
    "    else if string match -q -- '--*' $typed[-1]; and __loam_words \"$verb $typed[-1]\"\n"
    "    else if test (count $typed) = 1\n"
    "        set -l words (__loam_words $verb)\n"
    "        contains -- --help $words; or string split ' ' -- \"$words\"\n"
    "    end\n"
    "end\n"
    "function __loam_closed\n"
    "    set -l words (__loam_values)\n"
    "    string match -q -- '*" FILES "' \"$words[-1]\"; or string join \\n -- $words\n"
    "end\n"
    "function __loam_open\n"
    "    set -l words (__loam_values)\n"
    "    if set -q words[1]\n"
    "        string match -v -- '*" FILES "' $words\n"
    "        return\n"
    "    end\n"
    "    set -l typed (commandline -opc)\n"
    "    __loam_rest $typed[2..3]\n"
    "end\n"
    "complete -c loam -n 'string length -q -- (__loam_closed)' -f -a '(__loam_closed)'\n"
    "complete -c loam -n 'not string length -q -- (__loam_closed)' -a '(__loam_open)'\n";

static const struct {
    const char *shell, *head, *entry, *tail;
} shells[] = {
    { "bash", POSIX_HEAD, POSIX_ENTRY, bash_tail },
    { "zsh", "#compdef loam\n" POSIX_HEAD, POSIX_ENTRY, zsh_tail },
    { "fish", fish_head, fish_entry, fish_tail },
};

char *help_completion(const char *shell, const OptionTable *options)
{
    for (size_t i = 0; i < G_N_ELEMENTS(shells); i++) {
        if (strcmp(shells[i].shell, shell) != 0)
            continue;
        g_autoptr(GArray) all = gather_words(options);
        GString *text = g_string_new(shells[i].head);
        for (guint w = 0; w < all->len; w++) {
            const Words *words = &g_array_index(all, Words, w);
            g_string_append_printf(text, shells[i].entry, words->name, words->words);
        }
        g_string_append(text, shells[i].tail);
        return g_string_free(text, FALSE);
    }
    return NULL;
}
