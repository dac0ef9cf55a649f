/* params.h: the parameters of a transformer, from one table, and the view structs that its buckets fill. */
#pragma once

#include "model/stage.h"
#include "nn/block.h"
#include "nn/embedding.h"
#include "nn/head.h"
#include "param/param.h"

typedef struct ModelW {
    Tensor shared;    /* (V,C) embedding of both stacks, and of the head where tied */
    Tensor lm_head;   /* (V,C), untied */
    Tensor head_bias; /* (V) */
    TransformW transform;
    TransformW pooler;
    LinearW sentence; /* (2,C) classes of a pair of sentences, from the pooler */
} ModelW;

typedef struct StackW {
    Tensor relpos; /* (buckets,H) */
    NormW final_norm;
    EmbeddingW embed; /* but for its table */
} StackW;

/* BUCKET_BLOCK + i: block i of the encoder, then of the decoder. The views are ModelW (the first three), StackW and
 * BlockW. */
enum { BUCKET_SHARED, BUCKET_LM_HEAD, BUCKET_POOLER, BUCKET_ENCODER, BUCKET_DECODER, BUCKET_BLOCK };

/* The parameters that a stage uses, by rising bucket. Names: "shared", "lm_head", "encoder.relpos",
 * "encoder.final_norm", "decoder.0.self.q" … (params.c lists them). g_free. */
ParamSpec *model_param_specs(const ModelConfig *config, Stage stage, int *n_specs);
/* How often one microbatch adds to the gradients of each bucket in a stage, 0 where it never does: a tied embedding is
 * added to by the encoder, the decoder and the head, each once. g_free. */
int *model_bucket_uses(const ModelConfig *config, Stage stage);
