/* presets.c: published model shapes by name, as settings of options. A preset consists of its sizes and of those
 * settings of its kind that differ from the defaults; the defaults are those of T5 v1.1. */
#include "base/text.h"
#include "model/config/config.h"

#define V1_0 "activation=relu gated=false tie_embeddings=true scale_logits=true dropout=0.1"
#define V1_1 ""
#define UMT5 "rel_per_block=true"
#define AST                                                                                                            \
    "norm=layernorm norm_bias=true post_norm=true final_norm=false embed_norm=true norm_eps=1e-5 "                     \
    "position=learned+relative_bias max_positions=1024 position_offset=2 rel_rule=ast rel_buckets=128 "                \
    "rel_max_distance=255 "                                                                                            \
    "rel_per_block=true rel_encoder_only=true bias=true scale_scores=true activation=relu gated=false "                \
    "tie_embeddings=true dropout=0.1 inner_dropout=false init=fan_out"
#define BERT                                                                                                           \
    "family=bert norm=layernorm norm_bias=true post_norm=true final_norm=false embed_norm=true norm_eps=1e-12 "        \
    "position=learned max_positions=512 token_types=2 bias=true scale_scores=true activation=gelu_erf gated=false "    \
    "tie_embeddings=true head_transform=true head_bias=true pooler=true sentence_head=true dropout=0.1 "               \
    "inner_dropout=false init=normal"
#define MODERNBERT                                                                                                     \
    "family=bert norm=layernorm norm_eps=1e-5 first_norm=false embed_norm=true position=rotary rotary_base=160000 "    \
    "rotary_local=10000 window=128 global_every=3 scale_scores=true activation=gelu_erf gated=true "                   \
    "tie_embeddings=true head_transform=true head_bias=true inner_dropout=false init=normal init_scale_outputs=true"
#define GPT2                                                                                                           \
    "family=gpt norm=layernorm norm_bias=true norm_eps=1e-5 position=learned max_positions=1024 bias=true "            \
    "scale_scores=true activation=gelu_tanh gated=false tie_embeddings=true dropout=0.1 inner_dropout=false "          \
    "init=normal init_scale_outputs=true"
#define FAIRSEQ                                                                                                        \
    "family=gpt norm=layernorm norm_bias=true norm_eps=1e-5 position_offset=2 bias=true scale_embedding=true "         \
    "scale_scores=true gated=false inner_dropout=false init=fairseq"
#define FAIRSEQ_LM    FAIRSEQ " position=sinusoidal activation=relu dropout=0.1 attention_dropout=0"
#define FAIRSEQ_GPT3  FAIRSEQ " position=learned max_positions=2048 activation=gelu_erf tie_embeddings=true"
#define BERT_PRE_NORM BERT " post_norm=false final_norm=true"
/* RoBERTa: no sentence pairs; the first learned position is row 2 (padding id + 1) of the table. */
#define ROBERTA BERT " token_types=1 position_offset=2 pooler=false sentence_head=false norm_eps=1e-5"
#define LLAMA                                                                                                          \
    "family=gpt norm_eps=1e-5 position=rotary scale_scores=true activation=silu gated=true inner_dropout=false "       \
    "init=normal"

