/* piece_ends.h: where the pieces of a text end in it, by the texts of the pieces: they follow each other in the
 * normalized text without a gap. */
#pragma once

#include "text/sentencepiece/model.h"

/* ends: (n) where the pieces ids (n) end in the original text. pieces: SpPiece by id, unk: the id that stands for one
 * or more characters, normal: (normal_bytes) the normalized text, map: its offset map (text/offset_map.h). Where
 * several ways to place unknown pieces fit, each is as short as possible. False if none fits. */
bool piece_ends(const GArray *pieces, int32_t unk, const char *normal, size_t normal_bytes, const GArray *map,
                const int32_t *ids, int64_t n, uint32_t *ends);
