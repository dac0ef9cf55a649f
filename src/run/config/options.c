/* options.c: the options run.*, tokenizer.*, train.*, parallel.*, hooks.* and log.*, and the table of all options. */
#include "run/config/config.h"

const char *const precision_names[] = { [PRECISION_AUTO] = "auto", [PRECISION_F32] = "f32", [PRECISION_BF16] = "bf16",
                                        [PRECISION_FP16] = "fp16", [PRECISION_FP8] = "fp8", NULL };
static const char *const recompute_names[] = { "none", "block", NULL };

#define ROW(field) offsetof(RunConfig, field)
static const OptionRow run_options[] = {
    { "run.dir", OPT_STRING, ROW(dir), "", 0, 0, OPT_FREE, NULL, "run directory: checkpoints, metrics, logs" },
    { "run.seed", OPT_I64, ROW(seed), "42", 0, 9e15, OPT_IDENTITY, NULL,
      "seed of random weights, order of samples, masks and dropout" },
};
#undef ROW

static const OptionRow tokenizer_options[] = {
    { "tokenizer.path", OPT_STRING, offsetof(TokenizerConfig, path), "", 0, 0, OPT_FREE, NULL,
      "file or folder of the tokenizer, or the word bytes for ByT5's; a resumed run compares its hash, not its path" },
    { "tokenizer.blanks", OPT_STRING, offsetof(TokenizerConfig, blanks), "", 0, 0, OPT_IDENTITY, NULL,
      "how text beside sentinels and masks is encoded: corpus, as if a word were in their place, or transformers, each "
      "text between them by itself; empty means as the tokenizer's folder says, and corpus if it does not" },
    { "tokenizer.sentinels", OPT_I64, offsetof(TokenizerConfig, sentinels), "100", TOKENIZER_SENTINELS,
      TOKENIZER_MAX_SENTINELS, OPT_IDENTITY, NULL,
      "number of sentinels that are added after the last id of a tokenizer without sentinels, if the model needs "
      "them" },
};

