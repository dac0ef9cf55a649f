/* prepare_names.c: the names of the files that `loam prepare` writes with given options. */
#include "data/prepare/prepare.h"

enum { TRAIN, VALID, N_PARTS };

const char *const prepare_suffixes[] = { ".json", ".idx", ".bin", ".tree", NULL };

int prepare_outputs(const PrepareOptions *options)
{
    if (options->by_language)
        return grammars_count(options->programs->grammars) + 1;
    return options->corpus.fields_apart ? (int)g_strv_length(options->corpus.fields) : 1;
}

char *prepare_language(const PrepareOptions *options, int output)
{
    const char *name = output == 0 ? "text" : grammars_at(options->programs->grammars, output - 1)->name;
    return options->ndtypes ? ndtype_language(name) : g_strdup(name);
}

char *prepare_weights_path(const PrepareOptions *options)
{
    return options->ndtypes ? g_build_filename(options->out, "data_weights.json", NULL)
                            : g_strconcat(options->out, "_weights.json", NULL);
}

char *prepare_prefix(const PrepareOptions *options, int output, bool valid)
{
    const char *part = valid ? "valid" : "train", *ending = valid ? "-valid" : "";
    if (options->by_language) {
        g_autofree char *language = prepare_language(options, output);
        return options->ndtypes ? g_build_filename(options->out, language, part, NULL)
                                : g_strdup_printf("%s_%s%s", options->out, language, ending);
    }
    if (options->fairseq)
        return g_build_filename(options->out, part, NULL);
    if (!options->corpus.fields_apart)
        return g_strconcat(options->out, ending, NULL);
    return g_strdup_printf("%s_%s_%s%s", options->out, options->corpus.fields[output],
                           options->split_sentences ? "sentence" : "document", ending);
}

char **prepare_files(const PrepareOptions *options)
{
    g_autoptr(GStrvBuilder) files = g_strv_builder_new();
    for (int i = 0; i < prepare_outputs(options) * N_PARTS; i++) {
        g_autofree char *prefix = prepare_prefix(options, i / N_PARTS, i % N_PARTS == VALID);
        for (const char *const *suffix = prepare_suffixes; *suffix; suffix++) {
            g_autofree char *file = g_strconcat(prefix, *suffix, NULL);
            g_strv_builder_add(files, file);
        }
    }
    g_autofree char *dictionary = g_build_filename(options->out, "dict.txt", NULL),
                    *weights = prepare_weights_path(options);
    if (options->fairseq)
        g_strv_builder_add(files, dictionary);
    if (options->by_language)
        g_strv_builder_add(files, weights);
    return g_strv_builder_end(files);
}
