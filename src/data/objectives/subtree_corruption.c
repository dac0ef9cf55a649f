#include "data/objectives/objectives.h"

#include "base/check.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* A tree with more nodes is ignored, as in AST-T5: more than 6,000 symbols in its own notation. */
#define MAX_NODES 999

#define AT(field) offsetof(SubtreeCorruptionSettings, field)
static const OptionRow subtree_corruption_options[] = {
    { "data.subtrees", OPT_BOOL, AT(subtrees), "true", 0, 0, OPT_IDENTITY, NULL,
      "subtree_corruption: spans follow the syntax trees of programs; false means that programs are corrupted as "
      "text" },
    { "data.subtree_span_length", OPT_I64, AT(mask.span_length), "10", 2, 1000, OPT_IDENTITY, NULL,
      "subtree_corruption: longest span in text without a tree" },
    { "data.subtree_least_split", OPT_I64, AT(mask.least_split), "5", 1, 1e6, OPT_IDENTITY, NULL,
      "subtree_corruption: a number is drawn from here to data.subtree_most_split; nodes with more masked tokens are "
      "masked in parts, others whole if possible" },
    { "data.subtree_most_split", OPT_I64, AT(mask.most_split), "100", 1, 1e6, OPT_IDENTITY, NULL,
      "subtree_corruption: see data.subtree_least_split" },
    { "data.identifier_probability", OPT_F64, AT(mask.identifier_probability), "0.5", 0, 1, OPT_IDENTITY, NULL,
      "subtree_corruption: fraction of the samples that mask all occurrences of some identifiers first" },
    { "data.identifier_share", OPT_F64, AT(mask.identifier_share), "0.5", 0, 1, OPT_IDENTITY, NULL,
      "subtree_corruption: in such a sample (data.identifier_probability), largest fraction of the masked tokens that "
      "are identifiers" },
    { "data.empty_spans", OPT_F64, AT(empty_spans), "0.1", 0, 0.9, OPT_IDENTITY, NULL,
      "subtree_corruption: in text without a tree, fraction by which fewer tokens are masked; spans of zero tokens, "
      "each only a sentinel, take their place" },
};
#undef AT

static const SubtreeCorruptionSettings *subtree_settings(const ObjectiveConfig *config)
{
    G_STATIC_ASSERT(sizeof(SubtreeCorruptionSettings) <= sizeof config->own);
    return (const void *)&config->own;
}

static int64_t empty_spans(const ObjectiveConfig *config, double share, int64_t n)
{
    return (int64_t)ceil(config->noise_density * share * (double)n);
}

/* Tokens that a sample of n tokens masks at most. */
static int64_t most_masked(const ObjectiveConfig *config, int64_t n)
{
    int64_t subtrees = (int64_t)(config->noise_density * (double)n) + 1;
    return MIN(MAX(subtrees, span_mask_most(config->noise_density, subtree_settings(config)->mask.span_length, n)), n);
}

/* Every masked token may be a span of its own. There are at most as many empty spans as masked tokens that are not the
 * first of their span (see insert_empty), so inputs are at most one EOS longer than the text. */
static int64_t most_targets(const ObjectiveConfig *config, int64_t n)
{
    int64_t masked = most_masked(config, n);
    return masked + MIN(masked, config->n_sentinels) + 1;
}

