/* architecture.h: one architecture of Hugging Face's transformers: the keys of its config.json, the names of its
 * tensors and the model configurations it can hold. config_json.c lists the architectures; t5.c, bert.c … describe
 * them. */
#pragma once

#include "model/hf/keys.h"
#include "model/model_config.h"
#include "model/tensor_names.h"
#include "nn/ctx.h"

/* Token ids that config.json names; -1 means none. */
typedef struct HfIds {
    int pad, bos, eos, decoder_start;
} HfIds;
#define HF_NO_IDS                                                                                                      \
    {                                                                                                                  \
        -1, -1, -1, -1                                                                                                 \
    }

typedef struct HfArchitecture {
    const char *model_type;  /* of config.json: "bert" */
    TensorNames names;       /* names.model is the class: "BertForPreTraining" */
    const char *second_bias; /* the logits' bias under the name that transformers 5 reads where embeddings are untied;
                                NULL means that there is one name only */
    const HfKey *keys;       /* ends with an entry of NULL */
    const HfKey *more_keys;  /* read and written after `keys`; NULL means none */
    HfIds default_ids;       /* token ids where config.json names none */
    /* What config.json does not say of training: InitScheme, and dropout inside the feed-forward network. */
    int init;
    bool init_scale_outputs, inner_dropout;
    /* Sets every option that this architecture fixes. Export refuses a model that it changes. */
    void (*shape)(ModelConfig *config);
    /* Read and write settings that `keys` cannot express. Order: keys, read, shape; keys, write. */
    bool (*read)(const json_t *root, ModelConfig *config, GError **error);
    void (*write)(json_t *root, const ModelConfig *config, HfIds ids);
    /* Sets what only the tensors of a file tell, such as which heads it has. name -> const FileTensor *; NULL means
     * that config.json tells all. */
    void (*infer)(GHashTable *tensors, ModelConfig *config);
    /* On export, removes heads that no class of transformers has along with the others; NULL means none. */
    void (*drop_heads)(ModelConfig *config);
    /* Whether the architecture can hold this configuration, beyond `shape`; NULL means always. */
    bool (*check)(const ModelConfig *config, GError **error);
} HfArchitecture;

extern const HfArchitecture hf_t5, hf_mt5, hf_umt5, hf_bert, hf_modernbert, hf_roberta, hf_gpt2, hf_xglm, hf_llama;

/* ---- for `shape` ---- */

/* The start of every shape: pre-norm RMSNorm, no biases, no heads; positions stay as they are. */
void hf_shape_plain(ModelConfig *config, Family family);
void hf_shape_bert(ModelConfig *config);
/* Gives the transform before the vocabulary, where there is one, this activation. */
void hf_fix_head(ModelConfig *config, Activation activation);
/* A drop_heads: removes the language-model head, which leaves the bare encoder. */
void hf_drop_vocabulary_head(ModelConfig *config);
/* A `check`: width must be a multiple of heads. */
bool hf_check_heads(const ModelConfig *config, GError **error);
/* For `infer`: where a file has tensor `live`, which transformers computes with, `live` replaces the one called `name`.
 */
void hf_prefer(GHashTable *tensors, const char *name, const char *live);

/* ---- tables that several architectures share ---- */

#define HF_BERT_POSITIONS "embeddings.position_embeddings.weight"

extern const TensorName hf_bert_body[]; /* of BERT and RoBERTa */
extern const HfKey hf_bert_keys[];      /* of BERT and RoBERTa */
extern const TensorName hf_lm_head[];   /* "lm_head.weight" */
