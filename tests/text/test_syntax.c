/* Programs to syntax trees, by the grammar of tests/text/grammars: names, and lists of them in brackets. */
#include "base/file.h"
#include "base/philox.h"
#include "text/syntax/syntax.h"

#include <string.h>

static Grammars *grammars;
static const SyntaxLimits wide = { 1 << 20, 1000, 0, 0 };

static GArray *nodes;
static SyntaxParser *parser;

static SyntaxOutcome parse(const char *text, SyntaxLimits limits)
{
    return syntax_parse(parser, grammars->pdata[0], text, strlen(text), &limits, nodes);
}

/* "list 0-3, identifier 1-2, " */
static char *show(void)
{
    GString *out = g_string_new(NULL);
    for (guint i = 0; i < nodes->len; i++) {
        const SyntaxNode *node = &g_array_index(nodes, SyntaxNode, i);
        g_string_append_printf(out, "%s %u-%u, ", grammar_type(grammars->pdata[0], node->type), node->begin, node->end);
    }
    return g_string_free(out, FALSE);
}

static void grammars_are_found_by_name_and_by_file_name(void)
{
    static const char *const known[] = { "lists", "Lists", "brackets", "BRACKETS", "a.list", "/x/y.z/b.lst" };
    static const char *const unknown[] = { "",   "list", "lst",         "a.txt",     "lists.c",
                                           "a.", ".",    "a.=brackets", "=brackets", "a.list/b" };
    g_assert_cmpuint(grammars->len, ==, 1);
    const Grammar *grammar = grammars->pdata[0];
    g_assert_cmpstr(grammar->name, ==, "lists");
    g_assert_cmpstr(grammar->version, ==, "1.0");
    g_assert_cmpint(grammar->abi, ==, 14);
    for (size_t i = 0; i < G_N_ELEMENTS(known); i++)
        g_assert_cmpint(grammars_find(grammars, known[i]), ==, 0);
    for (size_t i = 0; i < G_N_ELEMENTS(unknown); i++)
        g_assert_cmpint(grammars_find(grammars, unknown[i]), ==, -1);
}

static void nodes_come_in_preorder_without_the_root(void)
{
    static const char *const cases[][2] = {
        { "(a b) c", "list 0-5, identifier 1-2, identifier 3-4, identifier 6-7, " },
        { "((x))", "list 0-5, list 1-4, identifier 2-3, " },
        { "\t a\r\n(\r\n\tb )\r\n", "identifier 2-3, list 5-12, identifier 9-10, " },
        { "\xc3\xa9t\xc3\xa9 ()", "identifier 0-5, list 6-8, " },
        { "", "" },
        { " \n ", "" },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_assert_cmpint(parse(cases[i][0], wide), ==, SYNTAX_TREE);
        g_autofree char *shown = show();
        g_assert_cmpstr(shown, ==, cases[i][1]);
    }
}

/* S-expressions of the root and of what has children: which of them are alike. */
static void subtrees_are_alike_whatever_the_names(void)
{
    g_autoptr(GArray) a = g_array_new(FALSE, FALSE, sizeof(uint64_t)), b = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    const Grammar *grammar = grammars->pdata[0];
    static const struct {
        const char *text;
        guint n;   /* the program, and its lists */
        bool same; /* the same expressions as "(a (b)) c" */
    } cases[] = { { "(x\n(yy)) zz", 3, true }, { "(x (y)) ()", 4, false }, { "(x y) z", 2, false }, { "", 1, false } };
    g_assert_cmpint(syntax_subtrees(parser, grammar, "(a (b)) c", 9, &wide, a), ==, SYNTAX_TREE);
    g_assert_cmpuint(a->len, ==, 3);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        const char *text = cases[i].text;
        g_assert_cmpint(syntax_subtrees(parser, grammar, text, strlen(text), &wide, b), ==, SYNTAX_TREE);
        g_assert_cmpuint(b->len, ==, cases[i].n);
        g_assert_cmpint(b->len == a->len && memcmp(a->data, b->data, a->len * sizeof(uint64_t)) == 0, ==,
                        cases[i].same);
    }
    SyntaxLimits limits = wide;
    limits.max_bytes = 4;
    g_assert_cmpint(syntax_subtrees(parser, grammar, "(a b)", 5, &limits, b), ==, SYNTAX_TOO_LONG);
    g_assert_cmpuint(b->len, ==, 0);
}

