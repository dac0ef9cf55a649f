/* amount.h: amounts with units: `10k steps`, `5M samples`, `260B tokens`, `3 epochs`, `19h50m`, `6%`. k, M, B and T
 * mean 10^3, 10^6, 10^9 and 10^12; a number without a unit counts steps; h, m and s make a time; a percentage is a
 * share of the length of the run. */
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

bool amount_parse(Amount *out, const char *text, GError **error);
/* The shortest text that amount_parse reads back to the same amount: "64k steps", "1 epoch", "19h50m", "6%". g_free. */
char *amount_format(Amount amount);

/* Reads a decimal number, with or without k, M, B or T, at *text and moves *text past it. False if there is none, or it
 * is not finite. */
bool amount_scan_number(double *out, const char **text);
