#include "scores/kind.h"

#include <math.h>
#include <string.h>

#define VALUES(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define F1_VALUES   VALUES("f1", "precision", "recall")
#define BLEU_VALUES                                                                                                    \
    VALUES("bleu", "precision_1", "precision_2", "precision_3", "precision_4", "brevity_penalty", "length",            \
           "reference_length")

static const ScoreKind kinds[] = {
    { "accuracy", "share of labels that are right", SCORE_LABELS, REFERENCES_ONE, false, 0, 1, VALUES("accuracy"),
      accuracy_measure, finish_means, NULL },
    { "f1", "F1 of one label of two; other predictions count as wrong", SCORE_LABELS, REFERENCES_ONE, false, 0, 3,
      F1_VALUES, binary_measure, finish_f1, NULL },
    { "f1_macro", "mean over the labels of their F1", SCORE_LABELS, REFERENCES_ONE, false, 0, 2, F1_VALUES,
      classes_measure, f1_macro_finish, NULL },
    { "f1_micro", "F1 of the counts of all labels together", SCORE_LABELS, REFERENCES_ONE, false, 0, 2, F1_VALUES,
      classes_measure, f1_micro_finish, NULL },
    { "matthews", "Matthews correlation coefficient of two labels or more", SCORE_LABELS, REFERENCES_ONE, false, 0, 2,
      VALUES("matthews"), classes_measure, matthews_finish, NULL },
    { "multirc", "F1 over all answers, and share of questions with all answers right", SCORE_LABELS, REFERENCES_ONE,
      true, 0, 4, VALUES("f1a", "exact_match"), multirc_measure, multirc_finish, NULL },
    { "pearson", "linear correlation", SCORE_NUMBERS, REFERENCES_ONE, false, 0, 2, VALUES("pearson"), numbers_measure,
      pearson_finish, NULL },
    { "spearman", "correlation of ranks", SCORE_NUMBERS, REFERENCES_ONE, false, 0, 2, VALUES("spearman"),
      numbers_measure, spearman_finish, NULL },
    { "perplexity", "exp of the mean loss per token", SCORE_LOGPROBS, REFERENCES_ONE, false, 0, 2,
      VALUES("perplexity", "loss"), perplexity_measure, perplexity_finish, NULL },
    { "exact_match", "share of texts that equal a reference byte for byte", SCORE_TEXTS, REFERENCES_SOME, false, 0, 1,
      VALUES("exact_match"), exact_match_measure, finish_means, NULL },
    { "exact_words", "share of texts that equal a reference except for white space", SCORE_TEXTS, REFERENCES_SOME,
      false, 0, 1, VALUES("exact_match"), exact_words_measure, finish_means, NULL },
    { "squad", "exact match and F1 of words, of SQuAD 1.1", SCORE_TEXTS, REFERENCES_SOME, false, SQUAD_ANSWERS, 2,
      VALUES("exact_match", "f1"), answers_measure, finish_means, NULL },
    { "squad2", "exact match and F1 of words, of SQuAD 2, where a question may have no answer", SCORE_TEXTS,
      REFERENCES_ANY, false, SQUAD2_ANSWERS, 3,
      VALUES("exact_match", "f1", "has_answer_exact_match", "has_answer_f1", "no_answer_exact_match", "no_answer_f1"),
      answers_measure, squad2_finish, NULL },
    { "trivia_qa", "exact match and F1 of words, of TriviaQA", SCORE_TEXTS, REFERENCES_SOME, false, TRIVIA_ANSWERS, 2,
      VALUES("exact_match", "f1"), answers_measure, finish_means, NULL },
    { "rouge", "F1 of ROUGE-1, 2, L and Lsum; geometric mean of the first three", SCORE_TEXTS, REFERENCES_SOME, false,
      ROUGE_ALL, 4, VALUES("rouge_1", "rouge_2", "rouge_l", "rouge_lsum", "geometric_mean"), rouge_measure,
      rouge_finish, NULL },
    { "rouge_1", "ROUGE-1: words", SCORE_TEXTS, REFERENCES_SOME, false, ROUGE_1, 3, F1_VALUES, rouge_measure,
      finish_means, NULL },
    { "rouge_2", "ROUGE-2: pairs of words", SCORE_TEXTS, REFERENCES_SOME, false, ROUGE_2, 3, F1_VALUES, rouge_measure,
      finish_means, NULL },
    { "rouge_l", "ROUGE-L: longest common subsequence", SCORE_TEXTS, REFERENCES_SOME, false, ROUGE_L, 3, F1_VALUES,
      rouge_measure, finish_means, NULL },
    { "rouge_lsum", "ROUGE-Lsum: longest common subsequence, line by line", SCORE_TEXTS, REFERENCES_SOME, false,
      ROUGE_LSUM, 3, F1_VALUES, rouge_measure, finish_means, NULL },
    { "bleu", "BLEU of the corpus, as sacreBLEU", SCORE_TEXTS, REFERENCES_SOME, false, 0, BLEU_WIDTH, BLEU_VALUES,
      bleu_measure, bleu_finish, bleu_signature },
    { "codexglue_bleu", "BLEU of programs, smoothed as in CodeXGLUE", SCORE_TEXTS, REFERENCES_SOME, false,
      BLEU_OF_CODEXGLUE, BLEU_WIDTH, BLEU_VALUES, bleu_measure, codexglue_bleu_finish, NULL },
    { "codebleu_no_dataflow", "CodeBLEU without data flow: mean of two BLEUs and subtrees", SCORE_TEXTS, REFERENCES_ONE,
      false, 0, CODEBLEU_WIDTH, VALUES("codebleu_no_dataflow", "ngram_match", "weighted_ngram_match", "syntax_match"),
      codebleu_measure, codebleu_finish, NULL },
    { "chrf", "chrF2 of the corpus, as sacreBLEU; chrF2++ with n-grams of words", SCORE_TEXTS, REFERENCES_SOME, false,
      0, CHRF_WIDTH, VALUES("chrf"), chrf_measure, chrf_finish, chrf_signature },
    { "seqeval", "F1 of the entities of tag sequences, and accuracy of tags", SCORE_TAGS, REFERENCES_ONE, false,
      TAGS_CONLLEVAL, 5, VALUES("f1", "precision", "recall", "accuracy"), tags_measure, tags_finish, NULL },
    { "seqeval_iob2", "F1 of the entities of tag sequences where an entity must begin with B-, and accuracy of tags",
      SCORE_TAGS, REFERENCES_ONE, false, TAGS_IOB2, 5, VALUES("f1", "precision", "recall", "accuracy"), tags_measure,
      tags_finish, NULL },
};

