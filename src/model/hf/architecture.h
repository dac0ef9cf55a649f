/* architecture.h: one architecture of Hugging Face's transformers: the keys of its config.json, the names of its
 * tensors and the model configurations it can hold. t5.c, bert.c and others describe the architectures. */
#pragma once

#include "model/hf/keys.h"
#include "model/tensor_names.h"
#include "nn/ctx.h"

typedef struct HfArchitecture {
    const char *model_type;        /* value of the key model_type in config.json: "bert" */
    Architecture stored;           /* model.architecture of its models; an mT5 is stored as the T5 that it equals */
    TensorNames names;             /* names.model is the class: "BertForPreTraining" */
    const char *classifier_prefix; /* replaces names.prefix in classes with a classifier; NULL means the same prefix */
    const char *second_bias;       /* name of a copy of the tensor lm_head.bias, which transformers 5 reads instead if
                                      embeddings are not tied; NULL means that there is no copy */
    const HfKey *keys;             /* ends with an entry of NULL */
    const HfKey *more_keys;        /* read and written after `keys`; NULL means none */
    const HfAlias *aliases;        /* second names of keys; NULL means none */
    Family family;                 /* family of its models; FAMILY_T5 without a decoder becomes FAMILY_BERT */
    bool own_head_dim;             /* config.json has the head size; false means width / heads, without remainder */
    struct {
        int pad, bos, eos;
    } default_ids;           /* token ids to assume if config.json lacks them; -1 means none */
    bool init_scale_outputs; /* value of model.init_scale_outputs, which config.json does not have */
    /* On entry each option that some architecture fixes has its default. Sets those that differ in this one, and copies
     * those that it does not fix from `was`, the original configuration. */
    void (*shape)(ModelConfig *config, const ModelConfig *was);
    /* Read and write settings that `keys` cannot express. An import applies `keys`, `read` and hf_fit in this order; an
     * export applies `keys`, then `write`. */
    bool (*read)(const json_t *root, ModelConfig *config, GError **error);
    void (*write)(json_t *root, const ModelConfig *config, const TokenRoles *roles);
    /* Infers, from names and shapes of tensors (name -> const FileTensor *), options that config.json lacks, heads
     * excepted. Called after hf_fit, which is called once more afterwards. NULL means that there are none. */
    void (*infer)(GHashTable *tensors, ModelConfig *config);
    /* Further checks whether the architecture can hold this configuration, besides those of hf_fit; NULL means none. */
    bool (*check)(const ModelConfig *config, GError **error);
} HfArchitecture;

/* The architectures that loam imports and exports: those of ARCHITECTURES, and mT5, which is stored as T5. */
#define HF_ARCHITECTURE(NAME, name) extern const HfArchitecture hf_##name;
ARCHITECTURES(HF_ARCHITECTURE)
extern const HfArchitecture hf_mt5;

/* The tensor names of a model with this configuration. */
TensorNames hf_names(const HfArchitecture *arch, const ModelConfig *config);
/* Sets every option that the architecture fixes. If this changes a model's, the architecture cannot hold it. */
void hf_fit(const HfArchitecture *arch, ModelConfig *config);

/* ---- tables that several architectures share ---- */

#define HF_BERT_POSITIONS "embeddings.position_embeddings.weight"

extern const TensorName hf_lm_head[]; /* "lm_head.weight" */
