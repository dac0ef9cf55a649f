/* hf_kind.h: one architecture of Hugging Face: what its config.json says and what its tensors are called. The table of
 * kinds is in hf_config.c; hf_t5.c and its neighbours each describe one. */
#pragma once

#include "model/model_config.h"
#include "nn/ctx.h"

#include <jansson.h>

/* A logical tensor and where it lies in a file; # stands for the number of a block, the same on both sides. */
typedef struct HfName {
    const char *ours, *theirs;
    bool transposed;   /* theirs is (in, out) */
    int part, n_parts; /* ours is one of n_parts equal pieces of theirs along out; 0: all of it */
} HfName;

/* clang-format off */
#define HF_SAME(ours, theirs)              { ours, theirs, false, 0, 0 }
#define HF_TURNED(ours, theirs)            { ours, theirs, true, 0, 0 }
#define HF_PART(ours, theirs, i, n)        { ours, theirs, false, i, n }
#define HF_TURNED_PART(ours, theirs, i, n) { ours, theirs, true, i, n }
/* clang-format on */

/* Keys that hold a number of ModelConfig; `standard` is what transformers takes where the key is absent. */
typedef struct HfIntKey {
    const char *key;
    size_t field; /* of an int64_t */
    int64_t standard, min, max;
} HfIntKey;

typedef struct HfRealKey {
    const char *key;
    size_t field; /* of a double */
    double standard, min, max;
} HfRealKey;

/* Keys with which loam knows one value only. */
typedef struct HfFixedKey {
    const char *key, *json; /* the value; absent is right too */
} HfFixedKey;

/* The ids that a config.json names; -1: it does not. */
typedef struct HfIds {
    int pad, bos, eos, decoder_start;
} HfIds;

typedef struct HfKind {
    const char *model_type, *architecture;
    const char *prefix; /* of every tensor but the head's: files of the bare model leave it out; "" : there is none */
    const HfName *names;
    size_t n_names;
    const char *untied_bias; /* second name of the logits' bias, which transformers 5 reads where nothing is tied; NULL:
                                there is none */
    const char *const *passed_over; /* tensors that files of some years carry besides, ended by NULL */
    const HfIntKey *ints;
    size_t n_ints;
    const HfRealKey *reals;
    size_t n_reals;
    const HfFixedKey *fixed;
    size_t n_fixed;
    void (*shape)(ModelConfig *config); /* sets what the architecture fixes */
    /* What the tables do not say: read after ints and reals, then shaped; written after them. */
    bool (*read)(const json_t *root, ModelConfig *config, GError **error);
    void (*write)(json_t *root, const ModelConfig *config, HfIds ids);
    /* What the tensors of a file say, by name; NULL: nothing. */
    void (*look)(GHashTable *tensors, ModelConfig *config);
    /* Takes off the heads that no class has beside the others; NULL: every head stays. */
    void (*drop_heads)(ModelConfig *config);
    /* Whether the architecture can hold a model of its shape; NULL: always. */
    bool (*check)(const ModelConfig *config, GError **error);
} HfKind;

/* The tables of a file that has one of each. */
#define HF_TABLES                                                                                                      \
    .names = names, .n_names = G_N_ELEMENTS(names), .passed_over = passed_over, .ints = ints,                          \
    .n_ints = G_N_ELEMENTS(ints), .reals = reals, .n_reals = G_N_ELEMENTS(reals), .fixed = fixed,                      \
    .n_fixed = G_N_ELEMENTS(fixed)

extern const HfKind hf_t5, hf_mt5, hf_umt5, hf_bert, hf_modernbert, hf_roberta, hf_gpt2, hf_xglm, hf_llama;

/* Pre-norm RMSNorm, no biases, no heads: where every shape begins; positions are left. */
void hf_shape_plain(ModelConfig *config, Family family);

void hf_shape_bert(ModelConfig *config);
/* An encoder alone: no logits of the vocabulary. */
void hf_drop_vocabulary_head(ModelConfig *config);
#define HF_BERT_POSITIONS "bert.embeddings.position_embeddings.weight"

bool hf_int_read(const json_t *root, const HfIntKey *row, int64_t *out, GError **error);
bool hf_real_read(const json_t *root, const HfRealKey *row, double *out, GError **error);
/* Where the key is absent, `standard`; null is false, as in Python. */
bool hf_flag_read(const json_t *root, const char *key, bool standard, bool *out, GError **error);
/* The object that a JSON file of at most 1 MiB holds; NULL with the reason. json_decref. */
json_t *hf_read_object(const char *path, GError **error);
/* Says that a rate of dropout, which matters to training alone, is not `used` here but something else there. */
void hf_warn_unread_rate(const json_t *root, const char *key, double used);
bool hf_keys_read(const HfKind *kind, const json_t *root, ModelConfig *config, GError **error);
void hf_keys_write(const HfKind *kind, json_t *root, const ModelConfig *config);
void hf_id_write(json_t *root, const char *key, int id);
/* The same of a key for which transformers has an id of its own where it is absent: null where there is none. */
void hf_id_write_always(json_t *root, const char *key, int id);
int hf_activation_of(const char *name); /* "gelu_new"; -1: loam has no such activation */
/* The name at `key`, or `standard`; it goes out as hf_activation_name. */
bool hf_activation_read(const json_t *root, const char *key, const char *standard, int *activation, GError **error);
const char *hf_activation_name(int activation);
/* The base of rotary positions: rope_parameters of transformers 5, of one kind of layer where `layers` is not NULL,
 * else the key of transformers 4. Positions that are scaled are refused. */
bool hf_rotary_read(const json_t *root, const char *layers, const char *key, double standard, double *base,
                    GError **error);
json_t *hf_rotary_json(double base);
/* Heads share the width evenly. */
bool hf_check_heads(const ModelConfig *config, GError **error);
/* Gives the transform before the vocabulary this activation, where there is a transform. */
void hf_fix_head(ModelConfig *config, Activation activation);
/* Where a file has tensor `live`, which transformers computes with, the one of this name is passed over for it. */
void hf_prefer(GHashTable *tensors, const char *name, const char *live);
