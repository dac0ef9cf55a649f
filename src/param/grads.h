/* grads.h: computes the gradient norm without a separate wait for the device. */
#pragma once

#include "param/param.h"

/* Queues the device's part of grads_norm (param.h). Other downloads may be queued behind it; grads_norm, called
 * afterwards, returns the result. So one wait for the device serves the norm and those downloads. */
void grads_norm_begin(ParamStore *store);
