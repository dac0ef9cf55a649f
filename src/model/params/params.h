/* params.h: the parameters of a model in their buckets, and the view structs of the buckets, which params_acquire
 * fills. Dimensions: see nn/ctx.h. */
#pragma once

#include "model/stage.h"
#include "nn/block.h"

/* Parameters outside the encoder and the decoder. They are in three buckets (BUCKET_SHARED, BUCKET_LM_HEAD,
 * BUCKET_POOLER); params_acquire fills the fields of one bucket. A tensor that the model does not have is NO_TENSOR. */
typedef struct ModelW {
    Tensor shared;        /* (V,C) embedding of encoder and decoder; also the projection to the vocabulary if tied */
    Tensor lm_head;       /* (V,C) projection to the vocabulary if not tied */
    Tensor head_bias;     /* (V) bias of the logits */
    TransformW transform; /* BERT's layer before the vocabulary */
    TransformW pooler;    /* BERT's layer for the first token of a sequence */
    Linear sentence;      /* (2,C) sentence-pair classifier (SOP, NSP), applied to the output of the pooler */
    TransformW classifier_dense; /* layer before the classifier (RoBERTa) */
    Linear classifier;           /* (outputs,C), see model_config_outputs */
} ModelW;

/* Parameters of an encoder or a decoder outside its blocks. */
typedef struct StackW {
    Tensor relpos; /* (relative-position buckets, H), shared by the blocks; absent if each block has a table */
    NormW final_norm;
    EmbeddingW embed; /* embed.table is ModelW.shared, in another bucket */
} StackW;

/* Buckets of the ParamStore, and the view struct of each. */
enum {
    BUCKET_SHARED,  /* ModelW: shared */
    BUCKET_LM_HEAD, /* ModelW: lm_head, head_bias, transform */
    BUCKET_POOLER,  /* ModelW: pooler, sentence, classifier_dense, classifier */
    BUCKET_ENCODER, /* StackW */
    BUCKET_DECODER, /* StackW */
    BUCKET_BLOCK    /* BlockW: block i of the encoder is BUCKET_BLOCK + i; the blocks of the decoder follow */
};

/* The parameters that the stages of a rank use, ordered by bucket. Their names, such as "shared", "lm_head",
 * "encoder.relpos", "encoder.final_norm", "decoder.0.self.q", are listed in params.c. g_free. */
ParamSpec *model_param_specs(const ModelConfig *config, Stages stages, int *n_specs);
/* Those of them that are outside blocks, which come first. g_free. */
ParamSpec *model_outer_specs(const ModelConfig *config, Stages stages, int *n_specs);
/* For each bucket, how often one microbatch in these stages adds to its gradients. For example 3 for a tied embedding:
 * encoder, decoder and head add once each. 0 means never. g_free. */
int *model_bucket_uses(const ModelConfig *config, Stages stages);
