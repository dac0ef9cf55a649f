/* machine.h: what is assumed of the machines of a cluster, to predict the time of a step there (cost.h). */
#pragma once

#include "base/error.h"

#include <jansson.h>
#include <stdbool.h>

typedef struct Machine {
    char name[64];
    int per_node;        /* GPUs (or, without GPUs, processors) of a node; each is one rank */
    double memory_bytes; /* memory of one GPU (or processor) */
    double flops;        /* FLOP/s that one GPU reaches in the blocks of a large model */
    double copy_bytes;   /* bytes/s that one GPU reads and writes in its memory */
    double within,
        between;  /* bytes/s that one GPU sends within its node, and to other nodes, while all others send too */
    double watts; /* power of one GPU, with its share of the node */
    bool gpus;    /* the ranks compute on GPUs: batches, and copies of tensors to save, then need no GPU memory */
    bool fp16;    /* runs train in fp16, because these GPUs have no bf16 */
} Machine;

/* Fills in a machine: `name` is that of a preset, or a file that `loam bench comm --out` wrote, which has all fields
 * except watts. */
bool machine_find(Machine *machine, const char *name, GError **error);
/* "h200, h100, …": the names of the presets. g_free. */
char *machine_names(void);
/* "h100: nodes of 8 with 80 GB each; each computes 400 TFLOP/s, sends 380 GB/s within its node, 42 to others". g_free.
 */
char *machine_describe(const Machine *machine);

/* Writes a machine as the member "machine" of a measurement that `bench comm` prints. json_t *; json_decref. */
json_t *machine_to_json(const Machine *machine);
