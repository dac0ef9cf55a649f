/* Any bytes as the metrics.jsonl of a run: there is a page, and nothing of the run is markup in it. The text of a
 * record may hold "<q": the page has none. */
#include "fuzz_folder.h"
#include "report/report.h"

#include <string.h>

static void check_page(const char *page)
{
    const char *end = strstr(page, "</script>"), *script = strstr(page, "<script>//<![CDATA[");
    CHECK(g_utf8_validate(page, -1, NULL), "not UTF-8");
    CHECK(strstr(page, "<q") == NULL && strstr(page, "<img") == NULL, "markup of the run");
    CHECK(end && script && end < script && strstr(end + 1, "</script>") > script, "a script ends early");
    CHECK(g_str_has_suffix(page, "</html>\n"), "no end");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(fuzz_folder(), "report.html", NULL), *page = NULL;
    char *dir = (char *)(uintptr_t)fuzz_folder();
    if (bytes == 0)
        return 0;
    fuzz_put("metrics.jsonl", data + 1, bytes - 1);
    const bool written = report_write(path, &dir, 1, (SeriesAxis)(data[0] % 4), &error);
    CHECK(written, "%s", error->message);
    CHECK(g_file_get_contents(path, &page, NULL, NULL), "%s", path);
    check_page(page);
    return 0;
}
