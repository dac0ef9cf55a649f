/* config.h: the configuration of a run: one struct for each group of options ("run", "model", "tokenizer", "data",
 * "task", "train", "optim", "fp16", "fp8", "parallel", "hooks", "log"); the group "lora" is part of ModelConfig, and
 * settings of an objective are part of DataConfig. The module that owns a struct defines its option rows; for the
 * structs of this file that is run/config/options.c. */
#pragma once

#include "data/loader.h"
#include "data/task/task.h"
#include "model/pipeline/pipeline.h"
#include "param/loss_scale.h"
#include "param/optim.h"

#include <jansson.h>

typedef struct RunConfig {
    char *dir; /* run directory (run/run_dir.h) */
    int64_t seed;
} RunConfig;

typedef struct TokenizerConfig {
    char *path;
    char *blanks;      /* see tokenizer_set_blanks; "" means as the tokenizer's folder says */
    int64_t sentinels; /* number of sentinels added to a tokenizer without any, if the model needs them */
} TokenizerConfig;

/* The options of each group, in the words of their help (options.c): comments here only say how a value is stored. */
typedef struct TrainConfig {
    Amount length, batch, micro_batch;
    char *batch_rampup, *batch_schedule; /* the texts of BatchSchedule */
    Amount log_every, eval_every, save_every, save_within;
    char *save_phases; /* text that config_save_phases reads */
    Amount stop_at, stop_after, exit_every;
    char *stop_date, *stop_file;
    char *skip_samples; /* text that config_skip_ranges reads */
    double spike;
    int64_t spike_window, spike_after;
    int spike_action; /* SPIKE_* */
    int64_t eval_samples;
    char *best; /* "loss", or the name of a metric of the task's scores (eval/task_scores.h) */
    int64_t patience;
    bool scores;
    int64_t keep_best, keep_last, keep_every;
    int precision, recompute; /* PRECISION_*, RECOMPUTE_* */
    bool f32_residual, f32_gradients, tf32;
    char *init, *freeze;
    double label_smoothing, z_loss;
    char *class_weights;
    int64_t threads;
    char *device; /* see compute_device_check */
    bool save_async, report, fairseq_log;
} TrainConfig;

/* The most ranks of a run. */
enum { CONFIG_MOST_RANKS = 1024 };

enum { PRECISION_AUTO, PRECISION_F32, PRECISION_BF16, PRECISION_FP16, PRECISION_FP8 };
/* At a loss spike: log it; also keep checkpoints from before and after it; also skip the update. */
enum { SPIKE_REPORT, SPIKE_SAVE, SPIKE_SKIP };
enum { RECOMPUTE_NONE, RECOMPUTE_BLOCK };

/* How ranks train one model together (comm/comm.h). */
typedef struct ParallelConfig {
    int64_t ranks;
    Amount timeout;
    int64_t tensor, context, pipeline; /* sizes of the groups of comm/mesh.h */
    bool sequence;                     /* nn/rows.h */
    int64_t interleave;
    char *cuts; /* text that pipeline_cuts reads */
    int zero;   /* ZeroLevel (param/shard.h) */
    int64_t check_every;
    const Mesh *mesh; /* not an option: the groups of ranks of a run; NULL means no communication: memory is planned for
                         one of `ranks` */
    int stage;        /* not an option: without a mesh, the rank of the pipeline that memory is planned for */
} ParallelConfig;

/* Commands that run beside training (train/services/hooks.c); "" means none. */
typedef struct HooksConfig {
    char *on_save, *on_best, *on_stop, *on_alert;
    Amount timeout;
    int64_t retries;
} HooksConfig;

