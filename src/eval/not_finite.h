/* not_finite.h: the error of verbs whose model computes infinities or NaN. */
#pragma once

#include "base/error.h"
#include "model/model.h"

/* Sets a user's error, "the model gives WHAT of VALUE: CAUSE", and returns false. The cause is the range of f16 where
 * the model computes in fp16, else its weights. */
bool fail_not_finite(const Model *model, const char *what, double value, GError **error);
/* Whether the n numbers are finite; else the error of fail_not_finite, with the first number that is not. */
bool check_finite(const Model *model, const char *what, const float *numbers, int64_t n, GError **error);
