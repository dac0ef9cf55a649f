/* loader_labels.c: counts the text tokens and the labels of each class in datasets for classifiers. */
#include "data/loader.h"
#include "data/loader_state.h"
#include "data/objectives/objectives.h"

int64_t loader_labelled_tokens(const Loader *loader)
{
    const Indexed *set = loader->data->set;
    int64_t n = 0, first, last;
    for (int64_t document = 0; document < indexed_documents(set); document++) {
        indexed_document(set, document, &first, &last);
        n += indexed_length(set, first);
    }
    return n;
}

bool loader_count_labels(const Loader *loader, int64_t *counts, GError **error)
{
    bool good = true;
    for (int k = 0; loader->mixture && k < loader->mixture->n; k++)
        good = good && loader_count_labels(loader->parts[k], counts, error);
    if (loader->mixture)
        return good;
    const Indexed *set = loader->data->set;
    for (int64_t document = 0; document < indexed_documents(set); document++) {
        int64_t first, last;
        indexed_document(set, document, &first, &last);
        const int64_t n = indexed_length(set, first + 1);
        g_autofree int32_t *encoded = g_new(int32_t, (gsize)n);
        if (!indexed_read(set, first + 1, 0, n, encoded, error))
            return false;
        labelled_count((LabelKind)loader->config.label_kind, encoded, n, counts);
    }
    return true;
}
