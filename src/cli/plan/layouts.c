/* layouts.c: `loam plan --layouts`: the layouts of a number of GPUs, by predicted time. */
#include "base/table.h"
#include "base/text.h"
#include "cli/plan/plan.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const heading[] = { "tensor", "context", "pipeline",  "stages", "data",
                                       "zero",   "micro",   "recompute", "memory", "fits",
                                       "bubble", "within",  "between",   "step",   "tokens/s" };
enum { CONTEXT = 1 }; /* a column that is left out if it would be 1 in every row */

/* Bytes that a rank sends within its node, or to other nodes. */
static char *sent_text(const StepCost *cost, bool between)
{
    double bytes = 0;
    for (int kind = 0; kind < SENT_KINDS; kind++)
        bytes += (double)cost->stage.sent_kinds.bytes[kind] * (between ? cost->between[kind] : 1 - cost->between[kind]);
    return text_bytes((uint64_t)bytes);
}

static void add_layout_row(Table *table, const Outline *o, const Layout *layout, bool contexts)
{
    const StepCost *cost = &layout->cost;
    const int64_t numbers[] = { layout->tensor, layout->context, layout->pipeline, layout->interleave,
                                layout->data,   layout->zero,    layout->micro };
    for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++)
        if (i != CONTEXT || contexts)
            table_add(table, g_strdup_printf("%" PRId64, numbers[i]));
    table_add(table, g_strdup(layout->recompute == RECOMPUTE_BLOCK ? "block" : "none"));
    table_add(table, text_bytes((uint64_t)cost->bytes));
    table_add(table, g_strdup_printf("%s%s", layout->configured ? "* " : "", cost->fits ? "yes" : "no"));
    table_add(table, g_strdup_printf("%.1f %%", 100 * cost->bubble_share));
    table_add(table, sent_text(cost, false));
    table_add(table, sent_text(cost, true));
    table_add(table, g_strdup_printf("%.3g s", cost->step));
    table_add(table, text_count((double)(o->samples * o->config->data.input_length) / cost->step));
}

/* Those that fit and are fastest, the fastest that do not fit, and the configured one. */
static void print_rows(const Outline *o, const GArray *layouts, int rows, guint n_fit)
{
    bool contexts = false;
    for (guint i = 0; i < layouts->len; i++)
        contexts |= g_array_index(layouts, Layout, i).context > 1;
    Table table = table_new((int)G_N_ELEMENTS(heading) - !contexts);
    for (size_t i = 0; i < G_N_ELEMENTS(heading); i++)
        if (i != CONTEXT || contexts)
            table_add(&table, g_strdup(heading[i]));
    for (guint i = 0; i < layouts->len; i++) {
        const Layout *layout = &g_array_index(layouts, Layout, i);
        const guint place = layout->cost.fits ? i : i - n_fit;
        if (rows == 0 || place < (guint)(layout->cost.fits || n_fit == 0 ? rows : UNFIT_ROWS) || layout->configured)
            add_layout_row(&table, o, layout, contexts);
    }
    table_print(&table);
}

/* What to do if no layout fits. */
static void print_smallest(const Outline *o, const GArray *layouts, const Machine *machine)
{
    const Layout *smallest = &g_array_index(layouts, Layout, 0);
    for (guint i = 1; i < layouts->len; i++)
        if (g_array_index(layouts, Layout, i).cost.bytes < smallest->cost.bytes)
            smallest = &g_array_index(layouts, Layout, i);
    g_autofree char *options = layout_options(smallest, o->config),
                    *which = *options ? g_strdup_printf("with %s", options) : g_strdup("as configured"),
                    *needs = text_bytes((uint64_t)smallest->cost.bytes),
                    *has = text_bytes((uint64_t)machine->memory_bytes);
    printf("none fits into %s: the smallest needs %s, %s; more GPUs or shorter samples need less\n", has, needs, which);
}

/* What is not in the rows: a configured train.micro_batch that is larger than what a rank has of a step, and layouts
 * that a growing batch has too few samples for at first. */
static void print_limits(const Outline *o, const GArray *layouts)
{
    const int64_t micro = config_micro_samples(o->config);
    int64_t most = 0;
    for (guint i = 0; i < layouts->len; i++) {
        const Layout *layout = &g_array_index(layouts, Layout, i);
        most = MAX(most, layout->data);
        if (layout->configured && layout->micro < micro)
            printf("* a rank has %" PRId64 " sample%s of a step, fewer than train.micro_batch\n", layout->micro,
                   layout->micro == 1 ? "" : "s");
    }
    if (o->batches.ramp > 0 && most > o->batches.start)
        printf("a run that begins with %" PRId64 " samples a step (train.batch_rampup) can have at most %" PRId64
               " data-parallel ranks at first\n",
               o->batches.start, o->batches.start);
}

static bool any_configured(const GArray *layouts)
{
    bool any = false;
    for (guint i = 0; i < layouts->len; i++)
        any = any || g_array_index(layouts, Layout, i).configured;
    return any;
}

bool plan_layouts(const Outline *o, const PlanCluster *cluster, GError **error)
{
    g_autoptr(GArray) layouts = layouts_list(o->config, cluster->machine, cluster->gpus, o->enc, o->dec, error);
    if (layouts == NULL)
        return false;
    guint n_fit = 0;
    while (n_fit < layouts->len && g_array_index(layouts, Layout, n_fit).cost.fits)
        n_fit++;
    g_autofree char *machine = machine_describe(cluster->machine);
    printf("%s\n%u layout%s of %d rank%s, of which %u fit; a step of %" PRId64 " samples%s\n", machine, layouts->len,
           layouts->len == 1 ? "" : "s", cluster->gpus, cluster->gpus == 1 ? "" : "s", n_fit, o->samples,
           any_configured(layouts) ? "; * as configured" : "");
    const bool any = layouts->len > 0;
    if (any)
        print_rows(o, layouts, cluster->rows, n_fit);
    if (any && n_fit == 0)
        print_smallest(o, layouts, cluster->machine);
    print_limits(o, layouts);
    return any || fail_user(error, "no layout of %d ranks can train this model with batches of %" PRId64 " samples",
                            cluster->gpus, o->samples);
}
