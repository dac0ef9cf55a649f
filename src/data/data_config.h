/* data_config.h: the configuration of the data pipeline: the options data.*. */
#pragma once

#include "data/compat/compat.h"
#include "data/mixture.h"

/* When samples are packed (epoch_plan.h). PLAN_BLOCKS: those of a large dataset block by block, as blocks are read;
 * PLAN_WHOLE: all when the dataset is opened. */
typedef enum PlanKind { PLAN_BLOCKS, PLAN_WHOLE } PlanKind;
extern const char *const plan_names[];

typedef struct DataConfig {
    char *train, *valid; /* lists of datasets to train and to evaluate on (mixture.h, sources.c) */
    char *split;         /* shares of training, validation and test data, such as "949,50,1", of each dataset of `train`
                            (sources.c); "" means all training data */
    MixtureRule mixture;
    int objective;          /* index into objective_names */
    int compat;             /* Compat */
    int64_t compat_samples; /* number of samples for which the order of another program (data.compat) is made; 0 means
                               the number of samples of the run (train.length) */
    int break_mode;         /* BreakMode: how data.compat=fairseq cuts documents into samples */
    Amount compat_batch;    /* batch size for fairseq's order, in samples or tokens; 0 means train.micro_batch */
    int64_t input_length, target_length; /* tokens; target_length 0 means that the objective derives it */
    int64_t raw_length;                  /* tokens; 0 means that the objective derives it */
    double noise_density;                /* fraction of the tokens that is masked */
    bool static_masks;                   /* the masks of a text are the same in every epoch */
    bool packed; /* several samples may share a packed sequence; false: each sample has a packed sequence for itself */
    int plan;    /* PlanKind */
    ObjectiveSettings settings; /* the options of single objectives */
    /* The following fields are no options, but are taken from the model: */
    bool decoder_alone;    /* the model is decoder-only */
    int64_t memory_tokens; /* memory tokens that the model puts before each sample; packing counts them */
    int label_kind;        /* LabelKind of the classifier */
    int64_t n_labels;      /* number of classes of the classifier */
    const char *labels;    /* names of the classifier's classes (data/labels.h); NULL and "" mean none */
    bool token_types;      /* tokens of the second text of a pair have token type 1 */
    bool prefix_lm; /* prefix LM: a decoder-only model whose input tokens attend to each other in both directions */
} DataConfig;

/* Appends the option groups (OptionGroup) of data.*; offset: byte offset of the DataConfig in a configuration. */
void data_option_groups(GArray *groups, size_t offset);
/* The objective that the configuration names, or its variant for decoder-only models. */
const Objective *data_objective_row(const DataConfig *config);
/* The ObjectiveConfig that follows from the options only. The caller then sets its token ids from the tokenizer, and
 * calls Objective.plan, which computes lengths. */
ObjectiveConfig data_objective(const DataConfig *config);

/* ---- sources.c: makes lists of datasets from the options data.train, data.valid and data.split ---- */

/* Checks that data.train, its weights and data.split are well formed and fit together, without opening a dataset. */
bool sources_check(const DataConfig *config, GError **error);
/* The list of datasets to train on, for loader_open: data.train, or with data.split the training part of each dataset.
 * Free with g_free; NULL on an error. */
char *sources_train(const DataConfig *config, GError **error);
/* The list of the validation parts of the datasets of data.train, used if data.valid is empty; "" if data.split has no
 * validation part. Free with g_free; NULL on an error. */
char *sources_split_valid(const DataConfig *config, GError **error);
/* Length in bytes of NAME in an item "NAME:PATH" of data.valid; 0 if the item has no name. */
size_t sources_valid_name(const char *item);
/* Makes a path absolute, unless the absolute path is not UTF-8, which a configuration cannot hold. Free with g_free. */
char *sources_resolve_path(const char *path);
/* Makes the paths of a task's files absolute; `files` is one path, several separated by commas, or a percentage such as
 * "5%", which is kept. Free with g_free. */
char *sources_resolve_files(const char *files);
/* Makes the paths of a list absolute: of data.train, or of data.valid if named is true. A path stays relative if its
 * folder has a comma in its name. Free with g_free. */
char *sources_resolve(const char *list, bool named);
