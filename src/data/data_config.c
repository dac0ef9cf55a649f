#include "data/data_config.h"

static const char *const train_keys[] = { "path", "weight?", NULL }, *const valid_keys[] = { "name?", "path", NULL };

#define AT(field) offsetof(DataConfig, field)
const OptionRow data_options[] = {
    { "data.train", OPT_LIST, AT(train), "", 0, 0, OPT_IDENTITY,
      "token dataset to train on: path prefix as given to loam prepare --out, or several: PREFIX,PREFIX or "
      "PREFIX:WEIGHT,PREFIX:WEIGHT",
      train_keys },
    { "data.valid", OPT_LIST, AT(valid), "", 0, 0, OPT_TUNABLE,
      "held-out token dataset, or several: NAME:PREFIX,NAME:PREFIX; empty: none", valid_keys },
    { "data.split", OPT_STRING, AT(split), "", 0, 0, OPT_IDENTITY,
      "shares of the documents of data.train, such as 949,50,1: for training, for validation where data.valid is "
      "empty, and unused",
      NULL },
    { "data.mixture_weights", OPT_ENUM, AT(mixture.weights), "shares", 0, 0, OPT_IDENTITY,
      "meaning of the weights in data.train: shares of the samples, or epochs of each dataset in one epoch of the "
      "mixture",
      mixture_weights_names },
    { "data.mixture_temperature", OPT_F64, AT(mixture.temperature), "1", 0.01, 1e6, OPT_IDENTITY,
      "share of a dataset without weight: in proportion to its size ^ (1 / temperature)", NULL },
    { "data.mixture_cap", OPT_AMOUNT, AT(mixture.cap), "0 samples", 0, 1e18, OPT_IDENTITY,
      "largest size of a dataset that counts for its share; 0: no limit", NULL },
    { "data.objective", OPT_ENUM, AT(objective), "span_corruption", 0, 0, OPT_IDENTITY, "training objective",
      objective_names },
    { "data.compat", OPT_ENUM, AT(compat), "none", 0, 0, OPT_IDENTITY,
      "use the samples of this system in its own order, one sample per sequence", compat_names },
    { "data.compat_samples", OPT_I64, AT(compat_samples), "auto", 0, 1e12, OPT_IDENTITY,
      "length of the reference system's order in samples; auto: train.length (megatron), or one epoch (t5_experiments)",
      NULL },
    { "data.compat_batch", OPT_AMOUNT, AT(compat_batch), "0 samples", 0, 1e9, OPT_IDENTITY,
      "fairseq: samples or tokens of a batch, which are shuffled together; 0: train.micro_batch", NULL },
    { "data.break_mode", OPT_ENUM, AT(break_mode), "none", 0, 0, OPT_IDENTITY,
      "fairseq: where text is cut into samples: anywhere, at lines, at lines and documents, after each line",
      break_mode_names },
    { "data.input_length", OPT_I64, AT(input_length), "512", 2, 1e6, OPT_IDENTITY,
      "most tokens of an input sequence, EOS included", NULL },
    { "data.target_length", OPT_I64, AT(target_length), "0", 0, 1e6, OPT_IDENTITY,
      "most tokens of a target sequence, EOS included; 0: as many as the objective needs", NULL },
    { "data.raw_length", OPT_I64, AT(raw_length), "0", 0, 1e6, OPT_IDENTITY,
      "most tokens of text that a sample is made of; 0: as many as fill data.input_length", NULL },
    { "data.noise_density", OPT_F64, AT(noise_density), "0.15", 0.001, 0.999, OPT_IDENTITY,
      "share of the tokens that are masked", NULL },
    { "data.mean_span_length", OPT_F64, AT(mean_span_length), "3", 1, 1e4, OPT_IDENTITY,
      "mean length of a masked span, in tokens", NULL },
    { "data.reset_attention", OPT_BOOL, AT(reset_attention), "false", 0, 0, OPT_IDENTITY,
      "clm: tokens do not attend to earlier documents", NULL },
    { "data.reset_position", OPT_BOOL, AT(reset_position), "false", 0, 0, OPT_IDENTITY,
      "clm: position ids restart at 0 with each document", NULL },
    { "data.mask_eod", OPT_BOOL, AT(mask_eod), "false", 0, 0, OPT_IDENTITY,
      "clm: no loss where the input token is the end of a document", NULL },
    { "data.whole_word", OPT_BOOL, AT(whole_word), "true", 0, 0, OPT_IDENTITY,
      "mlm: all pieces of a word are masked together", NULL },
    { "data.max_ngram", OPT_I64, AT(max_ngram), "1", 1, 100, OPT_IDENTITY,
      "mlm: most words that are masked together; n words with a probability in proportion to 1/n", NULL },
    { "data.sentence_pairs", OPT_ENUM, AT(sentence_pairs), "none", 0, 0, OPT_IDENTITY,
      "mlm: samples are pairs of texts with a label: half of them swapped (order, ALBERT), or with a second text from "
      "another document (next, BERT)",
      sentence_pairs_names },
    { "data.short_sequence_probability", OPT_F64, AT(short_sequence_probability), "0", 0, 1, OPT_IDENTITY,
      "mlm: share of the samples that are cut to a random length; BERT: 0.1", NULL },
    { "data.static_masks", OPT_BOOL, AT(static_masks), "false", 0, 0, OPT_IDENTITY,
      "mlm: the same masks in every epoch", NULL },
};
#undef AT
const int n_data_options = G_N_ELEMENTS(data_options);

static const char *const sentence_order_values[] = { "true", "order", "false", "none", NULL };
const OptionRename data_renames[] = {
    { "data.sentence_order", "data.sentence_pairs", sentence_order_values },
    { NULL, NULL, NULL },
};

const Objective *data_objective_row(const DataConfig *config)
{
    return objective_for(config->objective, config->decoder_alone);
}

ObjectiveConfig data_objective(const DataConfig *config)
{
    return (ObjectiveConfig){ .input_length = config->input_length,
                              .target_length = config->target_length,
                              .raw_length = config->raw_length,
                              .memory_rows = config->memory_rows,
                              .noise_density = config->noise_density,
                              .mean_span_length = config->mean_span_length,
                              .reset_attention = config->reset_attention,
                              .reset_position = config->reset_position,
                              .mask_eod = config->mask_eod,
                              .whole_word = config->whole_word,
                              .sentence_pairs = config->sentence_pairs,
                              .short_sequence_probability = config->short_sequence_probability,
                              .max_ngram = config->max_ngram };
}
