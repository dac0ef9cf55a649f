/* Any bytes as a file of Parquet: an error that names it, or rows of whole UTF-8. */
#include "format/parquet/parquet.h"
#include "fuzz_folder.h"

#include <string.h>

#define MOST_ROWS 200 /* damage may promise any number of rows */

/* Whether all texts of a row are UTF-8. */
static bool is_text(const json_t *row)
{
    char *text = json_dumps(row, 0);
    const bool good = text != NULL;
    free(text);
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    g_autofree char *path = g_build_filename(fuzz_folder(), "a.parquet", NULL);
    g_autoptr(GError) error = NULL;
    fuzz_put("a.parquet", data, bytes);
    Parquet *file = parquet_open(path, &(ParquetTexts){ .nuls = bytes % 2, .most_bytes = 64, .longer = "" }, &error);
    CHECK((file == NULL) == (error != NULL), "an error or a file, not both");
    CHECK(file || strstr(error->message, path), "%s", error->message);
    g_auto(GStrv) columns = file ? parquet_columns(file) : NULL;
    for (guint i = 0; columns && columns[i]; i++)
        parquet_want(file, i);
    bool goes_on = file != NULL;
    for (int i = 0; goes_on && i < MOST_ROWS; i++) {
        json_auto_t *row = json_object();
        g_clear_error(&error);
        if (parquet_next(file, row, &goes_on, &error))
            CHECK(is_text(row), "a row that is no text");
        else
            CHECK(!error || goes_on || strstr(error->message, path), "%s", error->message);
    }
    parquet_close(file);
    return 0;
}