/* name, kind, blocks (encoder, decoder), width, ffn, heads, head_dim, vocab */
#define PRESETS(ROW)                                                                                                   \
    ROW("t5-1.1-tiny", V1_1, 4, 4, 256, 512, 4, 64, "auto")                                                            \
    ROW("t5-1.1-small", V1_1, 8, 8, 512, 1024, 6, 64, "32128")                                                         \
    ROW("t5-1.1-base", V1_1, 12, 12, 768, 2048, 12, 64, "32128")                                                       \
    ROW("t5-1.1-large", V1_1, 24, 24, 1024, 2816, 16, 64, "32128")                                                     \
    ROW("t5-1.1-xl", V1_1, 24, 24, 2048, 5120, 32, 64, "32128")                                                        \
    ROW("t5-1.1-xxl", V1_1, 24, 24, 4096, 10240, 64, 64, "32128")                                                      \
    ROW("flan-t5-small", V1_1, 8, 8, 512, 1024, 6, 64, "32128")                                                        \
    ROW("flan-t5-base", V1_1, 12, 12, 768, 2048, 12, 64, "32128")                                                      \
    ROW("flan-t5-large", V1_1, 24, 24, 1024, 2816, 16, 64, "32128")                                                    \
    ROW("flan-t5-xl", V1_1, 24, 24, 2048, 5120, 32, 64, "32128")                                                       \
    ROW("flan-t5-xxl", V1_1, 24, 24, 4096, 10240, 64, 64, "32128")                                                     \
    ROW("t5-micro", V1_0, 4, 4, 512, 2048, 8, 64, "32128")                                                             \
    ROW("t5-small", V1_0, 6, 6, 512, 2048, 8, 64, "32128")                                                             \
    ROW("t5-base", V1_0, 12, 12, 768, 3072, 12, 64, "32128")                                                           \
    ROW("t5-base-cdq", V1_0 " context_queries=true", 12, 12, 768, 3072, 12, 64, "32128")                               \
    ROW("t5-large", V1_0, 24, 24, 1024, 4096, 16, 64, "32128")                                                         \
    ROW("t5-3b", V1_0, 24, 24, 1024, 16384, 32, 128, "32128")                                                          \
    ROW("t5-11b", V1_0, 24, 24, 1024, 65536, 128, 128, "32128")                                                        \
    ROW("mt5-small", V1_1, 8, 8, 512, 1024, 6, 64, "250112")                                                           \
    ROW("mt5-base", V1_1, 12, 12, 768, 2048, 12, 64, "250112")                                                         \
    ROW("mt5-large", V1_1, 24, 24, 1024, 2816, 16, 64, "250112")                                                       \
    ROW("mt5-xl", V1_1, 24, 24, 2048, 5120, 32, 64, "250112")                                                          \
    ROW("mt5-xxl", V1_1, 24, 24, 4096, 10240, 64, 64, "250112")                                                        \
    ROW("umt5-small", UMT5, 8, 8, 512, 1024, 6, 64, "256384")                                                          \
    ROW("umt5-base", UMT5, 12, 12, 768, 2048, 12, 64, "256384")                                                        \
    ROW("umt5-xl", UMT5, 24, 24, 2048, 5120, 32, 64, "256384")                                                         \
    ROW("umt5-xxl", UMT5, 24, 24, 4096, 10240, 64, 64, "256384")                                                       \
    ROW("byt5-small", V1_1, 12, 4, 1472, 3584, 6, 64, "384")                                                           \
    ROW("byt5-base", V1_1, 18, 6, 1536, 3968, 12, 64, "384")                                                           \
    ROW("byt5-large", V1_1, 36, 12, 1536, 3840, 16, 64, "384")                                                         \
    ROW("byt5-xl", V1_1, 36, 12, 2560, 6720, 32, 64, "384")                                                            \
    ROW("byt5-xxl", V1_1, 36, 12, 4672, 12352, 64, 64, "384")                                                          \
    ROW("ast-t5-base", AST, 12, 12, 768, 3072, 12, 64, "101289")                                                       \
    ROW("bert-tiny", BERT, 2, 0, 128, 512, 2, 64, "auto")                                                              \
    ROW("bert-base", BERT, 12, 0, 768, 3072, 12, 64, "30522")                                                          \
    ROW("bert-large", BERT, 24, 0, 1024, 4096, 16, 64, "30522")                                                        \
    ROW("bert-4l-preln-rel", BERT_PRE_NORM " position=relative_bias", 4, 0, 768, 3072, 12, 64, "30522")                \
    ROW("bert-4l-preln-rope", BERT_PRE_NORM " position=rotary", 4, 0, 768, 3072, 12, 64, "30522")                      \
    ROW("roberta-base", ROBERTA, 12, 0, 768, 3072, 12, 64, "50265")                                                    \
    ROW("roberta-large", ROBERTA, 24, 0, 1024, 4096, 16, 64, "50265")                                                  \
    ROW("modernbert-base", MODERNBERT, 22, 0, 768, 1152, 12, 64, "50368")                                              \
    ROW("gpt2-tiny", GPT2, 0, 4, 256, 1024, 4, 64, "auto")                                                             \
    ROW("gpt2", GPT2, 0, 12, 768, 3072, 12, 64, "50257")                                                               \
    ROW("gpt2-medium", GPT2, 0, 24, 1024, 4096, 16, 64, "50257")                                                       \
    ROW("gpt2-large", GPT2, 0, 36, 1280, 5120, 20, 64, "50257")                                                        \
    ROW("gpt2-xl", GPT2, 0, 48, 1600, 6400, 25, 64, "50257")                                                           \
    ROW("tr1-13b", GPT2 " max_positions=2048", 0, 40, 5120, 20480, 32, 160, "50257")                                   \
    ROW("fairseq-transformer-lm", FAIRSEQ_LM, 0, 6, 512, 2048, 8, 64, "auto")                                          \
    ROW("fairseq-gpt3-small", FAIRSEQ_GPT3, 0, 12, 768, 3072, 12, 64, "50272")                                         \
    ROW("fairseq-gpt3-medium", FAIRSEQ_GPT3, 0, 24, 1024, 4096, 16, 64, "50272")                                       \
    ROW("fairseq-gpt3-large", FAIRSEQ_GPT3, 0, 24, 1536, 6144, 16, 96, "50272")                                        \
    ROW("fairseq-gpt3-xl", FAIRSEQ_GPT3, 0, 24, 2048, 8192, 32, 64, "50272")                                           \
    ROW("fairseq-gpt3-2.7b", FAIRSEQ_GPT3, 0, 32, 2560, 10240, 32, 80, "50272")                                        \
    ROW("fairseq-gpt3-6.7b", FAIRSEQ_GPT3, 0, 32, 4096, 16384, 32, 128, "50272")                                       \
    ROW("fairseq-gpt3-13b", FAIRSEQ_GPT3, 0, 40, 5120, 20480, 40, 128, "50272")                                        \
    ROW("llama-tiny", LLAMA " kv_heads=2", 0, 4, 256, 688, 4, 64, "auto")                                              \
    ROW("tinyllama-1.1b", LLAMA " kv_heads=4", 0, 22, 2048, 5632, 32, 64, "32000")                                     \
    ROW("qwen3-0.6b",                                                                                                  \
        LLAMA " kv_heads=8 qk_norm=rms rotary_base=1e6 max_positions=40960 tie_embeddings=true norm_eps=1e-6", 0, 28,  \
        1024, 3072, 16, 128, "151936")