static const char *const skip_keys[] = { "range", NULL };
static const char *const spike_actions[] = { "report", "save", "skip", NULL };
static const char *const phase_keys[] = { "until?", "every", NULL };
static const char *const rampup_keys[] = { "start", "increment", "over", NULL };
static const char *const stage_keys[] = { "from", "batch", NULL };
#define ROW(field) offsetof(TrainConfig, field)
static const OptionRow train_options[] = {
    { "train.length", OPT_AMOUNT, ROW(length), "10k steps", 0, 1e18, OPT_TUNABLE, NULL,
      "length of training, such as 10k steps, 5B tokens, 3 epochs or 12h" },
    { "train.batch", OPT_AMOUNT, ROW(batch), "128 samples", 1, 1e12, OPT_LEARNING, NULL,
      "samples, tokens, or examples of a task, of one step, over all ranks and microbatches" },
    { "train.batch_rampup", OPT_LIST, ROW(batch_rampup), "", 0, 0, OPT_LEARNING, rampup_keys,
      "the batch grows to train.batch during the run: first batch, increment, and the samples over which it grows, "
      "such as 16 16 5M samples; empty means that it does not grow" },
    { "train.batch_schedule", OPT_LIST, ROW(batch_schedule), "", 0, 0, OPT_LEARNING, stage_keys,
      "batches in place of train.batch, each with the tokens or samples after which it begins, such as 0:768 250B "
      "tokens:1536; empty means none" },
    { "train.micro_batch", OPT_AMOUNT, ROW(micro_batch), "8 samples", 1, 1e9, OPT_TUNABLE, option_auto,
      "samples, tokens, or examples of a task, that are computed at once; a step adds up the gradients of its "
      "microbatches (gradient accumulation). auto: the microbatch that the run began with; for a new run the largest "
      "that fits into memory, on a CPU of at most 8192 tokens" },
    { "train.log_every", OPT_AMOUNT, ROW(log_every), "10 steps", 1, 1e18, OPT_FREE, NULL,
      "period of log lines; may be a time, such as 30s" },
    { "train.eval_every", OPT_AMOUNT, ROW(eval_every), "1k steps", 0, 1e18, OPT_TUNABLE, NULL,
      "period of evaluations on data.valid, beside those at the start and at the end; may be a time, such as 2h; 0 "
      "means no others" },
    { "train.save_every", OPT_AMOUNT, ROW(save_every), "1k steps", 0, 1e18, OPT_TUNABLE, NULL,
      "period of checkpoints; may be a time, such as 20m; 0 means only at the end, after an evaluation that is the "
      "best so far, and as train.save_within requires" },
    { "train.save_phases", OPT_LIST, ROW(save_phases), "", 0, 0, OPT_TUNABLE, phase_keys,
      "periods of checkpoints that change during the run, such as 100:10,1000:18,1500 for every 10 steps until step "
      "100, every 18 until step 1000, then every 1500; after the last phase train.save_every holds; empty means that "
      "it always does" },
    { "train.save_within", OPT_AMOUNT, ROW(save_within), "30m", 0, 1e18, OPT_FREE, NULL,
      "longest time between two checkpoints if train.save_every is not a time; 0 means no limit" },
    { "train.save_async", OPT_BOOL, ROW(save_async), "false", 0, 0, OPT_FREE, NULL,
      "training continues while a checkpoint is written; needs host memory for a copy of the tensors that this process "
      "saves" },
    { "train.eval_samples", OPT_I64, ROW(eval_samples), "1024", 0, 1e15, OPT_TUNABLE, NULL,
      "number of samples of each set of data.valid, and of examples of each task, in an evaluation; 0 means all" },
    { "train.best", OPT_STRING, ROW(best), "loss", 0, 0, OPT_TUNABLE, NULL,
      "metric that decides which checkpoint is the best: loss (the lowest loss on the first set of data.valid), or a "
      "score of the task (the highest), such as f1, squad.f1 or rouge.rouge_l; with several tasks rte.accuracy, or "
      "mean, which is the mean over all tasks" },
    { "train.patience", OPT_I64, ROW(patience), "0", 0, 1e9, OPT_TUNABLE, NULL,
      "the run ends after this many evaluations in a row without a better value of train.best; 0 means never" },
    { "train.stop_at", OPT_AMOUNT, ROW(stop_at), "0 steps", 0, 1e18, OPT_TUNABLE, NULL,
      "the run ends here, before train.length, whose schedule it keeps; a larger train.stop_at continues the run; 0 "
      "means that it ends at train.length" },
    { "train.stop_after", OPT_AMOUNT, ROW(stop_after), "0s", 0, 1e9, OPT_TUNABLE, NULL,
      "the command stops with a checkpoint within this time after its start; the time includes writing the checkpoint; "
      "0 means no limit" },
    { "train.stop_date", OPT_STRING, ROW(stop_date), "", 0, 0, OPT_TUNABLE, NULL,
      "the command stops with a checkpoint before this local date and time, such as 2026-01-31 07:30; empty means "
      "none" },
    { "train.stop_file", OPT_STRING, ROW(stop_file), "", 0, 0, OPT_TUNABLE, NULL,
      "path of a file: while it exists, a running run stops with a checkpoint and no run starts; empty means none" },
    { "train.exit_every", OPT_AMOUNT, ROW(exit_every), "0 steps", 0, 1e18, OPT_TUNABLE, NULL,
      "the command stops with a checkpoint at each multiple of this, and the same command continues; 0 means never" },
    { "train.skip_samples", OPT_LIST, ROW(skip_samples), "", 0, 0, OPT_TUNABLE, skip_keys,
      "ranges of sample numbers that are not trained on: FIRST-END,FIRST-END, where END itself is not part of the "
      "range; a step that would read from a range begins after it; empty means none" },
    { "train.spike", OPT_F64, ROW(spike), "0", 0, 1e6, OPT_TUNABLE, NULL,
      "a step whose loss is this many standard deviations above the mean of recent losses is a loss spike; 0 means "
      "that none are looked for" },
    { "train.spike_window", OPT_I64, ROW(spike_window), "100", 2, 1e9, OPT_TUNABLE, option_steps,
      "number of recent steps whose losses form this mean, above 1000 the same as 1000; before a run has this many "
      "steps it finds no spike" },
    { "train.spike_action", OPT_ENUM, ROW(spike_action), "save", 0, 0, OPT_TUNABLE, spike_actions,
      "what a run does at a loss spike. report: logs it with its samples; save: also keeps a checkpoint from before "
      "the step, and one train.spike_after steps later; skip: also leaves out the update" },
    { "train.spike_after", OPT_I64, ROW(spike_after), "100", 1, 1e9, OPT_TUNABLE, option_steps,
      "steps from a loss spike to the checkpoint after it" },
    { "train.scores", OPT_BOOL, ROW(scores), "true", 0, 0, OPT_TUNABLE, NULL,
      "at evaluations after the first step, a run with a task answers its held-out examples and logs their scores" },
    { "train.keep_last", OPT_I64, ROW(keep_last), "2", 1, 1e6, OPT_TUNABLE, NULL,
      "number of newest checkpoints that are kept" },
    { "train.keep_best", OPT_I64, ROW(keep_best), "1", 1, 1e6, OPT_TUNABLE, NULL,
      "number of best checkpoints that are kept: of those that were the best by train.best when they were saved, the "
      "newest" },
    { "train.keep_every", OPT_I64, ROW(keep_every), "0", 0, 1e15, OPT_TUNABLE, option_steps,
      "checkpoints at multiples of this many steps are kept too; 0 means none" },
    { "train.precision", OPT_ENUM, ROW(precision), "auto", 0, 0, OPT_LEARNING, precision_names,
      "dtype that weights and activations are computed in; master weights, statistics and optimizer states are f32. "
      "auto: the precision that the run began with; for a new run bf16 on a GPU or on a processor that multiplies bf16 "
      "faster than f32, else f32. fp8: bf16, with the linear layers of blocks in FP8 (fp8.*); a CPU emulates FP8, more "
      "slowly than bf16" },
    { "train.f32_residual", OPT_BOOL, ROW(f32_residual), "true", 0, 0, OPT_TUNABLE, NULL,
      "the residual stream is f32 even with train.precision bf16, fp16 or fp8" },
    { "train.f32_gradients", OPT_BOOL, ROW(f32_gradients), "true", 0, 0, OPT_TUNABLE, NULL,
      "gradients of parameters are accumulated in f32 even with train.precision bf16, fp16 or fp8" },
    { "train.tf32", OPT_BOOL, ROW(tf32), "false", 0, 0, OPT_TUNABLE, NULL,
      "with train.precision=f32 on a GPU, matrix products round their operands to TF32 (10 bits of mantissa), which is "
      "several times as fast" },
    { "train.recompute", OPT_ENUM, ROW(recompute), "none", 0, 0, OPT_FREE, recompute_names,
      "block: run each block again in backward instead of keeping its activations (activation checkpointing)" },
    { "train.init", OPT_STRING, ROW(init), "", 0, 0, OPT_IDENTITY, NULL,
      "path of a model (run, checkpoint or Hugging Face folder) whose weights training starts from, with a fresh "
      "optimizer; shape and tokenizer must be the same" },
    { "train.freeze", OPT_LIST, ROW(freeze), "", 0, 0, OPT_IDENTITY, NULL,
      "names of parameters that are not trained, as `loam inspect checkpoint` lists them, separated by commas; * "
      "stands for any text: shared,encoder.0.*; empty means that all are trained" },
    { "train.label_smoothing", OPT_F64, ROW(label_smoothing), "0", 0, 0.99, OPT_LEARNING, NULL,
      "probability that is taken from the target and spread over the vocabulary, or over the classes of a classifier; "
      "0 means none" },
    { "train.class_weights", OPT_LIST, ROW(class_weights), "", 0, 0, OPT_LEARNING, NULL,
      "factor on the loss of each class of a classifier, in the order of model.labels: 1,3.5; balanced means in "
      "inverse proportion to the number of examples of the class in the training set; empty means 1" },
    { "train.z_loss", OPT_F64, ROW(z_loss), "0", 0, 1, OPT_LEARNING, NULL,
      "weight of (log Z)^2 in the loss, where Z is the sum of exp(logits) (z-loss); T5X uses 1e-4; 0 means none" },
    { "train.report", OPT_BOOL, ROW(report), "false", 0, 0, OPT_FREE, NULL,
      "write report.html, the page of `loam report`, into the run directory after evaluations and saves and at the "
      "end" },
    { "train.fairseq_log", OPT_BOOL, ROW(fairseq_log), "false", 0, 0, OPT_FREE, NULL,
      "also write log lines in fairseq's format (log_format json) to train_inner.jsonl in the run directory" },
    { "train.threads", OPT_I64, ROW(threads), "0", 0, 4096, OPT_FREE, NULL, "compute threads; 0 means one per core" },
    { "train.device", OPT_STRING, ROW(device), "cpu", 0, 0, OPT_TUNABLE, NULL,
      "device to compute on: cpu; cuda or cuda:N for an NVIDIA GPU; auto for a GPU if one can be used, else the CPU" },
};
#undef ROW