const ScoreKind *score_at(size_t i)
{
    return i < G_N_ELEMENTS(kinds) ? &kinds[i] : NULL;
}

const ScoreKind *score_find(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
}

/* ---- computing ---- */

static bool check_input(const ScoreKind *kind, const ScoreInput *in, GError **error)
{
    if (in->n < 1)
        return fail_user(error, "no examples");
    if (kind->groups && in->groups == NULL)
        return fail_user(error, "%s needs the group of each example: the question that it answers", kind->name);
    for (int64_t i = 0; kind->references != REFERENCES_ANY && i < in->n; i++) {
        guint n = g_strv_length((char **)in->references[i]);
        if (kind->references == REFERENCES_ONE && n != 1)
            return fail_user(error, "example %" G_GINT64_FORMAT " has %u references; %s takes one", i + 1, n,
                             kind->name);
        if (n == 0)
            return fail_user(error, "example %" G_GINT64_FORMAT " has no reference", i + 1);
    }
    return true;
}

bool score_compute(ScoreResult *out, const ScoreKind *kind, const ScoreInput *in, const ScoreOptions *options,
                   GError **error)
{
    *out = (ScoreResult){ 0 };
    ScoreStats stats = { .kind = kind, .options = options, .n = in->n, .width = kind->width };
    if (!check_input(kind, in, error))
        return false;
    g_autofree double *at = g_new0(double, (gsize)(in->n * stats.width));
    stats.at = at;
    if (!kind->measure(&stats, in, error))
        return false;
    double values[SCORE_MAX_VALUES];
    g_autofree int64_t *all = g_new(int64_t, (gsize)stats.n);
    for (int64_t i = 0; i < stats.n; i++)
        all[i] = i;
    kind->finish(values, &stats, all, stats.n);
    for (; kind->values[out->n_values]; out->n_values++)
        out->values[out->n_values] = (ScoreValue){ kind->values[out->n_values], values[out->n_values], NAN, NAN };
    out->intervals = options->resamples > 0;
    if (out->intervals)
        bootstrap(out->values, out->n_values, &stats);
    out->n_units = stats.n;
    out->n_invalid = stats.n_invalid;
    out->signature = kind->signature ? kind->signature(in, options) : NULL;
    return true;
}

void score_result_clear(ScoreResult *result)
{
    g_clear_pointer(&result->signature, g_free);
}
