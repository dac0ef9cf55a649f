/* rank.h: rank classification: the answer to a prompt is the label, of a fixed set, with the highest log-probability
 * given the prompt, optionally divided by the length of the label. */
#pragma once

#include "data/task/task.h"
#include "eval/answers.h"

typedef enum RankBy {
    RANK_SUM,    /* log p(label | prompt), summed over the label's tokens: `acc` of lm-evaluation-harness */
    RANK_BYTES,  /* RANK_SUM / UTF-8 bytes of the label, white space at its start excluded: `acc_norm` of
                    lm-evaluation-harness */
    RANK_TOKENS, /* RANK_SUM / number of the label's tokens */
} RankBy;
/* The RankBy of a name, "sum", "bytes" or "tokens"; -1 for any other name. */
int rank_find(const char *name);

/* The labels of a task: the targets of task->labels, or if the task has none the distinct right answers that the run
 * was trained on (config->trained), in the spelling of `file` if it has them, or else those in `file`, sorted. It is an
 * error if there are fewer than two or more than 100. g_strfreev. */
char **rank_collect_labels(const Task *task, const TaskConfig *config, const Tokenizer *tok, const TaskFile *file,
                           GError **error);

typedef struct RankOptions {
    RankBy by;
    bool joined;        /* for a decoder-only model: white space at the start of a label is removed from its name */
    bool eos;           /* append EOS to each label and count it */
    bool gap;           /* insert a space before each label that does not begin with white space */
    FrameTokens before; /* tokens before each label, which are counted */
} RankOptions;

typedef struct Ranking {
    RankOptions options;
    char **names;     /* of the labels, as answers contain them; ends with NULL */
    GArray *ids;      /* int32_t: the tokens of all labels, one label after another */
    GArray *cu;       /* int32_t: (labels + 1) cumulative lengths */
    int64_t longest;  /* number of tokens of the longest label, EOS included if counted */
    double *divisors; /* (labels) the log-probability of each label is divided by this */
} Ranking;
Ranking *ranking_open(const Tokenizer *tok, char *const *labels, const RankOptions *options, GError **error);
void ranking_close(Ranking *ranking); /* NULL is ignored */
/* Hash of all settings that determine the choice, besides prompt and model. */
uint64_t ranking_hash(const Ranking *ranking);

/* prompts: the encoder's inputs, EOS included, or the tokens that a decoder-only model continues; each prompt is
 * computed once for all labels. out (prompts->n): name and log-probability of the chosen label (of equal ones the
 * first), and the log-probabilities of all labels. Free each with answer_clear. */
bool rank_labels(Model *model, const Prompts *prompts, const Ranking *ranking, Answer *out, GError **error);
