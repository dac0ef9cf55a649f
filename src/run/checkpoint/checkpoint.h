/* checkpoint.h: saving and loading the state of a run. A checkpoint is a folder: safetensors files with the weights and
 * the optimizer state, and state.json (format version 1) with everything else, such as each file's size and xxh3-64
 * sum. For each tensor of a file state.json says which box (start, shape) of the whole parameter it holds. No time,
 * host name or path is stored, so equal states of as many ranks give equal bytes. A checkpoint is written to a
 * temporary folder, synced and renamed, so a folder that has its final name is complete. */
#pragma once

#include "model/model.h"
#include "param/loss_scale.h"
#include "param/optim.h"

/* Sums over the updates since the last log line. */
typedef struct UpdateSums {
    int64_t updates, tokens, samples;
    int64_t clipped; /* number of updates whose gradients were clipped */
    double norms;    /* sum of the norms of the gradients before clipping */
} UpdateSums;

#define CHECKPOINT_RECENT_LOSSES 1000 /* the most losses that train.spike_window means */

/* The counters of a run after `steps` steps, which state.json calls attempts. */
typedef struct TrainState {
    int64_t steps, updates;                 /* updates: the steps that changed the weights; a skipped step did not */
    int64_t samples, tokens, target_tokens; /* numbers read so far; `tokens` counts the encoder's tokens, or the
                                               decoder's in a decoder-only model */
    LossSums window; /* sums of the losses since the last log line, so that a resumed run logs the same means */
    int64_t window_steps;
    UpdateSums window_updates; /* counts fewer updates than window_steps after a resume from a checkpoint of an earlier
                                  version, which lacks these sums */
    double best_value; /* best value so far of the metric train.best, a held-out loss or a score; unused if best_step is
                          -1 */
    int64_t best_step; /* step of best_value; -1 means none */
    int64_t best_data; /* hash of train.best and of the held-out samples behind best_value; 0 means unknown */
    int64_t evaluated; /* step of the last evaluation; -1 means none */
    int64_t evaluation_left;    /* 1 means that the run was stopped before the evaluation of this step */
    int64_t tokens_by_capacity; /* 1 means that amounts in tokens count every sample as data.input_length tokens */
    int64_t data;               /* loader_fingerprint of the training set */
    LossScale loss_scale;       /* all 0 in a run that never trained in fp16 */
    int64_t stale;              /* evaluations since the best one */
    int64_t plateau;            /* evaluations since the best one or the last drop of the plateau schedule */
    int64_t drops;              /* times that the plateau schedule has lowered the learning rate */
    int64_t update_samples;     /* samples of all steps that made an update */
    int64_t skipped;            /* number of consecutive last steps whose loss or gradients were not finite */
    int64_t skipped_samples;    /* samples of `samples` that train.skip_samples left out */
    int64_t spike_step;         /* the last step with a loss spike; 0 means none */
    int64_t window_skipped, window_nan; /* since the last log line: steps without an update; steps whose loss was not
                                           finite */
    int64_t spike_losses;               /* number of losses in spike_recent */
    double spike_recent[CHECKPOINT_RECENT_LOSSES]; /* the losses of the last steps, the newest last, in which
                                                      train/services/spikes.c looks for spikes */
    int64_t run;      /* hash of the options, tokenizer and data that the run was started with, which all its
                         checkpoints have; 0 means unknown */
    int64_t init;     /* hash of the model of train.init that the run began with; 0 means none, or unknown */
    double trained_s; /* seconds that all commands of the run have trained, without evaluations, if the run counts them
                         (config_counts_time); else 0 */
    double lr;        /* learning rate of the last update, as the schedule gave it; -1 means unknown */
} TrainState;

/* The objects that checkpoint_save writes and that checkpoint_load fills. If parameters are sharded over ranks, every
 * rank calls the functions that save or load: it writes files of its part, and reads the parts that it holds. */
typedef struct Checkpoint {
    const ModelConfig *model;
    Comm *ranks; /* NULL means one rank */
    ParamStore *params;
    Optimizer *optimizer;       /* NULL means none: an imported model has weights only */
    Fp8Scales *fp8;             /* NULL means none; unchanged when loading a checkpoint without them */
    TrainState *state;          /* NULL means none */
    TokenRoles *roles;          /* NULL means none; unchanged when loading a checkpoint without token roles */
    const char *tokenizer_hash; /* saving only; NULL means unknown */
    json_t *options;            /* saving only, borrowed: what checkpoint_options reads; NULL means none */
} Checkpoint;

/* Saves to FOLDER. An existing one is replaced once the new one is complete; after an error it is still there. */
bool checkpoint_save(const char *folder, const Checkpoint *checkpoint, GError **error);
/* Saves the weights and token roles of a model, without optimizer and progress. */
bool checkpoint_save_weights(const char *folder, Model *model, GError **error);

/* The contents of a checkpoint that is written later. A snapshot owns its configuration, counters and token roles. It
 * reads the values of tensors from the ParamStore and the Optimizer while it is written, in parts of at most 16 MiB,
 * until snapshot_detach copies them; then it is valid while training goes on and after the model was closed. */
typedef struct Snapshot Snapshot;
/* Records what checkpoint_save would write now. The ParamStore and the Optimizer must outlive the snapshot unless it is
 * detached; checkpoint->ranks must outlive it in any case. */
Snapshot *snapshot_take(const Checkpoint *checkpoint);
/* Copies this rank's part of every tensor to host memory, as f32. */
void snapshot_detach(Snapshot *snapshot);
/* Writes the snapshot to FOLDER as checkpoint_save does; all ranks call it together. */
bool snapshot_write(const Snapshot *snapshot, const char *folder, GError **error);
void snapshot_free(Snapshot *snapshot);

/* Error domain, in place of LOAM_ERROR, for a checkpoint with a missing, truncated or corrupt file. It counts as a
 * user's error; the caller may use the previous checkpoint. */
#define CHECKPOINT_DAMAGED checkpoint_damaged_quark()
GQuark checkpoint_damaged_quark(void);

/* Fills params, optimizer, fp8, state and roles (each unless NULL) from FOLDER, which any number of ranks may have
 * written. Checksums are computed while tensors are loaded, so after an error of domain CHECKPOINT_DAMAGED the tensors
 * are partly overwritten. Each rank checks some of the files, and all return the same result. */
bool checkpoint_load(const char *folder, const Checkpoint *checkpoint, GError **error);
/* Reads only the counters. */
bool checkpoint_state(const char *folder, TrainState *state, GError **error);
/* The options that the run was trained with (config_record), as JSON strings by their names; of a checkpoint that lacks
 * them, those of its model. json_decref; NULL with an error. */
json_t *checkpoint_options(const char *folder, GError **error);
/* Checks the size and the checksum of every file. */
bool checkpoint_verify(const char *folder, GError **error);
/* Reads the model's configuration into zeroed memory (model_config_clear). tokenizer_hash may be NULL; g_free. */
bool checkpoint_config(const char *folder, ModelConfig *config, char **tokenizer_hash, GError **error);
