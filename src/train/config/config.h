/* config.h: the configuration of a run: one struct for each group of options ("run", "model", "tokenizer", "data",
 * "task", "train", "optim", "fp16", "fp8", "parallel"). The option rows of a group stand with the module that owns its
 * struct. */
#pragma once

#include "base/amount.h"
#include "data/loader.h"
#include "data/task/task.h"
#include "device/device.h"
#include "model/config/config.h"
#include "model/model.h"
#include "param/fp8.h"
#include "param/loss_scale.h"
#include "param/optim.h"

typedef struct RunConfig {
    char *dir; /* run directory (train/run_dir.h) */
    int64_t seed;
} RunConfig;

typedef struct TokenizerConfig {
    char *path;
    int64_t sentinels; /* sentinels that a tokenizer without any gets, where the model needs them */
} TokenizerConfig;

typedef struct TrainConfig {
    Amount length, batch, micro_batch;
    Amount log_every, eval_every, save_every, save_within; /* periods; save_within: longest time between checkpoints */
    int64_t eval_samples; /* samples of each held-out set, and examples of the task, in an evaluation; 0 means all */
    char *best;           /* "loss", or the name of a figure of the task's scores (eval/task_scores.h) */
    int64_t patience;     /* evaluations without a better `best` that end the run; 0 means none do */
    bool scores;          /* evaluations answer the task's examples */
    int64_t keep_last, keep_every; /* checkpoints that are kept: the newest ones, and multiples of keep_every steps */
    int precision, recompute;      /* PRECISION_*, RECOMPUTE_* */
    bool f32_residual, f32_gradients; /* under bf16, fp16 and fp8; config_precision */
    bool tf32;                        /* of products of f32 on GPUs */
    char *init;                       /* path of a model whose weights training starts from; "" means random weights */
    char *freeze; /* patterns of names of parameters that are not trained, separated by commas; "" means none */
    double label_smoothing, z_loss;
    char *class_weights; /* factors of classes, separated by commas, or "balanced"; "" means 1 */
    int64_t threads;     /* compute threads; 0 means one per core */
    char *device;        /* name of train/compute_device.h */
    bool fairseq_log;    /* write train_inner.jsonl too, fairseq's form of the log lines */
} TrainConfig;

enum { PRECISION_AUTO, PRECISION_F32, PRECISION_BF16, PRECISION_FP16, PRECISION_FP8 };
enum { RECOMPUTE_NONE, RECOMPUTE_BLOCK };

/* How a model is spread over ranks (comm/comm.h). */
typedef struct ParallelConfig {
    int64_t ranks;  /* ranks that are threads of this process; 0 means as many as a launcher started, else one */
    Amount timeout; /* longest wait for another rank */
} ParallelConfig;

typedef struct Config {
    RunConfig run;
    ModelConfig model;
    TokenizerConfig tokenizer;
    DataConfig data;
    TaskConfig task;
    TrainConfig train;
    OptimConfig optim;
    LossScaleConfig loss_scale;
    Fp8Config fp8;
    ParallelConfig parallel;
    char **given; /* names of the options that a person set: in a configuration file or on the command line */
} Config;

/* The option table of Config, all groups. */
const OptionTable *config_options(void);
/* Names of the options whose default depends on the model's family and size, and on the optimizer (docs/defaults.md);
 * ends with NULL. */
extern const char *const recipe_options[];

/* ---- loading ---- */

/* Reads the YAML file PATH (NULL means none) and then the overrides ("group.key=value"), fills in defaults and checks
 * the result. config is zeroed memory; config_clear frees it, also after an error. */
bool config_load(Config *config, const char *path, char **overrides, int n_overrides, GError **error);
/* config_load, where PATH is a configuration file, a run directory, or the config.yaml in one. For a run directory
 * run.dir is the directory as PATH names it, and tokenizer.path the run's own copy, unless an override sets them. */
bool config_load_run(Config *config, const char *path, char **overrides, int n_overrides, GError **error);
void config_clear(Config *config);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Config, config_clear)
/* Checks rules that involve several options. */
bool config_check(const Config *config, GError **error);
/* An error unless the objective fills the streams (encoder, decoder) that the model has. */
bool config_check_objective(const DataConfig *data, const ModelConfig *model, GError **error);
/* Sets the fields of config->data that follow from the model. config_load does it with the configured model; a caller
 * that opened another model does it again. */
void config_fit_model(Config *config, const ModelConfig *model);
/* How the examples of a task become token ids for this model; all but the lengths of `config` must outlive it. */
TaskEncoder config_task_encoder(const Config *config, const ModelConfig *model, const Task *task, const Tokenizer *tok);
/* For a task that overrides give to a run of no task (`loam eval RUN --task task.name=rte`): the run has no length of
 * targets and an input length of its own objective, so both become the task's, as in training, unless the overrides
 * give them. */
