/* piece_ends.h: where the pieces of a text end in it, by the texts of the pieces: they follow each other in the
 * normalized text without a gap. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct PieceSurfaces {
    /* The text of a piece, and in *byte the byte that it may stand for instead ("<0x41>"); -1 means none. */
    const char *(*surface)(const void *model, int32_t id, int *byte);
    const void *model;
    int32_t unk; /* stands for one or more characters */
} PieceSurfaces;

/* normal: (normal_bytes) the normalized text, map: its offset map (text/offset_map.h), ids: (n) its pieces. Where
 * several ways to place unknown pieces fit, each is as short as possible. False if none fits. */
bool piece_ends(const PieceSurfaces *surfaces, const char *normal, size_t normal_bytes, const GArray *map,
                const int32_t *ids, int64_t n, uint32_t *ends);