static void what_is_beyond_a_limit_has_no_tree(void)
{
    SyntaxLimits limits = wide;
    limits.max_bytes = 4;
    g_assert_cmpint(parse("(a b)", limits), ==, SYNTAX_TOO_LONG);
    g_assert_cmpint(parse("(ab)", limits), ==, SYNTAX_TREE);
    limits = wide;
    limits.max_depth = 3; /* program, list, list, identifier: three steps down */
    g_assert_cmpint(parse("((a))", limits), ==, SYNTAX_TREE);
    g_assert_cmpint(parse("(((a)))", limits), ==, SYNTAX_TOO_DEEP);
    g_assert_cmpuint(nodes->len, ==, 0);
    g_assert_cmpint(parse("(a", wide), ==, SYNTAX_TREE); /* only the ")" is missing */
    g_assert_cmpint(parse(") 1 2 (", wide), ==, SYNTAX_WRONG);
    g_assert_cmpint(parse("a b 123", wide), ==, SYNTAX_WRONG);
    g_assert_cmpuint(nodes->len, ==, 0);
    limits = wide;
    limits.max_errors = 0.5;
    g_assert_cmpint(parse("a b c d 1 e f g h", limits), ==, SYNTAX_TREE);
}

static void a_program_that_takes_too_long_has_no_tree_and_the_next_one_has(void)
{
    g_autofree char *spread = g_malloc0(100001);
    SyntaxLimits limits = { 1 << 30, 1000, 1e-6, 1 };
    memset(spread, 'a', 100000);
    for (int i = 0; i < 100000; i += 2)
        spread[i] = ' ';
    g_assert_cmpint(parse(spread, limits), ==, SYNTAX_TOO_SLOW);
    g_assert_cmpint(parse("(a b)", wide), ==, SYNTAX_TREE);
    g_assert_cmpuint(nodes->len, ==, 3);
}

/* tree-sitter 0.20 ends the process when it frees an ERROR node of 65,536 children. */
static void a_program_of_very_many_tokens_has_no_tree(void)
{
    SyntaxLimits limits = { 1 << 30, 1 << 20, 0, 1 };
    g_autofree char *brackets = g_strnfill(70000, '('), *few = g_strnfill(64000, '(');
    g_assert_cmpint(parse(brackets, limits), ==, SYNTAX_TOO_LONG);
    g_assert_cmpint(parse(few, limits), ==, SYNTAX_TREE);
    g_assert_cmpuint(nodes->len, ==, 0);
}

/* Nodes are in the text, not empty, and disjoint or nested. */
static void check_nodes(size_t bytes)
{
    g_autoptr(GArray) open = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    uint32_t begin = 0;
    for (guint i = 0; i < nodes->len; i++) {
        const SyntaxNode *node = &g_array_index(nodes, SyntaxNode, i);
        g_assert_true(node->begin >= begin && node->begin < node->end && node->end <= bytes);
        begin = node->begin;
        while (open->len > 0 && g_array_index(open, uint32_t, open->len - 1) <= begin)
            g_array_set_size(open, open->len - 1);
        g_assert_true(open->len == 0 || node->end <= g_array_index(open, uint32_t, open->len - 1));
        g_array_append_val(open, node->end);
    }
}

