/* anchor.h: normalizes the text beside a blank as a part of a longer text: a character that no normalizer changes is
 * put in the place of the blank, and is cut off again with all that the normalizer puts on its other side. */
#pragma once

#include "text/kind.h"

/* The text with an anchor in the place of each blank beside it; NULL if there is no blank. Free with g_string_free. */
GString *anchor_add(const char *text, size_t bytes, TextEdges edges);
/* Cuts the anchors off a normalized text, and the space that belongs to a blank (" " or SP_SPACE). map: its offset map,
 * which becomes that of the text without anchors, `bytes` long; NULL means none. Returns false if normalization has
 * removed an anchor. */
bool anchor_cut(GString *normal, GArray *map, size_t bytes, TextEdges edges, BlankSpace space);
