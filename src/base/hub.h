/* hub.h: names of models on huggingface.co where a path is wanted. */
#pragma once

#include "base/error.h"

/* What to add to the error about a path that is not there: "; loam opens no connection: …" with the command that
 * fetches the model where the path reads as such a name (google/t5-v1_1-small, gpt2), else "". g_free. */
char *hub_hint(const char *path);
/* The user's error "PATH: no such WHAT", with the hint: false. */
bool hub_fail_absent(const char *path, const char *what, GError **error);
