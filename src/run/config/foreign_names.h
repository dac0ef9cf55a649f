/* foreign_names.h: option names of other programs, such as "learning_rate", so that the error for an unknown option can
 * suggest loam's name, optim.lr. */
#pragma once

#include "base/options/options.h"

extern const OptionForeignName config_foreign_names[]; /* ends with foreign NULL */
