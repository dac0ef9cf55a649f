/* far.h: a GPU for the tests of operations (rig.h), whose cases make their tensors in memory of the host and look at
 * them there. Each operation uploads all of that memory, runs on the GPU, and downloads it again. */
#pragma once

#include "device/device.h"

/* GPU 0 by way of the backend that the program opens too; NULL with the reason in `why` (CUDA_WHY bytes). */
Device *far_open(Precision precision, char *why);
/* Memory of the host with a copy on the GPU, both of the size asked for, so that compute-sanitizer sees who goes beyond
 * it; zeros at first. */
void *far_alloc(Device *dev, size_t bytes);
void far_free_all(Device *dev);
