/* The tasks of the table: from a small file in the layout of the official one to the texts of T5. */
#include "data/task_test.h"

#include <glib/gstdio.h>

typedef struct Case {
    const char *task, *file, *text; /* a file of the official layout */
    const char *input;
    const char *targets; /* all right answers, separated by | */
    const char *group;
} Case;

static const Case cases[] = {
    { "cola", "train.tsv", "gj04\t1\t\tThe sailors rode.\n", "cola sentence: The sailors rode.", "acceptable", NULL },
    { "cola", "dev.tsv", "gj04\t0\t*\tSailors \"the rode.\n", "cola sentence: Sailors \"the rode.", "unacceptable",
      NULL },
    { "sst2", "train.tsv", "sentence\tlabel\na \"film \t1\n", "sst2 sentence: a \"film ", "positive", NULL },
    { "mrpc", "train.tsv", "\xef\xbb\xbfQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t7\t8\tA b\tC d\n",
      "mrpc sentence1: A b sentence2: C d", "equivalent", NULL },
    { "qqp", "train.tsv", "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n9\t1\n0\t1\t2\tWhy?\tHow?\t0\n",
      "qqp question1: Why? question2: How?", "not_duplicate", NULL },
    { "stsb", "dev.tsv",
      "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\tscore\n"
      "0\tg\tf\t2012\t1\tn\tn\tA man.\tA cat.\t2.500\n",
      "stsb sentence1: A man. sentence2: A cat.", "2.4", NULL },
    { "mnli", "dev_matched.tsv",
      "index\tpromptID\tpairID\tgenre\tsentence1_binary_parse\tsentence2_binary_parse\tsentence1_parse\tsentence2_"
      "parse\t"
      "sentence1\tsentence2\tlabel1\tgold_label\n"
      "0\t1\t2\tg\t(\t)\t(\t)\tIt rains.\tIt is wet.\tneutral\tentailment\n",
      "mnli hypothesis: It is wet. premise: It rains.", "entailment", NULL },
    { "mnli_mismatched", "dev_mismatched.tsv", "sentence1\tsentence2\tgold_label\nP\tH\tcontradiction\n",
      "mnli hypothesis: H premise: P", "contradiction", NULL },
    { "qnli", "dev.tsv", "index\tquestion\tsentence\tlabel\n0\tWho?\tHe.\tnot_entailment\n",
      "qnli question: Who? sentence: He.", "not_entailment", NULL },
    { "rte", "dev.tsv", "index\tsentence1\tsentence2\tlabel\n0\tA\tB\tentailment\n", "rte sentence1: A sentence2: B",
      "entailment", NULL },
    { "wnli", "dev.tsv", "index\tsentence1\tsentence2\tlabel\n0\tA\tB\t1\n", "wnli sentence1: A sentence2: B",
      "entailment", NULL },
    { "ax", "diagnostic.tsv", "index\tsentence1\tsentence2\n0\tP\tH\n", "mnli hypothesis: H premise: P", "", NULL },
    { "boolq", "val.jsonl", "{\"question\":\"is it\",\"passage\":\"It is.\",\"idx\":3,\"label\":true}\n",
      "boolq passage: It is. question: is it", "True", NULL },
    { "cb", "val.jsonl", "{\"premise\":\"P\",\"hypothesis\":\"H\",\"label\":\"neutral\",\"idx\":0}\n",
      "cb hypothesis: H premise: P", "neutral", NULL },
    { "copa", "val.jsonl",
      "{\"premise\":\"P\",\"choice1\":\"A\",\"choice2\":\"B\",\"question\":\"effect\",\"label\":1,\"idx\":0}\n",
      "copa choice1: A choice2: B premise: P question: effect", "choice2", NULL },
    { "multirc", "val.jsonl",
      "{\"idx\":4,\"passage\":{\"text\":\"<b>Sent 1: </b>One.<br><b>Sent 2: "
      "</b>Two.\",\"questions\":[{\"question\":\"Q?\","
      "\"idx\":7,\"answers\":[{\"text\":\"A\",\"idx\":11,\"label\":0},{\"text\":\"B\",\"idx\":12,\"label\":1}]}]}}\n",
      "multirc question: Q? answer: A paragraph: Sent 1: One. Sent 2: Two.", "False", "4-7" },
    { "record", "val.jsonl",
      "{\"source\":\"s\",\"idx\":1,\"passage\":{\"text\":\"Ann saw \xc3\x89va.\\n@highlight\\nBob "
      "left\\n@highlight\\nAnn "
      "wept\",\"entities\":[{\"start\":0,\"end\":2},{\"start\":8,\"end\":10},{\"start\":24,\"end\":26},"
      "{\"start\":0,\"end\":2}]},\"qas\":[{\"query\":\"@placeholder "
      "wept\",\"idx\":2,\"answers\":[{\"start\":8,\"end\":10,"
      "\"text\":\"\xc3\x89va\"},{\"start\":0,\"end\":2,\"text\":\"Ann\"},{\"start\":0,\"end\":2,\"text\":\"Ann\"}]}]}"
      "\n",
      "record query: @placeholder wept entities: Ann, Bob, \xc3\x89va passage: Ann saw \xc3\x89va. Bob left. Ann wept",
      "Ann|\xc3\x89va", NULL },
    { "superglue_rte", "val.jsonl", "{\"premise\":\"P\",\"hypothesis\":\"H\",\"label\":\"not_entailment\",\"idx\":0}\n",
      "rte hypothesis: H premise: P", "not_entailment", NULL },
    { "wic", "val.jsonl",
      "{\"word\":\"bank\",\"sentence1\":\"A bank.\",\"sentence2\":\"The "
      "bank.\",\"idx\":0,\"label\":false,\"start1\":2}\n",
      "wic sentence1: A bank. sentence2: The bank. word: bank", "False", NULL },
    { "wsc", "val.jsonl",
      "{\"text\":\"Mitchell asked Tom if he could lend some "
      "money.\",\"target\":{\"span1_index\":2,\"span1_text\":\"Tom\","
      "\"span2_index\":4,\"span2_text\":\"he\"},\"idx\":0,\"label\":true}\n",
      "wsc: Mitchell asked Tom if *he* could lend some money.", "Tom", NULL },
    { "wsc", "val.jsonl",
      "{\"text\":\"John laughed out quite loud. \\\"Good for him,\\\" he said. \",\"target\":{\"span1_index\":0,"
      "\"span1_text\":\"john\",\"span2_index\":7,\"span2_text\":\"him\"},\"idx\":0,\"label\":false}\n",
      "wsc: John laughed out quite loud. \"Good for *him* ,\" he said. ", "John", NULL },
    { "wsc", "val.jsonl",
      "{\"text\":\"Some day they might want to use it , but\",\"target\":{\"span1_index\":2,\"span1_text\":\"they\","
      "\"span2_index\":6,\"span2_text\":\"it\"},\"idx\":0,\"label\":true}\n",
      "wsc: Some day they might want to use *it* , but", "they", NULL },
    { "axb", "AX-b.jsonl", "{\"sentence1\":\"P\",\"sentence2\":\"H\",\"idx\":0,\"label\":\"not_entailment\"}\n",
      "rte hypothesis: H premise: P", "not_entailment", NULL },
    { "axg", "AX-g.jsonl", "{\"premise\":\"P\",\"hypothesis\":\"H\",\"idx\":0,\"label\":\"entailment\"}\n",
      "rte hypothesis: H premise: P", "entailment", NULL },
    { "squad", "dev-v1.1.json",
      "{\"version\":\"1.1\",\"data\":[{\"title\":\"T\",\"paragraphs\":[{\"context\":\"It's  the U.S.\\nmint\",\"qas\":"
      "[{\"id\":\"a\",\"question\":\"What's it?\",\"answers\":[{\"answer_start\":9,\"text\":\"U.S.\"},"
      "{\"answer_start\":5,\"text\":\"the mint\"},{\"answer_start\":9,\"text\":\"U.S.\"}]}]}]}]}",
      "question: What ' s it ? context: It ' s the U . S . mint", "U . S . |the mint", NULL },
    { "squad2", "dev-v2.0.json",
      "{\"data\":[{\"paragraphs\":[{\"context\":\"C\",\"qas\":[{\"id\":\"a\",\"question\":\"Q\",\"answers\":[],"
      "\"is_impossible\":true,\"plausible_answers\":[{\"text\":\"C\",\"answer_start\":0}]}]}]}]}",
      "question: Q context: C", "", NULL },
    { "trivia_qa", "unfiltered-web-dev.json",
      "{\"Data\":[{\"Question\":\"Who?\",\"QuestionId\":\"q1\",\"Answer\":{\"Value\":\"Sinclair Lewis\",\"Aliases\":"
      "[\"Lewis\",\"Sinclair Lewis\"]}}],\"Version\":1.0}",
      "trivia question: Who?", "Sinclair Lewis|Lewis", NULL },
    { "wmt_ende", "a.en,a.de", "That is good.\n", "translate English to German: That is good.", "Das ist gut.", NULL },
    { "wmt_enfr", "a.en,a.fr", "That is good.\n", "translate English to French: That is good.", "Das ist gut.", NULL },
    { "wmt_enro", "a.en,a.ro", "That is good.\n", "translate English to Romanian: That is good.", "Das ist gut.",
      NULL },
    { "cnn_dailymail", "test.csv", "id,article,highlights\n1,\"Long, and\nwide.\",Short .\n",
      "summarize: Long, and\nwide.", "Short .", NULL },
    { "humaneval", "HumanEval.jsonl",
      "{\"task_id\":\"HumanEval/0\",\"prompt\":\"def f(a):\\n\",\"entry_point\":\"f\",\"canonical_solution\":\"    "
      "return "
      "a\\n\",\"test\":\"def check(candidate):\\n    pass\\n\"}\n",
      "def f(a):\n", "    return a\n", NULL },
    { "humaneval_plus", "HumanEvalPlus.jsonl",
      "{\"task_id\":\"HumanEval/0\",\"prompt\":\"def f(a):\\n\",\"entry_point\":\"f\",\"canonical_solution\":\"    "
      "return "
      "a\\n\",\"base_input\":[[1]],\"plus_input\":[[-123456789012345678901234567890, NaN, -Infinity, "
      "\"\\\"1234567890123456789012 NaN\"]],"
      "\"atol\":0}\n",
      "def f(a):\n", "    return a\n", NULL },
    { "mbpp", "mbpp.jsonl",
      "{\"text\":\"Write f.\",\"code\":\"def f():\\r\\n  return "
      "1\",\"task_id\":11,\"test_setup_code\":\"\",\"test_list\":"
      "[\"assert f() == 1\",\"assert f() > 0\"],\"challenge_test_list\":[]}\n",
      "\"\"\"\nWrite f.\nassert f() == 1\n\"\"\"\n", "def f():\r\n  return 1", NULL },
    { "mbpp_sanitized", "sanitized-mbpp.json",
      "[{\"source_file\":\"a.ipynb\",\"task_id\":2,\"prompt\":\"Write f.\",\"code\":\"def f(): return "
      "1\",\"test_imports\":[],"
      "\"test_list\":[\"assert f() == 1\"]},\n {\"task_id\":3}]",
      "\"\"\"\nWrite f.\nassert f() == 1\n\"\"\"\n", "def f(): return 1", NULL },
    { "mbpp_plus", "MbppPlus.jsonl",
      "{\"task_id\":\"Mbpp/2\",\"prompt\":\"\\\"\\\"\\\"\\nWrite "
      "f.\\n\\\"\\\"\\\"\\n\",\"entry_point\":\"f\",\"canonical_solution\":"
      "\"\\ndef f(): return 1\",\"base_input\":[[]],\"plus_input\":[],\"atol\":0}\n",
      "\"\"\"\nWrite f.\n\"\"\"\n", "\ndef f(): return 1", NULL },
    { "concode", "dev.json", "{\"code\": \"void f ( ) { }\", \"nl\": \"do it con_elem_sep int a\"}\n",
      "do it con_elem_sep int a", "void f ( ) { }", NULL },
    { "bugs2fix", "valid.buggy-fixed.buggy,valid.buggy-fixed.fixed", "That is good.\n", "That is good.", "Das ist gut.",
      NULL },
    { "java_cs", "valid.java-cs.txt.java,valid.java-cs.txt.cs", "That is good.\n", "That is good.", "Das ist gut.",
      NULL },
    { "cs_java", "valid.java-cs.txt.cs,valid.java-cs.txt.java", "That is good.\n", "That is good.", "Das ist gut.",
      NULL },
    { "defect", "valid.jsonl",
      "{\"project\":\"qemu\",\"commit_id\":\"a\",\"target\":1,\"func\":\"\\nint f()\\n\\n{\\n\\treturn 1; "
      "}\\n\",\"idx\":8}\n",
      "defect: int f() { return 1; }", "true", NULL },
    { "hyperpartisan", "dev.jsonl", "{\"text\":\"News.\",\"label\":\"true\",\"index\":3}\n", "News.", "true", NULL },
};

