/* AST-T5's objective, on trees made by hand or drawn, and on text without a tree. */
#include "data/objectives/objectives.h"

#include "data/loader.h"
#include "data/objective_test.h"
#include "data/tiny_tokenizer.h"

#include <math.h>

enum { V = 2000, EOS = 1, FIRST_SENTINEL = V - 1, N_SENTINELS = 100, TEXT = 5, LONGEST = 1200 };

static const SubtreeCorruptionSettings usual = { .mask = { .identifier_probability = 0.5,
                                                           .identifier_share = 0.5,
                                                           .span_length = 10,
                                                           .least_split = 5,
                                                           .most_split = 100 },
                                                 .empty_spans = 0.1,
                                                 .subtrees = true };

static ObjectiveConfig planned(int64_t length, double density, SubtreeCorruptionSettings settings)
{
    g_autoptr(GError) error = NULL;
    ObjectiveConfig config = { .input_length = length + 1,
                               .noise_density = density,
                               .eos = EOS,
                               .first_sentinel = FIRST_SENTINEL,
                               .n_sentinels = N_SENTINELS,
                               .vocab = V,
                               .own = objective_own(&settings, sizeof settings) };
    g_assert_true(subtree_corruption_objective.plan(&config, &error));
    g_assert_no_error(error);
    g_assert_cmpint(config.raw_length, ==, length);
    return config;
}

static Philox numbers(uint64_t sample)
{
    return philox_open(philox_key(42, PHILOX_OBJECTIVE, 0), sample);
}

/* What an example tells of its masks. */
typedef struct Facts {
    double n, masked, spans, empty, targets, inputs, distinct, longer_than_10;
} Facts;

/* Adds up; the masked tokens are those that the inputs lack. */
static void add_facts(const ObjectiveConfig *config, const Example *example, int64_t n, Facts *facts)
{
    int64_t spans = 0, distinct = 0, length = 0, empty = 0;
    for (int64_t i = 0; i < example->n_inputs; i++)
        spans += example->inputs[i] > FIRST_SENTINEL - config->n_sentinels;
    for (int64_t i = 0; i < example->n_targets; i++, length++) {
        bool starts = example->targets[i] > FIRST_SENTINEL - config->n_sentinels || example->targets[i] == EOS;
        if (starts && i > 0) {
            facts->longer_than_10 += length > 11;
            empty += length == 1;
        }
        distinct += starts;
        length = starts ? 0 : length;
    }
    facts->n += (double)n;
    facts->masked += (double)(n - (example->n_inputs - 1 - spans));
    facts->spans += (double)(spans - empty);
    facts->empty += (double)empty;
    facts->distinct += (double)(distinct - 1);
    facts->targets += (double)example->n_targets;
    facts->inputs += (double)example->n_inputs;
}

/* Makes the example of a text, and checks that it holds the text. */
static void make(const ObjectiveConfig *config, const Text *text, uint64_t sample, Example *example)
{
    int32_t back[LONGEST];
    Philox rng = numbers(sample);
    Choice choice = { .sample = (int64_t)sample };
    subtree_corruption_objective.choose(config, text->n, &choice);
    subtree_corruption_objective.apply(config, &choice, &rng, text, example);
    g_assert_cmpint(example->n_inputs, <=, choice.n_inputs);
    g_assert_cmpint(example->n_targets, <=, choice.n_targets);
    g_assert_cmpint(span_corruption_splice(config, example, back, NULL), ==, text->n);
    assert_same(back, text->tokens, (size_t)text->n * sizeof *back);
}

static void assert_near(double got, double wanted, double tolerance)
{
    if (!(fabs(got - wanted) <= tolerance))
        g_error("%g, not %g +- %g", got, wanted, tolerance);
}

/* ---- text without a tree: figures measured on AST-T5's own masks, n = 1024 ---- */

static Facts measure_text(double density, double empty_spans, int rounds)
{
    SubtreeCorruptionSettings settings = usual;
    Facts facts = { 0 };
    int32_t tokens[1024];
    settings.empty_spans = empty_spans;
    const ObjectiveConfig config = planned(1024, density, settings);
    Example example;
    example_init(&example, &config);
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < 1024; i++)
            tokens[i] = TEXT + i;
        make(&config, &(Text){ .tokens = tokens, .n = 1024 }, (uint64_t)round, &example);
        add_facts(&config, &example, 1024, &facts);
    }
    example_clear(&example);
    Facts means = { .n = 1024,
                    .masked = facts.masked / facts.n,
                    .spans = facts.spans / rounds,
                    .empty = facts.empty / rounds,
                    .targets = facts.targets / facts.n,
                    .inputs = facts.inputs / facts.n,
                    .longer_than_10 = facts.longer_than_10 / facts.spans };
    return means;
}