static const char *const zero_names[] = { "0", "1", "2", "3", NULL };
#define ROW(field) offsetof(ParallelConfig, field)
static const OptionRow parallel_options[] = {
    { "parallel.ranks", OPT_I64, ROW(ranks), "0", 0, CONFIG_MOST_RANKS, OPT_FREE, NULL,
      "number of ranks that train the model together as threads of this process, each with its share of the cores and "
      "of every batch; 0 means one rank per process that mpirun or srun started, else 1" },
    { "parallel.tensor", OPT_I64, ROW(tensor), "1", 1, CONFIG_MOST_RANKS, OPT_FREE, NULL,
      "tensor parallelism: this many consecutive ranks divide the heads and the feed-forward channels of every block "
      "and the vocabulary, and compute the same samples; 1 means none" },
    { "parallel.sequence", OPT_BOOL, ROW(sequence), "false", 0, 0, OPT_FREE, NULL,
      "sequence parallelism: between the sublayers (norms, dropout, residual sums) each rank of parallel.tensor has "
      "only its part of the tokens, so activations take less memory; nothing changes if parallel.tensor is 1" },
    { "parallel.context", OPT_I64, ROW(context), "1", 1, CONFIG_MOST_RANKS, OPT_FREE, NULL,
      "context parallelism: this many ranks divide the tokens of each sample, and in attention the heads, so "
      "activations take less memory and samples may be longer; they lie next to the ranks of parallel.tensor; 1 means "
      "none" },
    { "parallel.pipeline", OPT_I64, ROW(pipeline), "1", 1, CONFIG_MOST_RANKS, OPT_FREE, NULL,
      "pipeline parallelism: this many ranks each have some of the blocks and hand activations on to the next; several "
      "microbatches per step (train.micro_batch) keep all of them busy; 1 means none" },
    { "parallel.interleave", OPT_I64, ROW(interleave), "1", 1, STAGES_MOST, OPT_FREE, NULL,
      "stages of each rank of a pipeline (interleaved schedule, virtual pipeline stages): ranks wait less at the "
      "beginning and end of a step, and keep and send more activations; best with a multiple of parallel.pipeline "
      "microbatches" },
    { "parallel.cuts", OPT_LIST, ROW(cuts), "", 0, 0, OPT_FREE, NULL,
      "the blocks at which the stages of a pipeline begin, from the second stage on, such as 5,9,13 for four stages; "
      "blocks are numbered from 1, those of the decoder after those of the encoder; empty means stages of equal work" },
    { "parallel.zero", OPT_ENUM, ROW(zero), "0", 0, 0, OPT_FREE, zero_names,
      "ZeRO level: the tensors of which each rank keeps only its part. 0: none; 1: optimizer state and master weights; "
      "2: also gradients of blocks; 3: also weights of blocks, gathered one block ahead of use" },
    { "parallel.check_every", OPT_I64, ROW(check_every), "0", 0, 1e12, OPT_FREE, option_steps,
      "after every this many steps, ranks compare hashes of the weights that all of them hold; if one differs, the run "
      "ends and names that rank; 0 means never" },
    { "parallel.timeout", OPT_AMOUNT, ROW(timeout), "10m", 0, 1e6, OPT_FREE, NULL,
      "longest time that ranks wait for a rank that does not answer; then the run ends and names that rank; 0 means no "
      "limit" },
};
#undef ROW