static bool plan_subtrees(ObjectiveConfig *config, GError **error)
{
    const SubtreeCorruptionSettings *settings = subtree_settings(config);
    int64_t most = config->input_length - 1;
    config->raw_length = config->raw_length > 0 ? MIN(config->raw_length, most) : most;
    int64_t targets = most_targets(config, config->raw_length);
    if (settings->mask.least_split > settings->mask.most_split)
        return fail_user(error, "data.subtree_least_split=%" PRId64 " is above data.subtree_most_split=%" PRId64,
                         settings->mask.least_split, settings->mask.most_split);
    if (config->n_sentinels < 1)
        return fail_user(error, "data.objective=subtree_corruption needs sentinels, which the tokenizer does not have");
    int64_t least = most_masked(config, config->raw_length) + 2;
    if (config->target_length == 0)
        config->target_length = targets;
    if (config->target_length < MIN(least, targets))
        return fail_user(error,
                         "data.target_length=%" PRId64 " cannot hold the %" PRId64
                         " masked tokens of a text of %" PRId64 ", a sentinel and the end; leave it out or set it to "
                         "%" PRId64 " or more",
                         config->target_length, least - 2, config->raw_length, least);
    config->side = settings->subtrees ? dataset_tree : NULL;
    return true;
}

static void choose_subtrees(const ObjectiveConfig *config, int64_t n, Choice *choice)
{
    choice->n_inputs = n + 1;
    choice->n_targets = MIN(most_targets(config, n), config->target_length);
}

/* ---- spans and sentinels ---- */

/* Tokens [begin, end) become a sentinel; begin == end inserts one. */
typedef struct Span {
    int64_t begin, end;
    int32_t sentinel; /* index of the sentinel */
    bool repeated;    /* an earlier span has the same tokens, and the sentinel */
} Span;

static GArray *list_spans(const bool *mask, int64_t n)
{
    GArray *spans = g_array_new(FALSE, FALSE, sizeof(Span));
    for (int64_t i = 0; i < n; i++) {
        const Span span = { .begin = i, .end = i + 1 };
        if (mask[i] && i > 0 && mask[i - 1])
            g_array_index(spans, Span, spans->len - 1).end++;
        else if (mask[i])
            g_array_append_val(spans, span);
    }
    return spans;
}

static gint compare_spans(gconstpointer a, gconstpointer b)
{
    const Span *first = a, *second = b;
    return first->begin != second->begin ? (first->begin < second->begin ? -1 : 1)
                                         : (first->end > second->end) - (first->end < second->end);
}

/* Adds up to `wanted` spans without a token, at different places that are not within a span. */
static void insert_empty(Philox *rng, const bool *mask, int64_t n, int64_t wanted, GArray *spans)
{
    g_autofree int64_t *places = g_new(int64_t, n + 1);
    int64_t n_places = 0, masked = 0;
    for (int64_t i = 0; i <= n; i++)
        if (i == 0 || i == n || !mask[i - 1] || !mask[i])
            places[n_places++] = i;
    for (int64_t i = 0; i < n; i++)
        masked += mask[i];
    wanted = MIN(MIN(wanted, masked - spans->len), n_places);
    for (int64_t i = 0; i < wanted; i++) {
        int64_t j = i + (int64_t)philox_below(rng, (uint64_t)(n_places - i));
        const Span span = { .begin = places[j], .end = places[j] };
        places[j] = places[i];
        g_array_append_val(spans, span);
    }
    g_array_sort(spans, compare_spans);
}

typedef struct Spelling {
    const int32_t *tokens;
    int64_t n;
} Spelling;

static guint hash_spelling(gconstpointer key)
{
    const Spelling *spelling = key;
    guint hash = 0;
    for (int64_t i = 0; i < spelling->n; i++)
        hash = hash * 31 + (guint)spelling->tokens[i];
    return hash;
}

static gboolean equal_spelling(gconstpointer a, gconstpointer b)
{
    const Spelling *first = a, *second = b;
    return first->n == second->n && memcmp(first->tokens, second->tokens, (size_t)first->n * sizeof(int32_t)) == 0;
}

/* Gives spans their sentinels, with `share` equal spans the same one. Spans for which no sentinel is left, or no room
 * in the targets, are removed, so their tokens stay. */
