/* options/list.h: a YAML list of maps, and the string "ITEM,ITEM" that an OPT_LIST option stores for it. */
#pragma once

#include "base/options/options.h"

/* "ITEM,ITEM" from OptionSetting.items; NULL on an error. g_free. */
char *option_list_join(const OptionRow *row, const GPtrArray *items, GError **error);
/* The keys of an item, for messages: "path, weight". g_free. */
char *option_list_keys(const OptionRow *row);
