/* architectures.h: every architecture of Hugging Face that loam knows, and the small models of them in tests/parity. */
#pragma once

#include "base/text.h"
#include "model/hf/architecture.h"

#include <glib.h>
#include <string.h>

#define FIXTURES LOAM_SOURCE_DIR "/tests/parity/"

#define HF_ADDRESS(NAME, name) &hf_##name,
static const HfArchitecture *const architectures[] = { ARCHITECTURES(HF_ADDRESS) };
static const size_t n_architectures = G_N_ELEMENTS(architectures);

static inline bool fixture_has(const char *folder, const char *file)
{
    g_autofree char *path = g_build_filename(FIXTURES, folder, file, NULL);
    return g_file_test(path, G_FILE_TEST_EXISTS);
}

/* The folders of tests/parity that hold a file, sorted by name: "bert", "bert-hub", … g_strfreev. */
static inline GStrv fixtures_with(const char *file)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    GDir *dir = g_dir_open(FIXTURES, 0, NULL);
    g_assert_nonnull(dir);
    for (const char *name; (name = g_dir_read_name(dir));)
        if (fixture_has(name, file))
            g_ptr_array_add(names, g_strdup(name));
    g_dir_close(dir);
    g_ptr_array_sort(names, text_compare);
    g_ptr_array_add(names, NULL);
    return (GStrv)g_ptr_array_steal(names, NULL);
}

/* The fixture of which another one is a form: "bert" for "bert-hub". g_free. */
static inline char *fixture_of_form(const char *form)
{
    const char *end = strrchr(form, '-');
    return g_strndup(form, end ? (gsize)(end - form) : strlen(form));
}
