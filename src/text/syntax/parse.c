/* parse.c: parses a program into the nodes of its syntax tree. */
#include "text/syntax/syntax.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <tree_sitter/api.h>
#include <xxhash.h>

/* tree-sitter 0.20 counts the children of a node in 16 bits, and an ERROR node may have all tokens of a program as
 * children: one with more would make it free memory that it never had. */
#define MAX_TOKENS 65000

const char *const syntax_outcome_names[] = { "tree", "too long", "too deep", "too slow", "not of its grammar", NULL };

SyntaxParser *syntax_parser_open(void)
{
    SyntaxParser *parser = g_new0(SyntaxParser, 1);
    parser->parser = ts_parser_new();
    return parser;
}

void syntax_parser_close(SyntaxParser *parser)
{
    if (!parser)
        return;
    ts_parser_delete(parser->parser);
    g_free(parser);
}

/* The state of a walk over all nodes of a tree in preorder. */
typedef struct Walk {
    const SyntaxLimits *limits;
    GArray *nodes;
    int64_t depth;
    uint64_t error_bytes;
    int64_t error_depth; /* depth of the outermost ERROR node that contains the present node; -1 means none */
} Walk;

static void visit(Walk *walk, TSNode at)
{
    const SyntaxNode node = { ts_node_start_byte(at), ts_node_end_byte(at), ts_node_symbol(at) };
    bool is_error = node.type == (TSSymbol)-1;
    if (walk->depth <= walk->error_depth)
        walk->error_depth = -1;
    if (is_error && walk->error_depth < 0) {
        walk->error_depth = walk->depth;
        walk->error_bytes += node.end - node.begin;
    }
    if (walk->depth > 0 && !is_error && node.end > node.begin && ts_node_is_named(at))
        g_array_append_val(walk->nodes, node);
}

/* False if the tree is deeper than the limit. */
static bool each_node(Walk *walk, TSNode root)
{
    TSTreeCursor cursor = ts_tree_cursor_new(root);
    bool shallow = true, more = true;
    while (shallow && more) {
        visit(walk, ts_tree_cursor_current_node(&cursor));
        if (ts_tree_cursor_goto_first_child(&cursor)) {
            shallow = ++walk->depth <= walk->limits->max_depth;
            continue;
        }
        while ((more = walk->depth > 0) && !ts_tree_cursor_goto_next_sibling(&cursor)) {
            ts_tree_cursor_goto_parent(&cursor);
            walk->depth--;
        }
    }
    ts_tree_cursor_delete(&cursor);
    return shallow;
}

static SyntaxOutcome take_nodes(SyntaxParser *parser, const TSTree *tree, size_t bytes, const SyntaxLimits *limits,
                                GArray *nodes)
{
    Walk walk = { .limits = limits, .nodes = nodes, .error_depth = -1 };
    if (!each_node(&walk, ts_tree_root_node(tree)))
        return SYNTAX_TOO_DEEP;
    parser->error_bytes = walk.error_bytes;
    return (double)walk.error_bytes > limits->max_errors * (double)bytes ? SYNTAX_WRONG : SYNTAX_TREE;
}

typedef enum CharClass { CHAR_SPACE, CHAR_LETTER, CHAR_DIGIT, CHAR_MARK } CharClass;

static CharClass char_class(char c)
{
    if (g_ascii_isspace(c))
        return CHAR_SPACE;
    if (g_ascii_isdigit(c))
        return CHAR_DIGIT;
    return g_ascii_isalpha(c) || c == '_' || (signed char)c < 0 ? CHAR_LETTER : CHAR_MARK;
}

/* Whether a program may have more than MAX_TOKENS tokens, by an upper bound that holds for any grammar: the number of
 * words, numbers and punctuation characters, and for each line the tokens that scanners derive from it (its end and
 * changes of indentation). */
static bool has_too_many_tokens(const char *text, size_t bytes)
{
    CharClass before = CHAR_SPACE;
    int64_t n = 0;
    for (size_t i = 0; i < bytes; i++) {
        CharClass own = char_class(text[i]);
        n += own == CHAR_MARK || (own != before && own != CHAR_SPACE);
        n += text[i] == '\n' ? 3 : 0;
        before = own;
    }
    return n > MAX_TOKENS;
}

/* The tree of a program, and its nodes as syntax_parse gives them; NULL, with the reason in *outcome, if a limit is
 * exceeded. */
static TSTree *parse_text(SyntaxParser *parser, const Grammar *grammar, const char *text, size_t bytes,
                          const SyntaxLimits *limits, GArray *nodes, SyntaxOutcome *outcome)
{
    *outcome = SYNTAX_TOO_LONG;
    parser->error_bytes = 0;
    g_array_set_size(nodes, 0);
    if (bytes > (size_t)limits->max_bytes || has_too_many_tokens(text, bytes))
        return NULL;
    ts_parser_set_language(parser->parser, grammar->language);
    ts_parser_set_timeout_micros(parser->parser, (uint64_t)ceil(limits->max_seconds * 1e6));
    TSTree *tree = ts_parser_parse_string(parser->parser, NULL, text, (uint32_t)bytes);
    ts_parser_reset(parser->parser);
    *outcome = tree ? take_nodes(parser, tree, bytes, limits, nodes) : SYNTAX_TOO_SLOW;
    if (tree && *outcome != SYNTAX_TREE) {
        g_array_set_size(nodes, 0);
        g_clear_pointer(&tree, ts_tree_delete);
    }
    return tree;
}

SyntaxOutcome syntax_parse(SyntaxParser *parser, const Grammar *grammar, const char *text, size_t bytes,
                           const SyntaxLimits *limits, GArray *nodes)
{
    SyntaxOutcome outcome;
    TSTree *tree = parse_text(parser, grammar, text, bytes, limits, nodes, &outcome);
    g_clear_pointer(&tree, ts_tree_delete);
    return outcome;
}

/* ---- subtrees ---- */

static void add_expression(TSNode node, GArray *hashes)
{
    char *expression = ts_node_string(node);
    const uint64_t hash = XXH3_64bits(expression, strlen(expression));
    free(expression);
    g_array_append_val(hashes, hash);
}

SyntaxOutcome syntax_subtrees(SyntaxParser *parser, const Grammar *grammar, const char *text, size_t bytes,
                              const SyntaxLimits *limits, GArray *hashes)
{
    SyntaxOutcome outcome;
    g_autoptr(GArray) nodes = g_array_new(false, false, sizeof(SyntaxNode));
    g_autoptr(GArray) stack = g_array_new(false, false, sizeof(TSNode));
    TSTree *tree = parse_text(parser, grammar, text, bytes, limits, nodes, &outcome);
    g_array_set_size(hashes, 0);
    if (!tree)
        return outcome;
    TSNode node = ts_tree_root_node(tree);
    g_array_append_val(stack, node);
    while (stack->len > 0) {
        node = g_array_index(stack, TSNode, stack->len - 1);
        g_array_set_size(stack, stack->len - 1);
        add_expression(node, hashes);
        for (uint32_t i = 0; i < ts_node_child_count(node); i++) {
            const TSNode child = ts_node_child(node, i);
            if (ts_node_child_count(child) > 0)
                g_array_append_val(stack, child);
        }
    }
    ts_tree_delete(tree);
    return outcome;
}
