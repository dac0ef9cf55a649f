/* foreign_names.h: what options are called elsewhere, for messages about unknown options. */
#pragma once

#include "base/options/options.h"

extern const OptionForeignName config_foreign_names[]; /* ends with foreign NULL */