/* Reads the first example of a file of a task. */
static TaskExample first_of(const char *name, const char *path, Task *task)
{
    g_autofree char *named = g_strconcat("task.name=", name, NULL), *valid = g_strconcat("task.valid=", path, NULL);
    char *settings[] = { named, valid, NULL };
    TaskConfig config = task_config_of(settings);
    g_autoptr(GError) error = NULL;
    TaskFile train, file;
    Record record;
    TaskExample example;
    g_assert_true(task_configure(task, &config, &error));
    g_assert_true(task_files(task, &config, &train, &file, &error));
    TaskReader *reader = task_reader_open(task, &config, &file, false, &error);
    g_assert_no_error(error);
    bool found = task_reader_next(reader, &example, &record, &error);
    g_assert_no_error(error);
    g_assert_true(found);
    task_reader_close(reader);
    task_config_clear(&config);
    g_free(file.path);
    return example;
}

static void check_case(const char *folder, const Case *c)
{
    g_auto(GStrv) names = g_strsplit(c->file, ",", -1), targets = g_strsplit(c->targets, "|", -1);
    g_autoptr(GString) path = g_string_new(NULL);
    for (char **name = names; *name; name++) {
        g_autofree char *file = file_write_text(folder, *name, name == names ? c->text : "Das ist gut.\n");
        g_string_append_printf(path, "%s%s", path->len ? "," : "", file);
    }
    Task task;
    TaskExample example = first_of(c->task, path->str, &task);
    g_test_message("%s", c->task);
    g_assert_cmpstr(example.input, ==, c->input);
    g_assert_cmpuint(example.targets->len, ==, g_strv_length(targets));
    for (guint i = 0; i < example.targets->len; i++)
        g_assert_cmpstr(example.targets->pdata[i], ==, targets[i]);
    g_assert_cmpstr(example.group, ==, c->group);
    task_example_clear(&example);
}