enum { LOG_LOAM, LOG_FAIRSEQ, LOG_MEGATRON };
enum { NORMS_NONE, NORMS_MODEL, NORMS_LAYERS };
/* What a run writes about itself beside metrics.jsonl and TensorBoard's files. */
typedef struct LogConfig {
    int format; /* LOG_* */
    bool megatron_series;
    int norms; /* NORMS_* */
    int64_t samples;
    char *mlflow, *mlflow_experiment;
    bool emissions;
    double cpu_watts, ram_watts, carbon_intensity, pue; /* see EnergySources and EmissionsInfo */
    char *country;
} LogConfig;

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
    HooksConfig hooks;
    LogConfig log;
    int64_t most_target;  /* no option: length of the task's targets if nobody set data.target_length, which then shares
                             data.input_length with the input (config_fit_lengths); 0 means that it is set */
    int64_t preset_vocab; /* no option: vocabulary of model.preset if nothing else sets model.vocab, which then follows
                             the tokenizer (config_resolve); 0 means that it is set, or resolved */
    char **given;         /* names of the options set in a configuration file or on the command line; ends with NULL */
} Config;

/* The option table of Config: the options of all groups. */
const OptionTable *config_options(void);
/* Option names of other programs, such as "learning_rate", so that the error for an unknown option can suggest loam's
 * name, optim.lr; ends with foreign NULL. */
extern const OptionForeignName config_foreign_names[];
/* Options whose default depends on the model's family and size or on the optimizer (docs/defaults.md), then NULL. */
extern const char *const recipe_options[];

/* An option with another value than before, and both as text. */
typedef struct ConfigChange {
    const OptionRow *row;
    char *was, *is;
    bool moved; /* data.train: the same datasets by other paths */
} ConfigChange;
/* A list of ConfigChange *, which it owns; config_changes_add takes the texts. */
GPtrArray *config_changes_new(void);
void config_changes_add(GPtrArray *changes, const OptionRow *row, char *was, char *is);
/* The options of a run's config.yaml that differ from what they would be by default (`was`), run.dir excepted: a list
 * of changes in the order of the table. Defaults that depend on the model or the optimizer are those for the run's own.
 * No other file is read. */
GPtrArray *config_differences(const char *path, GError **error);

/* ---- loading ---- */

/* Reads the YAML file PATH (NULL means none) and then the overrides ("group.key=value"), fills in defaults and checks
 * the result (stages: docs/architecture/train.md). config is zeroed; config_clear frees it, also after an error. */
bool config_load(Config *config, const char *path, char **overrides, int n_overrides, GError **error);
/* The stages after config_load for a run: opens *tok and sets what depends on it, which is model.vocab, lengths of a
 * task and train.precision. Fails unless objective, tokenizer and model fit. */
bool config_resolve(Config *config, Tokenizer **tok, GError **error);
/* As config_load, but PATH may also be a run directory or the config.yaml in it. run.dir is then that directory and
 * tokenizer.path the copy in it, unless overrides set them. */
bool config_load_run(Config *config, const char *path, char **overrides, int n_overrides, GError **error);
/* Whether the overrides have one of this option. */
bool config_is_given(char **overrides, int n, const char *name);
void config_clear(Config *config);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Config, config_clear)
/* Checks rules that involve several options. */
bool config_check(const Config *config, GError **error);
/* Fails unless run.dir, tokenizer.path, and data.train or a task are set, and a positive label for the scores that the
 * run computes: a run needs them, and `loam plan` does not. */
bool config_check_inputs(const Config *config, GError **error);
/* Fails unless the objective provides tokens for exactly the stacks (encoder, decoder) that the model has. */
bool config_check_objective(const DataConfig *data, const ModelConfig *model, GError **error);
/* Sets the fields of config->data that depend on the model. config_load calls it with the configured model; a caller
 * that opened another model must call it again. */
void config_fit_model(Config *config, const ModelConfig *model);
/* The settings for encoding examples of a task as token ids for this model. The arguments must outlive the TaskEncoder,
 * except that the lengths in `config` are copied. */
