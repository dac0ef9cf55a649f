/* split.h: the documents of a dataset in their order, cut into a part to train on, one to validate and one to test, as
 * Megatron's --split cuts them. */
#pragma once

#include "base/error.h"

#include <stdint.h>

#define SPLIT_PARTS 3
enum { SPLIT_TRAIN, SPLIT_VALID, SPLIT_TEST };
extern const char *const split_names[]; /* "train", "valid", "test", NULL */

/* "949,50,1" or "949/50/1": shares in any unit; what is left out is 0. */
bool split_parse(double shares[SPLIT_PARTS], const char *text, GError **error);
/* Megatron's rule: each boundary follows the one before by its share of n rounded half to even; what the last one
 * overshoots n by is taken from all but the first. */
void split_boundaries(const double shares[SPLIT_PARTS], int64_t n, int64_t boundaries[SPLIT_PARTS + 1]);
/* "PREFIX@valid:949/50/1", the name of a part. g_free. */
char *split_name(const char *prefix, const double shares[SPLIT_PARTS], int part);
/* Bytes of the prefix in the name of a part, whose *part and *shares it tells; 0 where the path names a whole dataset,
 * -1 on an error. */
int split_read_name(const char *path, int *part, double shares[SPLIT_PARTS], GError **error);
