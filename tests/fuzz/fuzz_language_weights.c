/* Any bytes as a file of weights of languages: an error, or a list that names each dataset with a weight above 0. */
#include "data/mixture.h"

#include "fuzz_folder.h"

#include <math.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(fuzz_folder(), "x_weights.json", NULL);
    fuzz_put("x_weights.json", data, bytes);
    CHECK(language_weights_is(path), "%s", path);
    g_autofree char *list = language_weights_list(path, false, &error);
    CHECK((list == NULL) == (error != NULL), "an error or a list, not both");
    CHECK(list || strstr(error->message, path), "%s", error->message);
    g_autofree char *valid = language_weights_list(path, true, NULL);
    CHECK(valid == NULL, "a held-out set that is not there");
    Mixture *mixture = mixture_parse(path, NULL);
    for (int k = 0; mixture && k < mixture->n; k++)
        CHECK(mixture->given[k] > 0 && isfinite(mixture->given[k]) &&
                  g_str_has_prefix(mixture->paths[k], fuzz_folder()),
              "%s has weight %g", mixture->paths[k], mixture->given[k]);
    CHECK(!mixture || list, "a mixture without a list");
    g_clear_pointer(&mixture, mixture_free);
    return 0;
}