static void text_is_masked_as_in_ast_t5(void)
{
    Facts facts = measure_text(0.25, 0, 1000);
    assert_near(facts.masked, 0.2249, 0.0015);
    assert_near(facts.spans, 36.5, 0.4);
    assert_near(facts.masked * 1024 / facts.spans, 6.31, 0.08);
    assert_near(facts.targets, 0.2615, 0.002);
    assert_near(facts.inputs, 0.811, 0.002);
    assert_near(facts.longer_than_10, 0.0975, 0.006);
    facts = measure_text(0.15, 0, 1000);
    assert_near(facts.masked, 0.1410, 0.0015);
    assert_near(facts.spans, 24.2, 0.3);
    assert_near(facts.masked * 1024 / facts.spans, 5.96, 0.08);
    facts = measure_text(0.25, 0.1, 1000);
    assert_near(facts.masked, 0.2045, 0.0015);
    assert_near(facts.spans, 33.7, 0.4);
    assert_near(facts.empty, 26.0, 0.2);
    assert_near(facts.targets, 0.264, 0.002);
}

/* ---- programs ---- */

/* Appends a random tree over tokens [begin, end): nodes of 2 to 6 children, names of one or two tokens. */
static void grow(Philox *rng, int32_t begin, int32_t end, int depth, GArray *tree)
{
    const TreeNode node = { begin, end, 3, end - begin <= 2 && philox_below(rng, 2) == 0 };
    g_array_append_val(tree, node);
    int32_t n = end - begin;
    for (int32_t at = begin; depth > 0 && n > 2 && at < end;) {
        int32_t most = n / (2 + (int32_t)philox_below(rng, 4));
        int32_t size = 1 + (int32_t)philox_below(rng, (uint64_t)MAX(1, most));
        size = MIN(size, end - at);
        if (philox_below(rng, 4) > 0 && size < n)
            grow(rng, at, at + size, depth - 1, tree);
        at += size;
    }
}

typedef struct Program {
    int32_t tokens[LONGEST];
    GArray *tree;
    Text text;
} Program;

/* Names are few, so that spans repeat. */
static Program *draw_program(uint64_t number, int32_t n)
{
    Program *program = g_new(Program, 1);
    Philox rng = philox_open(philox_key(5, PHILOX_SAMPLING, 0), number);
    program->tree = g_array_new(FALSE, FALSE, sizeof(TreeNode));
    for (int32_t i = 0; i < n; i++)
        program->tokens[i] = TEXT + (int32_t)philox_below(&rng, 20);
    grow(&rng, 0, n, 12, program->tree);
    program->text = (Text){ .tokens = program->tokens,
                            .n = n,
                            .side = program->tree->data,
                            .side_bytes = program->tree->len * sizeof(TreeNode) };
    return program;
}

static void program_free(Program *program)
{
    g_array_unref(program->tree);
    g_free(program);
}

static Facts measure_programs(SubtreeCorruptionSettings settings, int rounds)
{
    const ObjectiveConfig config = planned(700, 0.25, settings);
    Facts facts = { 0 };
    Example example;
    example_init(&example, &config);
    for (int round = 0; round < rounds; round++) {
        Program *program = draw_program((uint64_t)round, 30 + round % 670);
        make(&config, &program->text, (uint64_t)round, &example);
        add_facts(&config, &example, program->text.n, &facts);
        program_free(program);
    }
    example_clear(&example);
    return facts;
}

static void the_quota_is_exact(void)
{
    int64_t all = 0, masked = 0;
    for (uint64_t round = 0; round < 1500; round++) {
        Program *program = draw_program(round, 5 + (int32_t)(round % 500));
        bool mask[LONGEST];
        Philox rng = numbers(round);
        int64_t n = program->text.n, count = 0;
        subtree_mask(&rng, &usual.mask, 0.25, program->tokens, n, (const TreeNode *)(void *)program->tree->data,
                     program->tree->len, mask);
        for (int64_t i = 0; i < n; i++)
            count += mask[i];
        g_assert_true(count == n / 4 || count == n / 4 + 1);
        all += n;
        masked += count;
        program_free(program);
    }
    assert_near((double)masked / (double)all, 0.25, 0.0005);
}

