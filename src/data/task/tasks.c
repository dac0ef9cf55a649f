/* tasks.c: the tasks of published benchmarks, an entry each. Files and columns are those of the official downloads;
 * labels are in the order of their values in TensorFlow Datasets. */
#include "data/task/special.h"

#include <string.h>

/* Lengths are tokens of a packed sequence: those of inputs are T5X's for MNLI v2 and SQuAD, elsewhere long enough for
 * the texts. 64 tokens of targets are enough for the labels of all examples that fit into 512 of inputs: with the 16 of
 * a single label, rows of RTE would be filled to 42 %, not 99 %. */
#define LENGTHS(input_, target_) .input_length = (input_), .target_length = (target_)
#define SHORT_LABEL              LENGTHS(512, 64)
#define TASK(name_, does_)       .name = (name_), .does = (does_)
#define TEXTS(input_, target_)   .input = (input_), .target = (target_)
/* A target, and the names of its values. */
#define NAMED(target_, labels_)      .target = (target_), .labels = (labels_)
#define IN(format_, rows_, columns_) .source = { .format = (format_), .rows = (rows_), .columns = (columns_) }
#define FILES(train, valid)          .train_file = (train), .valid_file = (valid)
#define JSON_LINES(train, valid)     IN(RECORD_JSONL, "", ""), FILES(train, valid)
#define GLUE                         IN(RECORD_TSV, "", ""), FILES("train.tsv", "dev.tsv"), SHORT_LABEL
#define MNLI(valid)                                                                                                    \
    IN(RECORD_TSV, "", ""), FILES("train.tsv", valid), SHORT_LABEL,                                                    \
        TEXTS("mnli hypothesis: {sentence2} premise: {sentence1}", "{gold_label}"),                                    \
        PAIR("{sentence1}", "{sentence2}"), .labels = NLI_LABELS, .scores = "accuracy"
#define SUPER_GLUE_FILES FILES("train.jsonl", "val.jsonl")
#define SUPER_GLUE       IN(RECORD_JSONL, "", ""), SUPER_GLUE_FILES, .id = "{idx}", SHORT_LABEL
#define SQUAD(train, valid, scores_)                                                                                   \
    IN(RECORD_JSON, "data[].paragraphs[].qas[]", ""), FILES(train, valid),                                             \
        .scores = (scores_), .learns = LABELS_SPAN, .first = "{question}", .second = "{context}",                      \
        .answers = "answers", .input = "question: {question} context: {context}", .references = "answers.text",        \
        .id = "{id}", .pad_punctuation = true, LENGTHS(956, 256)
#define WMT(language, code)                                                                                            \
    IN(RECORD_PARALLEL, "", ""), TEXTS("translate English to " language ": {en}", "{" code "}"),                       \
        .scores = "bleu", .intl = true, LENGTHS(512, 512)
#define SCROLLS(scores_, target_)                                                                                      \
    JSON_LINES("train.jsonl", "validation.jsonl"), TEXTS("{input}", "{output}"),                                       \
        .id = "{id}", .merge_ids = true, .scores = (scores_), LENGTHS(1024, target_)

/* Templates for classifiers: the texts in the order of Hugging Face's run_glue.py. */
#define ONE(a)     .learns = LABELS_SEQUENCE, .first = (a)
#define PAIR(a, b) .learns = LABELS_SEQUENCE, .first = (a), .second = (b)

/* Python programs that are checked by tests. The stop strings are those of the Codex paper and of EvalPlus. */
#define PROGRAMS(valid, tests_, stops)                                                                                 \
    FILES(NULL, valid), .id = "{task_id}", .tests = (tests_), .stop = (stops), .scores = "exact_match",                \
                        LENGTHS(1024, 256)
static const char *const codex_stops[] = { "\nclass", "\ndef", "\n#", "\nif", "\nprint", NULL };
static const char *const mbpp_stops[] = { "\n\"\"\"", "\nassert", "\nif __name__", "\ndef main(", "\nprint(", NULL };
static const char *const plus_stops[] = { "\ndef ",    "\nclass ",      "\nimport ", "\nfrom ",
                                          "\nassert ", "\nif __name__", "\nprint(",  NULL };

/* Programs of CodeXGLUE, with a line each. */
#define CODE(first, second) first "," second
#define CODE_TO_CODE(from, to, length)                                                                                 \
    IN(RECORD_PARALLEL, "", ""), .input = "{" from "}", .target = "{" to "}", .scores = "exact_match,codexglue_bleu",  \
                                 .input_length = (length), .target_length = (length)