static void mutated_programs_give_sound_nodes(void)
{
    static const char alphabet[] = "((()))ab \n\r1\"\xc3";
    Philox rng = philox_open(philox_key(3, PHILOX_SAMPLING, 0), 0);
    const SyntaxLimits limits = { 1 << 20, 60, 0, 0.7 };
    int trees = 0;
    for (int round = 0; round < 3000; round++) {
        char text[200] = "(a b (c d) ()) e (f (g) h) ";
        size_t n = philox_below(&rng, 170);
        for (size_t i = n > 30 ? 27 : 0; i < n; i++)
            text[i] = alphabet[philox_below(&rng, sizeof alphabet - 1)];
        text[n] = 0;
        trees += parse(text, limits) == SYNTAX_TREE;
        check_nodes(n);
    }
    g_assert_cmpint(trees, >, 100);
    g_assert_cmpint(trees, <, 3000);
}

static void what_is_no_grammar_is_told(void)
{
    g_autofree char *folder = g_dir_make_tmp("loam-test-XXXXXX", NULL), *path = g_build_filename(folder, "x.so", NULL),
                    *to = g_build_filename(folder, "to/grammars", NULL), *own = NULL;
    g_autoptr(GError) error = NULL;
    gsize bytes;
    g_assert_cmpint(grammars_install(folder, to, &error), ==, -1);
    g_assert_nonnull(strstr(error->message, "no grammar"));
    g_clear_error(&error);
    g_assert_true(g_file_set_contents(path, "not a library", -1, NULL));
    g_assert_null(grammars_open(folder, &error));
    g_assert_nonnull(strstr(error->message, "x.so"));
    g_assert_cmpint(error->code, ==, LOAM_ERROR_USER);
    g_clear_error(&error);
    g_assert_true(g_file_get_contents(LOAM_TEST_GRAMMARS "/lists.so", &own, &bytes, NULL));
    g_assert_true(g_file_set_contents(path, own, (gssize)bytes, NULL));
    g_assert_null(grammars_open(folder, &error));
    g_assert_nonnull(strstr(error->message, "tree_sitter_x is missing"));
    g_clear_error(&error);
    g_assert_null(grammars_open("/nowhere/at/all", &error));
    g_clear_error(&error);

    g_assert_cmpint(grammars_install(LOAM_TEST_GRAMMARS, to, &error), ==, 1);
    g_assert_no_error(error);
    g_setenv("LOAM_GRAMMARS", to, TRUE);
    Grammars *installed = grammars_open(NULL, &error);
    g_assert_cmpuint(installed->len, ==, 1);
    g_ptr_array_unref(installed);
    g_setenv("LOAM_GRAMMARS", "/nowhere/at/all", TRUE);
    installed = grammars_open(NULL, &error);
    g_assert_cmpuint(installed->len, ==, 0);
    g_ptr_array_unref(installed);
    g_assert_true(io_remove_tree(folder, NULL));
}

int main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    g_test_init(&argc, &argv, NULL);
    grammars = grammars_open(LOAM_TEST_GRAMMARS, &error);
    g_assert_no_error(error);
    parser = syntax_parser_open();
    nodes = g_array_new(FALSE, FALSE, sizeof(SyntaxNode));
    g_test_add_func("/syntax/grammars_are_found_by_name_and_by_file_name", grammars_are_found_by_name_and_by_file_name);
    g_test_add_func("/syntax/nodes_come_in_preorder_without_the_root", nodes_come_in_preorder_without_the_root);
    g_test_add_func("/syntax/subtrees_are_alike_whatever_the_names", subtrees_are_alike_whatever_the_names);
    g_test_add_func("/syntax/what_is_beyond_a_limit_has_no_tree", what_is_beyond_a_limit_has_no_tree);
    g_test_add_func("/syntax/a_program_that_takes_too_long_has_no_tree_and_the_next_one_has",
                    a_program_that_takes_too_long_has_no_tree_and_the_next_one_has);
    g_test_add_func("/syntax/a_program_of_very_many_tokens_has_no_tree", a_program_of_very_many_tokens_has_no_tree);
    g_test_add_func("/syntax/mutated_programs_give_sound_nodes", mutated_programs_give_sound_nodes);
    g_test_add_func("/syntax/what_is_no_grammar_is_told", what_is_no_grammar_is_told);
    int failed = g_test_run();
    g_array_unref(nodes);
    syntax_parser_close(parser);
    g_ptr_array_unref(grammars);
    return failed;
}
