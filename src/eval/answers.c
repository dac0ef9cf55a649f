#include "eval/answers.h"

bool fail_not_finite(const Model *model, const char *what, double value, GError **error)
{
    value = isnan(value) ? (double)NAN : value; /* without a sign, which would be printed */
    if (model_device(model)->precision.compute == DT_F16)
        return fail_user(error,
                         "the model gives %s of %g: the largest number of fp16 is 65,504; compute in bf16 or f32", what,
                         value);
    return fail_user(error, "the model gives %s of %g: are its weights finite?", what, value);
}

bool check_finite(const Model *model, const char *what, const float *numbers, int64_t n, GError **error)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(numbers[i]))
            return fail_not_finite(model, what, (double)numbers[i], error);
    return true;
}
