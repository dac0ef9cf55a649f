/* kinds.h: one small model of each shape that families are made of. */
#pragma once

#include "nn/ctx.h"
#include "tiny.h"

/* What differs from tiny_config. */
typedef struct Kind {
    const char *name;
    void (*shape)(ModelConfig *config);
} Kind;

static void gpt2(ModelConfig *config)
{
    config->family = FAMILY_GPT;
    config->n_enc = 0;
    config->norm = NORM_LAYER;
    config->norm_bias = config->bias = config->tie_embeddings = config->scale_scores = true;
    config->position = POSITION_LEARNED;
    config->gated = config->scale_logits = config->inner_dropout = false;
}

static void llama(ModelConfig *config)
{
    config->family = FAMILY_GPT;
    config->n_enc = 0;
    config->kv_heads = 2;
    config->head_dim = 6;
    config->position = POSITION_ROTARY;
    config->activation = ACT_SILU;
    config->scale_scores = true;
    config->inner_dropout = false;
}

/* Norms of queries and keys. */
static void qwen3(ModelConfig *config)
{
    llama(config);
    config->qk_norm = QK_NORM_RMS;
}

/* Megatron's: linear biases of attention, norm of the embeddings; here with a window and key/value heads shared by all.
 */
static void alibi(ModelConfig *config)
{
    gpt2(config);
    config->position = POSITION_ALIBI;
    config->embed_norm = config->head_bias = config->qk_layer_scaling = true;
    config->tie_embeddings = false;
    config->kv_heads = 1;
    config->window = 3;
    config->global_every = 2;
}

/* fairseq's transformer_lm: sinusoids from place 2 on, scaled embeddings. */
static void fairseq(ModelConfig *config)
{
    gpt2(config);
    config->position = POSITION_SINUSOIDAL;
    config->position_offset = 2;
    config->scale_embedding = true;
    config->tie_embeddings = false;
    config->attention_dropout = 0;
    config->activation_dropout = 0.3;
}

static void fairseq_gpt3(ModelConfig *config)
{
    fairseq(config);
    config->position = POSITION_LEARNED;
    config->tie_embeddings = true;
    config->attention_dropout = 0.4;
}

static void bert(ModelConfig *config)
{
    gpt2(config);
    config->family = FAMILY_BERT;
    config->n_enc = 2;
    config->n_dec = 0;
    config->post_norm = config->embed_norm = true;
    config->final_norm = false;
    config->token_types = 2;
    config->activation = ACT_GELU_ERF;
    config->head_transform = config->head_bias = config->pooler = config->sentence_head = true;
}

static void relative_key(ModelConfig *config)
{
    bert(config);
    config->position = POSITION_RELATIVE_KEY;
}

static void relative_key_query(ModelConfig *config)
{
    relative_key(config);
    config->position = POSITION_RELATIVE_KEY_QUERY;
    config->kv_heads = 2;
}

static void pre_norm_bert(ModelConfig *config)
{
    bert(config);
    config->post_norm = false;
    config->final_norm = true;
    config->position = POSITION_RELATIVE_BIAS;
    config->sentence_head = config->pooler = false;
}

/* A class of each sequence, from a layer of its own (RoBERTa). */
static void classifier(ModelConfig *config)
{
    bert(config);
    config->head_transform = config->head_bias = config->pooler = config->sentence_head = false;
    config->classifier = LABELS_SEQUENCE;
    config->labels = (char *)"no,yes";
    config->classifier_dense = true;
    config->classifier_dropout = 0.2;
}

static void modernbert(ModelConfig *config)
{
    config->family = FAMILY_BERT;
    config->n_dec = 0;
    config->norm = NORM_LAYER;
    config->head_dim = 6;
    config->first_norm = config->inner_dropout = false;
    config->embed_norm = config->tie_embeddings = config->head_transform = config->head_bias = true;
    config->position = POSITION_ROTARY;
    config->rotary_dim = 4;
    config->rotary_local = 10;
    config->window = 4;
    config->global_every = 2;
    config->activation = ACT_GELU_ERF;
    config->scale_scores = true;
}

/* Blocks of four tokens, three in a sequence; ALiBi's bias under a causal layout. */
static void sparse_gpt(ModelConfig *config)
{
    alibi(config);
    config->window = 0;
    config->sparsity = (Sparsity){ .pattern = SPARSE_LONGFORMER, .block = 4, .window = 1, .rotations = 1 };
}

static void sparse_bert(ModelConfig *config)
{
    pre_norm_bert(config);
    config->sparsity = (Sparsity){
        .pattern = SPARSE_BIGBIRD, .block = 4, .window = 1, .n_random = 1, .rotations = 1, .per_head = true
    };
}

/* An encoder and a decoder with BERT's and GPT's parts. */
static void post_norm_t5(ModelConfig *config)
{
    config->norm = NORM_LAYER;
    config->norm_bias = config->bias = config->post_norm = config->embed_norm = config->scale_scores = true;
    config->final_norm = false;
    config->position = POSITION_LEARNED;
    config->kv_heads = 2;
    config->gated = false;
    config->activation = ACT_RELU;
}

/* A table of relative biases a block, also where queries share keys. */
static void umt5(ModelConfig *config)
{
    config->rel_per_block = true;
    config->kv_heads = 2;
}

/* Learned positions and, in the encoder alone, finer buckets of its own for each block. */
static void ast_t5(ModelConfig *config)
{
    post_norm_t5(config);
    config->position = POSITION_LEARNED_AND_BIAS;
    config->rel_rule = RELPOS_AST;
    config->rel_per_block = config->rel_encoder_only = true;
    config->tie_embeddings = true;
}

/* A decoder of T5's whose prompts see themselves in both directions. */
static void prefix_lm(ModelConfig *config)
{
    config->family = FAMILY_GPT;
    config->n_enc = 0;
    config->prefix_lm = true;
}

/* t5-experiments' context-dependent queries, here with heads that share keys. */
static void context_queries(ModelConfig *config)
{
    config->context_queries = true;
    config->kv_heads = 2;
}

/* Learned rows before each of the encoder's sequences, which take the first places. */
static void memory(ModelConfig *config)
{
    config->memory_tokens = 3;
    config->position = POSITION_LEARNED_AND_BIAS;
    config->max_positions = 12;
}

static const Kind kinds[] = { { "gpt2", gpt2 },
                              { "llama", llama },
                              { "qwen3", qwen3 },
                              { "alibi", alibi },
                              { "fairseq", fairseq },
                              { "fairseq_gpt3", fairseq_gpt3 },
                              { "sparse_gpt", sparse_gpt },
                              { "prefix_lm", prefix_lm },
                              { "bert", bert },
                              { "relative_key", relative_key },
                              { "relative_key_query", relative_key_query },
                              { "pre_norm_bert", pre_norm_bert },
                              { "modernbert", modernbert },
                              { "sparse_bert", sparse_bert },
                              { "classifier", classifier },
                              { "post_norm_t5", post_norm_t5 },
                              { "umt5", umt5 },
                              { "ast_t5", ast_t5 },
                              { "context_queries", context_queries },
                              { "memory", memory } };