static void tasks__give_the_texts_of_t5(void)
{
    char *folder = folder_new();
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
        check_case(folder, &cases[i]);
    folder_remove(folder);
}

/* SCROLLS' seven share one layout. */
static void tasks__scrolls_take_input_and_output(void)
{
    static const char *const names[] = { "gov_report", "summ_screen_fd", "qmsum",       "narrative_qa",
                                         "qasper",     "quality",        "contract_nli" };
    char *folder = folder_new();
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        const Case c = { names[i],
                         "validation.jsonl",
                         "{\"id\":\"a\",\"pid\":\"a_0\",\"input\":\"Q\\n\\nD\",\"output\":\"A\"}\n",
                         "Q\n\nD",
                         "A",
                         NULL };
        check_case(folder, &c);
    }
    folder_remove(folder);
}

static void tasks__all_are_tested_and_find_themselves(void)
{
    const Task *task;
    for (size_t i = 0; (task = task_at(i)); i++) {
        bool tested = strcmp(task->scores, "rouge") == 0 || task->merge_ids || task->lookup;
        for (size_t c = 0; c < G_N_ELEMENTS(cases); c++)
            tested |= strcmp(cases[c].task, task->name) == 0;
        g_test_message("%s", task->name);
        g_assert_true(tested);
        g_assert_true(task_find(task->name) == task);
        g_assert_cmpint(task->input_length, >, 0);
        g_assert_cmpint(task->target_length, >, 0);
    }
}

