#include "report/report.h"

#include "base/file.h"
#include "report/plot.h"
#include "report/sections.h"

#define TITLE_RUNS 4 /* more are not named in the title */
#define BEGIN      "<!DOCTYPE html>\n<!-- report of loam -->\n"

static void add_head(GString *page, const char *title)
{
    g_string_append(page, BEGIN "<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\"><head><meta "
                                "charset=\"utf-8\"/>\n<meta name=\"viewport\" "
                                "content=\"width=device-width, initial-scale=1\"/>\n<meta name=\"color-scheme\" "
                                "content=\"light dark\"/>\n<title>");
    html_text(page, title);
    g_string_append_printf(page, "</title>\n<style>\n%s%s</style></head><body>\n", plot_style, report_page_css);
}

static void add_title(GString *page, const ReportRun *runs, int n, const char *title)
{
    g_autoptr(GDateTime) now = g_date_time_new_now_local();
    g_autofree char *date = g_date_time_format(now, "%Y-%m-%d %H:%M");
    g_string_append(page, "<header><h1>");
    html_text(page, title);
    g_string_append(page, "</h1>");
    if (n == 1)
        g_string_append_printf(page, "<span class=\"state %s\">%s</span>", run_state_names[runs[0].status.state],
                               run_state_names[runs[0].status.state]);
    g_string_append_printf(page, "<p class=\"made\">loam %s, %s</p></header>\n<main>\n", LOAM_VERSION, date);
}

static const struct {
    const char *id, *title;
    void (*write)(GString *page, const ReportRun *runs, int n);
} sections[] = {
    { "scores", "Evaluations", section_scores },
    { "samples", "Answers", section_samples },
    { "events", "Events", section_events },
    { "plan", "Plan and reality", section_plan },
    { "options", "Options that differ from their defaults", section_options },
    { "machine", "Machine", section_machine },
};

static void fill_page(GString *page, const ReportRun *runs, int n, SeriesAxis axis)
{
    g_autoptr(GString) data = g_string_new(NULL);
    g_autoptr(GString) names = g_string_new(runs[0].name);
    for (int i = 1; i < n && n <= TITLE_RUNS; i++)
        g_string_append_printf(names, ", %s", runs[i].name);
    g_autofree char *title = n <= TITLE_RUNS ? g_strdup(names->str) : g_strdup_printf("%d runs", n);
    add_head(page, title);
    add_title(page, runs, n, title);
    section_summary(page, runs, n);
    g_string_append(page, "<section id=\"curves\"><h2>Curves</h2>\n<div class=\"charts\">\n");
    charts_write(page, data, runs, n, axis == AXIS_AUTO ? charts_axis(runs, n) : axis);
    g_string_append(page, "</div></section>\n");
    for (size_t i = 0; i < G_N_ELEMENTS(sections); i++) {
        g_string_append_printf(page, "<section id=\"%s\"><h2>%s</h2>\n", sections[i].id, sections[i].title);
        sections[i].write(page, runs, n);
        g_string_append(page, "</section>\n");
    }
    g_string_append_printf(page,
                           "</main>\n<script type=\"application/json\" id=\"data\">%s</script>\n"
                           "<script>//<![CDATA[\n%s//]]></script>\n</body></html>\n",
                           data->str, report_page_js);
}

bool report_write(const char *path, char *const *dirs, int n, SeriesAxis axis, GError **error)
{
    ReportRun runs[REPORT_RUNS] = { 0 };
    g_autoptr(GString) page = g_string_new(NULL);
    bool good = io_check_replaces(path, BEGIN, "report of loam", error);
    for (int i = 0; good && i < n; i++)
        good = report_run_read(&runs[i], dirs[i], error);
    if (good)
        fill_page(page, runs, n, axis);
    good = good && io_write_file(path, page->str, page->len, error);
    for (int i = 0; i < n; i++)
        report_run_clear(&runs[i]);
    return good;
}