#define JAVA_CS                                                                                                        \
    FILES(CODE("train.java-cs.txt.java", "train.java-cs.txt.cs"),                                                      \
          CODE("valid.java-cs.txt.java", "valid.java-cs.txt.cs"))

#define ENTAILMENT_OR_NOT "entailment,not_entailment"
#define NLI_LABELS        "entailment,neutral,contradiction"
#define FALSE_OR_TRUE     "False,True"

static const Task tasks[] = {
    /* ---- GLUE ---- */
    { TASK("cola", "GLUE: is a sentence grammatical?"), IN(RECORD_TSV, "", "source,label,mark,sentence"),
      FILES("train.tsv", "dev.tsv"), SHORT_LABEL, .input = "cola sentence: {sentence}", ONE("{sentence}"),
      NAMED("{label}", "unacceptable,acceptable"), .scores = "matthews" },
    { TASK("sst2", "GLUE: sentiment of film reviews"), GLUE, .input = "sst2 sentence: {sentence}", ONE("{sentence}"),
      NAMED("{label}", "negative,positive"), .scores = "accuracy" },
    { TASK("mrpc", "GLUE: does a sentence paraphrase another?"), GLUE,
      .input = "mrpc sentence1: {#1 String} sentence2: {#2 String}", PAIR("{#1 String}", "{#2 String}"),
      NAMED("{Quality}", "not_equivalent,equivalent"), .scores = "f1,accuracy", .positive = "equivalent" },
    { TASK("qqp", "GLUE: do two questions ask the same?"), GLUE,
      .input = "qqp question1: {question1} question2: {question2}", PAIR("{question1}", "{question2}"),
      .target = "{is_duplicate}", .skip_bad = true, .labels = "not_duplicate,duplicate", .scores = "f1,accuracy",
      .positive = "duplicate" },
    { TASK("stsb", "GLUE: how similar are two sentences, 0 to 5?"), GLUE,
      .input = "stsb sentence1: {sentence1} sentence2: {sentence2}", .learns = LABELS_VALUE, .first = "{sentence1}",
      .second = "{sentence2}", .target = "{score}", .label = round_fifth, .scores = "pearson,spearman" },
    { TASK("mnli", "GLUE: does a premise entail a hypothesis? (MNLI v2, matched)"), MNLI("dev_matched.tsv") },
    { TASK("mnli_mismatched", "GLUE: the same, evaluated on other genres"), MNLI("dev_mismatched.tsv") },
    { TASK("qnli", "GLUE: does a sentence answer a question?"), GLUE,
      .input = "qnli question: {question} sentence: {sentence}", PAIR("{question}", "{sentence}"),
      NAMED("{label}", ENTAILMENT_OR_NOT), .scores = "accuracy" },
    { TASK("rte", "GLUE: does a sentence entail another?"), GLUE,
      .input = "rte sentence1: {sentence1} sentence2: {sentence2}", PAIR("{sentence1}", "{sentence2}"),
      NAMED("{label}", ENTAILMENT_OR_NOT), .scores = "accuracy" },
    { TASK("wnli", "GLUE: what does a pronoun refer to?"), GLUE,
      .input = "wnli sentence1: {sentence1} sentence2: {sentence2}", PAIR("{sentence1}", "{sentence2}"),
      NAMED("{label}", "not_entailment,entailment"), .scores = "accuracy" },
    { TASK("ax", "GLUE: the diagnostic set, which has no labels"), IN(RECORD_TSV, "", ""), SHORT_LABEL,
      .input = "mnli hypothesis: {sentence2} premise: {sentence1}", PAIR("{sentence1}", "{sentence2}"),
      NAMED("{label}", NLI_LABELS), .scores = "accuracy" },
    /* ---- SuperGLUE ---- */
    { TASK("boolq", "SuperGLUE: yes-or-no questions about a passage"), SUPER_GLUE,
      .input = "boolq passage: {passage} question: {question}", PAIR("{question}", "{passage}"),
      NAMED("{label}", FALSE_OR_TRUE), .scores = "accuracy" },
    { TASK("cb", "SuperGLUE: does a text commit to a clause?"), SUPER_GLUE,
      .input = "cb hypothesis: {hypothesis} premise: {premise}", PAIR("{premise}", "{hypothesis}"),
      NAMED("{label}", "entailment,contradiction,neutral"), .average_labels = true, .scores = "f1_macro,accuracy" },
    { TASK("copa", "SuperGLUE: which of two is the cause or the effect?"), SUPER_GLUE,
      .input = "copa choice1: {choice1} choice2: {choice2} premise: {premise} question: {question}",
      NAMED("{label}", "choice1,choice2"), .scores = "accuracy" },
    { TASK("multirc", "SuperGLUE: is an answer to a question right?"),
      IN(RECORD_JSONL, "passage.questions[].answers[]", ""), SUPER_GLUE_FILES, SHORT_LABEL,
      .input = "multirc question: {question} answer: {text} paragraph: {passage.text}", NAMED("{label}", FALSE_OR_TRUE),
      .positive = "True", .scores = "multirc", .clean = strip_markup, .make = multirc_make },
    { TASK("record", "SuperGLUE: which entity fits into a sentence about a passage?"), IN(RECORD_JSONL, "qas[]", ""),
      SUPER_GLUE_FILES, .references = "answers.text", .each_answer = true, .scores = "squad", LENGTHS(512, 64),
      .make = record_task_make },
    { TASK("superglue_rte", "SuperGLUE: does a premise entail a hypothesis?"), SUPER_GLUE,
      .input = "rte hypothesis: {hypothesis} premise: {premise}", PAIR("{premise}", "{hypothesis}"),
      NAMED("{label}", ENTAILMENT_OR_NOT), .scores = "accuracy" },
    { TASK("wic", "SuperGLUE: does a word mean the same in two sentences?"), SUPER_GLUE,
      .input = "wic sentence1: {sentence1} sentence2: {sentence2} word: {word}", NAMED("{label}", FALSE_OR_TRUE),
      .scores = "accuracy" },
    { TASK("wsc", "SuperGLUE: what does a pronoun refer to?"), IN(RECORD_JSONL, "", ""), SUPER_GLUE_FILES,
      .id = "{idx}", LENGTHS(512, 32), .labels = FALSE_OR_TRUE, .scores = "accuracy", .make = wsc_make,
      .grade = wsc_grade },
    { TASK("axb", "SuperGLUE: the broad diagnostic set"), IN(RECORD_JSONL, "", ""), .id = "{idx}", SHORT_LABEL,
      .input = "rte hypothesis: {sentence2} premise: {sentence1}", PAIR("{sentence1}", "{sentence2}"),
      NAMED("{label}", ENTAILMENT_OR_NOT), .scores = "matthews" },
    { TASK("axg", "SuperGLUE: the Winogender diagnostic set"), IN(RECORD_JSONL, "", ""), .id = "{idx}", SHORT_LABEL,
      .input = "rte hypothesis: {hypothesis} premise: {premise}", PAIR("{premise}", "{hypothesis}"),
      NAMED("{label}", ENTAILMENT_OR_NOT), .scores = "accuracy" },
    /* ---- questions ---- */
    { TASK("squad", "SQuAD 1.1: answer a question from a paragraph"),
      SQUAD("train-v1.1.json", "dev-v1.1.json", "squad") },
    { TASK("squad2", "SQuAD 2.0: the same, where the answer may be none (an empty target)"),
      SQUAD("train-v2.0.json", "dev-v2.0.json", "squad2") },
    { TASK("trivia_qa", "TriviaQA without its documents: answer from memory"), IN(RECORD_JSON, "Data[]", ""),
      FILES("unfiltered-web-train.json", "unfiltered-web-dev.json"),
      TEXTS("trivia question: {Question}", "{Answer.Value}"), .references = "Answer.Aliases", .id = "{QuestionId}",
      .scores = "trivia_qa", LENGTHS(128, 32) },
    /* ---- text to text ---- */
    { TASK("wmt_ende", "WMT: English to German, files a.en,a.de"), WMT("German", "de") },
    { TASK("wmt_enfr", "WMT: English to French, files a.en,a.fr"), WMT("French", "fr") },
    { TASK("wmt_enro", "WMT: English to Romanian, files a.en,a.ro"), WMT("Romanian", "ro") },
    { TASK("cnn_dailymail", "CNN/Daily Mail: highlights of articles, a table with both"), IN(RECORD_AUTO, "", ""),
      FILES("train.csv", "validation.csv"), TEXTS("summarize: {article}", "{highlights}"), .scores = "rouge",
      .grade = break_sentences, LENGTHS(512, 512) },
    /* ---- SCROLLS ---- */
    { TASK("gov_report", "SCROLLS: summaries of government reports"), SCROLLS("rouge", 1024) },
    { TASK("summ_screen_fd", "SCROLLS: recaps of television episodes"), SCROLLS("rouge", 512) },
    { TASK("qmsum", "SCROLLS: summaries of meetings, to a question"), SCROLLS("rouge", 512) },
    { TASK("narrative_qa", "SCROLLS: questions about books and films"), SCROLLS("squad", 128) },
    { TASK("qasper", "SCROLLS: questions about papers"), SCROLLS("squad", 128) },
    { TASK("quality", "SCROLLS: multiple-choice questions about stories"), SCROLLS("squad", 128) },
    { TASK("contract_nli", "SCROLLS: does a contract entail a statement?"), SCROLLS("squad", 64) },
    /* ---- classification of documents ---- */
    { TASK("hyperpartisan", "Hyperpartisan news, as JSON lines with text and label"),
      JSON_LINES("train.jsonl", "dev.jsonl"), .input = "{text}", NAMED("{label}", "false,true"), .positive = "true",
      .scores = "accuracy,f1", .grade = true_or_false, SHORT_LABEL },
    /* ---- CodeXGLUE ---- */
    { TASK("concode", "CodeXGLUE: a Java function of a sentence and its class"), JSON_LINES("train.json", "dev.json"),
      TEXTS("{nl}", "{code}"), .language = "java", .scores = "exact_words,codexglue_bleu", LENGTHS(320, 150) },
    { TASK("bugs2fix", "CodeXGLUE: Java functions mended, folder small or medium"), CODE_TO_CODE("buggy", "fixed", 256),
      FILES(CODE("train.buggy-fixed.buggy", "train.buggy-fixed.fixed"),
            CODE("valid.buggy-fixed.buggy", "valid.buggy-fixed.fixed")),
      .language = "java" },
    { TASK("java_cs", "CodeXGLUE: Java to C#"), CODE_TO_CODE("java", "cs", 512), JAVA_CS, .language = "c_sharp" },
    { TASK("cs_java", "CodeXGLUE: C# to Java"), CODE_TO_CODE("cs", "java", 512), JAVA_CS, .language = "java" },
    { TASK("clone_bcb", "CodeXGLUE: do two Java functions do the same? (BigCloneBench)"),
      IN(RECORD_TSV, "", "idx1,idx2,label"), FILES("train.txt", "valid.txt"), .lookup = "data.jsonl",
      .looked_up = "idx1,idx2", .input = "clone code1: {idx1.func} code2: {idx2.func}",
      PAIR("{idx1.func}", "{idx2.func}"), NAMED("{label}", "false,true"), .positive = "true", .scores = "f1",
      .clean = single_spaces, LENGTHS(820, 16) },
    { TASK("defect", "CodeXGLUE: is a C function unsafe? (Devign)"), JSON_LINES("train.jsonl", "valid.jsonl"),
      .input = "defect: {func}", ONE("{func}"), NAMED("{target}", "false,true"), .scores = "accuracy",
      .clean = single_spaces, .id = "{idx}", LENGTHS(512, 16) },
    /* ---- programs that are run ---- */
    { TASK("humaneval", "HumanEval: the body of a Python function, tested"), IN(RECORD_JSONL, "", ""),
      PROGRAMS("HumanEval.jsonl.gz", TESTS_HUMANEVAL, codex_stops), TEXTS("{prompt}", "{canonical_solution}") },
    { TASK("humaneval_plus", "HumanEval+: the same with EvalPlus' tests"), IN(RECORD_JSONL, "", ""),
      PROGRAMS("HumanEvalPlus.jsonl.gz", TESTS_PLUS, plus_stops), TEXTS("{prompt}", "{canonical_solution}") },
    { TASK("mbpp", "MBPP: a Python program of a sentence and a test, tested"), IN(RECORD_JSONL, "", ""),
      PROGRAMS("mbpp.jsonl", TESTS_MBPP, mbpp_stops), TEXTS("\"\"\"\n{text}\n{test_list.0}\n\"\"\"\n", "{code}") },
    { TASK("mbpp_sanitized", "MBPP: its hand-checked part"), IN(RECORD_JSON, "[]", ""),
      PROGRAMS("sanitized-mbpp.json", TESTS_MBPP, mbpp_stops),
      TEXTS("\"\"\"\n{prompt}\n{test_list.0}\n\"\"\"\n", "{code}") },
    { TASK("mbpp_plus", "MBPP+: the same with EvalPlus' tests"), IN(RECORD_JSONL, "", ""),
      PROGRAMS("MbppPlus.jsonl.gz", TESTS_PLUS, mbpp_stops), TEXTS("{prompt}", "{canonical_solution}") },
};

const Task *task_at(size_t i)
{
    return i < G_N_ELEMENTS(tasks) ? &tasks[i] : NULL;
}

const Task *task_find(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(tasks); i++)
        if (strcmp(tasks[i].name, name) == 0)
            return &tasks[i];
    return NULL;
}