/* Those that docs/heads.md names; all tasks of pairs of sentences are among them. */
static void tasks__encoders_have_texts_of_the_benchmarks(void)
{
    static const char *const pairs[] = { "mrpc",          "qqp", "stsb", "mnli",  "mnli_mismatched",
                                         "qnli",          "rte", "wnli", "boolq", "cb",
                                         "superglue_rte", "ax",  "axb",  "axg" };
    for (size_t i = 0; i < G_N_ELEMENTS(pairs); i++) {
        g_autofree char *named = g_strconcat("task.name=", pairs[i], NULL);
        char *settings[] = { named, NULL };
        TaskConfig config = task_config_of(settings);
        g_autoptr(GError) error = NULL;
        Task task;
        config.classifies = true;
        task_configure(&task, &config, &error);
        g_assert_no_error(error);
        g_assert_nonnull(task.second);
        task_config_clear(&config);
    }
}

/* round(5 y) / 5 with halves to even, as TensorFlow rounds in f32. */
static void stsb__rounds_to_fifths(void)
{
    static const struct {
        const char *score, *label;
    } rounded[] = { { "0", "0.0" },     { "5", "5.0" },   { "0.1", "0.0" },  { "0.3", "0.4" },  { "0.5", "0.4" },
                    { "0.7", "0.8" },   { "1.1", "1.2" }, { "2.5", "2.4" },  { "3.25", "3.2" }, { "3.8", "3.8" },
                    { "4.917", "5.0" }, { "1.8", "1.8" }, { "2.533", "2.6" } };
    char *folder = folder_new();
    for (size_t i = 0; i < G_N_ELEMENTS(rounded); i++) {
        g_autofree char *text = g_strdup_printf("sentence1\tsentence2\tscore\nA\tB\t%s\n", rounded[i].score);
        const Case c = { "stsb", "dev.tsv", text, "stsb sentence1: A sentence2: B", rounded[i].label, NULL };
        check_case(folder, &c);
    }
    folder_remove(folder);
}

