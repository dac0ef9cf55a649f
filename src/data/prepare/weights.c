#include "data/prepare/weights.h"

#include "base/file.h"
#include "base/log.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    json_t *root = json_object();
    share_out(options, stats, n, shares);
    for (int i = n - 1; i >= 0; i--) { /* plain text comes last */
        g_autofree char *language = prepare_language(options, i);
        if (shares[i] > 0)
            json_object_set_new(root, language, json_real(shares[i]));
    }
    char *text = json_dumps(root, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(17));
    g_autofree char *lines = g_strconcat(text, "\n", NULL), *path = prepare_weights_path(options);
    free(text);
    json_decref(root);
    return io_write_file(path, lines, strlen(lines), error);
}
