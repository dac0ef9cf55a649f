/* t5x.h: T5 from a legacy checkpoint of T5X: one MessagePack file of Flax arrays. */
#pragma once

#include "model/model.h"

/* PATH is the file, or the folder that holds it as `checkpoint`. The shape of the model is read off the arrays; T5X's
 * optimizer state is left behind. Missing, unexpected and misshapen arrays are named. */
Model *t5x_import(Device *dev, const char *path, GError **error);