static void programs_come_back_whole(void)
{
    Facts facts = measure_programs(usual, 1500);
    g_assert_cmpfloat(facts.distinct, <, 0.9 * facts.spans); /* equal spans share a sentinel */
    assert_near(facts.masked / facts.n, 0.25, 0.002);
}

static void a_low_threshold_masks_smaller_parts(void)
{
    SubtreeCorruptionSettings low = usual, high = usual;
    low.mask.identifier_probability = high.mask.identifier_probability = 0;
    low.mask.least_split = low.mask.most_split = 5;
    high.mask.least_split = high.mask.most_split = 100;
    Facts parts = measure_programs(low, 600), whole = measure_programs(high, 600);
    g_assert_cmpfloat(parts.spans, >, 1.3 * whole.spans);
}

static void names_that_are_masked_are_masked_everywhere(void)
{
    SubtreeCorruptionSettings names = usual;
    names.mask.identifier_probability = names.mask.identifier_share = 1;
    Facts few = measure_programs(names, 600);
    names.mask.identifier_probability = 0;
    Facts many = measure_programs(names, 600);
    g_assert_cmpfloat(few.distinct / few.spans, <, many.distinct / many.spans - 0.02);
    /* One name, three times: within the budget all of it, or none of it. */
    static const int32_t tokens[] = { 7, 50, 51, 7, 52, 53, 54, 7, 55, 56, 57, 58 };
    static const TreeNode tree[] = { { 0, 12, 0, 0 }, { 0, 1, 1, 1 }, { 3, 4, 1, 1 }, { 7, 8, 1, 1 } };
    names.mask.identifier_probability = 1;
    for (uint64_t round = 0; round < 200; round++) {
        bool mask[12];
        Philox rng = numbers(round);
        subtree_mask(&rng, &names.mask, 0.25, tokens, 12, tree, G_N_ELEMENTS(tree), mask);
        for (int i = 0; i < 12; i++)
            g_assert_cmpint(mask[i], ==, i == 0 || i == 3 || i == 7);
    }
}

/* Without names every token is masked with the same probability, where the weights of the shuffle are exact. */
static void every_token_is_masked_with_the_same_probability(void)
{
    static const struct {
        int32_t n;
        double most; /* density up to which the weights are exact */
        TreeNode tree[4];
    } cases[] = {
        { 20, 0.9, { { 0, 20, 0, 0 }, { 0, 5, 1, 0 }, { 5, 20, 1, 0 }, { 5, 6, 1, 0 } } },
        { 20, 0.9, { { 0, 20, 0, 0 }, { 0, 18, 1, 0 }, { 18, 20, 1, 0 }, { 18, 19, 1, 0 } } },
        { 20, 0.9, { { 0, 20, 0, 0 }, { 0, 8, 1, 0 }, { 8, 20, 1, 0 }, { 8, 9, 1, 0 } } },
        { 24, 0.36, { { 0, 24, 0, 0 }, { 0, 3, 1, 0 }, { 3, 12, 1, 0 }, { 12, 24, 1, 0 } } },
    };
    enum { ROUNDS = 40000 };
    SubtreeMaskSettings settings = usual.mask;
    settings.identifier_probability = 0;
    settings.least_split = settings.most_split = 100;
    for (size_t c = 0; c < G_N_ELEMENTS(cases); c++)
        for (double density = 0.15; density < cases[c].most; density += 0.2) {
            int32_t n = cases[c].n, tokens[24];
            int64_t counts[24] = { 0 };
            for (int32_t i = 0; i < n; i++)
                tokens[i] = i;
            for (uint64_t round = 0; round < ROUNDS; round++) {
                bool mask[24];
                Philox rng = numbers(round);
                subtree_mask(&rng, &settings, density, tokens, n, cases[c].tree, 4, mask);
                for (int32_t i = 0; i < n; i++)
                    counts[i] += mask[i];
            }
            for (int k = 1; k < 4; k++) { /* within a node positions differ, as spans may not */
                const TreeNode *node = &cases[c].tree[k];
                int64_t sum = 0;
                for (int32_t i = node->begin; i < node->end; i++)
                    sum += counts[i];
                if (node->end - node->begin > 1)
                    assert_near((double)sum / (node->end - node->begin) / ROUNDS, density, 0.012);
            }
        }
}