TaskEncoder config_task_encoder(const Config *config, const ModelConfig *model, const Task *task, const Tokenizer *tok);
/* Sets data.input_length and data.target_length to the task's, unless the overrides set them: for a task that overrides
 * add to a run without a task (`loam eval RUN --task task.name=rte`), whose lengths are those of its pre-training
 * objective. Not if the overrides ask for an objective on text. */
void config_fit_task(Config *config, char **overrides, int n_overrides);

/* For a decoder-only model that learns to write answers, whose data.target_length nobody set: bounds it by half of
 * data.input_length, which holds input and target. */
void config_share_length(Config *config);
/* After config_share_length: sets data.target_length to what the longest input of the task's table leaves of
 * data.input_length, up to the task's own length. If that is too little for the longest target, the target gets what it
 * needs, up to half. Does nothing for other models, or without a table. */
bool config_fit_lengths(Config *config, const Tokenizer *tok, GError **error);

/* ---- the run directory's config.yaml ---- */

/* Whether an option, by its name, decides what is learnt: those that checkpoints hold, and train.skip_samples. */
bool config_is_learning(const char *name);
/* The options that checkpoints hold, as JSON strings by name: class IDENTITY, and those of class LEARNING.
 * Paths are left out: equal runs give equal bytes on any host. json_decref. */
json_t *config_record(const Config *config);
/* The options in which the configuration differs from a record (`was`): a list of changes. Options that the record, of
 * an earlier version, lacks are not compared. origin: for errors. NULL on an error. */
GPtrArray *config_record_changes(const Config *config, const json_t *record, const char *origin, GError **error);
/* Datasets (data.train) without their paths, "PATH:0.7,PATH:0.3": the weights, and the parts of a split. g_free. */
char *config_shape_of_sources(const char *sources);

/* The options that a run was trained with, as its newest checkpoint records them. */
typedef struct RunRecord {
    char *folder;    /* of this checkpoint; NULL means that the run has none */
    json_t *options; /* of config_record */
} RunRecord;
/* Reads the record of the newest checkpoint whose state.json is valid. config_record_clear frees it. */
RunRecord config_record_of_run(const char *dir);
void config_record_clear(RunRecord *record);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RunRecord, config_record_clear)

/* The file with the configuration of the run's last start: unlike config.yaml, nobody edits RUN/started.yaml. It is
 * config.yaml if an earlier version started the run. g_free. */
char *config_of_last_start(const char *dir);
/* If RUN/config.yaml exists, compares the configuration with that of the run's last start; then with the checkpoint's
 * record. It is an error if an option of class IDENTITY differs, except data.train if it names the same datasets by
 * other paths. This, and a difference in an option of OPT_LOGGED, is logged and appended to `changes` (char *,
 * g_free). */
bool config_check_run(const Config *config, const RunRecord *record, GPtrArray *changes, GError **error);
/* With optim.on_change=keep, sets the options of the learning rate and of weight decay to the values of the run's
 * last start and to those of the record; with refuse it is an error if one of them differs. */
bool config_settle_schedule(Config *config, const RunRecord *record, GError **error);
/* Reads the options `names` (ends with NULL) from RUN/config.yaml into *saved, zeroed memory that config_clear frees;
 * the others get their defaults. */
bool config_read_saved(Config *saved, const char *run, const char *const *names, GError **error);
/* Fails if `prefix` is the dataset of its task's examples that a run keeps in RUN/task, and this is gone. advice: what
 * to do instead. */
bool config_check_kept(const Config *config, const char *prefix, const char *advice, GError **error);
/* Writes RUN/config.yaml, with absolute paths, and its copy RUN/started.yaml, and copies the tokenizer into the run
 * directory. */
bool config_save_run(const Config *config, const Tokenizer *tok, GError **error);

/* ---- several ranks ---- */

/* Neighbouring tensor-parallel ranks with the same kv heads; 1 unless parallel.tensor exceeds model.kv_heads. */
int config_key_copies(const Config *config);
/* The groups of ranks that parallel.tensor, parallel.context and parallel.pipeline ask for. */
MeshShape config_mesh(const Config *config);
/* Fails unless `ranks` ranks, at most CONFIG_MOST_RANKS, can be arranged as config_mesh says and can divide the model
 * in this way; the message proposes the nearest value that would do. */
