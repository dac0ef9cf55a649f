/* training.h: what the tests of tokenizer training share. */
#pragma once

#include "base/file.h"
#include "text/tokenizer.h"
#include "text/tokenizer_train.h"

#include <glib/gstdio.h>
#include <string.h>

static char *training_folder; /* of the test program */

/* Lines up to a NULL; the line "!" cannot be read. */
static inline bool training_line(void *context, const char **text, size_t *bytes, GError **error)
{
    const char *const **lines = context;
    const char *line = *(*lines)++;
    if (line && strcmp(line, "!") == 0)
        return fail_user(error, "corpus.txt:3: cannot be read");
    *text = line;
    *bytes = line ? strlen(line) : 0;
    return line != NULL;
}

/* An empty folder. */
static inline char *training_out(const char *name)
{
    char *path = g_build_filename(training_folder, name, NULL);
    g_assert_true(io_remove_tree(path, NULL) && io_make_directories(path, NULL));
    return path;
}

/* NULL if there is no such file. */
static inline char *training_file(const char *out, const char *name)
{
    g_autofree char *path = g_build_filename(out, name, NULL);
    char *text = NULL;
    g_file_get_contents(path, &text, NULL, NULL);
    return text;
}

static inline Tokenizer *training_run(const TokenizerTraining *training, const char *const *lines)
{
    g_autoptr(GError) error = NULL;
    tokenizer_train(training, training_line, &lines, &error);
    g_assert_no_error(error);
    g_autofree char *file = g_build_filename(training->out, tokenizer_trained_file(training->type), NULL);
    Tokenizer *tok = tokenizer_open(file, &error);
    g_assert_no_error(error);
    return tok;
}

/* It fails with these words and leaves no file. */
static inline void training_expect_error(TokenizerTraining training, const char *const *lines, const char *words)
{
    g_autoptr(GError) error = NULL;
    g_assert_false(tokenizer_train(&training, training_line, &lines, &error));
    g_assert_nonnull(error);
    g_assert_cmpint(error->code, ==, LOAM_ERROR_USER);
    if (strstr(error->message, words) == NULL)
        g_error("no \"%s\" in \"%s\"", words, error->message);
    g_autofree char *file = training_file(training.out, tokenizer_trained_file(training.type));
    g_assert_null(file);
}

/* Ids of a text, with spaces between. */
static inline char *training_ids(const Tokenizer *tok, const char *text, bool specials)
{
    g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(int32_t));
    g_autoptr(GError) error = NULL;
    tokenizer_encode(tok, text, strlen(text), specials, ids, &error);
    g_assert_no_error(error);
    GString *shown = g_string_new(NULL);
    for (guint i = 0; i < ids->len; i++)
        g_string_append_printf(shown, "%s%d", i > 0 ? " " : "", g_array_index(ids, int32_t, i));
    return g_string_free(shown, FALSE);
}
