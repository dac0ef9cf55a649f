/* embedding.h: the input of a stack: embeddings of tokens, positions and token types. */
#pragma once

#include "nn/norm.h"

typedef struct EmbeddingW {
    Tensor table;         /* (V,C) by token id */
    Tensor positions;     /* (P,C) by position id: learned, or sinusoids, which have no gradient; or absent */
    Tensor token_types;   /* (number of token types, C), or absent */
    Tensor memory_tokens; /* (m,C), or absent: embeddings of the m learned tokens before every sequence */
    NormW norm;           /* norm of the sum of the embeddings, or absent */
} EmbeddingW;

typedef struct EmbeddingSave {
    NormSave norm;
} EmbeddingSave;

/* y (N,C) = dropout(norm(embed_scale table[ids] + positions[position_ids] + token_types[i])), where i is the
 * token type; at memory tokens memory_tokens replaces table[ids]. */
void embedding_fwd(const Ctx *cx, Tensor y, const EmbeddingW *w, EmbeddingSave *save);
/* g.table = table_beta g.table + new, for the table is in another bucket; all other gradients: g = beta g + new. */
void embedding_bwd(const Ctx *cx, Tensor dy, const EmbeddingW *w, const EmbeddingW *g, float beta, float table_beta,
                   const EmbeddingSave *save);