static void a_tree_of_very_many_nodes_is_ignored(void)
{
    const ObjectiveConfig config = planned(1100, 0.25, usual);
    Example example;
    int32_t tokens[1100];
    g_autoptr(GArray) tree = g_array_new(FALSE, FALSE, sizeof(TreeNode));
    const TreeNode root = { 0, 1100, 0, 0 };
    g_array_append_val(tree, root);
    for (int32_t i = 0; i < 1100; i++) {
        const TreeNode leaf = { i, i + 1, 1, 1 };
        tokens[i] = TEXT; /* all names are one: with the tree, equal spans would share sentinels */
        g_array_append_val(tree, leaf);
    }
    example_init(&example, &config);
    for (uint64_t round = 0; round < 20; round++) {
        Facts facts = { 0 };
        make(&config, &(Text){ tokens, 1100, tree->data, tree->len * sizeof(TreeNode) }, round, &example);
        add_facts(&config, &example, 1100, &facts);
        g_assert_cmpfloat(facts.distinct, ==, facts.spans);
        g_assert_cmpfloat(facts.empty, ==, 0);
        make(&config, &(Text){ tokens, 1100, tree->data, 900 * sizeof(TreeNode) }, round, &example);
        Facts shared = { 0 };
        add_facts(&config, &example, 1100, &shared);
        g_assert_cmpfloat(shared.distinct, <, facts.distinct);
    }
    example_clear(&example);
}

static void an_example_is_a_function_of_seed_and_sample(void)
{
    const ObjectiveConfig config = planned(300, 0.25, usual);
    Program *program = draw_program(7, 300);
    Example first, again;
    example_init(&first, &config);
    example_init(&again, &config);
    make(&config, &program->text, 3, &first);
    make(&config, &program->text, 4, &again);
    g_assert_true(first.n_inputs != again.n_inputs ||
                  memcmp(first.inputs, again.inputs, (size_t)first.n_inputs * 4) != 0);
    make(&config, &program->text, 3, &again);
    g_assert_cmpint(first.n_inputs, ==, again.n_inputs);
    assert_same(first.inputs, again.inputs, (size_t)first.n_inputs * 4);
    assert_same(first.targets, again.targets, (size_t)first.n_targets * 4);
    example_clear(&first);
    example_clear(&again);
    program_free(program);
}

static void targets_may_end_otherwise_than_inputs(void)
{
    ObjectiveConfig config = planned(300, 0.25, usual);
    Program *program = draw_program(9, 300);
    Example example;
    config.target_end = 3;
    example_init(&example, &config);
    make(&config, &program->text, 1, &example);
    g_assert_cmpint(example.inputs[example.n_inputs - 1], ==, EOS);
    g_assert_cmpint(example.targets[example.n_targets - 1], ==, 3);
    example_clear(&example);
    program_free(program);
}

static void few_sentinels_leave_the_rest_as_it_is(void)
{
    ObjectiveConfig config = planned(600, 0.25, usual);
    Example example;
    config.n_sentinels = 4;
    example_init(&example, &config);
    for (uint64_t round = 0; round < 50; round++) {
        Program *program = draw_program(round, 600);
        make(&config, &program->text, round, &example);
        program_free(program);
    }
    example_clear(&example);
}

/* With 1,024 sentinels the worst case of targets is far above the usual; a shorter target_length leaves spans as they
 * are. */
static void targets_may_be_shorter_than_the_worst_case(void)
{
    const SubtreeCorruptionSettings settings = usual;
    ObjectiveConfig config = { .input_length = 601,
                               .target_length = 172,
                               .noise_density = 0.25,
                               .eos = EOS,
                               .first_sentinel = FIRST_SENTINEL,
                               .n_sentinels = 1024,
                               .vocab = V,
                               .own = objective_own(&settings, sizeof settings) };
    g_autoptr(GError) error = NULL;
    g_assert_true(subtree_corruption_objective.plan(&config, &error));
    g_assert_cmpint(config.target_length, ==, 172);
    Example example;
    int full = 0;
    example_init(&example, &config);
    for (uint64_t round = 0; round < 200; round++) {
        Program *program = draw_program(round, 600);
        make(&config, &program->text, round, &example);
        full += example.n_targets >= 168;
        program_free(program);
    }
    g_assert_cmpint(full, >, 10);
    example_clear(&example);
    config.target_length = 100;
    config.raw_length = 0;
    g_assert_false(subtree_corruption_objective.plan(&config, &error));
    g_assert_nonnull(strstr(error->message, "cannot hold"));
}

