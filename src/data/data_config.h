/* config.h: what the options of data.* say. */
#pragma once

#include "base/options/options.h"
#include "data/compat/compat.h"
#include "data/mixture.h"
#include "data/objectives/objectives.h"

typedef struct DataConfig {
    char *train, *valid; /* lists of datasets */
    char *split;         /* "949,50,1": sources.h cuts the datasets to train on */
    int objective;
    bool decoder_alone; /* no option: what the model is */
    int compat;
    int64_t compat_samples; /* 0: auto */
    int break_mode;
    Amount compat_batch; /* 0: train.micro_batch */
    MixtureRule mixture;
    int64_t input_length, target_length;
    int64_t raw_length;
    double noise_density, mean_span_length;
    bool reset_attention, reset_position, mask_eod;
    bool whole_word, static_masks;
    int64_t max_ngram;
    int sentence_pairs;
    double short_sequence_probability;
    int64_t memory_rows; /* no option: what the model puts before each sample, for which packing leaves room */
} DataConfig;
extern const OptionRow data_options[]; /* "data.*" */
extern const int n_data_options;
extern const OptionRename data_renames[];

const Objective *data_objective_row(const DataConfig *config);
/* What the options say about the objective, not yet planned and without the tokenizer's ids. */
ObjectiveConfig data_objective(const DataConfig *config);
