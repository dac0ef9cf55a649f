/* programs.h: assembles programs from completions for HumanEval, MBPP and EvalPlus, runs them in a sandbox
 * (eval/programs/sandbox) and tests them; and pass@k. The header of eval/programs for the rest of the program. */
#pragma once

#include "data/task/task.h"

/* One problem of a benchmark: one record of its file. */
typedef struct Problem {
    json_t *id;   /* the field task_id: a string, or an integer as in MBPP */
    char *name;   /* `id` as text */
    char *prefix; /* text that a completion continues: the field prompt; "" in MBPP, where a completion is the whole
                     program */
    char *json;   /* the whole record, on one line */
    TaskTests tests;
} Problem;

/* Reads a problem from a record of a task with tests; free with problem_clear after success. A missing field that the
 * tests need is an error that names the record. */
bool problem_read(Problem *out, const Task *task, const Record *record, GError **error);
void problem_clear(Problem *problem);

/* A completion to test, and its result. */
typedef struct Trial {
    const Problem *problem;
    char *text; /* g_free */
    bool whole; /* `text` is a whole program; false means that it continues the problem's prefix */
    bool passed;
    bool passed_base; /* TESTS_PLUS: passed the original tests, without those that EvalPlus added */
    char *result;     /* "passed", "timed out", "failed: NameError: …"; g_free; set already if the program
                          is none that could run */
} Trial;
void trial_clear(Trial *trial);
/* Appends the completions of a file of JSON lines (Trial), in its order: {"task_id": …, "completion": …}, or with
 * "solution" for whole programs. problems: name -> Problem. A completion for a problem that is not among them is an
 * error, or ignored if `partly`. */
bool predictions_read(const char *path, GHashTable *problems, bool partly, GArray *trials, GError **error);

/* A Python interpreter. */
typedef struct Python {
    char *path;     /* absolute; g_free */
    char **folders; /* folders of its installation and its virtual environment; g_strfreev */
} Python;
/* Runs the interpreter (name: a path, or searched in PATH) to find its folders. Free with python_clear if true. */
bool python_find(Python *out, const char *name, GError **error);
void python_clear(Python *python);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Python, python_clear)

typedef struct ProgramOptions {
    const Python *python;
    double timeout_s;     /* wall-clock time for one program; for EvalPlus, for one program with all its inputs */
    int64_t memory_bytes; /* limit on the memory of each process */
    int jobs;             /* number of programs that run at once */
    bool unsafe;          /* run without a sandbox */
} ProgramOptions;

/* The timeout in seconds that the benchmarks' own scripts use: 3, or 60 for EvalPlus. */
double programs_timeout(TaskTests tests);
/* Fails if programs cannot run: sets up a sandbox and starts the interpreter in it. */
bool programs_check(const ProgramOptions *options, GError **error);
/* Tests n programs: sets passed, passed_base and result of each that has no result. */
bool programs_run(Trial *trials, size_t n, const ProgramOptions *options, GError **error);

/* Unbiased estimate of the probability that at least one of k samples passes, given that c of n samples passed (Chen et
 * al. 2021): 1 - C(n - c, k) / C(n, k), and 1 if n - c < k. 0 <= c <= n, 1 <= k <= n. */
double pass_at_k(int64_t n, int64_t c, int64_t k);
/* Source text of the Python program that runs and tests completions. */
extern const char program_harness[];
