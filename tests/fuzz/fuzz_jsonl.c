/* Any bytes as a file of a corpus: an error that names it, or documents of whole UTF-8 within the limit. The first byte
 * chooses how the file is read. */
#include "data/corpus/corpus.h"
#include "fuzz_folder.h"

#include <inttypes.h>
#include <string.h>

#define MAX_DOCUMENT 64 /* small, so that limits are met */

#define SUFFIX(NAME, name) "." #name,
static const char *const suffixes[] = {
    ".txt", ".py", ".jsonl.gz", ".txt.zst", ".txt.xz", ".jsonl.bz2", RECORD_ROW_FORMATS(SUFFIX)
};

static bool is_text(const char *text, size_t bytes)
{
    for (const char *end = text + bytes; text < end; text++) { /* JSON may spell out NUL, which GLib refuses */
        size_t piece = strnlen(text, (size_t)(end - text));
        if (!g_utf8_validate(text, (gssize)piece, NULL))
            return false;
        text += piece;
    }
    return true;
}

static int64_t count_documents(char *path, bool skip_errors)
{
    const CorpusOptions options = { .skip_errors = skip_errors, .max_bytes = MAX_DOCUMENT };
    g_autoptr(GError) error = NULL;
    const char *text;
    size_t bytes;
    int64_t n = 0;
    Corpus *corpus = corpus_open(&path, 1, &options, &error);
    CHECK(corpus, "%s", error->message);
    for (; corpus_next(corpus, &text, &bytes, &error); n++) {
        CHECK(bytes <= MAX_DOCUMENT + 1, "a document of %zu bytes", bytes);
        CHECK(is_text(text, bytes), "a document that is no text");
    }
    CHECK(!error || (!skip_errors && strstr(error->message, path)), "%s", error->message);
    corpus_close(corpus);
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes == 0)
        return 0;
    const char *suffix = suffixes[data[0] % G_N_ELEMENTS(suffixes)];
    g_autofree char *name = g_strconcat("corpus", suffix, NULL), *path = g_build_filename(fuzz_folder(), name, NULL);
    fuzz_put(name, data + 1, bytes - 1);
    int64_t strict = count_documents(path, false), lenient = count_documents(path, true);
    CHECK(strict <= lenient, "%" PRId64 " documents before an error, %" PRId64 " in all", strict, lenient);
    return 0;
}
