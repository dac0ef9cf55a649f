/* transformer.h: the inside of Model, for the files of this room. */
#pragma once

#include "model/slot.h"
#include "model/stack.h"
#include "model/workspace.h"

typedef enum SlotState {
    SLOT_FREE,
    SLOT_BEGUN,  /* slot_fwd comes next */
    SLOT_FORWARD /* slot_bwd comes next */
} SlotState;

/* One microbatch in flight. */
typedef struct Slot {
    SlotState state;
    Arena *save;        /* of the model's workspace */
    const Batch *batch; /* the caller's */
    ModelLoss loss;
    TokenStream *with_memory;    /* the encoder's stream with memory tokens; NULL where the model has none */
    StackPass encoder, decoder;  /* the encoder's tokens are there in every stage that has cross-attention */
    Tensor encoder_output;       /* (E,C) made here or received; absent until then */
    StageMessage sent, gradient; /* what slot_fwd returned, and its gradient */
} Slot;

struct Model {
    Device *dev;
    ModelConfig config;
    Stage stage;
    char **frozen; /* patterns of names, or NULL */
    TokenRoles roles;
    ParamStore *params;
    char *tokenizer_hash;   /* or NULL */
    Stack encoder, decoder; /* the stage's parts of them */
    Slot *slots;            /* (work.n_slots) */
    Workspace work;
    Tensor sums; /* (HEAD_COUNT XENT_STATS) f64 of the passes since model_take_sums, head by head */
};

/* The encoder's stream, its memory tokens included, for as long as `save` is not reset. */
Tokens encoder_upload(const Model *model, Arena *save, const TokenStream *enc);
/* Empties the slot's arena, uploads the batch and sets the contexts. n_memory_seq: sequences that have room for memory
 * tokens. */
Slot *slot_open(Model *model, int index, const Batch *batch, int32_t n_memory_seq, const ModelLoss *loss);
/* Forward through the stage's blocks; y (N,C). */
Tensor slot_run(Model *model, Slot *slot);
/* The pass of the stage's last block. */
StackPass *slot_last(const Model *model, Slot *slot);

/* The same stage of the same model on the null device, with measuring arenas: it computes nothing and counts
 * everything. */
Model *model_open_dry(const Model *model, bool gradients);
void model_close_dry(Model *model);
