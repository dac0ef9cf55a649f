/* config.h: the whole configuration of a run: one struct a group, each with the option rows of the module that owns it.
 */
#pragma once

#include "base/amount.h"
#include "data/loader.h"
#include "model/config.h"
#include "param/optim.h"
#include "param/schedule.h"

typedef struct RunConfig {
    char *dir;
    int64_t seed;
} RunConfig;

typedef struct TokenizerConfig {
    char *path;
} TokenizerConfig;

typedef struct TrainConfig {
    Amount length, batch, micro_batch;
    Amount log_every, eval_every, save_every, save_within;
    int64_t eval_samples;          /* of the held-out set, drawn by hash (loader.h); 0: all */
    int64_t keep_last, keep_every; /* checkpoints kept: the newest ones, and those at multiples of keep_every steps */
    int precision, recompute;
    char *init;
    double label_smoothing, z_loss;
    int64_t threads;
} TrainConfig;

enum { RECOMPUTE_NONE, RECOMPUTE_BLOCK };

typedef struct Config {
    RunConfig run;
    ModelConfig model;
    TokenizerConfig tokenizer;
    DataConfig data;
    TrainConfig train;
    OptimConfig optim;
} Config;

const OptionTable *config_options(void);

/* The file (path may be NULL) and the overrides ("group.key=value") after what comes before them (resolve.h), checked
 * across fields. config is zeroed memory; to be cleared with config_clear whatever the result. */
bool config_load(Config *config, const char *path, char **overrides, int n_overrides, GError **error);
bool config_check(const Config *config, GError **error);
/* The objective in the form that suits this model; config_load takes the model of the configuration. */
void config_fit_model(Config *config, const ModelConfig *model);
/* The streams that the objective fills are those that the model has. */
bool config_check_objective(const DataConfig *data, const ModelConfig *model, GError **error);
void config_clear(Config *config);

/* The tokenizer of tokenizer.path. A model with an encoder that has neither sentinels nor a mask in it gets sentinels
 * on top, unless model.vocab leaves no room for them. */
Tokenizer *config_open_tokenizer(const Config *config, GError **error);
/* model.vocab: auto becomes the tokenizer's size rounded up to 128; a number must hold the tokenizer's ids. tok NULL:
 * there is none to ask, which is an error where the option is auto. */
bool config_resolve_vocab(Config *config, const Tokenizer *tok, GError **error);
int64_t config_batch_samples(const Config *config);
int64_t config_micro_samples(const Config *config);
/* An amount of samples, tokens or epochs in samples, as if every row were full; -1 for steps and times. */
int64_t config_samples(const Config *config, Amount amount, int64_t epoch_samples);
/* Steps that a percentage of `total` steps is, rounded up. */
int64_t config_share(Amount amount, int64_t total);
/* An amount in steps of this configuration; epoch_samples: of the training set, for epochs. Times are -1: they have no
 * steps. */
int64_t config_steps(const Config *config, Amount amount, int64_t epoch_samples);
/* An amount in tokens, or a share of a length in tokens; 0 for others. */
double config_tokens(const Config *config, Amount amount);
/* The rate of every update; epoch_samples as above. count_tokens: amounts in tokens are compared with the tokens read,
 * otherwise they are turned into steps as config_steps does. */
Schedule config_schedule(const Config *config, int64_t epoch_samples, bool count_tokens);
