/* amount.h: amounts with units, as options give them: `10k steps`, `5M samples`, `260B tokens`, `3 epochs`, `19h50m`,
 * `6%`. k, M, B and T mean 10^3, 10^6, 10^9 and 10^12; a number without a unit counts steps; d, h, m and s give
 * a duration; a percentage is a share of the length of the run. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef enum AmountUnit {
    UNIT_STEPS,
    UNIT_SAMPLES,
    UNIT_EXAMPLES,
    UNIT_TOKENS,
    UNIT_EPOCHS,
    UNIT_SECONDS,
    UNIT_PERCENT
} AmountUnit;

typedef struct Amount {
    double value; /* in the unit; whole numbers are exact up to 2^53 */
    AmountUnit unit;
} Amount;

/* Parses an amount, such as "64k steps". Returns false with an error if the text is not an amount. */
bool amount_parse(Amount *out, const char *text, GError **error);
/* The shortest text that amount_parse reads back as this amount: "64k steps", "1 epoch", "19h50m", "6%". g_free. */
char *amount_format(Amount amount);

/* Reads a decimal number at *text, with an optional k, M, B or T, and moves *text past it. Returns false if there is no
 * number or it is not finite. */
bool amount_scan_number(double *out, const char **text);
