/* foreign_names.h: names of options in other programs, so that the error for an unknown option can suggest loam's name.
 */
#pragma once

#include "base/options/options.h"

extern const OptionForeignName config_foreign_names[]; /* ends with foreign NULL */