void config_fit_task(Config *config, char **overrides, int n_overrides);

/* ---- the run directory's config.yaml ---- */

/* Compares the configuration with RUN/config.yaml, if there is one. An option of class IDENTITY that differs is an
 * error; paths of datasets may differ. Every other difference is logged, and appended to `changes` (char *, g_free). */
bool config_check_run(const Config *config, GPtrArray *changes, GError **error);
/* Writes RUN/config.yaml, with absolute paths, and copies the tokenizer into the run directory. */
bool config_save_run(const Config *config, const Tokenizer *tok, GError **error);

/* ---- precision ---- */

extern const char *const precision_names[]; /* "auto", "f32", …, NULL: the values of train.precision */
/* Replaces train.precision = auto by the precision saved in RUN/config.yaml or, for a new run, by bf16 on a GPU
 * and where the processor multiplies it faster (device_cpu_bf16), else f32. An error for fp8 on a GPU without it. */
bool config_resolve_precision(Config *config, GError **error);
/* The dtypes of train.precision, train.f32_residual and train.f32_gradients, and the recipe of FP8; auto counts as for
 * a new run. */
Precision config_precision(const Config *config);
/* The dtypes of a precision by its name, for models that are not trained, on this device (compute_device.h). An error
 * names `option`. */
bool precision_of_name(const char *name, const char *option, const char *device, Precision *precision, GError **error);
/* The dtypes that RUN/config.yaml, written by config_save_run, says. */
bool precision_of_run(const char *run, Precision *precision, GError **error);
/* "bf16", or "bf16, residual bf16, gradients bf16" where these are not f32; "fp8 and bf16". g_free. */
char *precision_describe(Precision precision);

/* ---- tokenizer and vocabulary ---- */

/* Opens tokenizer.path. For a model with an encoder, a tokenizer that has neither sentinels nor a mask token gets
 * sentinels added, unless model.vocab is too small for them. */
Tokenizer *config_open_tokenizer(const Config *config, GError **error);
/* Replaces model.vocab = auto by the tokenizer's size rounded up to a multiple of model.vocab_multiple; checks that a
 * given number holds all ids of the tokenizer. tok may be NULL unless model.vocab is auto. */
bool config_resolve_vocab(Config *config, const Tokenizer *tok, GError **error);
/* An error where the tokenizer lacks a special token that the objective needs. Warns about special tokens that another
 * token stands in for, and about tokens that the exported model will lack. */
bool config_check_tokens(const Config *config, const Tokenizer *tok, GError **error);

/* ---- amounts ---- */

int64_t config_batch_samples(const Config *config); /* samples of an optimizer step */
int64_t config_micro_samples(const Config *config); /* samples of a microbatch */
/* An amount of samples, tokens or epochs in samples, each sample counted as data.input_length tokens; -1 for steps and
 * times. epoch_samples: samples of an epoch of the training set. */
int64_t config_samples(const Config *config, Amount amount, int64_t epoch_samples);
/* A percentage of `total` steps in steps, rounded up. */
int64_t config_share(Amount amount, int64_t total);
/* An amount in steps; -1 for times. */
int64_t config_steps(const Config *config, Amount amount, int64_t epoch_samples);
/* An amount of tokens, or a percentage of a train.length in tokens, in tokens; 0 for every other amount. */
double config_tokens(const Config *config, Amount amount);
/* The loss of a training step; its n_targets are counted by loss_count. */
ModelLoss config_loss(const Config *config);
/* Most tokens of an answer that evaluations write. */
int64_t config_answer_length(const Config *config);
/* model_set_answers, where evaluations of the run write answers to the held-out examples of tasks. */
void config_set_answers(const Config *config, Model *model);
/* Opens the model of the configuration for training, without gradients of the parameters of train.freeze. A pattern
 * that names no parameter is an error. */
Model *config_open_model(const Config *config, Device *dev, GError **error);
/* train.class_weights as numbers, one a class of the model; NULL means none, or that they follow from the data
 * (config_balances_classes), or with *error set that they are no such numbers. g_free. */
float *config_class_weights(const Config *config, GError **error);
/* Whether train.class_weights is "balanced" (train/class_weights.h). */
bool config_balances_classes(const Config *config);
/* The learning-rate schedule. count_tokens: amounts in tokens are compared with the tokens that were read; otherwise
 * config_steps turns them into steps. */
Schedule config_schedule(const Config *config, int64_t epoch_samples, bool count_tokens);
/* Warns about settings that are allowed but probably not intended. warmup: warm-up in steps; total: steps of the run,
 * -1 means unknown; epoch_samples: samples of an epoch of the training set, 0 means unknown. */
void config_advise(const Config *config, int64_t warmup, int64_t total, int64_t epoch_samples);
/* Warns about options that were set to another value than their default (Config.given), and that do nothing because of
 * the value of another option. */
void config_advise_idle(const Config *config);