static void name_spans(const ObjectiveConfig *config, const int32_t *tokens, bool share, GArray *spans)
{
    g_autoptr(GHashTable) known = g_hash_table_new_full(hash_spelling, equal_spelling, g_free, NULL);
    int32_t sentinels = 0;
    int64_t n_targets = 1; /* EOS */
    guint kept = 0;
    for (guint i = 0; i < spans->len; i++) {
        Span span = g_array_index(spans, Span, i);
        const Spelling spelling = { tokens + span.begin, span.end - span.begin };
        gpointer index = share ? g_hash_table_lookup(known, &spelling) : NULL; /* index + 1 */
        int64_t targets = index ? 0 : 1 + spelling.n;
        if ((!index && sentinels == config->n_sentinels) || n_targets + targets > config->target_length)
            continue;
        n_targets += targets;
        span.repeated = index != NULL;
        span.sentinel = index ? GPOINTER_TO_INT(index) - 1 : sentinels++;
        if (share && !index)
            g_hash_table_insert(known, g_memdup2(&spelling, sizeof spelling), GINT_TO_POINTER(span.sentinel + 1));
        g_array_index(spans, Span, kept++) = span;
    }
    g_array_set_size(spans, kept);
}

static void put_tokens(int32_t *out, int64_t *n_out, const int32_t *tokens, int64_t n)
{
    memcpy(out + *n_out, tokens, (size_t)n * sizeof *out);
    *n_out += n;
}

static void write_example(const ObjectiveConfig *config, const Text *text, const GArray *spans, Example *out)
{
    int64_t at = 0;
    out->n_inputs = out->n_targets = 0;
    for (guint i = 0; i < spans->len; i++) {
        const Span *span = &g_array_index(spans, Span, i);
        int32_t sentinel = objective_sentinel(config, span->sentinel);
        put_tokens(out->inputs, &out->n_inputs, text->tokens + at, span->begin - at);
        out->inputs[out->n_inputs++] = sentinel;
        if (!span->repeated) {
            out->targets[out->n_targets++] = sentinel;
            put_tokens(out->targets, &out->n_targets, text->tokens + span->begin, span->end - span->begin);
        }
        at = span->end;
    }
    put_tokens(out->inputs, &out->n_inputs, text->tokens + at, text->n - at);
    out->inputs[out->n_inputs++] = config->eos;
    out->targets[out->n_targets++] = objective_target_end(config);
    CHECK(out->n_inputs <= config->input_length && out->n_targets <= config->target_length,
          "%" PRId64 " inputs, %" PRId64 " targets", out->n_inputs, out->n_targets);
}

static void apply_subtrees(const ObjectiveConfig *config, G_GNUC_UNUSED const Choice *choice, Philox *rng,
                           const Text *text, Example *out)
{
    const SubtreeCorruptionSettings *settings = subtree_settings(config);
    int64_t n = text->n, n_nodes = (int64_t)(text->side_bytes / sizeof(TreeNode));
    bool has_tree = n_nodes > 0, follows_it = has_tree && n_nodes - 1 <= MAX_NODES;
    g_autofree bool *mask = g_new(bool, n);
    if (follows_it)
        subtree_mask(rng, &settings->mask, config->noise_density, text->tokens, n, text->side, n_nodes, mask);
    else
        span_mask(rng, config->noise_density * (has_tree ? 1 : 1 - settings->empty_spans), settings->mask.span_length,
                  n, mask);
    g_autoptr(GArray) spans = list_spans(mask, n);
    if (!has_tree)
        insert_empty(rng, mask, n, empty_spans(config, settings->empty_spans, n), spans);
    name_spans(config, text->tokens, follows_it, spans);
    write_example(config, text, spans, out);
}

const Objective subtree_corruption_objective = { OBJECTIVE("subtree_corruption", STREAMS_BOTH, TEXT_DOCUMENTS, 4),
                                                 .ends_itself = true, .target_share = 1,
                                                 OBJECTIVE_OPTIONS(subtree_corruption_options),
                                                 OBJECTIVE_STEPS(plan_subtrees, choose_subtrees, apply_subtrees) };