bool config_check_layout(const Config *config, int ranks, GError **error);
/* The numbers of microbatches that a rank may have in a step: *n of them; NULL and 0 mean any number. g_free. */
int *config_microbatches(const Config *config, int *n);
/* The tokens of a full packed sequence of the configured objective. */
StageTokens config_stage_tokens(const Config *config);
/* Pipeline.ends, the end of each stage as a number of blocks: config_equal_stages for stages of about equal work;
 * config_stage_ends as parallel.cuts says, or if unset a copy of `equal`, from config_equal_stages. g_free. */
int *config_equal_stages(const Config *config);
int *config_stage_ends(const Config *config, const int *equal, GError **error);

/* ---- precision ---- */

extern const char *const precision_names[]; /* "auto", "f32", …, NULL: the values of train.precision */
/* Replaces train.precision = auto by the precision saved in RUN/config.yaml or, for a new run, by bf16 on a GPU or on a
 * processor with fast bf16 products (device_cpu_bf16), else f32. Fails if it is fp8 and the GPU does not support it. */
bool config_resolve_precision(Config *config, GError **error);
/* The dtypes that train.precision, train.f32_residual and train.f32_gradients select, and the FP8 recipe.
 * train.precision = auto is resolved as for a new run. */
Precision config_precision(const Config *config);
/* The dtypes for a precision's name ("bf16"), for models that are not trained, on a device named as in
 * compute_device_check. An error message names --precision. */
bool precision_of_name(const char *name, const char *device, Precision *precision, GError **error);
/* The dtypes according to RUN/config.yaml, as config_save_run wrote it. */
bool precision_of_run(const char *run, Precision *precision, GError **error);
/* A text: "bf16"; "bf16, residual bf16, gradients bf16" if these are not f32; "f32 as tf32"; "fp8 and bf16". g_free. */
char *precision_describe(Precision precision);

/* ---- tokenizer and vocabulary ---- */

/* Opens tokenizer.path. For a model with an encoder, a tokenizer that has neither sentinels nor a mask token gets
 * sentinels added, unless model.vocab is too small for them. */
Tokenizer *config_open_tokenizer(const Config *config, GError **error);
/* For a plan: opens the tokenizer, if tokenizer.path names one, and sets model.vocab as config_resolve does. If it
 * cannot be opened and model.vocab does not need it, *tok stays NULL, and *unread is the reason (NULL means none). */
bool config_plan_vocab(Config *config, Tokenizer **tok, GError **unread, GError **error);
/* Fails if the tokenizer lacks a special token that the objective needs. Warns about special tokens for which another
 * token is used, and about tokens that the exported model will lack. */
bool config_check_tokens(const Config *config, const Tokenizer *tok, GError **error);

/* ---- batches ---- */

#define BATCH_STAGES 32
typedef struct BatchStage {
    int64_t from, samples; /* a step has `samples` samples once the run has read `from` samples, or tokens with
                              BatchSchedule.in_tokens */
} BatchStage;

/* The samples of each step, as a function of the samples and tokens read before it: a constant, a ramp-up or stages. */
typedef struct BatchSchedule {
    int64_t smallest, largest;      /* smallest and largest number of samples of a step in this run */
    int64_t start, increment, ramp; /* ramp-up: first batch, increment, samples over which it grows to `largest`; ramp 0
                                       means none */
    BatchStage stages[BATCH_STAGES];
    int n;                /* number of stages; 0 means none */
    bool in_tokens;       /* stages begin at tokens read, not at samples */
    int64_t input_length; /* tokens of a sample, for estimates */
} BatchSchedule;

/* The schedule that train.batch, train.batch_rampup and train.batch_schedule give. count_tokens: stages in tokens count
 * the tokens read; otherwise every sample counts as data.input_length tokens. The formula of the ramp-up is that of
 * Megatron-LM's --rampup-batch-size. */
