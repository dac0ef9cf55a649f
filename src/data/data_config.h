/* data_config.h: the configuration of the data pipeline: the options data.*. */
#pragma once

#include "base/options/options.h"
#include "data/compat/compat.h"
#include "data/mixture.h"
#include "data/objectives/objectives.h"

typedef struct DataConfig {
    char *train, *valid; /* lists of datasets (mixture.h, sources.h) */
    char *split;         /* shares such as "949,50,1" of each dataset of `train` (sources.h); "" means
                            that all of it is for training */
    MixtureRule mixture;
    int objective;          /* index into objective_names */
    int compat;             /* Compat */
    int64_t compat_samples; /* samples in a reference system's order; 0 means those of the run (train.length) */
    int break_mode;         /* BreakMode */
    Amount compat_batch;    /* samples or tokens; 0 means train.micro_batch */
    int64_t input_length, target_length; /* tokens; target_length 0 means that the objective derives it */
    int64_t raw_length;                  /* tokens; 0 means that the objective derives it */
    double noise_density;                /* share of the tokens that is masked */
    bool static_masks;                   /* a text has the same mask in every epoch */
    bool packed;                         /* samples share packed sequences; false means that each has its own */
    ObjectiveSettings settings;          /* options of single objectives */
    /* No options, but taken from the model: */
    bool decoder_alone;    /* the model has no encoder */
    int64_t memory_tokens; /* tokens that the model puts before each sample, for which packing leaves room */
    int label_kind;        /* LabelKind of the classifier */
    int64_t n_labels;      /* its classes */
    const char *labels;    /* their names, separated by commas; NULL and "" mean none */
    bool token_types;      /* second texts have a token type of their own */
    bool prefix_lm;        /* a decoder alone reads inputs in both directions */
} DataConfig;

/* Appends the option groups (OptionGroup) of data.*; `offset` is where a DataConfig lies in the configuration. */
void data_option_groups(GArray *groups, size_t offset);
/* The objective in the form that suits the model. */
const Objective *data_objective_row(const DataConfig *config);
/* The objective's configuration from the options: without token ids, before Objective.plan. */
ObjectiveConfig data_objective(const DataConfig *config);
