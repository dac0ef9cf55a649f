/* workspace.h: the arenas that activations lie in. They measure until memory is reserved: a dry run on the null device
 * tells what they need. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "device/device.h"

typedef struct Workspace {
    Arena *save; /* (n_slots) what the backward pass of one microbatch reads of its forward pass */
    int n_slots;
    Arena scratch;   /* temporaries of layers; empty between calls */
    Arena recompute; /* activations of the one block that runs forward again in the backward pass */
} Workspace;

void workspace_init(Workspace *work, int n_slots);
/* Gives each arena memory of the size of the peak of `measured`'s arena; every slot that of measured's slot 0. */
bool workspace_reserve(Workspace *work, Device *dev, const Workspace *measured, GError **error);
/* As workspace_reserve; an arena that is large enough keeps its memory. */
bool workspace_grow(Workspace *work, Device *dev, const Workspace *measured, GError **error);
void workspace_clear(Workspace *work, Device *dev);
/* Bytes that workspace_reserve takes. */
size_t workspace_bytes(const Workspace *work, const Workspace *measured);
