/* not_finite.h: the error for a model that computes infinities or NaN. */
#pragma once

#include "model/model.h"

/* Sets the error LOAM_ERROR_USER, "the model gives WHAT of VALUE: CAUSE", and returns false. CAUSE is the range of f16
 * if the model computes in fp16, else the model's weights. */
bool fail_not_finite(const Model *model, const char *what, double value, GError **error);
/* Fails with fail_not_finite on the first of the n numbers that is not finite. */
bool check_finite(const Model *model, const char *what, const float *numbers, int64_t n, GError **error);