bool config_batch_schedule(const Config *config, bool count_tokens, BatchSchedule *batches, GError **error);
bool batch_varies(const BatchSchedule *batches);
/* Number i = 0, 1, … of the batch sizes that a run may have, in samples; 0 means that there are no more. */
int64_t batch_listed(const BatchSchedule *batches, int64_t i);
/* Samples of the next step of a run that has read `samples` samples and `tokens` tokens. */
int64_t batch_at(const BatchSchedule *batches, int64_t samples, int64_t tokens);
/* The same for a run whose samples hold data.input_length tokens each. */
int64_t batch_after(const BatchSchedule *batches, int64_t samples);
/* Next steps of that run, at least 1, with as many samples as the next one if none are skipped; INT64_MAX: all. */
int64_t batch_lasts(const BatchSchedule *batches, int64_t samples, int64_t tokens);
/* Fails unless each of `data` data-parallel ranks has a sample of every step of a run that has read `samples` samples
 * and `tokens` tokens: of its next step, which is the smallest one left of a ramp-up, or of the smallest stage. */
bool batch_check_ranks(const BatchSchedule *batches, int64_t samples, int64_t tokens, int64_t data, GError **error);
/* Number of steps that take a run from `first` samples read to at least `end`. whole: without the last step if it reads
 * beyond `end`. This and the next two are exact unless stages are in tokens; then a sample has input_length tokens. */
int64_t batch_steps(const BatchSchedule *batches, int64_t first, int64_t end, bool whole);
/* Samples that a run has read `steps` steps after it had read `first`. The count stops once it reaches 10^18. */
int64_t batch_samples(const BatchSchedule *batches, int64_t first, int64_t steps);
/* Number of steps before the first step with the final batch size. */
int64_t batch_last_change(const BatchSchedule *batches);

/* ---- saves and stops ---- */

#define SAVE_PHASES 16
/* Until `until` (steps, samples, tokens or epochs; 0 means the end of the run) every multiple of `every` is saved. */
typedef struct SavePhase {
    Amount until, every;
} SavePhase;
/* Reads train.save_phases. *n: number of phases. */
bool config_save_phases(const Config *config, SavePhase phases[SAVE_PHASES], int *n, GError **error);
/* Reads train.stop_date, in local time unless it names a zone: Unix seconds; 0 means that it is not set. */
bool config_stop_date(const Config *config, double *unix_s, GError **error);
#define SKIP_RANGES 64
typedef struct SkipRange {
    int64_t first, end; /* samples [first, end) are not trained on */
} SkipRange;
/* Reads train.skip_samples. *n: number of ranges. */
bool config_skip_ranges(const Config *config, SkipRange ranges[SKIP_RANGES], int *n, GError **error);
/* Warns of ranges of train.skip_samples that begin before `samples`, where the run goes on, unless `former`, its value
 * at the start before, has them: what was read there stays learnt. */
void config_advise_skips(const Config *config, const char *former, int64_t samples);
/* The first sample of the next step of a run that has read up to sample `samples` and `tokens` tokens: that sample or,
 * if the step would then read any of a range, the end of that range, from which this function is to be called again. */
int64_t config_skip_range(const SkipRange *ranges, int n, const BatchSchedule *batches, int64_t samples,
                          int64_t tokens);
/* Checks the options of saves, stops and skipped samples. */
bool config_check_run_control(const Config *config, GError **error);
/* Warns of a train.length of 0, a past train.stop_date, overlapping train.skip_samples and an unknown log.country. */
void config_advise_run_control(const Config *config);

/* ---- amounts ---- */

