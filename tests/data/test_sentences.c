#include "data/prepare/prepare_pipeline.h"

#include <glib.h>
#include <string.h>

/* The sentences of a text, with | between them. */
static char *split(const char *text, bool keep_newlines)
{
    GString *joined = g_string_new(NULL);
    const char *at = text, *end = text + strlen(text), *sentence;
    size_t bytes;
    while (sentence_next(&at, end, keep_newlines, &sentence, &bytes)) {
        g_string_append_len(joined, sentence, (gssize)bytes);
        g_string_append_c(joined, '|');
    }
    return g_string_free(joined, FALSE);
}

static void expect(const char *text, const char *want)
{
    g_autofree char *got = split(text, false);
    g_assert_cmpstr(got, ==, want);
}

static void stops_end_sentences(void)
{
    expect("One. Two!  Three? Four", "One.|Two!|Three?|Four|");
    expect("  Wait... What?! \"Yes.\" He left.", "Wait...|What?!|\"Yes.\"|He left.|");
    expect("“Go.” (Then come.) End.", "“Go.”|(Then come.)|End.|");
    expect("", "");
    expect(" \n\t ", "");
}

static void points_within_a_sentence_do_not(void)
{
    expect("Dr. Smith met J. R. Tolkien in the U.S. Army.", "Dr. Smith met J. R. Tolkien in the U.S. Army.|");
    expect("It is 3.14 or so, e.g. Pi. Fine.", "It is 3.14 or so, e.g. Pi.|Fine.|");
    expect("He said etc. and so on. Done.", "He said etc. and so on.|Done.|");
    expect("See loam.c and a.b. Now.", "See loam.c and a.b.|Now.|");
}

static void a_run_of_stops_takes_no_time(void)
{
    g_autofree char *dots = g_strnfill(1 << 20, '.');
    dots[(1 << 20) - 1] = 'x';
    g_autofree char *got = split(dots, false);
    g_assert_cmpuint(strlen(got), ==, (1 << 20) + 1);
}

static void cjk_stops_need_no_space(void)
{
    expect("今日は。元気ですか？「はい。」そう！", "今日は。|元気ですか？|「はい。」|そう！|");
}

static void empty_lines_end_sentences(void)
{
    expect("A title\n\nA line\nof text.\n \nMore", "A title|A line\nof text.|More|");
    g_autofree char *kept = split("One.\nTwo. Three.\n\nFour", true);
    g_assert_cmpstr(kept, ==, "One.\n|Two.|Three.\n\n|Four|");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/sentences/stops_end_sentences", stops_end_sentences);
    g_test_add_func("/sentences/points_within_a_sentence_do_not", points_within_a_sentence_do_not);
    g_test_add_func("/sentences/a_run_of_stops_takes_no_time", a_run_of_stops_takes_no_time);
    g_test_add_func("/sentences/cjk_stops_need_no_space", cjk_stops_need_no_space);
    g_test_add_func("/sentences/empty_lines_end_sentences", empty_lines_end_sentences);
    return g_test_run();
}
