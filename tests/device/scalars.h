/* scalars.h: the numbers of an optimizer's update, for the tests of its operations. */
#pragma once

#include "device/ops.h"

#include <math.h>

/* Update number t (1, 2, …) with lr 1/8 and every gradient halved, of AdamW with β 0.9 and 0.999 and of Adafactor with
 * a decay rate of 0.8. */
static inline StepScalars scalars_of(double t)
{
    return (StepScalars){
        .lr = 0.125f, .clip = 0.5f, .beta1_t = pow(0.9, t), .beta2_t = pow(0.999, t), .new_part = pow(t, -0.8)
    };
}
