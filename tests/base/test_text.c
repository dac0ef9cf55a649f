#include "base/text.h"

#include <math.h>
#include <string.h>

static void expect(char *got, const char *wanted)
{
    g_assert_cmpstr(got, ==, wanted);
    g_free(got);
}

static void distances(void)
{
    g_assert_cmpint(text_distance("", ""), ==, 0);
    g_assert_cmpint(text_distance("abc", ""), ==, 3);
    g_assert_cmpint(text_distance("", "abc"), ==, 3);
    g_assert_cmpint(text_distance("kitten", "sitting"), ==, 3);
    g_assert_cmpint(text_distance("ab", "ba"), ==, 1);
    g_assert_cmpint(text_distance("wram_up", "warm_up"), ==, 1);
    g_assert_cmpint(text_distance("ca", "abc"), ==, 3); /* the restricted distance: no edit inside a swap */
}

static void what_texts_share_is_whole_characters(void)
{
    g_assert_cmpuint(text_common("", "a"), ==, 0);
    g_assert_cmpuint(text_common("abc", "abd"), ==, 2);
    g_assert_cmpuint(text_common("ab", "abc"), ==, 2);
    g_assert_cmpuint(text_common("<\xc3\xa4>", "<\xc3\xb6>"), ==, 1); /* a and o with dots */
    g_assert_cmpuint(text_common("<\xc3\xa4>", "<\xc3\xa4<"), ==, 3);
}

/* Plain recursion over prefixes. */
static int slow_distance(const char *a, int n, const char *b, int m)
{
    if (n == 0 || m == 0)
        return n + m;
    int best = MIN(slow_distance(a, n - 1, b, m), slow_distance(a, n, b, m - 1)) + 1;
    best = MIN(best, slow_distance(a, n - 1, b, m - 1) + (a[n - 1] != b[m - 1]));
    if (n > 1 && m > 1 && a[n - 1] == b[m - 2] && a[n - 2] == b[m - 1])
        best = MIN(best, slow_distance(a, n - 2, b, m - 2) + 1);
    return best;
}

static void distance_equals_plain_recursion(void)
{
    for (int round = 0; round < 200; round++) {
        char a[7] = "", b[7] = "";
        int n = g_test_rand_int_range(0, 7), m = g_test_rand_int_range(0, 7);
        for (int i = 0; i < n; i++)
            a[i] = (char)g_test_rand_int_range('a', 'd');
        for (int i = 0; i < m; i++)
            b[i] = (char)g_test_rand_int_range('a', 'd');
        g_assert_cmpint(text_distance(a, b), ==, slow_distance(a, n, b, m));
    }
}

static void nearest_is_close_or_nothing(void)
{
    static const char *const list[] = { "adamw", "adafactor", "sgd", NULL };
    g_assert_cmpstr(text_nearest("adamm", list), ==, "adamw");
    g_assert_cmpstr(text_nearest("adafcator", list), ==, "adafactor");
    g_assert_cmpstr(text_nearest("lion", list), ==, NULL);
    g_assert_cmpstr(text_nearest("sg", list), ==, NULL); /* 1 is not less than half of 2 */
    g_assert_cmpstr(text_nearest("sgdd", list), ==, "sgd");
    g_assert_cmpstr(text_nearest("", list), ==, NULL);

    static const char *const scores[] = { "rouge", "rouge_1", "rouge_l", NULL };
    g_assert_cmpstr(text_nearest("rouge-l", scores), ==, "rouge_l");
    g_assert_cmpstr(text_nearest("RougeL", scores), ==, "rouge_l");

    g_autofree char *longer = g_strnfill(70, 'a'); /* each shares all but two letters with the other */
    const char *const near_it[] = { longer + 2, NULL };
    g_assert_cmpstr(text_nearest(longer, near_it), ==, NULL);
}

static void what_begins_alike_is_nearer(void)
{
    static const char *const list[] = { "t5-small", "gpt2-xl", "gpt2-large", "gpt2", "gpt2-tiny", "batch", NULL };
    g_assert_cmpstr(text_nearest("gpt2-smal", list), ==, "gpt2");
    g_assert_cmpstr(text_nearest("batch_size", list), ==, "batch");
    g_autofree char *few = text_nearest_few("gpt2-smal", list), *all = text_nearest_few("x", list + 4);
    g_assert_cmpstr(few, ==, "gpt2, gpt2-xl, gpt2-tiny");
    g_assert_cmpstr(all, ==, "batch, gpt2-tiny");
}

static void counts(void)
{
    expect(text_percent(0), "0 %");
    expect(text_percent(-NAN), "nan");
    expect(text_fixed(-0.00001, 4), "0.0000");
    expect(text_fixed(-0.0, 0), "0");
    expect(text_fixed(-0.5, 0), "0");
    expect(text_fixed(-0.00006, 4), "-0.0001");
    expect(text_fixed(12.34, 1), "12.3");
    expect(text_fixed(-NAN, 4), "nan");
    expect(text_fixed(-INFINITY, 4), "-inf");
    expect(text_fixed(INFINITY, 1), "inf");
    expect(text_percent(1), "100 %");
    expect(text_percent(0.997), "100 %");
    expect(text_percent(0.42), "42 %");
    expect(text_percent(0.0997), "10 %");
    expect(text_percent(0.0731), "7.3 %");
    expect(text_percent(0.05), "5 %");
    expect(text_percent(3.2e-7), "0.000032 %");
    expect(text_count(0), "0");
    expect(text_count(999), "999");
    expect(text_count(1000), "1k");
    expect(text_count(1234567), "1.23M");
    expect(text_count(999499), "999k");
    expect(text_count(999500), "1M");
    expect(text_count(-76961152), "-77M");
    expect(text_count(13e9), "13B");
    expect(text_count(1.5e15), "1500T");
    expect(text_count(0.25), "0.25");
}

