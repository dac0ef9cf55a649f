/* amount.h: amounts with units, one type and one parser: `10k steps`, `5M samples`, `260B tokens`, `3 epochs`,
 * `19h50m`, `6%`. k, M, B, T are powers of a thousand; a bare number is steps; h, m, s make a time; a percentage is a
 * share of the length of the run. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef enum AmountUnit { UNIT_STEPS, UNIT_SAMPLES, UNIT_TOKENS, UNIT_EPOCHS, UNIT_SECONDS, UNIT_PERCENT } AmountUnit;

typedef struct Amount {
    double value; /* exact up to 2^53 */
    AmountUnit unit;
} Amount;

bool amount_parse(Amount *out, const char *text, GError **error);
/* Text that amount_parse reads back to the same amount, the number as short as it goes: "64k steps", "1 epoch",
 * "19h50m", "6%". g_free. */
char *amount_format(Amount amount);

/* Reads one decimal number with an optional k, M, B or T at *text and moves *text past it; false if none stands there
 * or it is not finite. */
bool amount_scan_number(double *out, const char **text);
