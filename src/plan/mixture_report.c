#include "plan/mixture_report.h"

#include "base/log.h"
#include "base/text.h"

GPtrArray *mixture_report(const Loader *loader, int64_t samples)
{
    GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);
    int n = loader_datasets(loader);
    for (int k = 0; n > 1 && k < n; k++) {
        const LoaderDataset part = loader_dataset(loader, k);
        g_autofree char *tokens = text_count((double)part.tokens);
        g_autoptr(GString) line = g_string_new(NULL);
        g_string_append_printf(line, "%s: %.2f %% of the samples, %s tokens", part.path, 100 * part.share, tokens);
        if (samples >= 0)
            g_string_append_printf(line, ", %.2f epochs in the run",
                                   part.share * (double)samples / (double)part.packed);
        g_ptr_array_add(lines, g_strdup(line->str));
    }
    return lines;
}

void mixture_advise(const Loader *loader, int64_t samples)
{
    for (int k = 0; k < loader_datasets(loader); k++) {
        const LoaderDataset part = loader_dataset(loader, k);
        const double epochs = part.share * (double)samples / (double)part.packed;
        if (epochs > MANY_EPOCHS)
            log_warning("the run reads %s %.0f times; after some %d passes the same text hardly improves a model: use "
                        "a shorter train.length, a smaller train.batch or more text",
                        part.path, epochs, MANY_EPOCHS);
    }
}