static void bytes(void)
{
    expect(text_bytes(0), "0 B");
    expect(text_bytes(1023), "1023 B");
    expect(text_bytes(1024), "1.0 KiB");
    expect(text_bytes(1536), "1.5 KiB");
    expect(text_bytes(1024 * 1024 - 1), "1.0 MiB");
    expect(text_bytes((uint64_t)139 << 30), "139 GiB");
    expect(text_bytes(UINT64_MAX), "16.0 EiB");
}

static void durations(void)
{
    expect(text_counted(0, "step"), "0 steps");
    expect(text_counted(1, "step"), "1 step");
    expect(text_counted(20, "step"), "20 steps");
    expect(text_duration(0), "0s");
    expect(text_duration(0.0000123), "12.3us");
    expect(text_duration(0.0042), "4.2ms");
    expect(text_duration(0.9999), "1.0s");
    expect(text_duration(3.2), "3.2s");
    expect(text_duration(59.96), "1m00s");
    expect(text_duration(75), "1m15s");
    expect(text_duration(3599.7), "1h00m");
    expect(text_duration(71400), "19h50m");
    expect(text_duration(86400 * 2 + 3600 * 3), "2d03h");
    expect(text_duration(INFINITY), "unknown");
    expect(text_duration(NAN), "unknown");
    expect(text_duration(-1), "unknown");
}

static void grouped(void)
{
    expect(text_grouped(0), "0");
    expect(text_grouped(999), "999");
    expect(text_grouped(1000), "1,000");
    expect(text_grouped(76961152), "76,961,152");
    expect(text_grouped(-123456), "-123,456");
    expect(text_grouped(INT64_MIN), "-9,223,372,036,854,775,808");
}

static void numbers_read_back(void)
{
    expect(text_number(0.1), "0.1");
    expect(text_number(1e-3), "0.001");
    expect(text_number(64000), "64000");
    expect(text_number(0.1 + 0.2), "0.30000000000000004");
    for (int i = 0; i < 2000; i++) {
        double n = ldexp(g_test_rand_double_range(-1, 1), g_test_rand_int_range(-300, 300));
        g_autofree char *text = text_number(n);
        g_assert_true(g_ascii_strtod(text, NULL) == n);
    }
}

static void control_characters_are_written_out(void)
{
    expect(text_printable("a.txt: \x1b[31mred\x7f\r\n\tend"), "a.txt: \\x1b[31mred\\x7f\\x0d\\x0a\\x09end");
    expect(text_printable("\xc2\x9b"
                          "2J \xc2\xa0 \xc3\x9b \xff"),
           "\\x9b"
           "2J \xc2\xa0 \xc3\x9b \xff");
}

/* What b.decode("utf-8", errors="replace") of Python and String::from_utf8_lossy of Rust give. */
static void what_is_not_utf8_is_replaced_once_for_each_start_of_a_character(void)
{
    static const char *const cases[][2] = {
        { "a\xe2\x96", "a\uFFFD" },         { "\xe2\x96z", "\uFFFDz" },
        { "\xf0\x9f\x91|", "\uFFFD|" },     { "\x80\x80", "\uFFFD\uFFFD" },
        { "\xc0\xaf", "\uFFFD\uFFFD" },     { "\xed\xa0\x80", "\uFFFD\uFFFD\uFFFD" },
        { "\xf4\x90z", "\uFFFD\uFFFDz" },   { "\xe2\xe2\x96\x81", "\uFFFD\u2581" },
        { "\xff\xc3\xa9", "\uFFFD\u00e9" },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GString) got = g_string_new(NULL);
        text_append_valid(got, cases[i][0], strlen(cases[i][0]), "\uFFFD");
        g_assert_cmpstr(got->str, ==, cases[i][1]);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/text/distance_counts_edits_and_swaps", distances);
    g_test_add_func("/text/what_texts_share_is_whole_characters", what_texts_share_is_whole_characters);
    g_test_add_func("/text/distance_equals_plain_recursion", distance_equals_plain_recursion);
    g_test_add_func("/text/nearest_is_close_or_nothing", nearest_is_close_or_nothing);
    g_test_add_func("/text/what_begins_alike_is_nearer", what_begins_alike_is_nearer);
    g_test_add_func("/text/count_has_three_digits", counts);
    g_test_add_func("/text/bytes_are_binary", bytes);
    g_test_add_func("/text/duration_has_two_parts", durations);
    g_test_add_func("/text/grouped_has_commas", grouped);
    g_test_add_func("/text/number_reads_back", numbers_read_back);
    g_test_add_func("/text/control_characters_are_written_out", control_characters_are_written_out);
    g_test_add_func("/text/what_is_not_utf8_is_replaced_once_for_each_start_of_a_character",
                    what_is_not_utf8_is_replaced_once_for_each_start_of_a_character);
    return g_test_run();
}
