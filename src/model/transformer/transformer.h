/* transformer.h: the private fields of Model and Slot, and functions that the files of src/model share. */
#pragma once

#include "model/memory/memory.h"
#include "model/transformer/slot.h"
#include "model/transformer/stack.h"

typedef enum SlotState {
    SLOT_FREE,
    SLOT_BEGUN,   /* slot_fwd comes next */
    SLOT_FORWARD, /* slot_bwd comes next */
    SLOT_DECODES  /* a decoder has its arena */
} SlotState;

/* One microbatch in flight. */
typedef struct Slot {
    SlotState state;
    Arena *save;        /* points into the model's workspace */
    const Batch *batch; /* owned by the caller */
    ModelLoss loss;
    TokenStream *with_memory;    /* the encoder's stream with memory tokens; NULL where the model has none */
    TokenStream *shifted;        /* the decoder's stream of a model with model_config_shifts; else NULL */
    StackPass encoder, decoder;  /* encoder.tokens is set in every stage that has cross-attention */
    Tensor encoder_output;       /* (E,C) computed or received by this stage; absent until then */
    StageMessage sent, gradient; /* what slot_fwd returned, and its gradient */
} Slot;

struct Model {
    Device *dev;
    ModelConfig config;
    Stage stage;
    char **frozen; /* name patterns of frozen parameters, or NULL */
    TokenRoles roles;
    ParamStore *params;
    Fp8Scales *fp8;         /* NULL where the model is not trained in FP8 */
    Stack encoder, decoder; /* the stage's blocks of the encoder and of the decoder */
    Slot *slots;            /* (work.n_slots) */
    Workspace work;
    struct {
        int32_t n, length, max_tokens;
    } answers;         /* of model_set_answers */
    Tensor sums;       /* (HEAD_COUNT XENT_STATS) f64 of the passes since model_take_sums, head by head */
    double class_rows; /* rows of HEAD_CLASSES in the passes since then that had weights of classes */
};

/* Uploads the encoder's stream enc, memory tokens included; the result is valid until `save` is reset. */
Tokens encoder_upload(const Model *model, Arena *save, const TokenStream *enc);
/* Empties the slot's arena, uploads the batch, sets the contexts and allocates the residual streams. n_memory_seq:
 * limit on the sequences that memory tokens are added to. */
Slot *slot_open(Model *model, int index, const Batch *batch, int32_t n_memory_seq, const ModelLoss *loss);
/* Forward through the stage's blocks; y (N,C). */
Tensor slot_run(Model *model, Slot *slot);
/* The StackPass (encoder or decoder) that has the stage's last block. */
StackPass *slot_last(const Model *model, Slot *slot);
