/* params.h: the parameters of a model, by buckets, and the structs that params_acquire fills, one per bucket. */
#pragma once

#include "model/stage.h"
#include "nn/block.h"
#include "param/param.h"

/* Parameters outside the encoder and the decoder, in three buckets (BUCKET_SHARED, BUCKET_LM_HEAD, BUCKET_POOLER):
 * params_acquire fills the fields of one. A tensor that the model does not have is absent (NO_TENSOR). */
typedef struct ModelW {
    Tensor shared;        /* (V,C) embedding of encoder and decoder; where tied also the projection to the vocabulary */
    Tensor lm_head;       /* (V,C) projection to the vocabulary, where not tied */
    Tensor head_bias;     /* (V) bias of the logits */
    TransformW transform; /* BERT's layer before the vocabulary */
    TransformW pooler;    /* BERT's layer over the first token of a sequence */
    LinearW sentence;     /* (2,C) classes of a pair of sentences, from the pooler */
    TransformW classifier_dense; /* a classifier's own layer, as RoBERTa's */
    LinearW classifier;          /* (outputs,C) */
} ModelW;

/* Parameters of an encoder or a decoder outside its blocks. */
typedef struct StackW {
    Tensor relpos; /* (relative-position buckets, H), shared by the blocks */
    NormW final_norm;
    EmbeddingW embed; /* without the table of tokens, which is ModelW.shared */
} StackW;

/* Buckets of the ParamStore, and the struct of each. */
enum {
    BUCKET_SHARED,  /* ModelW: shared */
    BUCKET_LM_HEAD, /* ModelW: lm_head, head_bias, transform */
    BUCKET_POOLER,  /* ModelW: pooler, sentence, classifier_dense, classifier */
    BUCKET_ENCODER, /* StackW */
    BUCKET_DECODER, /* StackW */
    BUCKET_BLOCK    /* BlockW: block i of the encoder is BUCKET_BLOCK + i; then the blocks of the decoder follow */
};

/* The parameters that a stage uses, by rising bucket. Names: "shared", "lm_head", "encoder.relpos",
 * "encoder.final_norm", "decoder.0.self.q" … (params.c lists them). g_free. */
ParamSpec *model_param_specs(const ModelConfig *config, Stage stage, int *n_specs);
/* How often one microbatch adds to the gradients of each bucket in a stage, 0 where it never does: a tied embedding is
 * added to by the encoder, the decoder and the head, each once. g_free. */
int *model_bucket_uses(const ModelConfig *config, Stage stage);