#define ROW(field) offsetof(HooksConfig, field)
static const OptionRow hooks_options[] = {
    { "hooks.on_save", OPT_STRING, ROW(on_save), "", 0, 0, OPT_TUNABLE, NULL,
      "shell command that runs beside training after each save, with the checkpoint's folder as $LOAM_PATH; empty "
      "means none" },
    { "hooks.on_best", OPT_STRING, ROW(on_best), "", 0, 0, OPT_TUNABLE, NULL,
      "shell command, as hooks.on_save, after each save of a checkpoint that is the best so far; empty means none" },
    { "hooks.on_stop", OPT_STRING, ROW(on_stop), "", 0, 0, OPT_TUNABLE, NULL,
      "shell command when the run ends or stops, with the run's folder as $LOAM_PATH and the reason as $LOAM_MESSAGE; "
      "empty means none" },
    { "hooks.on_alert", OPT_STRING, ROW(on_alert), "", 0, 0, OPT_TUNABLE, NULL,
      "shell command at a loss spike, a failed save or an error, with a description as $LOAM_MESSAGE; empty means "
      "none" },
    { "hooks.timeout", OPT_AMOUNT, ROW(timeout), "10m", 0, 1e9, OPT_FREE, NULL,
      "longest time that one attempt of a hook may take, and that the command waits for hooks at its end; 0 means no "
      "limit" },
    { "hooks.retries", OPT_I64, ROW(retries), "2", 0, 1000, OPT_FREE, NULL,
      "number of further attempts after a hook failed" },
};
#undef ROW

