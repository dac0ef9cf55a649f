/* piece_ends.h: finds the byte of a text at which each of its pieces ends, by matching the texts of the pieces: in the
 * normalized text they follow each other without gaps. */
#pragma once

#include "text/sentencepiece/model.h"

/* Sets ends (n): piece i, of id ids[i], ends before byte ends[i] of the original text. pieces: SpPiece, indexed by id;
 * unk: the id that stands for one or more unknown characters; normal: (normal_bytes) the normalized text; map: its
 * offset map (text/offset_map.h). If unknown pieces can be placed in several ways, each is as short as possible. False
 * if the ids do not fit the text. */
bool piece_ends(const GArray *pieces, int32_t unk, const char *normal, size_t normal_bytes, const GArray *map,
                const int32_t *ids, int64_t n, uint32_t *ends);