static char *grade_wsc(const char *prediction, const char *referent, const char *answer)
{
    const Task *task = task_find("wsc");
    g_autoptr(GPtrArray) targets = g_ptr_array_new(), references = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(targets, (gpointer)referent);
    const TaskExample example = { .targets = targets, .answer = (char *)answer };
    char *graded = g_strdup(prediction);
    task->grade(&example, &graded, references);
    g_assert_cmpstr(references->pdata[0], ==, answer);
    return graded;
}

static void wsc__a_subset_of_the_words_is_the_referent(void)
{
    static const char *const graded[][3] = {
        { "fuzzy bunny", "bunny", "True" },
        { "bunny", "the fuzzy bunny", "True" },
        { "The Bunny", "a bunny", "True" },
        { "bunny hat", "fuzzy bunny", "False" },
        { "Bob", "Bob's hat", "False" },
        { "Bob's hat", "bob's hat", "True" },
        { "the", "bunny", "" },
        { "", "bunny", "" },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(graded); i++) {
        g_autofree char *label = grade_wsc(graded[i][0], graded[i][1], "True");
        g_assert_cmpstr(label, ==, graded[i][2]);
    }
}

static void hyperpartisan__anything_but_true_is_false(void)
{
    static const char *const graded[][2] = { { "true", "true" },     { "The TRUE.", "true" }, { "false", "false" },
                                             { "untrue", "false" },  { "", "false" },         { "true true", "false" },
                                             { "not true", "false" } };
    for (size_t i = 0; i < G_N_ELEMENTS(graded); i++) {
        char *prediction = g_strdup(graded[i][0]);
        task_find("hyperpartisan")->grade(NULL, &prediction, NULL);
        g_assert_cmpstr(prediction, ==, graded[i][1]);
        g_free(prediction);
    }
}

static void cnn__a_full_stop_ends_a_line(void)
{
    const Task *task = task_find("cnn_dailymail");
    g_autoptr(GPtrArray) references = g_ptr_array_new_with_free_func(g_free);
    char *prediction = g_strdup("One . Two . ");
    g_ptr_array_add(references, g_strdup("A . B"));
    task->grade(NULL, &prediction, references);
    g_assert_cmpstr(prediction, ==, "One .\nTwo .\n");
    g_assert_cmpstr(references->pdata[0], ==, "A .\nB");
    g_free(prediction);
}

