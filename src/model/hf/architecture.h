/* architecture.h: one architecture of Hugging Face's transformers: the keys of its config.json, the names of its
 * tensors and the model configurations it can hold. config_json.c lists the architectures; t5.c, bert.c … describe
 * them. */
#pragma once

#include "model/config/config.h"
#include "model/hf/keys.h"
#include "model/tensor_names.h"
#include "nn/ctx.h"

typedef struct HfArchitecture {
    const char *model_type;        /* of config.json: "bert" */
    TensorNames names;             /* names.model is the class: "BertForPreTraining" */
    const char *classifier_prefix; /* names.prefix in the classes with a classifier; NULL means the same */
    const char *second_bias; /* a second tensor with the values of lm_head.bias, which transformers 5 reads instead
                                where embeddings are not tied; NULL means that there is none */
    const HfKey *keys;       /* ends with an entry of NULL */
    const HfKey *more_keys;  /* read and written after `keys`; NULL means none */
    Family family;           /* of its models; FAMILY_T5 without a decoder becomes FAMILY_BERT */
    bool own_head_dim;       /* config.json says head_dim; else it is width / heads, without a remainder */
    struct {
        int pad, bos, eos;
    } default_ids;           /* token ids where config.json names none; -1 means none */
    bool init_scale_outputs; /* the option, of which config.json says nothing */
    /* config has pre-norm RMSNorm, no biases and no heads. Sets what this architecture has otherwise, and takes from
     * `was`, the configuration before, the options that it leaves free. */
    void (*shape)(ModelConfig *config, const ModelConfig *was);
    /* Read and write settings that `keys` cannot express. Order: keys, read, hf_fit; keys, write. */
    bool (*read)(const json_t *root, ModelConfig *config, GError **error);
    void (*write)(json_t *root, const ModelConfig *config, const TokenRoles *roles);
    /* Sets options other than heads that only the tensors of a file tell; comes before hf_fit. name -> const
     * FileTensor *; NULL means that there are none. */
    void (*infer)(GHashTable *tensors, ModelConfig *config);
    /* Whether the architecture can hold this configuration, beyond hf_fit; NULL means always. */
    bool (*check)(const ModelConfig *config, GError **error);
} HfArchitecture;

extern const HfArchitecture hf_t5, hf_mt5, hf_umt5, hf_bert, hf_modernbert, hf_roberta, hf_gpt2, hf_xglm, hf_llama;

/* The names of the tensors of a model of this configuration. */
TensorNames hf_names(const HfArchitecture *arch, const ModelConfig *config);
/* Sets every option that the architecture fixes. Export refuses a model that this changes. */
void hf_fit(const HfArchitecture *arch, ModelConfig *config);

/* ---- for BERT and RoBERTa ---- */

void hf_shape_bert(ModelConfig *config, const ModelConfig *was);
/* Gives the transform before the vocabulary, where there is one, this activation. */
void hf_fix_head(ModelConfig *config, Activation activation);

/* ---- tables that several architectures share ---- */

#define HF_BERT_POSITIONS "embeddings.position_embeddings.weight"

extern const TensorName hf_bert_body[]; /* of BERT and RoBERTa */
extern const HfKey hf_bert_keys[];      /* of BERT and RoBERTa */
extern const TensorName hf_lm_head[];   /* "lm_head.weight" */
