/* once.h: computes a value once for all ranks that would compute the same one, such as the hash of a file of their
 * host. */
#pragma once

#include "comm/comm.h"

enum { ONCE_KEY = 160 };
/* A function whose value is the same on all ranks that call ranks_once with the same key. */
typedef uint64_t (*OnceFn)(const void *context);
/* Returns fn(context) of the lowest rank with this rank's key; only that rank calls fn, in a thread of its own, and the
 * others wait for it, also if it takes longer than the group's timeout. An empty key is no other rank's. key: at most
 * ONCE_KEY - 1 bytes. All ranks of the group call it; if the group fails, the value is of no use. */
uint64_t ranks_once(Comm *ranks, const char *key, OnceFn fn, const void *context);
/* A key for what is computed from the files of PATH: that of the same folder or file of the same host; "" if PATH names
 * none. */
void once_key_of_path(char key[ONCE_KEY], const char *path);