static const char *const norms_names[] = { "none", "model", "layers", NULL };
static const char *const format_names[] = { "loam", "fairseq", "megatron", NULL };
#define ROW(field) offsetof(LogConfig, field)
static const OptionRow log_options[] = {
    { "log.format", OPT_ENUM, ROW(format), "loam", 0, 0, OPT_FREE, format_names,
      "lines that the run prints at train.log_every and after evaluations. fairseq: those of its log_format json, with "
      "losses in bits; megatron: Megatron-LM's; both for scripts that read such logs" },
    { "log.megatron_series", OPT_BOOL, ROW(megatron_series), "false", 0, 0, OPT_FREE, NULL,
      "TensorBoard also shows the series that Megatron-LM writes, by its names, against iterations and samples" },
    { "log.norms", OPT_ENUM, ROW(norms), "none", 0, 0, OPT_FREE, norms_names,
      "model: log lines also have the norm of the weights and the number of gradients that are 0; layers: TensorBoard "
      "also has the norms of weights and gradients of each block. Each log line then copies all weights and gradients "
      "to the host once" },
    { "log.samples", OPT_I64, ROW(samples), "0", 0, 1000, OPT_FREE, NULL,
      "number of a task's held-out examples whose answers TensorBoard and `loam report` show after each evaluation; 0 "
      "means none" },
    { "log.mlflow", OPT_STRING, ROW(mlflow), "", 0, 0, OPT_FREE, NULL,
      "folder of a store of MLflow in files, such as mlruns, into which the run also writes its options and metrics; "
      "empty means none" },
    { "log.mlflow_experiment", OPT_STRING, ROW(mlflow_experiment), "loam", 0, 0, OPT_FREE, NULL,
      "name of the experiment in the store of log.mlflow that the run belongs to" },
    { "log.emissions", OPT_BOOL, ROW(emissions), "false", 0, 0, OPT_FREE, NULL,
      "write the energy that the run uses to emissions.csv in the run directory, with CodeCarbon's columns" },
    { "log.cpu_watts", OPT_F64, ROW(cpu_watts), "0", 0, 1e6, OPT_FREE, NULL,
      "log.emissions: power of the processors of one machine, if their counters (RAPL) cannot be read; 0 means "
      "unknown" },
    { "log.ram_watts", OPT_F64, ROW(ram_watts), "0", 0, 1e6, OPT_FREE, NULL,
      "log.emissions: power of the memory of one machine, if it has no counter; 0 means unknown" },
    { "log.carbon_intensity", OPT_F64, ROW(carbon_intensity), "475", 0, 1e5, OPT_FREE, NULL,
      "log.emissions: grams of CO2 equivalents per kWh; 475 is the mean of the world" },
    { "log.pue", OPT_F64, ROW(pue), "1", 1, 100, OPT_FREE, NULL,
      "log.emissions: energy of the data centre per energy of its machines (power usage effectiveness)" },
    { "log.country", OPT_STRING, ROW(country), "", 0, 0, OPT_FREE, NULL,
      "log.emissions: ISO code of the country, such as FRA, which is only copied into the file; empty means unknown" },
};
#undef ROW

