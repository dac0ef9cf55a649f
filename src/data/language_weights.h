/* language_weights.h: files of weights of languages, {"python": 0.4, "text": 0.1, …}, in place of lists of datasets.
 * data_weights.json of AST-T5 stands for FOLDER/python/train, … and held-out sets FOLDER/python/valid;
 * PREFIX_weights.json of loam prepare --by-language for PREFIX_python, … and PREFIX_python-valid. */
#pragma once

#include "base/error.h"

/* Whether an option names such a file: it ends in ".json". */
bool language_weights_is(const char *option);
/* "PATH:WEIGHT,PATH:WEIGHT" for data.train; g_free. */
char *language_weights_train(const char *path, GError **error);
/* "python:PATH,text:PATH" for data.valid, of the held-out sets that there are; g_free. */
char *language_weights_valid(const char *path, GError **error);
