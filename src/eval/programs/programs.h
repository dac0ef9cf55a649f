/* programs.h: the way into eval/programs: completions of HumanEval, MBPP and EvalPlus are put together to programs, run
 * in a sandbox (base/sandbox) and tested; and pass@k. */
#pragma once

#include "data/task/task.h"

/* A problem: a record of the file. */
typedef struct Problem {
    json_t *id;   /* the field task_id: a text, or an integer as in MBPP */
    char *name;   /* the same as text */
    char *prefix; /* what a completion continues: the field prompt; "" of MBPP, where a completion is the program */
    char *json;   /* the record */
    TaskTests tests;
} Problem;

/* Reads a problem from a record of a task with tests; problem_clear after success. A field that its tests need and that
 * the record lacks is an error that names the record. */
bool problem_read(Problem *out, const Task *task, const Record *record, GError **error);
void problem_clear(Problem *problem);

/* A completion to test. */
typedef struct Trial {
    const Problem *problem;
    char *text; /* g_free */
    bool whole; /* the text is the program; else it goes on from the problem's prefix */
    bool passed;
    bool passed_base; /* TESTS_PLUS: passed the tests that the benchmark had before EvalPlus */
    char *result;     /* "passed", "timed out", "failed: NameError: …"; g_free */
} Trial;
void trial_clear(Trial *trial);
/* Appends the completions of a file of JSON lines (Trial), in its order: {"task_id": …, "completion": …}, or with
 * "solution" for whole programs. problems: name -> Problem. A completion of none of them is an error, or left out where
 * `partly`. */
bool predictions_read(const char *path, GHashTable *problems, bool partly, GArray *trials, GError **error);

/* An interpreter of Python. */
typedef struct Python {
    char *path;     /* absolute; g_free */
    char **folders; /* its installation, and that of its virtual environment; g_strfreev */
} Python;
/* Asks the interpreter (a path, or a name that is looked for in PATH) where it lies; python_clear after success. */
bool python_find(Python *out, const char *name, GError **error);
void python_clear(Python *python);

typedef struct ProgramOptions {
    const Python *python;
    double timeout_s;     /* for a program of HumanEval and MBPP, or for one and all its inputs of EvalPlus */
    int64_t memory_bytes; /* of a process */
    int jobs;             /* programs that run at once */
    bool unsafe;          /* without a sandbox */
} ProgramOptions;

/* The timeout that the benchmarks' own programs have: 3 seconds, of EvalPlus 60 seconds. */
double programs_timeout(TaskTests tests);
/* Whether programs can run: makes a sandbox and starts the interpreter in it. */
bool programs_check(const ProgramOptions *options, GError **error);
/* Tests n programs: sets passed, passed_base and result of each. */
bool programs_run(Trial *trials, size_t n, const ProgramOptions *options, GError **error);

/* The unbiased estimate of the probability that one of k samples passes, where c of n did (Chen et al. 2021):
 * 1 - C(n - c, k) / C(n, k); 1 where n - c < k. 0 <= c <= n, 1 <= k <= n. */
double pass_at_k(int64_t n, int64_t c, int64_t k);