#define PRESET_NAME(name, ...) name,
#define PRESET_SETTINGS(name, kind, n_enc, n_dec, width, ffn, heads, head_dim, vocab)                                  \
    "n_enc=" #n_enc " n_dec=" #n_dec " width=" #width " ffn=" #ffn " heads=" #heads " head_dim=" #head_dim             \
    " vocab=" vocab " " kind,

const char *const model_preset_names[] = { PRESETS(PRESET_NAME) NULL };
static const char *const presets[] = { PRESETS(PRESET_SETTINGS) };

bool model_preset_settings(const char *name, GPtrArray *settings, GError **error)
{
    size_t i = 0;
    while (model_preset_names[i] && !g_str_equal(model_preset_names[i], name))
        i++;
    if (model_preset_names[i] == NULL) {
        g_autofree char *nearest = text_nearest_few(name, model_preset_names);
        return fail_user(error, "model.preset %s is unknown; nearest are %s; `loam help --presets` lists them all",
                         name, nearest);
    }
    g_autofree char *origin = g_strdup_printf("preset %s", name);
    g_auto(GStrv) values = g_strsplit(presets[i], " ", -1);
    for (char **setting = values; *setting; setting++) {
        g_auto(GStrv) parts = g_strsplit(*setting, "=", 2);
        g_autofree char *option = g_strconcat("model.", parts[0], NULL);
        if (parts[0] && parts[1])
            option_settings_add(settings, option, parts[1], origin);
    }
    return true;
}
