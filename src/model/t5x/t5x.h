/* t5x.h: imports a T5 from a legacy checkpoint of T5X: one MessagePack file of Flax arrays. */
#pragma once

#include "model/model.h"

/* PATH is the file, or the folder that holds it as `checkpoint`. The model's configuration follows from the shapes of
 * the arrays; T5X's optimizer state is not read. A missing array, an unexpected one, or one of a wrong shape is an
 * error that names it. */
Model *t5x_import(Device *dev, const char *path, GError **error);
