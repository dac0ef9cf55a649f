/* checkpoint.h: a checkpoint is a folder of safetensors shards and state.json (format version 1). Every shard's size
 * and xxh3 are in state.json, as is the box (start, shape) of the logical tensor that each entry holds; nothing in it
 * names a clock, a host or a path, so equal states are equal bytes. Written to tmp-*, synced, renamed: what has its
 * name is whole. */
#pragma once

#include "model/model.h"
#include "param/optim.h"

/* Where a run stands after `attempts` steps. */
typedef struct TrainState {
    int64_t attempts, updates; /* a skipped step is an attempt, not an update */
    int64_t samples, tokens, target_tokens;
    LossSums window; /* since the last log line: log lines do not depend on where a run was cut */
    int64_t window_steps;
    double best_loss; /* lowest held-out loss so far; 0 with best_step -1: none */
    int64_t best_step;
    int64_t best_data;          /* which held-out samples best_loss is of, as a hash; 0: not known */
    int64_t evaluated;          /* step of the last evaluation; -1: none */
    int64_t evaluation_left;    /* 1: a stop left no time for the evaluation of this step */
    int64_t tokens_by_capacity; /* 1: amounts in tokens are steps of full rows, however many tokens the rows hold */
    int64_t data;               /* loader_fingerprint of the training set */
} TrainState;

/* Everything a checkpoint holds. optimizer and state may be NULL: weights alone (an imported model). */
typedef struct Checkpoint {
    const ModelConfig *model;
    ParamStore *params;
    Optimizer *optimizer;
    TrainState *state;
    TokenRoles *roles;          /* may be NULL; loading: initialized, left as they are where FOLDER has none */
    const char *tokenizer_hash; /* may be NULL */
    bool verified;              /* loading: checkpoint_verify found it sound just now, its files are not hashed again */
} Checkpoint;

/* Writes FOLDER. One of the same name is replaced when the new one is whole; until then, and on failure, it stays. */
bool checkpoint_save(const char *folder, const Checkpoint *checkpoint, GError **error);
/* Weights alone. */
bool checkpoint_save_weights(const char *folder, Model *model, GError **error);
/* Fills params, optimizer, state and roles (each unless NULL) from FOLDER; shapes must agree. */
bool checkpoint_load(const char *folder, const Checkpoint *checkpoint, GError **error);
/* Sizes and checksums of every file. */
bool checkpoint_verify(const char *folder, GError **error);
/* The model's shape; config is zeroed memory, to be cleared with checkpoint_clear_config. *tokenizer_hash may be NULL.
 */
bool checkpoint_config(const char *folder, ModelConfig *config, char **tokenizer_hash, GError **error);
void checkpoint_clear_config(ModelConfig *config);
