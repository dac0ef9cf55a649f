#include "base/amount.h"

#include <math.h>
#include <string.h>

static void expect(const char *text, double value, AmountUnit unit)
{
    Amount amount;
    g_autoptr(GError) error = NULL;
    bool ok = amount_parse(&amount, text, &error);
    g_assert_no_error(error);
    g_assert_true(ok);
    g_assert_cmpfloat(amount.value, ==, value);
    g_assert_cmpint(amount.unit, ==, unit);
}

static void expect_error(const char *text, const char *fragment)
{
    Amount amount = { 7, UNIT_EPOCHS };
    g_autoptr(GError) error = NULL;
    g_assert_false(amount_parse(&amount, text, &error));
    if (strstr(error->message, fragment) == NULL)
        g_error("\"%s\": \"%s\" lacks \"%s\"", text, error->message, fragment);
    g_assert_cmpfloat(amount.value, ==, 7);
}

static void units_and_multiples(void)
{
    expect("10k steps", 1e4, UNIT_STEPS);
    expect("5M samples", 5e6, UNIT_SAMPLES);
    expect("260B tokens", 260e9, UNIT_TOKENS);
    expect("1T tokens", 1e12, UNIT_TOKENS);
    expect("3 epochs", 3, UNIT_EPOCHS);
    expect("0.5 epochs", 0.5, UNIT_EPOCHS);
    expect("1 step", 1, UNIT_STEPS);
    expect("1 sample", 1, UNIT_SAMPLES);
    expect("1 epoch", 1, UNIT_EPOCHS);
    expect("3epochs", 3, UNIT_EPOCHS);
    expect("1.5epochs", 1.5, UNIT_EPOCHS);
    expect("1epoch", 1, UNIT_EPOCHS);
    expect("2kexamples", 2000, UNIT_EXAMPLES);
    expect("16examples", 16, UNIT_EXAMPLES);
    expect("1e2examples", 100, UNIT_EXAMPLES);
    expect("5Msample", 5e6, UNIT_SAMPLES);
    expect("60step", 60, UNIT_STEPS);
    expect("2Btoken", 2e9, UNIT_TOKENS);
    expect("64", 64, UNIT_STEPS);
    expect("64k", 64000, UNIT_STEPS);
    expect("128samples", 128, UNIT_SAMPLES);
    expect(" 128   samples ", 128, UNIT_SAMPLES);
    expect("0", 0, UNIT_STEPS);
    expect("1.5M samples", 1500000, UNIT_SAMPLES);
    expect("1.1M samples", 1100000, UNIT_SAMPLES); /* 1.1 * 1e6 is not 1.1e6 */
    expect("2e5 tokens", 200000, UNIT_TOKENS);
    expect(".5k", 500, UNIT_STEPS);
}

static void times(void)
{
    expect("19h50m", 71400, UNIT_SECONDS);
    expect("90m", 5400, UNIT_SECONDS);
    expect("30s", 30, UNIT_SECONDS);
    expect("1d07h", 111600, UNIT_SECONDS); /* as text_duration writes it */
    expect("2d", 172800, UNIT_SECONDS);
    expect("1h1m1s", 3661, UNIT_SECONDS);
    expect("1.5h", 5400, UNIT_SECONDS);
    expect("0.25s", 0.25, UNIT_SECONDS);
}

static void shares(void)
{
    expect("6%", 6, UNIT_PERCENT);
    expect("12.5 %", 12.5, UNIT_PERCENT);
    expect_error("6% steps", "unknown unit");
    expect_error("%", "is not an amount");
}

static void errors_say_what_would_be_right(void)
{
    expect_error("", "write one like 10k steps");
    expect_error("abc", "\"abc\" is not an amount; write one like 10k steps");
    expect_error("-5 steps", "is not an amount");
    expect_error("inf steps", "is not an amount");
    expect_error("nan", "is not an amount");
    expect_error("0x10 steps", "unknown unit \"x10 steps\"");
    expect_error("5m samples", "\"m\" is not a multiple; k, M, B and T");
    expect_error("5K steps", "\"K\" is not a multiple");
    expect_error("10k stpes", "unknown unit \"stpes\", did you mean steps?");
    expect_error("10 parsecs", "units are steps, samples, tokens, epochs, or a time like 19h50m");
    expect_error("1.5 steps", "steps must be a whole number");
    expect_error("0.0001k samples", "samples must be a whole number");
    expect_error("1e20 tokens", "is too much");
    expect_error("1e999 tokens", "is not an amount");
    expect_error("1e99999999999 tokens", "is not an amount");
    expect_error("50m19h", "is not an amount");
    expect_error("5m5m", "is not an amount");
    expect_error("h5s", "is not an amount");
    expect_error("19h50", "unknown unit");
    expect_error("1e6k steps", "unknown unit");
    g_autofree char *endless = g_strnfill(100000, '9');
    expect_error(endless, "is not an amount");
}

static void expect_text(double value, AmountUnit unit, const char *wanted)
{
    g_autofree char *text = amount_format((Amount){ value, unit });
    g_assert_cmpstr(text, ==, wanted);
}

static void format_is_short(void)
{
    expect_text(0, UNIT_STEPS, "0 steps");
    expect_text(1, UNIT_STEPS, "1 step");
    expect_text(64000, UNIT_STEPS, "64k steps");
    expect_text(65536, UNIT_STEPS, "65536 steps");
    expect_text(1500000, UNIT_SAMPLES, "1.5M samples");
    expect_text(260e9, UNIT_TOKENS, "260B tokens");
    expect_text(1e15, UNIT_TOKENS, "1000T tokens");
    expect_text(1, UNIT_EPOCHS, "1 epoch");
    expect_text(0.3, UNIT_EPOCHS, "0.3 epochs");
    expect_text(71400, UNIT_SECONDS, "19h50m");
    expect_text(5400, UNIT_SECONDS, "1h30m");
    expect_text(3601, UNIT_SECONDS, "1h1s");
    expect_text(0, UNIT_SECONDS, "0s");
    expect_text(0.25, UNIT_SECONDS, "0.25s");
}

static void format_reads_back(void)
{
    for (int i = 0; i < 5000; i++) {
        AmountUnit unit = (AmountUnit)g_test_rand_int_range(0, 5);
        double value = floor(exp(g_test_rand_double_range(0, log(0x1p53))));
        if (i % 3 == 0) /* round numbers */
            value = g_test_rand_int_range(1, 1000) * pow(10, g_test_rand_int_range(0, 12));
        if (i % 5 == 0 && (unit == UNIT_EPOCHS || unit == UNIT_SECONDS))
            value = exp(g_test_rand_double_range(-20, 10));
        g_autofree char *text = amount_format((Amount){ value, unit });
        expect(text, value, unit);
    }
    expect("9007199254740992 tokens", 0x1p53, UNIT_TOKENS);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/amount/reads_units_and_multiples", units_and_multiples);
    g_test_add_func("/amount/reads_times", times);
    g_test_add_func("/amount/reads_shares", shares);
    g_test_add_func("/amount/errors_say_what_would_be_right", errors_say_what_would_be_right);
    g_test_add_func("/amount/format_is_short", format_is_short);
    g_test_add_func("/amount/format_reads_back", format_reads_back);
    return g_test_run();
}
