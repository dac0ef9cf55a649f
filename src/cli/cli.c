#include "cli/cli.h"

#include "base/log.h"
#include "base/text.h"
#include "cli/task_model.h"
#include "run/config/config.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* ---- the verbs ---- */

const SubVerb cli_verbs[] = {
#define VERB(name, does) { #name, verb_##name, does },
#include "cli/verbs.inc"
#undef VERB
    { 0 },
};

const SubVerb *cli_find_verb(const char *name)
{
    for (const SubVerb *verb = cli_verbs; verb->name; verb++)
        if (strcmp(verb->name, name) == 0)
            return verb;
    return NULL;
}

const char *cli_nearest_verb(const char *name)
{
    const char *names[G_N_ELEMENTS(cli_verbs)];
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        names[i] = cli_verbs[i].name;
    return text_nearest(name, names);
}

bool cli_fail_unknown_verb(const char *name, GError **error)
{
    const char *nearest = cli_nearest_verb(name);
    if (nearest)
        return fail_user(error, "unknown verb %s, did you mean %s?", name, nearest);
    return fail_user(error, "unknown verb %s; `loam --help` lists them", name);
}

void cli_print_verbs(FILE *out)
{
    fprintf(out, "loam %s: pre-train and fine-tune T5, BERT and GPT models\n\nusage: loam VERB …\n\n", LOAM_VERSION);
    for (const SubVerb *verb = cli_verbs; verb->name; verb++)
        fprintf(out, "  %-10s %s\n", verb->name, verb->does);
    fprintf(out, "\n`loam help VERB` tells more. Exit status: 0 done, 1 a mistake in use, configuration or input,\n"
                 "2 a failure of the machine, 75 stopped on request with a checkpoint written.\n");
}

/* Set while cli_each_page runs: cli_parse then passes the help page to this function instead of printing it. */
static struct {
    HelpTaker take;
    gpointer data;
} taker;

void cli_each_page(HelpTaker take, gpointer data)
{
    taker.take = take;
    taker.data = data;
    for (const SubVerb *verb = cli_verbs; verb->name; verb++) {
        char *argv[] = { (char *)verb->name, (char *)"--help", NULL };
        verb->run(2, argv, NULL);
    }
    taker.take = NULL;
}

/* ---- command lines ---- */

/* The configuration option whose name without its group is `name`: train.precision for "precision"; NULL means none. */
static const OptionRow *find_config_option(const char *name)
{
    const OptionRow *row;
    for (int i = 0; (row = options_at(config_options(), i)); i++)
        if (strcmp(strchr(row->name, '.') + 1, name) == 0 || strcmp(row->name, name) == 0)
            return row;
    return NULL;
}

/* The argument of a usage line, outside of its options, that an option is named like: "MODEL" of "loam eval MODEL
 * [--samples N]" for "model". g_free; NULL means none. */
