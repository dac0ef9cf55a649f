/* machine.h: what is assumed of the machines of a cluster, to predict the time of a step there (cost.h). */
#pragma once

#include "run/config/config.h"

#include <jansson.h>
#include <stdbool.h>

typedef struct Machine {
    char name[64];
    int per_node;        /* GPUs (or, without GPUs, processors) of a node; each is one rank */
    double memory_bytes; /* memory of one GPU (or processor) */
    double flops;        /* FLOP/s that one GPU reaches in the blocks of a large model */
    double copy_bytes;   /* bytes/s that one GPU reads and writes in its memory */
    double within,
        between;     /* bytes/s that one GPU sends within its node, and to other nodes, while all others send too */
    double watts;    /* power of one GPU, with its share of the node; 0 means unknown */
    bool gpus;       /* the ranks compute on GPUs: batches, and copies of tensors to save, then need no GPU memory */
    bool bf16;       /* trains in bf16; false for GPUs that have only fp16 */
    double fp8;      /* rate of FP8 products as a multiple of `flops`; 0 means that the machine has no FP8 */
    double host;     /* of a GPU: bytes/s of copies to the memory of its host, and as many from it at the same time */
    double launch_s; /* of a GPU: seconds in which its host queues an operation; 0 for processors */
} Machine;

/* What is assumed of a GPU that was measured by `loam bench comm`, which does not measure these: the fields bf16, fp8
 * (0 unless has_fp8), host and launch_s. */
void machine_assume_gpu(Machine *machine, bool has_fp8);

/* Fills in a machine: `name` is that of a preset, in upper or lower case, or a file that `loam bench comm --out` wrote,
 * which has all fields except watts (0 then, unless somebody added them). Warns about a file that does not say whether
 * its ranks are GPUs. */
bool machine_find(Machine *machine, const char *name, GError **error);
/* "h200, h100, …": the names of the presets. g_free. */
char *machine_names(void);
/* "h100: nodes of 8 with 80 GB each; each computes 400 TFLOP/s, sends 380 GB/s within its node, 42 to others". g_free.
 */
char *machine_describe(const Machine *machine);

/* Makes a configuration one of a run on this machine: train.device becomes cuda or cpu, and train.precision=auto what
 * the machine trains in. Fails for a train.precision that the machine does not have. */
bool machine_configure(const Machine *machine, Config *config, GError **error);

/* Writes a machine, without its watts, as the member "machine" of a measurement that `bench comm` prints. json_t *;
 * json_decref. */
json_t *machine_to_json(const Machine *machine);
