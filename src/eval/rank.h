/* rank.h: rank classification: of a closed set of labels, the answer to a prompt is the one with the highest
 * log-probability as its target, as it is or divided by the length of the label. */
#pragma once

#include "data/task/task.h"
#include "eval/answers.h"

typedef enum RankBy {
    RANK_SUM,    /* log p(label | prompt), the sum over its tokens: `acc` of lm-evaluation-harness */
    RANK_BYTES,  /* divided by the UTF-8 bytes of the label, without white space at its start: `acc_norm` there */
    RANK_TOKENS, /* divided by the tokens */
} RankBy;
/* The one of this name: "sum", "bytes", "tokens"; -1 means none. */
int rank_find(const char *name);

/* The closed set of targets of a task: task->labels, or where it has none the different right answers of `file`,
 * sorted. An error where they are fewer than two, or more than 100. g_strfreev. */
char **rank_collect_labels(const Task *task, const TaskConfig *config, const TaskFile *file, GError **error);

typedef struct RankOptions {
    RankBy by;
    bool joined;        /* a decoder alone: the name of a label loses the white space at its start */
    bool eos;           /* each label is followed by EOS, which counts */
    bool gap;           /* a space comes before each label that begins without white space */
    FrameTokens before; /* tokens before each label, which count */
} RankOptions;

typedef struct Ranking Ranking;
Ranking *ranking_open(const Tokenizer *tok, char *const *labels, const RankOptions *options, GError **error);
void ranking_close(Ranking *ranking);                /* NULL is ignored */
int64_t ranking_longest(const Ranking *ranking);     /* tokens of the longest label, EOS included if it counts */
uint64_t ranking_hash(const Ranking *ranking);       /* of all that decides about the choice besides prompt and model */
char *const *ranking_labels(const Ranking *ranking); /* names, as answers have them; ends with NULL */

/* prompts: the encoder's inputs, EOS included, or the tokens that a decoder alone continues, each read once for all
 * labels. out (prompts->n): name and log-probability of the chosen label, the first one of equals, and the
 * log-probabilities of all. */
bool rank_labels(Model *model, const Prompts *prompts, const Ranking *ranking, Answer *out, GError **error);
