/* hub.h: helps a user who gives the name of a model on huggingface.co where a path is wanted. */
#pragma once

#include "base/error.h"

/* A hint to append to the error about a missing path: "; loam opens no connection: …" with the command that downloads
 * the model if the path looks like a model's name (google/t5-v1_1-small, gpt2), otherwise "". Free with g_free. */
char *hub_hint(const char *path);
/* Sets a user's error, "PATH: no such WHAT" and the hint; returns false. */
bool hub_fail_absent(const char *path, const char *what, GError **error);
