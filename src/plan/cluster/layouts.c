#include "plan/cluster/cluster.h"

#include <inttypes.h>
#include <stdlib.h>

#define MOST_MICRO 16 /* samples of the largest microbatch that is tried */
/* Tokens of a sample that each context-parallel rank must have for its layout to be tried. */
#define LEAST_TOKENS 4096
#define EQUAL        0.01 /* steps whose times differ by less are equally fast: the model is no more exact */

static char no_cuts[] = "";

/* The configuration in a layout; it borrows. */
static Config config_in(const Config *config, const Layout *layout)
{
    Config in = *config;
    in.parallel.ranks = layout->data * layout->tensor * layout->context * layout->pipeline;
    in.parallel.tensor = layout->tensor;
    in.parallel.context = layout->context;
    in.parallel.pipeline = layout->pipeline;
    in.parallel.zero = layout->zero;
    in.parallel.interleave = layout->interleave;
    if (layout->pipeline != config->parallel.pipeline || layout->interleave != config->parallel.interleave)
        in.parallel.cuts = no_cuts;
    in.parallel.mesh = NULL;
    in.train.recompute = layout->recompute;
    in.train.micro_batch = (Amount){ .value = (double)layout->micro, .unit = UNIT_SAMPLES };
    return in;
}

/* The microbatch that train.micro_batch gives in a layout: at most the samples that a rank has of a step. */
static int64_t micro_in(const Config *config, const Layout *layout)
{
    const Config in = config_in(config, layout);
    return MIN(config_micro_samples(config), config_rank_samples(&in));
}

static Layout layout_of(const Config *config, int gpus)
{
    const ParallelConfig *parallel = &config->parallel;
    Layout layout = { .data = gpus / MAX(parallel->tensor * parallel->context * parallel->pipeline, 1),
                      .tensor = parallel->tensor,
                      .context = parallel->context,
                      .pipeline = parallel->pipeline,
                      .interleave = parallel->interleave,
                      .micro = 1,
                      .zero = parallel->zero,
                      .recompute = config->train.recompute };
    layout.micro = micro_in(config, &layout);
    return layout;
}

/* What is listed. */
typedef struct Search {
    const Config *config;
    const Machine *machine;
    int32_t input_length, target_length;
    Layout now;  /* the configured one */
    bool marked; /* whether it is marked: a configuration of one rank is none of several */
    GArray *found;
} Search;

/* Number of options of the configuration, whose layout is `now`, that a layout changes. */
static int distance(const Config *config, const Layout *layout, const Layout *now)
{
    return (layout->tensor != now->tensor) + (layout->context != now->context) + (layout->pipeline != now->pipeline) +
           (layout->interleave != now->interleave) + (layout->zero != now->zero) +
           (layout->recompute != now->recompute) + (layout->micro != micro_in(config, layout));
}

static void add_layout(Search *search, Layout layout)
{
    layout.configured = search->marked && distance(search->config, &layout, &search->now) == 0;
    g_array_append_val(search->found, layout);
}

/* Number of layouts from `first` on that have the same groups of ranks; they stand together. */
static guint alike(const GArray *layouts, guint first)
{
    const Layout *x = &g_array_index(layouts, Layout, first), *y = x;
    const Layout *end = &g_array_index(layouts, Layout, layouts->len);
    while (y < end && y->tensor == x->tensor && y->context == x->context && y->pipeline == x->pipeline &&
           y->interleave == x->interleave)
        y++;
    return (guint)(y - x);
}

static bool cost_of_layouts(const Search *search, Layout *layouts, guint n, GError **error)
{
    g_autofree Config *configs = g_new(Config, n);
    g_autofree StepCost *costs = g_new(StepCost, n);
    for (guint i = 0; i < n; i++)
        configs[i] = config_in(search->config, &layouts[i]);
    if (!cost_of_steps(configs, (int)n, search->machine, search->input_length, search->target_length, costs, error))
        return false;
    for (guint i = 0; i < n; i++)
        layouts[i].cost = costs[i];
    return true;
}