/* BigCloneBench: pairs name functions of data.jsonl. */
static void clone__functions_come_from_the_file_beside(void)
{
    char *folder = folder_new();
    g_free(file_write_text(folder, "data.jsonl",
                           "{\"func\": \"int a()\\n{ }\", \"idx\": \"13\"}\n"
                           "{\"func\": \"int b() { }\\n\", \"idx\": 27}\n"));
    const Case c = { "clone_bcb", "valid.txt", "13\t27\t1\n", "clone code1: int a() { } code2: int b() { }",
                     "true",      NULL };
    check_case(folder, &c);
    char *settings[] = { (char[]){ "task.name=clone_bcb" }, NULL };
    TaskConfig config = task_config_of(settings);
    g_autofree char *path = file_write_text(folder, "test.txt", "27\t13\t0\n27\t99\t0\n");
    g_autoptr(GError) error = NULL;
    Task task;
    TaskExample example;
    Record record;
    const TaskFile file = { .path = path };
    g_assert_true(task_configure(&task, &config, &error));
    TaskReader *reader = task_reader_open(&task, &config, &file, false, &error);
    g_assert_true(task_reader_next(reader, &example, &record, &error));
    g_assert_cmpstr(example.targets->pdata[0], ==, "false");
    task_example_clear(&example);
    g_assert_false(task_reader_next(reader, &example, &record, &error));
    g_assert_nonnull(strstr(error->message, "test.txt:2: idx2: "));
    g_assert_nonnull(strstr(error->message, "data.jsonl has no object whose idx is 99"));
    task_reader_close(reader);
    g_clear_error(&error);
    config.classifies = true; /* an encoder reads the pair */
    g_assert_true(task_configure(&task, &config, &error));
    reader = task_reader_open(&task, &config, &file, false, &error);
    g_assert_true(task_reader_next(reader, &example, &record, &error));
    g_assert_cmpstr(example.input, ==, "int b() { }");
    g_assert_cmpstr(example.second, ==, "int a() { }");
    task_example_clear(&example);
    task_reader_close(reader);
    task_config_clear(&config);
    folder_remove(folder);
}

/* A folder stands for its files, of which a task with parallel files has several; a comma in its name stays one. */
static void folders__hold_parallel_files(void)
{
    static const struct {
        const char *task, *train, *valid;
    } folders[] = { { "java_cs", "%s/a\\,b/train.java-cs.txt.java,%s/a\\,b/train.java-cs.txt.cs",
                      "%s/a\\,b/valid.java-cs.txt.java,%s/a\\,b/valid.java-cs.txt.cs" },
                    { "sst2", "%s/a,b/train.tsv", "%s/a,b/dev.tsv" } };
    for (size_t i = 0; i < G_N_ELEMENTS(folders); i++) {
        char *folder = folder_new();
        g_autofree char *inner = g_build_filename(folder, "a,b", NULL), *data = g_strconcat("task.data=", inner, NULL),
                        *name = g_strconcat("task.name=", folders[i].task, NULL);
        g_autoptr(GString) train_path = g_string_new(folders[i].train);
        g_autoptr(GString) valid_path = g_string_new(folders[i].valid);
        g_string_replace(train_path, "%s", folder, 0);
        g_string_replace(valid_path, "%s", folder, 0);
        g_assert_cmpint(g_mkdir(inner, 0700), ==, 0);
        char *settings[] = { name, data, NULL };
        TaskConfig config = task_config_of(settings);
        g_autoptr(GError) error = NULL;
        TaskFile train, valid;
        Task task;
        g_assert_true(task_configure(&task, &config, &error));
        g_assert_true(task_files(&task, &config, &train, &valid, &error));
        g_assert_cmpstr(train.path, ==, train_path->str);
        g_assert_cmpstr(valid.path, ==, valid_path->str);
        g_free(train.path);
        g_free(valid.path);
        task_config_clear(&config);
        g_assert_cmpint(g_rmdir(inner), ==, 0);
        folder_remove(folder);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/data/tasks/texts", tasks__give_the_texts_of_t5);
    g_test_add_func("/data/tasks/scrolls", tasks__scrolls_take_input_and_output);
    g_test_add_func("/data/tasks/all", tasks__all_are_tested_and_find_themselves);
    g_test_add_func("/data/tasks/encoders", tasks__encoders_have_texts_of_the_benchmarks);
    g_test_add_func("/data/tasks/stsb", stsb__rounds_to_fifths);
    g_test_add_func("/data/tasks/wsc", wsc__a_subset_of_the_words_is_the_referent);
    g_test_add_func("/data/tasks/hyperpartisan", hyperpartisan__anything_but_true_is_false);
    g_test_add_func("/data/tasks/cnn", cnn__a_full_stop_ends_a_line);
    g_test_add_func("/data/tasks/clone", clone__functions_come_from_the_file_beside);
    g_test_add_func("/data/tasks/folders", folders__hold_parallel_files);
    return g_test_run();
}
