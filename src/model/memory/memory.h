/* memory.h: the memory of a model's activations: the arenas that hold them (Workspace), and their sizes, measured by a
 * dry run: the same model on the null device, which computes nothing. model_reserve (model.h) allocates them. */
#pragma once

#include "device/device.h"
#include "model/loss.h"

typedef struct Model Model;

/* The arenas. Without memory from workspace_reserve they only measure: allocations return none, but record the peak. */
typedef struct Workspace {
    Arena *save; /* (n_slots) one arena per slot, for the activations that the backward pass of a microbatch needs */
    int *stage;  /* (n_slots) the stage that each slot is for, as an index of the model's Stages; never falls */
    int n_slots;
    Arena scratch;   /* temporaries of layers; empty between calls */
    Arena recompute; /* activations of the one block that runs forward again in the backward pass */
} Workspace;

/* Starts measuring: no arena has memory yet. slots (n_stages): number of slots of each stage. */
void workspace_init(Workspace *work, const int *slots, int n_stages);
/* Starts measuring again, with the same slots. The arenas must have no memory. */
void workspace_measure(Workspace *work);
/* Allocates each arena, as large as the peak of the same arena of `measured`, which has one slot per stage. */
bool workspace_reserve(Workspace *work, Device *dev, const Workspace *measured, GError **error);
/* As workspace_reserve, but an arena that is large enough keeps its memory. */
bool workspace_grow(Workspace *work, Device *dev, const Workspace *measured, GError **error);
void workspace_clear(Workspace *work, Device *dev);
/* The first slot of a stage. */
int workspace_slot(const Workspace *work, int stage);
/* Bytes that workspace_reserve allocates. */
size_t workspace_bytes(const Workspace *work, const Workspace *measured);

/* Opens a copy of the model, with the same stages, on the null device. Its passes compute nothing: they count FLOPs,
 * and its arenas, which have no memory, record how much the passes would need. */
Model *model_open_dry(const Model *model, bool gradients);
/* model_reserve with such a copy, which may be measured again with other arguments, also for a model of other slots. */
bool model_reserve_by(Model *dry, Model *model, int32_t max_samples, int32_t enc_len, int32_t dec_len,
                      const ModelLoss *loss, size_t *bytes, GError **error);
/* Closes such a copy. If `model` is not NULL, gpu.scratch of its device grows, if it is smaller, to the scratch memory
 * that the operations of the dry run would need. */
void model_close_dry(Model *dry, const Model *model);
