#include "cli/prepare/lines.h"

#include "base/text.h"
#include "cli/cli.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

static double unknown_share(const FairseqLinesSet *set)
{
    return (double)set->unknown / (double)set->tokens;
}

static void print_text(const FairseqLinesOptions *options, const FairseqLinesStats *stats)
{
    g_autofree char *ids = text_grouped(stats->dictionary);
    printf("%s/dict.txt: %s ids\n", options->out, ids);
    for (guint i = 0; i < stats->sets->len; i++) {
        const FairseqLinesSet *set = stats->sets->pdata[i];
        g_autofree char *sentences = text_grouped(set->sentences), *tokens = text_grouped(set->tokens);
        printf("%s: %s sentences, %s tokens, %.3g %% replaced by <unk>\n", set->prefix, sentences, tokens,
               100 * unknown_share(set));
    }
}

static bool print_json(const FairseqLinesStats *stats, GError **error)
{
    json_t *sets = json_array();
    for (guint i = 0; i < stats->sets->len; i++) {
        const FairseqLinesSet *set = stats->sets->pdata[i];
        json_array_append_new(sets, json_pack("{s:s, s:I, s:I, s:I}", "prefix", set->prefix, "sentences",
                                              (json_int_t)set->sentences, "tokens", (json_int_t)set->tokens, "unknown",
                                              (json_int_t)set->unknown));
    }
    return print_json_line(json_pack("{s:I, s:o}", "dictionary", (json_int_t)stats->dictionary, "sets", sets), error);
}

bool prepare_lines(const FairseqLinesOptions *options, bool as_json, GError **error)
{
    FairseqLinesStats stats;
    bool good = fairseq_lines_run(options, &stats, error);
    if (good && as_json)
        good = print_json(&stats, error);
    else if (good)
        print_text(options, &stats);
    g_ptr_array_unref(stats.sets);
    return good;
}
