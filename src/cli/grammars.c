/* grammars.c: `loam grammars`: the parsers of programming languages for loam prepare --ast. */
#include "cli/cli.h"
#include "text/syntax/syntax.h"

#include <string.h>

#define USAGE "loam grammars list|install [--from FOLDER]"

static const char about[] =
    "Lists or installs the tree-sitter grammars with which loam prepare --ast parses programs. They lie in\n"
    "$LOAM_GRAMMARS or ~/.local/share/loam/grammars. A grammar is a shared library: opening it runs its code.\n"
    "\n"
    "  list     installed grammars: name, version, format, node types, file name extensions, other names\n"
    "  install  copies the grammars in the folder --from; tools/install-grammars in loam's sources builds them\n"
    "\n"
    "  tools/install-grammars python c && loam grammars install --from build/grammars && loam grammars list\n";

static char *from;
static const GOptionEntry entries[] = {
    CLI_PATH("from", from, "FOLDER", "install: folder with the files NAME.so"),
    { 0 },
};

static bool list(GError **error)
{
    g_autofree char *folder = grammars_folder();
    g_autoptr(GPtrArray) grammars = grammars_open(NULL, error);
    if (!grammars)
        return false;
    if (grammars->len == 0)
        printf("no grammar in %s; loam grammars install --from FOLDER puts some there\n", folder);
    else
        printf("%-12s %-8s %6s %6s  %s\n", "language", "version", "format", "types", "file names, other names");
    for (int i = 0; i < (int)grammars->len; i++) {
        const Grammar *grammar = grammars->pdata[i];
        g_autoptr(GString) endings = g_string_new(NULL);
        for (char *const *ending = grammar->endings; *ending; ending++)
            g_string_append_printf(endings, "%s%s%s", endings->len ? " " : "",
                                   **ending == '=' || **ending == '?' ? "" : ".", *ending + (**ending == '='));
        printf("%-12s %-8s %6d %6d  %s\n", grammar->name, grammar->version, grammar->abi, grammar->n_types,
               endings->str);
    }
    return true;
}

static bool install(GError **error)
{
    g_autofree char *folder = grammars_folder();
    if (!from)
        return fail_user(error, "--from is missing; usage: " USAGE);
    int n = grammars_install(from, folder, error);
    if (n < 0)
        return false;
    printf("%s: %d grammar%s\n", folder, n, n == 1 ? "" : "s");
    return true;
}

bool verb_grammars(int argc, char **argv, GError **error)
{
    if (!cli_parse(&argc, &argv, entries, USAGE, about, error))
        return false;
    if (argc != 2)
        return fail_user(error, "list or install is wanted; usage: " USAGE);
    if (strcmp(argv[1], "list") == 0)
        return list(error);
    if (strcmp(argv[1], "install") == 0)
        return install(error);
    return fail_user(error, "%s is unknown, want list or install", argv[1]);
}
