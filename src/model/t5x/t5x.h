/* t5x.h: T5 from a legacy checkpoint of T5X: one MessagePack file of Flax arrays. */
#pragma once

#include "model/model.h"

/* PATH is the file, or the folder that holds it as `checkpoint`. The arrays' shapes give the model's configuration;
 * T5X's optimizer state is not read. A missing, unexpected or misshapen array is an error that names it. */
Model *t5x_import(Device *dev, const char *path, GError **error);
