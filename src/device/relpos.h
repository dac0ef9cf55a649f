/* relpos.h: what attention adds to a score by the distance of key and query: T5's relative-position buckets, and
 * ALiBi's slopes. No GLib here. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef enum RelposRule {
    RELPOS_T5, /* Raffel et al. 2020; buckets of long distances are rounded down */
    RELPOS_AST /* AST-T5, COCO-LM: rounded up; keys before and after the query have buckets of their own, also where
                  `bidirectional` is false */
} RelposRule;

typedef struct RelposSpec {
    int32_t first;        /* relative position (key - query) of column 0 of the bias */
    int32_t n_buckets;    /* rows of the embedding table */
    int32_t max_distance; /* all distances from here on share the last bucket */
    RelposRule rule;
    bool bidirectional; /* keys after the query have buckets of their own; false: they share the bucket of distance 0 */
} RelposSpec;

/* Bucket of a relative position (key - query). Rounding of the logarithm never moves a distance to a wrong bucket. */
int32_t relpos_bucket(int32_t relative, const RelposSpec *spec);
/* ALiBi's slope of a head of `heads` (Press et al. 2022); any number of heads. */
double alibi_slope(int32_t head, int32_t heads);
