/* language_weights.h: reads files of weights of languages, {"python": 0.4, "text": 0.1, …}, which may be given instead
 * of a list of datasets. AST-T5's FOLDER/data_weights.json means the datasets FOLDER/python/train, … and the held-out
 * sets FOLDER/python/valid, …; PREFIX_weights.json, which loam prepare --by-language writes, means PREFIX_python, … and
 * PREFIX_python-valid, …. */
#pragma once

#include "base/error.h"

/* Whether the value of data.train or data.valid is the path of a file of weights of languages: it ends in ".json". */
bool language_weights_is(const char *option);
/* Converts a file of weights to a list for data.train: "PATH:WEIGHT,PATH:WEIGHT"; or, with `valid`, for data.valid,
 * with those held-out sets that exist: "python:PATH,text:PATH". Free with g_free. */
char *language_weights_list(const char *path, bool valid, GError **error);
