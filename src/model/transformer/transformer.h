/* transformer.h: the private fields of Model and Slot, and functions that the files of src/model share. */
#pragma once

#include "model/pipeline/pipeline.h"
#include "model/transformer/slot.h"
#include "model/transformer/stack.h"

typedef enum SlotState {
    SLOT_FREE,
    SLOT_BEGUN,   /* slot_begin was called; slot_fwd comes next */
    SLOT_FORWARD, /* slot_fwd was called; slot_loss and slot_bwd come next */
    SLOT_DECODES  /* a Decoder uses its arena */
} SlotState;

/* One of a model's stages: its blocks of the encoder and of the decoder. */
typedef struct ModelStage {
    Stage range;
    Stack encoder, decoder;
} ModelStage;

/* The data of one microbatch between its forward and its backward pass: its streams and saved activations. */
typedef struct Slot {
    SlotState state;
    const ModelStage *stage;
    Arena *save;        /* points into Model.work */
    const Batch *batch; /* owned by the caller */
    ModelLoss loss;
    TokenStream *with_memory; /* the encoder's stream with memory tokens inserted; NULL if the model has none */
    TokenStream *shifted;     /* the decoder's stream if model_config_shifts(config), else NULL */
    StackPass encoder,
        decoder; /* encoder.tokens is also set in a stage that has only cross-attention to the encoder output */
    Tensor encoder_output;       /* (E,C) absent until this stage computes or receives it */
    StageMessage sent, gradient; /* the message for the next stage, and its gradient */
} Slot;

/* Messages of a slot that are being sent; 0 means none. */
typedef struct SlotSends {
    CommWork forward[2], backward[2];
} SlotSends;

struct Model {
    Device *dev;
    ModelConfig config;
    Stages ranges; /* the blocks of each stage */
    char **frozen; /* name patterns of frozen parameters, or NULL */
    TokenRoles roles;
    ParamStore *params;
    Fp8Scales *fp8;     /* NULL if the model is not trained in FP8 */
    ModelStage *stages; /* (ranges.n) */
    Slot *slots;        /* (work.n_slots) those of the first stage first */
    Workspace work;
    struct {
        int32_t n, length, max_tokens;
    } answers; /* arguments of model_set_answers */
    Pipeline pipeline;
    SlotSends *sending;    /* (work.n_slots), or NULL without a pipeline */
    int64_t pipeline_sent; /* bytes sent to other stages */
    GArray *passes; /* PipelinePass: the order of the last model_passes; kept, so that a step allocates nothing */
    Tensor sums;    /* (HEAD_COUNT × XENT_STATS) f64: statistics of each head, over the passes since model_take_sums */
    double class_rows; /* number of rows of HEAD_CLASSES since model_take_sums, in passes with class weights */
};

/* Uploads a stream into the arena `save`, with this rank's tokens if tensor-parallel ranks divide the vocabulary. */
Tokens stream_upload(const Model *model, Arena *save, const TokenStream *stream);
/* Uploads which of `ids`, one for each token, are this rank's: see tokens_upload_own. */
void stream_upload_own(const Model *model, Arena *save, Tokens *tokens, const int32_t *ids);
/* Uploads the encoder's stream `enc`, memory tokens included, into the arena `save`. */
Tokens encoder_upload(const Model *model, Arena *save, const TokenStream *enc);
/* Resets the slot's arena, uploads the batch, sets the contexts and allocates the residual streams. n_memory_seq: most
 * sequences that memory tokens are added to. */
Slot *slot_open(Model *model, int index, const Batch *batch, int32_t n_memory_seq, const ModelLoss *loss);
/* The pass that contains the stage's last block: the decoder's if the stage has decoder blocks, else the encoder's. */
StackPass *slot_last(Slot *slot);
