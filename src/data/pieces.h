/* pieces.h: the text of a dataset, cut into pieces. Concatenated: the documents of an epoch in an order of its own, one
 * after another, cut every raw_length - overlap tokens. By documents: each cut for itself, first all full pieces, then
 * what is left of every document; an epoch deals the full pieces anew. The number of pieces and the length of each are
 * the same in every epoch. */
#pragma once

#include "data/dataset/dataset.h"
#include "data/objectives/objectives.h"

typedef struct PiecesSpec {
    ObjectiveText text;
    int64_t raw_length, overlap, min_length;
    int32_t vocab;     /* above every id of the text: others are errors */
    int32_t separator; /* ends every document; -1: none is added */
    uint64_t seed;
    bool in_order;                 /* as in the file, in every epoch */
    ObjectiveCutFn cut;            /* concatenated: NULL, or other pieces, none above raw_length */
    const ObjectiveConfig *config; /* of cut; outlives the pieces */
} PiecesSpec;

typedef struct Pieces Pieces;
/* data must outlive the pieces, which are not thread-safe. */
Pieces *pieces_open(const Dataset *data, const PiecesSpec *spec);
void pieces_close(Pieces *pieces);
int64_t pieces_count(const Pieces *pieces);
int64_t pieces_tokens(const Pieces *pieces); /* of an epoch, separators included */
int64_t pieces_length(const Pieces *pieces, int64_t piece);
/* Copies a piece, pieces_length tokens. */
bool pieces_read(Pieces *pieces, int64_t epoch, int64_t piece, int32_t *out, GError **error);
/* Of pieces by documents: the document, and the places within a piece (raw_length at most; ascending, but for 0) where
 * a sequence of the dataset begins, which is a sentence where the dataset is split into them; returns their number. */
int64_t pieces_document(const Pieces *pieces, int64_t epoch, int64_t piece);
int64_t pieces_sentences(const Pieces *pieces, int64_t epoch, int64_t piece, int64_t *out);
