/* task_overlap.c: counts the held-out examples that are also among those that are trained on, by hashes. */
#include "base/log.h"
#include "base/text.h"
#include "data/dataset/dataset.h"
#include "data/task/task.h"

#include <xxhash.h>

#define MOST_HELD_OUT (1 << 18) /* held-out examples that are compared; bounds the memory */

typedef struct HeldOut {
    gint64 hash;
    uint64_t text; /* hash of the text */
    bool several;  /* of several texts: which of them is trained on, if one is, is not known */
    int64_t count; /* held-out examples with this hash */
} HeldOut;

struct TaskOverlap {
    GHashTable *held_out; /* HeldOut * by their hash; those that were found among the trained ones are removed */
    int64_t n, trained;   /* held-out examples, and those of them that are trained on */
};

TaskOverlap *task_overlap_new(void)
{
    TaskOverlap *overlap = g_new0(TaskOverlap, 1);
    overlap->held_out = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
    return overlap;
}

void task_overlap_free(TaskOverlap *overlap)
{
    if (overlap == NULL)
        return;
    g_hash_table_unref(overlap->held_out);
    g_free(overlap);
}

void task_overlap_hold(TaskOverlap *overlap, uint64_t key, uint64_t text)
{
    const gint64 hash = (gint64)key;
    HeldOut *one = g_hash_table_lookup(overlap->held_out, &hash);
    if (overlap->n == MOST_HELD_OUT)
        return;
    overlap->n++;
    if (one == NULL) {
        one = g_new0(HeldOut, 1);
        one->hash = hash;
        one->text = text;
        g_hash_table_insert(overlap->held_out, &one->hash, one);
    }
    one->several |= one->text != text;
    one->count++;
}

void task_overlap_train(TaskOverlap *overlap, uint64_t key)
{
    const gint64 hash = (gint64)key;
    const HeldOut *one = g_hash_table_lookup(overlap->held_out, &hash);
    if (one == NULL || one->several)
        return;
    overlap->trained += one->count;
    g_hash_table_remove(overlap->held_out, &hash);
}

bool task_overlap_train_dataset(TaskOverlap *overlap, const char *prefix, GError **error)
{
    g_autoptr(Dataset) data = overlap->n > 0 ? dataset_open(prefix, error) : NULL;
    g_autoptr(GArray) ids = g_array_new(false, false, sizeof(int32_t));
    bool good = data || overlap->n == 0;
    for (int64_t i = 0; data && good && i < indexed_documents(data->set); i++) {
        int64_t first, last;
        indexed_document(data->set, i, &first, &last);
        g_array_set_size(ids, (guint)indexed_length(data->set, first));
        good = dataset_read(data, first, 0, ids->len, INT32_MAX, (int32_t *)(void *)ids->data, error);
        if (good)
            task_overlap_train(overlap, XXH3_64bits(ids->data, ids->len * sizeof(int32_t)));
    }
    return good;
}

void task_overlap_warn(const TaskOverlap *overlap, const char *held_out)
{
    g_autofree char *some = text_grouped(overlap->trained), *all = text_grouped(overlap->n);
    if (overlap->trained > 0)
        log_warning("%s: %s of %s%s held-out inputs are trained on%s", held_out, some,
                    overlap->n == MOST_HELD_OUT ? "the first " : "", all,
                    10 * overlap->trained >= overlap->n ? ", so scores say little of other examples" : "");
}

int64_t task_overlap_count(const TaskOverlap *overlap, int64_t *n)
{
    *n = overlap->n;
    return overlap->trained;
}