/* All costs, those of the same groups of ranks together; the result does not depend on the number of threads. */
static bool compute_all_costs(const Search *search, GError **error)
{
    Layout *all = (Layout *)(void *)search->found->data;
    const guint len = search->found->len;
    g_autofree guint *firsts = g_new(guint, len + 1);
    g_autofree GError **problems = g_new0(GError *, len);
    GError *first = NULL;
    int n = 0;
    for (guint i = 0; i < len; i += alike(search->found, i))
        firsts[n++] = i;
    firsts[n] = len;
#pragma omp parallel for schedule(dynamic) num_threads((int)g_get_num_processors())
    for (int i = 0; i < n; i++)
        cost_of_layouts(search, &all[firsts[i]], firsts[i + 1] - firsts[i], &problems[i]);
    for (int i = n - 1; i >= 0; i--)
        if (problems[i]) {
            g_clear_error(&first);
            first = problems[i];
        }
    return first == NULL || fail_with(error, first);
}

/* Adds the layouts of these groups of ranks: every ZeRO level, recomputation, and microbatch. */
static void add_groups(Search *search, Layout groups)
{
    const Config in = config_in(search->config, &groups);
    const int64_t own = micro_in(search->config, &groups), most = MIN(config_rank_samples(&in), MAX(MOST_MICRO, own));
    const bool shared = groups.data * groups.context > 1;
    for (groups.zero = ZERO_NONE; groups.zero <= (shared ? ZERO_WEIGHTS : ZERO_NONE); groups.zero++)
        for (groups.recompute = RECOMPUTE_NONE; groups.recompute <= RECOMPUTE_BLOCK; groups.recompute++) {
            bool listed = false;
            for (groups.micro = 1; groups.micro <= most; groups.micro *= 2) {
                listed = listed || groups.micro == own;
                add_layout(search, groups);
            }
            groups.micro = own;
            if (!listed)
                add_layout(search, groups);
        }
}

/* The same with 1, 2 and 4 stages per rank of a pipeline, and as many as configured. */
static void add_interleaved(Search *search, Layout groups, int gpus)
{
    const int64_t now = search->now.interleave, interleave[] = { 1, 2, 4, now };
    for (size_t i = 0; i < G_N_ELEMENTS(interleave) - (now == 1 || now == 2 || now == 4); i++) {
        groups.interleave = interleave[i];
        const Config in = config_in(search->config, &groups);
        if (config_check_layout(&in, gpus, NULL))
            add_groups(search, groups);
    }
}

/* Whether layouts with this parallel.context are listed: 1, the configured one, and powers of 2 for long samples. */
static bool tries_context(const Search *search, int64_t context)
{
    return context == 1 || context == search->now.context ||
           ((context & (context - 1)) == 0 &&
            MAX(search->input_length, search->target_length) / context >= LEAST_TOKENS);
}

/* The layouts with this many ranks for matrices and stages, with every parallel.context. */
static void add_contexts(Search *search, int64_t tensor, int64_t pipeline, int gpus)
{
    for (int64_t context = 1; tensor * pipeline * context <= gpus; context++) {
        const int64_t inner = tensor * pipeline * context;
        const Layout groups = {
            .data = gpus / inner, .tensor = tensor, .context = context, .pipeline = pipeline, .micro = 1
        };
        if (gpus % inner == 0 && tries_context(search, context))
            add_interleaved(search, groups, gpus);
    }
}

static gint faster(gconstpointer a, gconstpointer b)
{
    const Layout *x = a, *y = b;
    if (x->cost.fits != y->cost.fits)
        return x->cost.fits ? -1 : 1;
    return (x->cost.step > y->cost.step) - (x->cost.step < y->cost.step);
}

