/* Any text as a program of the grammar of the tests: its segments join to its tokens, the nodes of each are in it,
 * disjoint or nested, and the masked example of each gives it back. The first byte chooses how it is cut. */
#include "data/objectives/objectives.h"
#include "data/prepare/prepare.h"

#include "fuzz_folder.h"

#include <string.h>

enum { V = 2000, EOS = 1, MOST = 64 };

/* What stays open for all programs. */
typedef struct Fuzzed {
    Tokenizer *tok;
    Grammars *grammars;
    ObjectiveConfig config;
    Example example;
} Fuzzed;

static Fuzzed *fuzzed(void)
{
    static Fuzzed *own;
    const SubtreeCorruptionSettings settings = {
        .mask = { .identifier_probability = 0.5,
                  .identifier_share = 0.5,
                  .span_length = 10,
                  .least_split = 5,
                  .most_split = 100 },
        .empty_spans = 0.1,
        .subtrees = true,
    };
    if (own)
        return own;
    own = g_new0(Fuzzed, 1);
    own->tok = tokenizer_open("bytes", NULL);
    own->grammars = grammars_open(LOAM_TEST_GRAMMARS, NULL);
    own->config = (ObjectiveConfig){ .input_length = MOST + 1,
                                     .noise_density = 0.25,
                                     .eos = EOS,
                                     .first_sentinel = V - 1,
                                     .n_sentinels = 20,
                                     .vocab = V,
                                     .own = objective_own(&settings, sizeof settings) };
    CHECK(own->tok && own->grammars && own->grammars->len == 1, "no grammar in " LOAM_TEST_GRAMMARS);
    CHECK(subtree_corruption_objective.plan(&own->config, NULL), "plan");
    example_init(&own->example, &own->config);
    return own;
}

static void check_nodes(const TreeNode *nodes, guint n, int32_t tokens)
{
    for (guint i = 0; i < n; i++) {
        const TreeNode *node = &nodes[i], *before = node - (i > 0);
        CHECK(node->begin >= before->begin && node->begin < node->end && node->end <= tokens, "node [%d, %d) of %d",
              node->begin, node->end, tokens);
        CHECK(node->begin >= before->end || node->end <= before->end, "[%d, %d) after [%d, %d)", node->begin, node->end,
              before->begin, before->end);
    }
}

/* Masks a segment, and puts the spans back. */
static void check_example(Fuzzed *own, const int32_t *tokens, int32_t n, const TreeNode *nodes, guint n_nodes)
{
    g_autoptr(GArray) side = g_array_new(FALSE, FALSE, sizeof(TreeNode));
    const TreeNode root = { .end = n };
    int32_t back[MOST];
    g_array_append_val(side, root);
    g_array_append_vals(side, nodes, n_nodes);
    const Text text = { .tokens = tokens, .n = n, .side = side->data, .side_bytes = side->len * sizeof(TreeNode) };
    Philox rng = philox_open(philox_key(1, PHILOX_OBJECTIVE, 0), (uint64_t)tokens[0]);
    Choice choice = { 0 };
    subtree_corruption_objective.choose(&own->config, n, &choice);
    subtree_corruption_objective.apply(&own->config, &choice, &rng, &text, &own->example);
    CHECK(own->example.n_inputs <= choice.n_inputs && own->example.n_targets <= choice.n_targets,
          "longer than promised");
    CHECK(span_corruption_splice(&own->config, &own->example, back, NULL) == n, "another length");
    CHECK(memcmp(back, tokens, (size_t)n * sizeof *back) == 0, "another text");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const char *text = (const char *)data + 1;
    if (bytes < 2 || !g_utf8_validate(text, (gssize)bytes - 1, NULL))
        return 0;
    Fuzzed *own = fuzzed();
    const ProgramOptions options = { .grammars = own->grammars,
                                     .limits = { .max_bytes = 1 << 16, .max_depth = 100, .max_errors = 1 },
                                     .segment_tokens = 1 + data[0] % MOST,
                                     .end = -1,
                                     .rule = data[0] & MOST ? SEGMENT_GREEDY : SEGMENT_LEAST };
    const CleaningRules rules = { .generated = true, .max_line = 100, .max_mean = 50, .min_letters = 0.25 };
    ProgramTree tree = { .rival = -1 };
    g_autoptr(GArray)
        ids = g_array_new(FALSE, FALSE, sizeof(int32_t)),
        whole = g_array_new(FALSE, FALSE, sizeof(int32_t)), sequences = g_array_new(FALSE, FALSE, sizeof(guint)),
        n_nodes = g_array_new(FALSE, FALSE, sizeof(guint)), nodes = g_array_new(FALSE, FALSE, sizeof(TreeNode));
    ProgramEncoder *encoder = program_encoder_open(own->tok, &options);
    CHECK(program_encode(encoder, text, bytes - 1, false, &tree, (ProgramSegments){ ids, sequences, nodes, n_nodes },
                         NULL),
          "encode");
    CHECK(tokenizer_encode(own->tok, text, bytes - 1, false, whole, NULL), "encode");
    CHECK(ids->len == whole->len && memcmp(ids->data, whole->data, ids->len * sizeof(int32_t)) == 0, "other tokens");
    CHECK(tree.broken_least <= tree.broken_greedy && sequences->len == n_nodes->len, "counts");
    const TreeNode *node = (const TreeNode *)(void *)nodes->data;
    const int32_t *at = (const int32_t *)(void *)ids->data;
    for (guint i = 0; i < sequences->len; i++) {
        const guint n = g_array_index(sequences, guint, i), own_nodes = g_array_index(n_nodes, guint, i);
        CHECK(n >= 1 && (int64_t)n <= options.segment_tokens, "a segment of %u tokens", n);
        check_nodes(node, own_nodes, (int32_t)n);
        if ((int64_t)n >= subtree_corruption_objective.min_length)
            check_example(own, at, (int32_t)n, node, own_nodes);
        at += n;
        node = own_nodes > 0 ? node + own_nodes : node;
    }
    program_encoder_close(encoder);
    cleaning_check(&rules, text, bytes - 1);
    return 0;
}