/* ---- through the loader ---- */

static char *folder;
static Tokenizer *tok;

static char *write_dataset(const char *name, bool with_trees)
{
    char *prefix = g_build_filename(folder, name, NULL);
    g_autoptr(GError) error = NULL;
    Grammars *grammars = grammars_open(LOAM_TEST_GRAMMARS, &error);
    g_assert_no_error(error);
    const DatasetMeta meta = dataset_meta_of(tok, false);
    DatasetWriter *writer = dataset_writer_open(prefix, &meta, false, &error);
    g_assert_no_error(error);
    g_assert_true(!with_trees || dataset_writer_with_trees(writer, grammars, NULL));
    for (uint64_t i = 0; i < 40; i++) {
        Program *program = draw_program(i, 20 + (int32_t)(i * 7 % 100));
        int64_t n = program->text.n;
        const TreeNode *nodes = (const TreeNode *)(void *)program->tree->data + 1; /* without the root */
        bool is_text = i % 8 == 7;
        g_assert_true(with_trees ? dataset_writer_add_tree(writer, program->tokens, n, is_text ? -1 : 0, nodes,
                                                           is_text ? 0 : program->tree->len - 1, NULL)
                                 : dataset_writer_add(writer, program->tokens, n, NULL) &&
                                       dataset_writer_end_document(writer, NULL));
        program_free(program);
    }
    g_assert_true(dataset_writer_finish(writer, &error));
    g_assert_no_error(error);
    dataset_writer_close(writer);
    g_ptr_array_unref(grammars);
    return prefix;
}

static void trees_reach_the_objective_from_the_dataset(void)
{
    g_autofree char *prefix = write_dataset("trees", true), *without = write_dataset("plain", false);
    const DataConfig config = { .packed = true,
                                .objective = objective_index("subtree_corruption"),
                                .input_length = 128,
                                .noise_density = 0.25,
                                .settings = { .subtree_corruption = usual } };
    g_autoptr(GError) error = NULL;
    Loader *loader = loader_open(&config, prefix, tok, 3, false, &error);
    g_assert_no_error(error);
    Batch *batch = loader_batch(loader, 4);
    int64_t tokens = 0, rows = loader_epoch_packed(loader);
    for (int64_t row = 0; row + 4 <= rows; row += 4) {
        loader_get(loader, row, 4, batch, &error);
        g_assert_no_error(error);
        tokens += batch->enc.n_tokens;
    }
    g_assert_cmpint(tokens, >, loader_raw_tokens(loader) / 2);
    batch_free(batch);
    loader_close(loader);
    g_autofree char *part = g_strconcat(prefix, "@valid:500/500/0", NULL);
    loader = loader_open(&config, part, tok, 3, false, &error);
    g_assert_no_error(error);
    batch = loader_batch(loader, 1);
    for (int64_t row = 0; row < loader_epoch_packed(loader); row++)
        g_assert_true(loader_get(loader, row, 1, batch, &error));
    batch_free(batch);
    loader_close(loader);
    loader = loader_open(&config, without, tok, 3, false, &error);
    g_assert_no_error(error);
    batch = loader_batch(loader, 1);
    g_assert_false(loader_get(loader, 0, 1, batch, &error));
    g_assert_nonnull(strstr(error->message, "loam prepare --ast"));
    batch_free(batch);
    loader_close(loader);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = folder_new();
    tok = tiny_tokenizer(folder, "tiny.model", 110);
#define CASE(name) g_test_add_func("/subtree_corruption/" #name, name)
    CASE(text_is_masked_as_in_ast_t5);
    CASE(the_quota_is_exact);
    CASE(programs_come_back_whole);
    CASE(a_low_threshold_masks_smaller_parts);
    CASE(names_that_are_masked_are_masked_everywhere);
    CASE(every_token_is_masked_with_the_same_probability);
    CASE(a_tree_of_very_many_nodes_is_ignored);
    CASE(an_example_is_a_function_of_seed_and_sample);
    CASE(targets_may_end_otherwise_than_inputs);
    CASE(few_sentinels_leave_the_rest_as_it_is);
    CASE(targets_may_be_shorter_than_the_worst_case);
    CASE(trees_reach_the_objective_from_the_dataset);
    int failed = g_test_run();
    tokenizer_close(tok);
    folder_remove(folder);
    return failed;
}