/* What a layout uses beyond data parallelism with ZeRO 0 or 1. */
static int parts_of(const Layout *layout)
{
    return (layout->tensor > 1) + (layout->context > 1) + (layout->pipeline > 1) + (layout->interleave > 1) +
           MAX(layout->zero - ZERO_STATES, 0) + (layout->recompute != RECOMPUTE_NONE);
}

static gint simpler(gconstpointer a, gconstpointer b, G_GNUC_UNUSED gpointer unused)
{
    const Layout *x = a, *y = b;
    const int more = parts_of(x) - parts_of(y);
    return more != 0 ? more : faster(a, b);
}

/* Orders layouts that are equally fast, within EQUAL of the fastest of them, by what they use. The sort is stable, so
 * the order is the same on every machine. */
static void prefer_simple(GArray *layouts)
{
    for (guint first = 0, end; first < layouts->len; first = end) {
        const Layout *fastest = &g_array_index(layouts, Layout, first);
        for (end = first + 1; end < layouts->len; end++) {
            const Layout *next = &g_array_index(layouts, Layout, end);
            if (next->cost.fits != fastest->cost.fits || next->cost.step > (1 + EQUAL) * fastest->cost.step)
                break;
        }
        g_qsort_with_data(&g_array_index(layouts, Layout, first), (gint)(end - first), sizeof(Layout), simpler, NULL);
    }
}

GArray *layouts_list(const Config *config, const Machine *machine, int gpus, int32_t input_length,
                     int32_t target_length, GError **error)
{
    Search search = { .config = config,
                      .machine = machine,
                      .input_length = input_length,
                      .target_length = target_length,
                      .now = layout_of(config, gpus),
                      .marked = gpus == 1 || config_ranks(config) > 1,
                      .found = g_array_new(false, true, sizeof(Layout)) };
    for (int64_t tensor = 1; tensor <= gpus; tensor++)
        for (int64_t pipeline = 1; pipeline * tensor <= gpus; pipeline++)
            add_contexts(&search, tensor, pipeline, gpus);
    if (!compute_all_costs(&search, error)) {
        g_array_free(search.found, true);
        return NULL;
    }
    g_array_sort(search.found, faster);
    prefer_simple(search.found);
    return search.found;
}

const Layout *layouts_nearest(const GArray *layouts, const Config *config)
{
    const Layout *nearest = NULL, now = layout_of(config, config_ranks(config));
    for (guint i = 0; i < layouts->len; i++) { /* those that fit come first, faster ones before slower ones */
        const Layout *layout = &g_array_index(layouts, Layout, i);
        if (layout->cost.fits && (!nearest || distance(config, layout, &now) < distance(config, nearest, &now)))
            nearest = layout;
    }
    return nearest;
}

char *layout_options(const Layout *layout, const Config *config)
{
    const Layout now = layout_of(config, config_ranks(config));
    GString *text = g_string_new(NULL);
    const struct {
        const char *name;
        int64_t value, former;
    } options[] = { { "parallel.tensor", layout->tensor, now.tensor },
                    { "parallel.context", layout->context, now.context },
                    { "parallel.pipeline", layout->pipeline, now.pipeline },
                    { "parallel.interleave", layout->interleave, now.interleave },
                    { "parallel.zero", layout->zero, now.zero } };
    for (size_t i = 0; i < G_N_ELEMENTS(options); i++)
        if (options[i].value != options[i].former)
            g_string_append_printf(text, "%s=%" PRId64 " ", options[i].name, options[i].value);
    if (layout->recompute != now.recompute)
        g_string_append_printf(text, "train.recompute=%s ", layout->recompute == RECOMPUTE_BLOCK ? "block" : "none");
    if (layout->micro != micro_in(config, layout))
        g_string_append_printf(text, "train.micro_batch='%" PRId64 " samples' ", layout->micro);
    g_string_truncate(text, text->len > 0 ? text->len - 1 : 0);
    return g_string_free(text, false);
}
