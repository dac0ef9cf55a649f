/* grammar.c: opening, finding and installing grammars. */
#include "text/syntax/syntax.h"

#include "base/file.h"

#include <dlfcn.h>
#include <string.h>
#include <tree_sitter/api.h>

#define MAX_LIBRARY ((size_t)256 << 20) /* bytes of a shared object; that of C# has 6 MB */
#define MAX_TYPES   65535               /* node types of a grammar, as tree-sitter numbers them */

static void grammar_close(void *opaque)
{
    Grammar *grammar = opaque;
    if (grammar->library)
        dlclose(grammar->library);
    g_strfreev(grammar->endings);
    g_free(grammar->version);
    g_free(grammar->name);
    g_free(grammar);
}

/* Reads "NAME VERSION ENDING…"; `expected` is the name of the file without .so. */
static bool read_facts(Grammar *grammar, const char *facts, const char *expected)
{
    g_auto(GStrv) words = g_strsplit(facts, " ", -1);
    if (!words[0] || !words[1] || strcmp(words[0], expected) != 0)
        return false;
    grammar->name = g_strdup(words[0]);
    grammar->version = g_strdup(words[1]);
    grammar->endings = g_strdupv(words + 2);
    return true;
}

static bool load_grammar(Grammar *grammar, const char *path, const char *name, GError **error)
{
    g_autofree char *symbol = g_strconcat("tree_sitter_", name, NULL);
    grammar->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!grammar->library)
        return fail_user(error, "%s: no shared object that can be opened: %s", path, dlerror());
    void *function = dlsym(grammar->library, symbol);
    const char *facts = dlsym(grammar->library, "loam_grammar");
    if (!function || !facts || !read_facts(grammar, facts, name))
        return fail_user(error, "%s: no grammar: %s is missing; tools/install-grammars makes grammars", path,
                         !function ? symbol
                         : !facts  ? "loam_grammar"
                                   : "its own name in loam_grammar");
    const TSLanguage *(*language)(void);
    memcpy(&language, &function, sizeof language);
    grammar->language = language();
    grammar->abi = grammar->language ? (int)ts_language_version(grammar->language) : 0;
    if (grammar->abi < TREE_SITTER_MIN_COMPATIBLE_LANGUAGE_VERSION || grammar->abi > TREE_SITTER_LANGUAGE_VERSION)
        return fail_user(error, "%s: its tables are version %d, this tree-sitter reads %d to %d", path, grammar->abi,
                         TREE_SITTER_MIN_COMPATIBLE_LANGUAGE_VERSION, TREE_SITTER_LANGUAGE_VERSION);
    grammar->n_types = (int)ts_language_symbol_count(grammar->language);
    return grammar->n_types <= MAX_TYPES || fail_user(error, "%s: more than %d node types", path, MAX_TYPES);
}

char *grammars_folder(void)
{
    const char *given = g_getenv("LOAM_GRAMMARS");
    return given && *given ? g_strdup(given) : g_build_filename(g_get_user_data_dir(), "loam", "grammars", NULL);
}

static bool open_all(Grammars *grammars, const char *folder, GError **error)
{
    g_autoptr(GPtrArray) names = io_list_names(folder, ".so", error);
    if (names && names->len > GRAMMARS_MAX)
        return fail_user(error, "%s: %u grammars: at most %d", folder, names->len, GRAMMARS_MAX);
    for (guint i = 0; names && i < names->len; i++) {
        g_autofree char *file = g_strconcat(names->pdata[i], ".so", NULL);
        g_autofree char *path = g_build_filename(folder, file, NULL); /* has a '/', so dlopen searches nowhere else */
        g_ptr_array_add(grammars, g_new0(Grammar, 1));
        if (!load_grammar(grammars->pdata[i], path, names->pdata[i], error))
            return false;
    }
    return names != NULL;
}

Grammars *grammars_open(const char *folder, GError **error)
{
    g_autofree char *own = folder ? g_canonicalize_filename(folder, NULL) : grammars_folder();
    g_autoptr(GPtrArray) grammars = g_ptr_array_new_with_free_func(grammar_close);
    const bool none = !folder && !g_file_test(own, G_FILE_TEST_EXISTS);
    return none || open_all(grammars, own, error) ? g_steal_pointer(&grammars) : NULL;
}

static bool has_ending(const Grammar *grammar, const char *ending)
{
    return g_strv_contains((const char *const *)grammar->endings, ending);
}

static bool has_name(const Grammar *grammar, const char *name)
{
    for (char **alias = grammar->endings; *alias; alias++)
        if (**alias == '=' && g_ascii_strcasecmp(*alias + 1, name) == 0)
            return true;
    return g_ascii_strcasecmp(grammar->name, name) == 0;
}

/* A file name's extension, starting at its last "."; NULL means that there is none. */
static const char *ending_of(const char *name)
{
    const char *base = strrchr(name, '/');
    return strrchr(base ? base : name, '.');
}

int grammars_find(const Grammars *grammars, const char *name)
{
    const char *point = ending_of(name);
    for (guint i = 0; i < grammars->len; i++)
        if (point ? point[1] != '=' && point[1] != '?' && has_ending(grammars->pdata[i], point + 1)
                  : has_name(grammars->pdata[i], name))
            return (int)i;
    return -1;
}

int grammars_rival(const Grammars *grammars, const char *name)
{
    const char *point = ending_of(name);
    if (!point)
        return -1;
    g_autofree char *ending = g_strconcat("?", point + 1, NULL);
    for (guint i = 0; i < grammars->len; i++)
        if (has_ending(grammars->pdata[i], ending))
            return (int)i;
    return -1;
}

static bool copy_one(const Grammar *grammar, const char *from, const char *to, GError **error)
{
    g_autofree char *file = g_strconcat(grammar->name, ".so", NULL), *source = g_build_filename(from, file, NULL),
                    *target = g_build_filename(to, file, NULL);
    size_t bytes;
    g_autofree char *data = io_read_file(source, MAX_LIBRARY, &bytes, error);
    return data && io_write_file(target, data, bytes, error);
}

int grammars_install(const char *from, const char *to, GError **error)
{
    g_autoptr(GPtrArray) grammars = grammars_open(from, error);
    if (!grammars)
        return -1;
    const guint n = grammars->len;
    bool good =
        n > 0 || fail_user(error, "%s: no grammar, which is a file NAME.so; tools/install-grammars makes them", from);
    good = good && io_make_directories(to, error);
    for (guint i = 0; good && i < n; i++)
        good = copy_one(grammars->pdata[i], from, to, error);
    return good ? (int)n : -1;
}

bool grammar_type_is_named(const Grammar *grammar, int type)
{
    return ts_language_symbol_type(grammar->language, (TSSymbol)type) == TSSymbolTypeRegular;
}

const char *grammar_type(const Grammar *grammar, int type)
{
    const char *name = ts_language_symbol_name(grammar->language, (TSSymbol)type);
    return name ? name : "";
}
