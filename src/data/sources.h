/* sources.h: the datasets that the options data.train, data.valid and data.split name. */
#pragma once

#include "data/data_config.h"

/* Whether data.train, its weights and data.split are well formed and go together. Opens no dataset. */
bool sources_check(const DataConfig *config, GError **error);
/* The list of datasets to train on, for loader_open: data.train, or with data.split the training part of each dataset.
 * g_free; NULL on an error. */
char *sources_train(const DataConfig *config, GError **error);
/* The list of the validation parts of the datasets of data.train, used where data.valid is empty; "" where data.split
 * has none. g_free; NULL on an error. */
char *sources_split_valid(const DataConfig *config, GError **error);
/* Bytes of NAME in an item "NAME:PATH" of data.valid; 0 means that it has no name. */
size_t sources_valid_name(const char *item);
/* The absolute path, or a copy of the path where the absolute one is not UTF-8, which a configuration cannot hold.
 * g_free. */
char *sources_resolve_path(const char *path);
/* Files of a task with absolute paths: one, several separated by commas, or a share such as 5%, which stays. g_free. */
char *sources_resolve_files(const char *files);
/* A list with absolute paths: data.train, or with named = true data.valid. A path whose folder has a comma in its name
 * stays relative. g_free. */
char *sources_resolve(const char *list, bool named);
