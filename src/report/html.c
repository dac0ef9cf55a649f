#include "report/html.h"

#include <stdarg.h>

void html_text(GString *page, const char *text)
{
    g_autofree char *escaped = g_markup_escape_text(text, -1);
    g_string_append(page, escaped);
}

void html_heading(GString *page, const char *text)
{
    g_string_append(page, "<h3>");
    html_text(page, text);
    g_string_append(page, "</h3>\n");
}

void html_printf(GString *page, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *text = g_strdup_vprintf(format, args);
    va_end(args);
    html_text(page, text);
}

HtmlTable html_table_new(guint columns)
{
    return (HtmlTable){ g_ptr_array_new_with_free_func(g_free), columns };
}

void html_table_add(HtmlTable *table, char *cell)
{
    g_ptr_array_add(table->cells, cell ? cell : g_strdup(""));
}

static void add_table(const HtmlTable *table, GString *page, const char *class)
{
    g_string_append_printf(page, "<div class=\"wide\"><table class=\"%s\">\n", class);
    for (guint i = 0; i < table->cells->len; i++) {
        const char *tag = i < table->columns || i % table->columns == 0 ? "th" : "td";
        g_string_append(page, i == 0 ? "<thead><tr>" : i % table->columns == 0 ? "<tr>" : "");
        g_string_append_printf(page, "<%s>", tag);
        html_text(page, table->cells->pdata[i]);
        g_string_append_printf(page, "</%s>", tag);
        if (i % table->columns == table->columns - 1)
            g_string_append(page, i < table->columns ? "</tr></thead><tbody>\n" : "</tr>\n");
    }
    g_string_append(page, "</tbody></table></div>\n");
}

void html_table_end(HtmlTable *table, GString *page, const char *class)
{
    if (page)
        add_table(table, page, class);
    g_clear_pointer(&table->cells, g_ptr_array_unref);
}

void html_tiles_end(HtmlTable *table, GString *page)
{
    g_string_append(page, "<dl class=\"tiles\">\n");
    for (guint i = table->columns; i + 1 < table->cells->len; i += table->columns) {
        g_string_append(page, "<div><dt>");
        html_text(page, table->cells->pdata[i]);
        g_string_append(page, "</dt><dd>");
        html_text(page, table->cells->pdata[i + 1]);
        g_string_append(page, "</dd></div>\n");
    }
    g_string_append(page, "</dl>\n");
    g_clear_pointer(&table->cells, g_ptr_array_unref);
}
