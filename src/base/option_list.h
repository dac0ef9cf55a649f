/* option_list.h: lists of maps in YAML and the one text that an OPT_LIST keeps of them. */
#pragma once

#include "base/options.h"

/* ITEM,ITEM of what OptionSetting.items holds; NULL on error. g_free. */
char *option_list_join(const OptionRow *row, const GPtrArray *items, GError **error);
/* "path, weight". g_free. */
char *option_list_keys(const OptionRow *row);
