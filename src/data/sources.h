/* sources.h: makes lists of datasets from the options data.train, data.valid and data.split. */
#pragma once

#include "data/data_config.h"

/* Checks that data.train, its weights and data.split are well formed and fit together, without opening a dataset. */
bool sources_check(const DataConfig *config, GError **error);
/* The list of datasets to train on, for loader_open: data.train, or with data.split the training part of each dataset.
 * Free with g_free; NULL on an error. */
char *sources_train(const DataConfig *config, GError **error);
/* The list of the validation parts of the datasets of data.train, used if data.valid is empty; "" if data.split has no
 * validation part. Free with g_free; NULL on an error. */
char *sources_split_valid(const DataConfig *config, GError **error);
/* Length in bytes of NAME in an item "NAME:PATH" of data.valid; 0 if the item has no name. */
size_t sources_valid_name(const char *item);
/* Makes a path absolute, unless the absolute path is not UTF-8, which a configuration cannot hold. Free with g_free. */
char *sources_resolve_path(const char *path);
/* Makes the paths of a task's files absolute; `files` is one path, several separated by commas, or a percentage such as
 * "5%", which is kept. Free with g_free. */
char *sources_resolve_files(const char *files);
/* Makes the paths of a list absolute: of data.train, or of data.valid if named is true. A path stays relative if its
 * folder has a comma in its name. Free with g_free. */
char *sources_resolve(const char *list, bool named);