int64_t config_batch_samples(const Config *config); /* samples of the largest step */
/* Samples per microbatch. If train.micro_batch is auto, its default; micro_batch_choose replaces auto by a number. */
int64_t config_micro_samples(const Config *config);
bool config_micro_is_auto(const Config *config); /* whether train.micro_batch is auto */
/* Most input tokens of a microbatch: indices of tokens are 32 bits wide, and targets may be longer than inputs. */
enum { CONFIG_MICRO_TOKENS = 1 << 28 };
/* Number of ranks that train together. Before they are started: parallel.ranks or, if that is 0, the product
 * of parallel.tensor, parallel.context and parallel.pipeline. */
int config_ranks(const Config *config);
int config_data_ranks(const Config *config);       /* ranks that have different samples */
int64_t config_rank_samples(const Config *config); /* most samples per step that one rank has */
/* Converts an amount of samples, tokens or epochs to samples, counting each sample as data.input_length tokens; -1 for
 * an amount in steps, time or percent. epoch_samples: samples in an epoch of the training set. */
int64_t config_samples(const Config *config, Amount amount, int64_t epoch_samples);
/* Converts a percentage of `total` steps to steps, rounded up. */
int64_t config_share(Amount amount, int64_t total);
/* Converts an amount to steps, a percentage as one of train.length; -1 for an amount of time. */
int64_t config_steps(const Config *config, Amount amount, int64_t epoch_samples);
/* The steps of train.length, from the first one; -1 for a time. */
int64_t config_length_steps(const Config *config, int64_t epoch_samples);
/* Converts an amount of tokens, or a percentage of a train.length in tokens, to tokens; 0 for every other amount. */
double config_tokens(const Config *config, Amount amount);
/* The ModelLoss (label smoothing, z-loss, …) for training; the caller then sets its n_targets with loss_count. */
ModelLoss config_loss(const Config *config);
/* Largest number of tokens of an answer that an evaluation generates. */
int64_t config_answer_length(const Config *config);
/* Calls model_set_counts for a model of this configuration with another train.micro_batch. */
void config_set_slots(const Config *config, Model *model);
/* Opens the configured model for training and freezes train.freeze's parameters. Fails if a pattern matches none. */
Model *config_open_model(const Config *config, Device *dev, GError **error);
/* Parses train.class_weights: one number per class of the model. Returns NULL if it is empty or "balanced"
 * (config_balances_classes), and NULL with an error if it is invalid. g_free. */
float *config_class_weights(const Config *config, GError **error);
/* Whether train.class_weights is "balanced". */
bool config_balances_classes(const Config *config);
/* Whether the batch changes during the run: then amounts in samples are counted in samples, else in steps. */
bool config_batch_varies(const Config *config);
/* Whether a last step that would read more samples than train.length is left out, as by Megatron-LM's ramp-up. */
bool config_drops_rest(const Config *config);
/* Whether the run counts its seconds of training (TrainState.trained_s): its length or its period of evaluations is a
 * time, which goes on with the next command. */
bool config_counts_time(const Config *config);
/* Converts an amount to tokens, samples or steps, whichever the run compares with its counters: to tokens with
 * count_tokens, if the amount is in tokens or a percentage of a train.length in tokens; to samples if the batch varies,
 * unless it is in steps or a percentage of a train.length in steps; otherwise to steps. */
RunSpan config_span(const Config *config, Amount amount, int64_t epoch_samples, bool count_tokens);
/* The learning-rate schedule. count_tokens: compare amounts in tokens with the tokens read so far; otherwise they are
 * converted to steps. Amounts in samples and epochs are converted to steps too, unless the batch varies. */
Schedule config_schedule(const Config *config, int64_t epoch_samples, bool count_tokens);
/* Warns about settings that are allowed but probably not intended. warmup: warm-up in steps; total: steps of the run,
 * -1 means unknown; epoch_samples: samples in an epoch of the training set, 0 means unknown. */
void config_advise(const Config *config, int64_t warmup, int64_t total, int64_t epoch_samples);
/* Warns about datasets not used since a task's examples are. holds_out: the task has examples to evaluate on. */
void config_advise_data(const Config *config, bool holds_out);
