#include "data/data_config.h"

static const char *const train_keys[] = { "path", "weight?", NULL }, *const valid_keys[] = { "name?", "path", NULL };

const char *const plan_names[] = { "blocks", "whole", NULL };

#define AT(field) offsetof(DataConfig, field)
static const OptionRow data_options[] = {
    { "data.train", OPT_LIST, AT(train), "", 0, 0, OPT_IDENTITY, train_keys,
      "token dataset to train on: path prefix as given to loam prepare --out, or several: PREFIX,PREFIX or "
      "PREFIX:WEIGHT,PREFIX:WEIGHT" },
    { "data.valid", OPT_LIST, AT(valid), "", 0, 0, OPT_TUNABLE, valid_keys,
      "held-out token dataset, or several: NAME:PREFIX,NAME:PREFIX; empty means none" },
    { "data.split", OPT_LIST, AT(split), "", 0, 0, OPT_IDENTITY, NULL,
      "shares of the documents of data.train for training, for validation (where data.valid is empty) and to leave "
      "out, such as 949,50,1; empty means that all are for training" },
    { "data.mixture_weights", OPT_ENUM, AT(mixture.weights), "shares", 0, 0, OPT_IDENTITY, mixture_weights_names,
      "unit of the weights of data.train: shares of the samples; epochs of each dataset in one epoch of the mixture; "
      "or as in AST-T5: shares of an epoch that ends when one of the datasets has been read, with the same order in "
      "every epoch" },
    { "data.mixture_temperature", OPT_F64, AT(mixture.temperature), "1", 0.01, 1e6, OPT_IDENTITY, NULL,
      "datasets without weights: weight of each in proportion to its size ^ (1 / temperature)" },
    { "data.mixture_cap", OPT_AMOUNT, AT(mixture.cap), "0 samples", 0, 1e18, OPT_IDENTITY, NULL,
      "datasets without weights: largest size that counts for the weight, in samples or tokens; 0 means no cap" },
    { "data.objective", OPT_ENUM, AT(objective), "span_corruption", 0, 0, OPT_IDENTITY, objective_names,
      "training objective (pre-training task)" },
    { "data.compat", OPT_ENUM, AT(compat), "none", 0, 0, OPT_IDENTITY, compat_names,
      "use the samples of this system, in its order; they are not packed" },
    { "data.compat_samples", OPT_I64, AT(compat_samples), "auto", 0, 1e12, OPT_IDENTITY, NULL,
      "samples that the order is computed for; auto means those of train.length (megatron), or one pass "
      "(t5_experiments)" },
    { "data.compat_batch", OPT_AMOUNT, AT(compat_batch), "0 samples", 0, 1e9, OPT_IDENTITY, NULL,
      "fairseq: samples or tokens of the batches that are shuffled; 0 means train.micro_batch" },
    { "data.break_mode", OPT_ENUM, AT(break_mode), "none", 0, 0, OPT_IDENTITY, break_mode_names,
      "fairseq: where text is cut into samples: anywhere, at lines, at lines and documents, after each line" },
    { "data.input_length", OPT_I64, AT(input_length), "512", 2, 1e6, OPT_IDENTITY, NULL,
      "maximum tokens of an input, EOS included; samples are packed up to it" },
    { "data.target_length", OPT_I64, AT(target_length), "0", 0, 1e6, OPT_IDENTITY, NULL,
      "maximum tokens of a target, EOS included; 0 means that the objective derives it" },
    { "data.raw_length", OPT_I64, AT(raw_length), "0", 0, 1e6, OPT_IDENTITY, NULL,
      "maximum tokens of text of one sample; 0 means as many as fit data.input_length" },
    { "data.noise_density", OPT_F64, AT(noise_density), "0.15", 0.001, 0.999, OPT_IDENTITY, NULL,
      "fraction of the tokens that is masked" },
    { "data.static_masks", OPT_BOOL, AT(static_masks), "false", 0, 0, OPT_IDENTITY, NULL,
      "a text has the same mask in every epoch" },
    { "data.packed", OPT_BOOL, AT(packed), "true", 0, 0, OPT_IDENTITY, NULL,
      "short samples share a packed sequence, which train.batch counts as one sample; false means that each has its "
      "own, so that train.batch counts examples. Nothing is padded either way" },
    { "data.plan", OPT_ENUM, AT(plan), "blocks", 0, 0, OPT_IDENTITY, plan_names,
      "how packed sequences are planned if a dataset makes more than 262,144 samples: block by block while the run "
      "goes on; or whole, at its start, which takes minutes for billions of tokens (the order of earlier versions; "
      "their runs keep it)" },
};
#undef AT

static const char *const sentence_order_values[] = { "true", "order", "false", "none", NULL };
static const OptionRename data_renames[] = {
    { "data.sentence_order", "data.sentence_pairs", sentence_order_values },
    { NULL, NULL, NULL },
};

void data_option_groups(GArray *groups, size_t offset)
{
    const OptionGroup own = { data_options, G_N_ELEMENTS(data_options), offset, data_renames };
    g_array_append_val(groups, own);
    objective_options(groups, offset + offsetof(DataConfig, settings));
}

const Objective *data_objective_row(const DataConfig *config)
{
    return objective_for(config->objective, config->decoder_alone);
}

ObjectiveConfig data_objective(const DataConfig *config)
{
    ObjectiveConfig objective = objective_config(config->objective, &config->settings);
    objective.input_length = config->input_length;
    objective.target_length = config->target_length;
    objective.raw_length = config->raw_length;
    objective.memory_tokens = config->memory_tokens;
    objective.label_kind = config->label_kind;
    objective.n_labels = config->n_labels;
    objective.token_types = config->token_types;
    objective.prefix_lm = config->prefix_lm;
    objective.noise_density = config->noise_density;
    objective.alone = !config->packed;
    return objective;
}
