#include "cli/bench.h"

#include "base/text.h"
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    VerbFn run;
    const char *does;
} sub_verbs[] = {
    { "ops", bench_ops, "every operation at the shapes of T5-1.1-small" },
    { "step", bench_step, "a whole training step of a configuration" },
};

static void print_help(void)
{
    printf("usage: loam bench WHAT …\n\n");
    for (size_t i = 0; i < G_N_ELEMENTS(sub_verbs); i++)
        printf("  %-5s %s\n", sub_verbs[i].name, sub_verbs[i].does);
    printf("\n`loam bench WHAT --help` tells more.\n\n  loam bench ops\n");
}

bool verb_bench(int argc, char **argv, GError **error)
{
    const char *names[G_N_ELEMENTS(sub_verbs) + 1] = { NULL };
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        print_help();
        return false;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(sub_verbs); i++) {
        names[i] = sub_verbs[i].name;
        if (argc > 1 && strcmp(argv[1], names[i]) == 0)
            return sub_verbs[i].run(argc - 1, argv + 1, error);
    }
    g_autofree char *list = g_strjoinv(", ", (char **)names);
    const char *nearest = argc > 1 ? text_nearest(argv[1], names) : NULL;
    if (argc < 2)
        return fail_user(error, "nothing named to measure; one of: %s", list);
    if (nearest)
        return fail_user(error, "unknown: %s, did you mean %s?", argv[1], nearest);
    return fail_user(error, "unknown: %s; one of: %s", argv[1], list);
}
