/* dataset.c: `loam dataset`: merges, shuffles and splits token datasets. */
#include "data/dataset/dataset.h"
#include "base/text.h"
#include "cli/cli.h"

#include <string.h>

#define USAGE "loam dataset merge|shuffle|split PREFIX… --out PREFIX [--seed N] [--shares 949,50,1]"

static const char about[] =
    "Makes a new token dataset from existing ones, in the format of loam, Megatron or fairseq.\n"
    "\n"
    "  merge    all documents of several datasets, one dataset after another\n"
    "  shuffle  the documents of a dataset in random order (--seed)\n"
    "  split    OUT-train, OUT-valid and OUT-test, consecutive parts of a dataset in the ratio --shares\n"
    "\n"
    "  loam dataset merge data/a data/b --out data/ab\n"
    "  loam dataset split data/ab --out data/ab --shares 949,50,1\n";

static char *out, *shares_text;
static gint64 seed;
static gboolean replace;
static const GOptionEntry entries[] = {
    CLI_PATH("out", out, "PREFIX", "path prefix of the new dataset; missing folders are created"),
    CLI_VALUE("seed", seed, "N", "shuffle: seed of the order (default 0)"),
    CLI_VALUE("shares", shares_text, "A,B,C",
              "split: sizes of train, valid and test in any unit, as Megatron's --split"),
    CLI_REPLACE(replace),
    { 0 },
};

static bool print_counts(const char *suffix, const DatasetCounts *counts)
{
    g_autofree char *documents = text_grouped(counts->documents), *tokens = text_grouped(counts->tokens);
    printf("%s%s: %s documents, %s tokens\n", out, suffix, documents, tokens);
    return true;
}

static bool merge_datasets(char *const *prefixes, int n, GError **error)
{
    DatasetCounts counts;
    if (n < 1)
        return fail_user(error, "merge needs at least one dataset; usage: " USAGE);
    return cli_check_dataset(out, replace, error) && dataset_merge(prefixes, n, out, &counts, error) &&
           print_counts("", &counts);
}

static bool shuffle(char *const *prefixes, int n, GError **error)
{
    DatasetCounts counts;
    if (n != 1)
        return fail_user(error, "shuffle needs one dataset; usage: " USAGE);
    return cli_check_dataset(out, replace, error) &&
           dataset_shuffle(prefixes[0], out, (uint64_t)seed, &counts, error) && print_counts("", &counts);
}

static bool split_dataset(char *const *prefixes, int n, GError **error)
{
    double shares[SPLIT_PARTS];
    DatasetCounts counts[SPLIT_PARTS];
    if (n != 1 || shares_text == NULL)
        return fail_user(error, "split needs one dataset and --shares; usage: " USAGE);
    if (!split_parse(shares, shares_text, error))
        return fail_context(error, "--shares");
    for (int i = 0; i < SPLIT_PARTS; i++) {
        g_autofree char *part = g_strdup_printf("%s-%s", out, split_names[i]);
        if (shares[i] > 0 && !cli_check_dataset(part, replace, error))
            return false;
    }
    if (!dataset_split(prefixes[0], out, shares, counts, error))
        return false;
    for (int i = 0; i < SPLIT_PARTS; i++) {
        g_autofree char *suffix = g_strconcat("-", split_names[i], NULL);
        if (shares[i] > 0)
            print_counts(suffix, &counts[i]);
    }
    return true;
}

bool verb_dataset(int argc, char **argv, GError **error)
{
    static const struct {
        const char *name;
        bool (*run)(char *const *prefixes, int n, GError **error);
    } actions[] = { { "merge", merge_datasets }, { "shuffle", shuffle }, { "split", split_dataset } };
    if (!cli_parse(&argc, &argv, entries, USAGE, about, error))
        return false;
    if (argc < 2 || out == NULL)
        return fail_user(error, "%s; usage: " USAGE, argc < 2 ? "nothing to do" : "--out is missing");
    if (!cli_check_prefix(out, error))
        return false;
    for (size_t i = 0; i < G_N_ELEMENTS(actions); i++)
        if (strcmp(argv[1], actions[i].name) == 0)
            return actions[i].run(argv + 2, argc - 2, error);
    return fail_user(error, "%s is unknown, want merge, shuffle or split", argv[1]);
}
