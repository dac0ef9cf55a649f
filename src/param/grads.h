/* grads.h: the norm of a step's gradients, without a wait of its own. */
#pragma once

#include "param/param.h"

/* Queues the work of grads_norm (param.h), which is then called after the device has been waited for: so one wait
 * serves for the norm and for what is downloaded after it. */
void grads_norm_begin(ParamStore *store);
