#include "data/prepare/prepare.h"

struct ProgramEncoder {
    const Tokenizer *tok;
    const ProgramOptions *options;
    SyntaxParser *parser;
    GArray *syntax; /* SyntaxNode: the syntax tree, with ranges in bytes */
    GArray *rival;  /* SyntaxNode: the same by the rival grammar */
    GArray *tree;   /* TreeNode: the tree, with ranges in tokens of the whole program */
    GArray *ids;    /* int32_t: token ids of the whole program */
    GArray *ends;   /* uint32_t: end of each token in bytes */
    GArray *cuts;   /* int64_t: ends of the segments, in tokens */
};

ProgramEncoder *program_encoder_open(const Tokenizer *tok, const ProgramOptions *options)
{
    ProgramEncoder *encoder = g_new0(ProgramEncoder, 1);
    encoder->tok = tok;
    encoder->options = options;
    encoder->parser = syntax_parser_open();
    encoder->syntax = g_array_new(false, false, sizeof(SyntaxNode));
    encoder->rival = g_array_new(false, false, sizeof(SyntaxNode));
    encoder->tree = g_array_new(false, false, sizeof(TreeNode));
    encoder->ids = g_array_new(false, false, sizeof(int32_t));
    encoder->ends = g_array_new(false, false, sizeof(uint32_t));
    encoder->cuts = g_array_new(false, false, sizeof(int64_t));
    return encoder;
}

void program_encoder_close(ProgramEncoder *encoder)
{
    if (!encoder)
        return;
    syntax_parser_close(encoder->parser);
    g_array_unref(encoder->syntax);
    g_array_unref(encoder->rival);
    g_array_unref(encoder->tree);
    g_array_unref(encoder->ids);
    g_array_unref(encoder->ends);
    g_array_unref(encoder->cuts);
    g_free(encoder);
}

/* If the first grammar finds errors in a program, also parses it with the rival grammar (such as C++ for C) and uses
 * that tree if its errors cover at most half as many bytes. With a smaller difference, such as from a macro that
 * neither grammar knows, the first grammar is kept. */
static void try_rival(ProgramEncoder *encoder, const char *text, size_t bytes, ProgramTree *tree)
{
    const ProgramOptions *options = encoder->options;
    uint64_t errors = encoder->parser->error_bytes;
    if (tree->rival < 0 || errors == 0)
        return;
    const Grammar *grammar = options->grammars->pdata[tree->rival];
    SyntaxOutcome outcome = syntax_parse(encoder->parser, grammar, text, bytes, &options->limits, encoder->rival);
    if (outcome != SYNTAX_TREE || encoder->parser->error_bytes > errors / 2)
        return;
    GArray *first = encoder->syntax;
    encoder->syntax = encoder->rival;
    encoder->rival = first;
    tree->outcome = outcome;
    tree->language = tree->rival;
}

/* Fills encoder->tree; a program without a grammar or beyond the limits has no nodes. */
static void find_tree(ProgramEncoder *encoder, const char *text, size_t bytes, ProgramTree *tree)
{
    const ProgramOptions *options = encoder->options;
    g_array_set_size(encoder->tree, 0);
    tree->outcome = SYNTAX_TREE;
    if (tree->language < 0)
        return;
    const Grammar *grammar = options->grammars->pdata[tree->language];
    tree->outcome = syntax_parse(encoder->parser, grammar, text, bytes, &options->limits, encoder->syntax);
    try_rival(encoder, text, bytes, tree);
    trees_align(encoder->syntax, options->grammars->pdata[tree->language], text,
                (const uint32_t *)(void *)encoder->ends->data, encoder->ends->len, encoder->tree);
}

static int64_t segment(ProgramEncoder *encoder, SegmentRule rule)
{
    g_array_set_size(encoder->cuts, 0);
    return trees_segment((const TreeNode *)(void *)encoder->tree->data, encoder->tree->len, encoder->ends->len,
                         encoder->options->segment_tokens, rule, encoder->cuts);
}

/* Appends segment [from, to) of the program's tokens, its end, and its nodes. */
static void add_segment(const ProgramEncoder *encoder, int64_t from, int64_t to, ProgramSegments out)
{
    const int32_t end = encoder->options->end;
    const guint n_tokens = (guint)(to - from) + (end >= 0), before = out.nodes->len;
    trees_cut((const TreeNode *)(void *)encoder->tree->data, encoder->tree->len, from, to, out.nodes);
    const guint kept = out.nodes->len - before;
    g_array_append_vals(out.ids, &g_array_index(encoder->ids, int32_t, from), (guint)(to - from));
    if (end >= 0)
        g_array_append_val(out.ids, end);
    g_array_append_val(out.sequences, n_tokens);
    g_array_append_val(out.n_nodes, kept);
}

bool program_encode(ProgramEncoder *encoder, const char *text, size_t bytes, bool specials, ProgramTree *tree,
                    ProgramSegments out, GError **error)
{
    g_array_set_size(encoder->ids, 0);
    g_array_set_size(encoder->ends, 0);
    if (!tokenizer_encode_ends(encoder->tok, text, bytes, specials, encoder->ids, encoder->ends, error))
        return false;
    find_tree(encoder, text, bytes, tree);
    bool least = encoder->options->rule == SEGMENT_LEAST;
    int64_t other = segment(encoder, least ? SEGMENT_GREEDY : SEGMENT_LEAST),
            own = segment(encoder, (SegmentRule)encoder->options->rule);
    tree->broken_least = least ? own : other;
    tree->broken_greedy = least ? other : own;
    tree->nodes = encoder->tree->len;
    tree->segments = encoder->cuts->len;
    int64_t from = 0;
    for (guint i = 0; i < encoder->cuts->len; i++) {
        int64_t to = g_array_index(encoder->cuts, int64_t, i);
        add_segment(encoder, from, to, out);
        from = to;
    }
    return true;
}

void program_count(ProgramCounts *counts, const ProgramTree *tree, int64_t bytes, int64_t tokens)
{
    counts->documents++;
    counts->bytes += bytes;
    counts->tokens += tokens;
    counts->segments += tree->segments;
    counts->nodes += tree->nodes;
    counts->broken_least += tree->broken_least;
    counts->broken_greedy += tree->broken_greedy;
    counts->outcomes[tree->outcome]++;
}