const OptionTable *config_options(void)
{
    static OptionTable table;
    static gsize ready;
    if (g_once_init_enter(&ready)) {
        const OptionGroup before[] = {
            { run_options, G_N_ELEMENTS(run_options), offsetof(Config, run), NULL },
            { model_options, n_model_options, offsetof(Config, model), model_renames },
            { tokenizer_options, G_N_ELEMENTS(tokenizer_options), offsetof(Config, tokenizer), NULL },
        };
        const OptionGroup after[] = {
            { task_options, n_task_options, offsetof(Config, task), NULL },
            { train_options, G_N_ELEMENTS(train_options), offsetof(Config, train), NULL },
            { optim_options, n_optim_options, offsetof(Config, optim), NULL },
            { loss_scale_options, n_loss_scale_options, offsetof(Config, loss_scale), NULL },
            { fp8_options, n_fp8_options, offsetof(Config, fp8), NULL },
            { parallel_options, G_N_ELEMENTS(parallel_options), offsetof(Config, parallel), NULL },
            { hooks_options, G_N_ELEMENTS(hooks_options), offsetof(Config, hooks), NULL },
            { log_options, G_N_ELEMENTS(log_options), offsetof(Config, log), NULL },
        };
        GArray *groups = g_array_new(false, false, sizeof(OptionGroup));
        g_array_append_vals(groups, before, G_N_ELEMENTS(before));
        data_option_groups(groups, offsetof(Config, data));
        g_array_append_vals(groups, after, G_N_ELEMENTS(after));
        table.n_groups = (int)groups->len;
        table.foreign_names = config_foreign_names;
        table.groups = (const OptionGroup *)(void *)g_array_free(groups, false);
        g_once_init_leave(&ready, 1);
    }
    return &table;
}

bool config_read_saved(Config *saved, const char *run, const char *const *names, GError **error)
{
    g_autofree char *path = g_build_filename(run, "config.yaml", NULL);
    g_autoptr(GPtrArray) all = option_settings_new(), wanted = option_settings_new();
    options_set_defaults(config_options(), saved);
    if (!option_settings_read_yaml(all, path, error))
        return false;
    for (; *names; names++) {
        const char *value = option_settings_find(all, *names);
        if (value)
            option_settings_add(wanted, *names, value, path);
    }
    return options_apply(config_options(), saved, wanted, error);
}
