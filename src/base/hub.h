/* hub.h: error messages for a user who gives the name of a model on huggingface.co instead of a path. */
#pragma once

#include "base/error.h"

/* A hint to append to an error about a missing path. If the path looks like a model's name (google/t5-v1_1-small,
 * gpt2), the hint is "; if it is a model of huggingface.co, …" with the command that downloads the model; otherwise it
 * is "". Free with g_free. */
char *hub_hint(const char *path);
/* Sets the user's error "PATH: no such WHAT", followed by hub_hint; returns NULL. */
void *hub_fail_absent(const char *path, const char *what, GError **error);
