/* block.h: the transformer block of all families: self-attention, cross-attention (only in the decoder of an
 * encoder-decoder), feed-forward network. Dimensions: see nn/ctx.h. */
#pragma once

#include "nn/attention.h"

/* The weights of a block, or their gradients. */
typedef struct BlockW {
    AttentionW self, cross; /* cross is absent without cross-attention */
    MlpW mlp;
} BlockW;

/* Linear layers that know their site, without tensors: params_acquire fills them in. */
BlockW block_absent(void);

/* Tensors that the backward pass of a block needs. */
typedef struct BlockSave {
    AttentionSave self, cross;
    MlpSave mlp;
} BlockSave;

/* The stream x (N,C) becomes y (N,C) = block(x); y may be x if cx->forget. encoder_out (E,C); NO_TENSOR means no
 * cross-attention. bias: see attention_fwd. */
void block_fwd(const Ctx *cx, Residual *stream, Tensor y, Tensor encoder_out, Tensor bias, const BlockW *w,
               BlockSave *save);
/* grad->dx holds dy on entry and the gradient of x on return. grad->next: dropout SITE_MLP_OUT of the block before.
 * dencoder_out and dbias are added to. g = beta g + new. */
void block_bwd(const Ctx *cx, ResidualGrad *grad, Tensor dencoder_out, Tensor dbias, const BlockW *w, const BlockW *g,
               float beta, const BlockSave *save);

/* The key/value caches of a block: see attention_step_self and attention_step_cross. */
typedef struct BlockCache {
    Tensor self, cross; /* cross is absent without cross-attention */
} BlockCache;

/* block_fwd for one new token in each of S sequences, x (S,C), without dropout; y may be x. */
void block_step(const Ctx *cx, Residual *stream, Tensor y, Tensor bias, const BlockW *w, const BlockCache *cache,
                const DecodeStep *step);
