/* sources.h: which datasets the options name. */
#pragma once

#include "data/data_config.h"

/* Lists, weights and shares are well formed and do not exclude each other; no dataset is opened. */
bool sources_check(const DataConfig *config, GError **error);
/* The list of datasets to train on: data.train, of each the part that data.split leaves for training. g_free; NULL on
 * error. */
char *sources_train(const DataConfig *config, GError **error);
/* The same datasets' parts to validate on, which stand in for data.valid where that is empty: "" where data.split keeps
 * nothing back. */
char *sources_split_valid(const DataConfig *config, GError **error);
/* Bytes of the name before the colon of data.valid's "NAME:PREFIX"; 0: there is none. */
size_t sources_valid_name(const char *item);
/* The path as it holds from any folder; as it is, where a configuration cannot hold that one: it is not UTF-8. g_free.
 */
char *sources_resolve_path(const char *path);
/* The list (of data.train or, named, of data.valid) with prefixes that hold from any folder; one whose folder has
 * a comma in its name stays as it is. g_free. */
char *sources_resolve(const char *list, bool named);
