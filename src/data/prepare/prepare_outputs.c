/* prepare_outputs.c: the files that `loam prepare` writes with given options: names, and weights of languages. */
#include "base/json_line.h"
#include "base/log.h"
#include "data/prepare/prepare_pipeline.h"

#include <math.h>
#include <stdlib.h>

const char *const prepare_suffixes[] = { ".json", ".idx", ".bin", ".tree", NULL };

int prepare_outputs(const PrepareOptions *options)
{
    if (options->by_language)
        return (int)options->programs->grammars->len + 1;
    return options->corpus.fields_apart ? (int)g_strv_length(options->corpus.fields) : 1;
}

char *prepare_language(const PrepareOptions *options, int output)
{
    const char *name = output == 0 ? "text" : ((const Grammar *)options->programs->grammars->pdata[output - 1])->name;
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

/* ---- weights ---- */

/* Sets the shares of the languages in proportion to size ^ (1 / temperature), and the share of plain text to the
 * requested one; all add up to 1. */
static void share_out(const PrepareOptions *options, const PrepareStats *stats, int n, double shares[])
{
    double programs = 0, temperature = options->temperature > 0 ? options->temperature : 1;
    for (int i = 0; i < n; i++) {
        double size = (double)stats->outputs[i].train.documents;
        shares[i] = size > 0 ? pow(size, 1 / temperature) : 0;
        programs += i > 0 ? shares[i] : 0;
    }
    bool both = shares[0] > 0 && programs > 0, given = both && options->text_share > 0;
    double text = given ? options->text_share : shares[0] / (shares[0] + programs);
    for (int i = 1; i < n; i++)
        shares[i] *= programs > 0 ? (1 - text) / programs : 0;
    shares[0] = text;
    if (options->text_share > 0 && !both)
        log_warning("--text-share: there is %s, so the option has no effect", programs > 0 ? "no text" : "only text");
}

bool prepare_weights_write(const PrepareOptions *options, const PrepareStats *stats, GError **error)
{
    double shares[PREPARE_OUTPUTS] = { 0 };
    int n = prepare_outputs(options);
    json_auto_t *root = json_object();
    share_out(options, stats, n, shares);
    for (int i = n - 1; i >= 0; i--) { /* plain text comes last */
        g_autofree char *language = prepare_language(options, i);
        if (shares[i] > 0)
            json_object_set_new(root, language, json_real(shares[i]));
    }
    g_autofree char *path = prepare_weights_path(options);
    return json_write_file(path, root, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(17), "\n", error);
}
