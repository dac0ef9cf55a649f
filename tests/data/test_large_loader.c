/* Opens ten billion tokens: a sparse file that takes no space on the disk. `data_test_large_loader -m slow --verbose`
 * prints the figures of bench/results/data.md, of ten million documents. */
#include "base/clock.h"
#include "data/loader.h"

#include "data/tiny_tokenizer.h"

#include <malloc.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define TOKENS 10000000000

static char *folder, *prefix;
static Tokenizer *tok;
static int64_t documents = 1000000;

/* Lengths between half and one and a half of the mean, drawn by multiplication with an odd number. */
static int32_t length_of(int64_t document)
{
    const int64_t mean = TOKENS / documents;
    return (int32_t)(mean / 2 + document * 2654435761 % mean);
}

static void write_numbers(FILE *file, int64_t (*number)(int64_t i), int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t value = number(i);
        fwrite(&value, sizeof value, 1, file);
    }
}

static int64_t offset;

static int64_t next_offset(int64_t document)
{
    int64_t at = offset;
    offset += 2 * (int64_t)length_of(document);
    return at;
}

static int64_t same(int64_t i)
{
    return i;
}

/* Megatron's format; the .bin is one hole, so every token is 0. */
static void write_sparse(void)
{
    static const char magic[] = "MMIDIDX\0\0\1\0\0\0\0\0\0\0\10";
    g_autofree char *idx = g_strconcat(prefix, ".idx", NULL), *bin = g_strconcat(prefix, ".bin", NULL);
    const int64_t counts[] = { documents, documents + 1 };
    FILE *file = fopen(idx, "w");
    fwrite(magic, sizeof magic - 1, 1, file);
    fwrite(counts, sizeof counts, 1, file);
    for (int64_t i = 0; i < documents; i++) {
        int32_t n = length_of(i);
        fwrite(&n, sizeof n, 1, file);
    }
    write_numbers(file, next_offset, documents);
    write_numbers(file, same, documents + 1);
    g_assert_cmpint(fclose(file), ==, 0);
    file = fopen(bin, "w");
    g_assert_cmpint(ftruncate(fileno(file), offset), ==, 0);
    fclose(file);
}

/* Bytes that are allocated now; 0 with sanitizers, which have an allocator of their own. */
static double own_memory(void)
{
    const struct mallinfo2 info = mallinfo2();
    return (double)info.uordblks + (double)info.hblkhd;
}

static DataConfig config_of(const char *objective)
{
    DataConfig config = { .packed = true,
                          .input_length = 512,
                          .noise_density = 0.15,
                          .settings = { .span_corruption = { 3 }, .mlm = { .whole_word = true, .max_ngram = 3 } } };
    while (strcmp(objective, objective_names[config.objective]) != 0)
        config.objective++;
    config.decoder_alone = strcmp(objective, "clm") == 0;
    return config;
}

/* Opens the dataset and makes two batches: the first of a run, and one far into the epoch, as after a resume. Packing
 * everything at the start would take 40 to 100 seconds of the processor; it takes less than two. The bound is that of a
 * build with sanitizers. */
static void opens_at_once(gconstpointer objective)
{
    const DataConfig config = config_of(objective);
    g_autoptr(GError) error = NULL;
    double memory = own_memory(), start = clock_seconds();
    clock_t processor = clock();
    Loader *loader = loader_open(&config, prefix, tok, 1, false, &error);
    g_assert_no_error(error);
    double opened = clock_seconds();
    Batch *batch = loader_batch(loader, 32);
    for (int i = 0; i < 2; i++) {
        loader_get(loader, i * (loader_epoch_packed(loader) / 3), 32, batch, &error);
        g_assert_no_error(error);
        g_assert_cmpint(batch_loss_stream(batch)->n_tokens, >, 0);
    }
    double seconds = (double)(clock() - processor) / CLOCKS_PER_SEC;
    g_test_message("%s: %.2f s to open, %.2f s for two batches, %.1f MB per million documents", (const char *)objective,
                   opened - start, clock_seconds() - opened, (own_memory() - memory) / (double)documents);
    g_assert_cmpfloat(seconds, <, 15);
    batch_free(batch);
    loader_close(loader);
}

int main(int argc, char **argv)
{
    static const char *const objectives[] = { "iid_denoising", "prefix_lm", "mlm", "ul2", "span_corruption", "clm" };
    g_test_init(&argc, &argv, NULL);
    documents = g_test_slow() ? 10000000 : documents;
    folder = folder_new();
    prefix = g_build_filename(folder, "sparse", NULL);
    tok = tiny_tokenizer(folder, "tiny.model", 100);
    write_sparse();
    for (size_t i = 0; i < G_N_ELEMENTS(objectives); i++) {
        g_autofree char *path = g_strconcat("/large_loader/opens_at_once/", objectives[i], NULL);
        g_test_add_data_func(path, objectives[i], opens_at_once);
    }
    int failed = g_test_run();
    tokenizer_close(tok);
    g_free(prefix);
    folder_remove(folder);
    return failed;
}
