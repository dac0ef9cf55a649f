/* piece_ends.h: finds the byte of a text at which each of its pieces ends, by matching the texts of the pieces with the
 * normalized text, in which they follow each other without gaps. */
#pragma once

#include "text/sentencepiece/model.h"

/* Sets ends (n) so that piece i, whose id is ids[i], ends before byte ends[i] of the original text. pieces: SpPiece,
 * indexed by id; unk: the id that stands for one or more unknown characters; normal: (normal_bytes) the normalized
 * text; map: its offset map (text/offset_map.h). If there are several ways to place unknown pieces, each is taken as
 * short as possible. Returns false if the ids do not fit the text. */
bool piece_ends(const GArray *pieces, int32_t unk, const char *normal, size_t normal_bytes, const GArray *map,
                const int32_t *ids, int64_t n, uint32_t *ends);
