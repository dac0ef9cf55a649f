#include "data/corpus/corpus.h"

#include "data/data_test.h"

static char *folder;

static bool take_line(void *text, char *line, size_t bytes, G_GNUC_UNUSED GError **error)
{
    g_assert_cmpuint(strlen(line), ==, bytes);
    g_string_append_printf(text, "%s|", line);
    return true;
}

/* The lines with a bar after each; the error's message where there is one. */
static char *read_lines(const char *data, size_t bytes)
{
    g_autofree char *path = file_write(folder, "lines.txt", data, bytes);
    g_autoptr(GError) error = NULL;
    g_autoptr(GString) text = g_string_new(NULL);
    g_assert_true(corpus_each_line(&path, 1, NULL, take_line, text, &error) == (error == NULL));
    return g_strdup(error ? strrchr(error->message, '/') + 1 : text->str);
}

static void expect(const char *text, const char *want)
{
    g_autofree char *got = read_lines(text, strlen(text));
    g_assert_cmpstr(got, ==, want);
}

static void lines_end_as_python_s_do(void)
{
    expect("", "");
    expect("a", "a|");
    expect("a\nb\r\nc\rd", "a|b|c|d|");
    expect("\n\r\n\r\r\n\n", "||||"
                             "|");
    expect("a\r\r\nb\n\r", "a||b||");
    expect("x\fy\xe2\x80\xa8z\n", "x\fy\xe2\x80\xa8z|");
}

/* A "\r\n" that a chunk ends within is one end. */
static void chunks_do_not_show(void)
{
    const size_t chunk = (size_t)1 << 17;
    for (size_t n = chunk - 2; n <= chunk + 1; n++) {
        g_autofree char *text = g_strnfill(n + 4, 'x');
        memcpy(text + n, "\r\ny\n", 4);
        g_autofree char *got = read_lines(text, n + 4);
        g_assert_cmpuint(strlen(got), ==, n + 3);
        g_assert_cmpstr(got + n, ==, "|y|");
    }
}

static void what_is_no_text_is_refused(void)
{
    expect("a\n\xff\n", "lines.txt:2: not UTF-8 (byte 0xff); convert the file: iconv -t UTF-8 -f LATIN1, or "
                        "WINDOWS-1252, SHIFT-JIS (Japanese), WINDOWS-1251 (Russian): bytes do not tell which");
    g_autofree char *got = read_lines("a\0b", 3);
    g_assert_cmpstr(got, ==, "lines.txt:1: a NUL byte: not a text file");
    g_autofree char *endless = g_strnfill(((size_t)64 << 20) + 2, 'x');
    g_autofree char *refused = read_lines(endless, strlen(endless));
    g_assert_cmpstr(refused, ==, "lines.txt:1: a line longer than 64 MiB");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = folder_new();
    g_test_add_func("/corpus_lines/lines_end_as_python_s_do", lines_end_as_python_s_do);
    g_test_add_func("/corpus_lines/chunks_do_not_show", chunks_do_not_show);
    g_test_add_func("/corpus_lines/what_is_no_text_is_refused", what_is_no_text_is_refused);
    int status = g_test_run();
    folder_remove(folder);
    return status;
}