static char *find_argument(const char *usage, const char *name)
{
    g_auto(GStrv) words = g_strsplit_set(usage, " []()", -1);
    const char *before = "";
    for (char **word = words; *word; before = **word ? *word : before, word++) {
        g_auto(GStrv) names = g_strsplit(*word, "|", -1);
        const bool is_value = g_str_has_prefix(before, "--") || strcmp(before, "<") == 0;
        for (char **argument = names; *argument && !is_value; argument++) {
            const size_t n = strspn(*argument, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
            if (n > 0 && g_ascii_strncasecmp(*argument, name, n) == 0 && (!name[n] || strcmp(name + n, "s") == 0))
                return g_strdup(*argument);
        }
    }
    return NULL;
}

/* Replaces GLib's "Unknown option --foo" by an error that names the nearest option. */
static bool explain_unknown(const GOptionEntry *entries, char **argv, const char *usage, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (const GOptionEntry *entry = entries; entry->long_name; entry++)
        g_ptr_array_add(names, (char *)entry->long_name);
    g_ptr_array_add(names, NULL);
    for (char **arg = argv + 1; *arg; arg++) {
        if (!g_str_has_prefix(*arg, "--") || strcmp(*arg, "--") == 0 || strcmp(*arg, "--help") == 0)
            continue;
        g_autofree char *name = g_strndup(*arg + 2, strcspn(*arg + 2, "="));
        if (g_strv_contains((const char *const *)names->pdata, name))
            continue;
        const bool takes_all = strstr(usage, "group.key=value") != NULL;
        const OptionRow *config = find_config_option(name);
        if (config && !takes_all && !strstr(usage, config->name))
            config = NULL;
        const char *equals = strchr(*arg, '='), *value = equals ? equals + 1 : arg[1];
        g_autofree char *length = strstr(usage, "--rank ") ? cli_answer_length(name, value) : NULL,
                        *foreign = !takes_all || config ? NULL
                                   : length             ? g_steal_pointer(&length)
                                                        : options_find_foreign(config_options(), name, value);
        const char *nearest = text_nearest(name, (const char *const *)names->pdata);
        g_autofree char *argument = find_argument(usage, name);
        if (foreign)
            return fail_user(error, "unknown option --%s, did you mean %s%s?", name, foreign,
                             strpbrk(foreign, "= ") ? "" : "=VALUE");
        if (config)
            return fail_user(error, "unknown option --%s, did you mean %s=VALUE?", name, config->name);
        if (argument)
            return fail_user(error, "unknown option --%s: give %s without it; usage: %s", name, argument, usage);
        if (nearest)
            return fail_user(error, "unknown option --%s, did you mean --%s?", name, nearest);
        return fail_user(error, "unknown option --%s; usage: %s", name, usage);
    }
    return false;
}

/* Fails for an option such as train.device=cuda, given to a verb that has --device and takes no configuration. */
static bool check_settings(const GOptionEntry *entries, char **argv, const char *usage, GError **error)
{
    if (strstr(usage, "key=value"))
        return true;
    for (char **arg = argv + 1; *arg; arg++) {
        const char *dot = strchr(*arg, '.'), *equals = strchr(*arg, '=');
        if (dot == NULL || equals == NULL || dot > equals)
            continue;
        g_autofree char *name = g_strndup(dot + 1, (gsize)(equals - dot - 1));
        const OptionRow *config = find_config_option(name);
        if (config == NULL || strncmp(config->name, *arg, (gsize)(equals - *arg)) != 0)
            continue;
        for (const GOptionEntry *entry = entries; entry->long_name; entry++)
            if (strcmp(entry->long_name, name) == 0)
                return fail_user(error, "%s is an option of runs, did you mean --%s %s?", *arg, name, equals + 1);
    }
    return true;
}

/* Fails for a switch with a value, such as --json=no, which GLib would take for --json. */
static bool check_switches(const GOptionEntry *entries, char **argv, GError **error)
{
    for (char **arg = argv + 1; *arg && strcmp(*arg, "--") != 0; arg++)
        for (const GOptionEntry *entry = entries; entry->long_name; entry++) {
            const size_t n = strlen(entry->long_name);
            if (entry->arg == G_OPTION_ARG_NONE && g_str_has_prefix(*arg, "--") &&
                strncmp(*arg + 2, entry->long_name, n) == 0 && (*arg)[2 + n] == '=')
                return fail_user(error, "--%s takes no value, and %s gives one: leave it out", entry->long_name, *arg);
        }
    return true;
}

static int count_separators(char **argv, int argc)
{
    int n = 0;
    for (int i = 1; i < argc; i++)
        n += strcmp(argv[i], "--") == 0;
    return n;
}

/* Removes the first "--", which ends the options. GLib leaves it if an argument precedes it. */
static void drop_separator(int *argc, char **argv)
{
    int at = 1;
    while (strcmp(argv[at], "--") != 0)
        at++;
    for (--*argc; at < *argc; at++)
        argv[at] = argv[at + 1];
    argv[*argc] = NULL;
}

/* A paragraph is filled; lines that begin with a blank are examples and stay as they are. */
static void add_wrapped_about(GString *page, const char *about, int columns)
{
    g_auto(GStrv) paragraphs = g_strsplit(about, "\n\n", -1);
    for (char **paragraph = paragraphs; *paragraph; paragraph++) {
        if (paragraph > paragraphs)
            g_string_append_c(page, '\n');
        g_strchomp(*paragraph);
        if (**paragraph == ' ')
            g_string_append_printf(page, "%s\n", *paragraph);
        else
            text_append_wrapped(page, *paragraph, 0, 0, columns);
    }
}

/* The description goes on below its beginning, or, on a narrow terminal, a little indented. */
static void wrap_option(GString *page, const char *line, int columns)
{
    const char *name = line + strspn(line, " "), *gap = strstr(name, "  ");
    if (gap == NULL) {
        g_string_append_printf(page, "%s\n", line);
        return;
    }
    const char *description = gap + strspn(gap, " ");
    g_autofree char *start = g_strndup(line, (gsize)(description - line) - 1);
    const glong column = g_utf8_strlen(start, -1);
    g_string_append(page, start);
    text_append_wrapped(page, description, column, column < columns / 2 ? (int)column + 1 : 8, columns);
}

/* The help of a verb in lines as long as the terminal is wide. options: from GLib, a line per option, with two blanks
 * before each description; "" means none. columns: of the terminal; 0 means that no line is broken. g_free. */
static char *wrap_help(const char *usage, const char *about, const char *options, int columns)
{
    if (columns == 0)
        return g_strdup_printf("usage: %s\n\n%s\n%s", usage, about, options);
    GString *page = g_string_new("usage:");
    text_append_wrapped(page, usage, 6, 7, columns);
    g_string_append_c(page, '\n');
    add_wrapped_about(page, about, columns);
    g_string_append_c(page, '\n');
    g_auto(GStrv) lines = g_strsplit(options, "\n", -1);
    for (char **line = lines; *line && (**line || line[1]); line++)
        wrap_option(page, *line, columns);
    return g_string_free(page, false);
}

bool cli_parse(int *argc, char ***argv, const GOptionEntry *entries, const char *usage, const char *about,
               GError **error)
{
    g_autoptr(GOptionContext) context = g_option_context_new(NULL);
    g_option_context_add_main_entries(context, entries, NULL);
    g_option_context_set_help_enabled(context, false);
    for (int i = 1; i < *argc && strcmp((*argv)[i], "--") != 0; i++)
        if (strcmp((*argv)[i], "--help") == 0 || strcmp((*argv)[i], "-h") == 0) {
            if (taker.take) {
                taker.take(&(HelpPage){ (*argv)[0], usage, about, entries }, taker.data);
                return false;
            }
            g_autofree char *help = g_option_context_get_help(context, true, NULL);
            const char *options = strstr(help, "Options:");
            g_autofree char *page =
                wrap_help(usage, about, options && entries->long_name ? strchr(options, '\n') + 1 : "",
                          log_columns(STDOUT_FILENO));
            g_print("%s", page);
            return false;
        }
    g_autoptr(GError) parse_error = NULL;
    if (!check_switches(entries, *argv, error))
        return false;
    const int separators = count_separators(*argv, *argc);
    if (g_option_context_parse(context, argc, argv, &parse_error)) {
        if (separators > 0 && count_separators(*argv, *argc) == separators)
            drop_separator(argc, *argv);
        return check_settings(entries, *argv, usage, error);
    }
    if (g_error_matches(parse_error, G_OPTION_ERROR, G_OPTION_ERROR_UNKNOWN_OPTION))
        explain_unknown(entries, *argv, usage, error);
    if (error == NULL || *error == NULL)
        fail_user(error, "%s; usage: %s", parse_error->message, usage);
    return false;
}

/* If cli_each_page is running, passes the help page of every action to its function and returns true. */
static bool gather_sub_verbs(const SubVerb *sub_verbs, size_t n, const char *verb)
{
    for (size_t i = 0; taker.take && i < n; i++) {
        g_autofree char *name = g_strconcat(verb, " ", sub_verbs[i].name, NULL);
        char *argv[] = { name, (char *)"--help", NULL };
        sub_verbs[i].run(2, argv, NULL);
    }
    return taker.take != NULL;
}

bool cli_check_prefix(const char *out, GError **error)
{
    g_autofree char *name = g_path_get_basename(out);
    g_autofree char *example = g_build_filename(out, "train", NULL), *word = text_shell_word(example);
    if (*out == '\0')
        return fail_user(error, "--out is empty; want what the names of the files begin with, such as train");
    return (!g_str_has_suffix(out, "/") && strcmp(name, ".") != 0 && strcmp(name, "..") != 0) ||
           fail_user(error, "--out %s is a folder; want what the names of the files begin with, such as %s", out, word);
}

bool cli_check_suffix(const char *option, const char *path, const char *suffix, GError **error)
{
    static const char *const types[] = { ".svg", ".html", ".json", ".jsonl",   ".npy",  ".npz",  ".csv",         ".tsv",
                                         ".md",  ".tex",  ".png",  ".jpg",     ".jpeg", ".gif",  ".webp",        ".pdf",
                                         ".eps", ".ps",   ".doc",  ".docx",    ".xls",  ".xlsx", ".zip",         ".gz",
                                         ".zst", ".xz",   ".bz2",  ".parquet", ".pt",   ".bin",  ".safetensors", NULL };
    g_autofree char *name = path ? g_path_get_basename(path) : g_strdup("");
    const char *dot = strrchr(name, '.');
    g_autofree char *own = g_ascii_strdown(dot ? dot : "", -1);
    return strcmp(own, suffix) == 0 || !g_strv_contains(types, own) ||
           fail_user(error, "--%s %s: the file is no %s; give a name that ends in %s", option, path, own, suffix);
}

bool cli_check_replaced(const char *what, const char *path, bool replace, GError **error)
{
    return replace || !g_file_test(path, G_FILE_TEST_IS_REGULAR) ||
           fail_user(error, "%s exists, and runs may use it: give another --out, or --replace to replace it", what);
}

bool cli_check_count(const char *name, int64_t value, int64_t least, int64_t most, GError **error)
{
    return (value >= least && value <= most) ||
           fail_user(error, "--%s %" PRId64 " is out of range, it must be between %" PRId64 " and %" PRId64, name,
                     value, least, most);
}

bool cli_parse_on_error(bool *skips, const char *given, GError **error)
{
    *skips = g_strcmp0(given, "skip") == 0;
    return !given || *skips || strcmp(given, "stop") == 0 ||
           fail_user(error, "--on-error %s: stop or skip is wanted", given);
}

bool cli_check_dataset(const char *prefix, bool replace, GError **error)
{
    g_autofree char *index = g_strconcat(prefix, ".idx", NULL);
    return cli_check_replaced(prefix, index, replace, error);
}

char *one_line(const char *text)
{
    GString *line = g_string_new(text);
    g_string_replace(line, "\n", "\\n", 0);
    g_string_replace(line, "\r", "\\r", 0);
    return g_string_free(line, false);
}

char *valid_text(const char *text, bool *replaced)
{
    char *valid = g_utf8_make_valid(text, -1);
    *replaced |= strstr(valid, "\uFFFD") != NULL;
    return valid;
}

static void print_sub_verbs(const SubVerb *sub_verbs, size_t n, const char *verb, const char *example)
{
    printf("usage: loam %s WHAT …\n\n", verb);
    for (size_t i = 0; i < n; i++)
        printf("  %-11s %s\n", sub_verbs[i].name, sub_verbs[i].does);
    printf("\n`loam %s WHAT --help` tells more.\n\n  %s\n", verb, example);
}

bool cli_run_sub_verb(const SubVerb *sub_verbs, size_t n, const char *verb, const char *example, int argc, char **argv,
                      GError **error)
{
    g_autofree const char **names = g_new0(const char *, n + 1);
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        if (!gather_sub_verbs(sub_verbs, n, verb))
            print_sub_verbs(sub_verbs, n, verb, example);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        names[i] = sub_verbs[i].name;
        if (argc > 1 && strcmp(argv[1], names[i]) == 0)
            return sub_verbs[i].run(argc - 1, argv + 1, error);
    }
    g_autofree char *list = g_strjoinv(", ", (char **)names);
    if (argc < 2)
        return fail_user(error, "say what: one of %s", list);
    const char *nearest = text_nearest(argv[1], names);
    if (nearest)
        return fail_user(error, "unknown: %s, did you mean %s?", argv[1], nearest);
    return fail_user(error, "unknown: %s; one of: %s", argv[1], list);
}
