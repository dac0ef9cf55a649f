/* Files of labelled data: tables, JSON, parallel lines; what is wrong with them; examples held out and cut. */
#include "base/text.h"
#include "data/dataset/dataset.h"
#include "data/task_test.h"
#include "data/tiny_tokenizer.h"

#include <unistd.h>

/* The inputs, each with its targets, that a file gives: "input=target+target;input=target", and after "!" the error. */
static char *read_all(char *const *settings)
{
    TaskConfig config = task_config_of(settings);
    GString *all = g_string_new(NULL);
    g_autoptr(GError) error = NULL;
    Task task;
    TaskFile train = { 0 }, valid = { 0 };
    TaskReader *reader = NULL;
    if (task_configure(&task, &config, &error) && task_files(&task, &config, &train, &valid, &error) &&
        (reader = task_reader_open(&task, &config, &train, true, &error))) {
        TaskExample example;
        Record record;
        while (task_reader_next(reader, &example, &record, &error)) {
            g_string_append_printf(all, "%s%s=", all->len ? ";" : "", example.input);
            for (guint i = 0; i < example.targets->len; i++)
                g_string_append_printf(all, "%s%s", i ? "+" : "", (char *)example.targets->pdata[i]);
            task_example_clear(&example);
        }
    }
    if (error) {
        const char *name = strrchr(error->message, '/');
        g_string_append_printf(all, "!%s", name ? name + 1 : error->message);
    }
    task_reader_close(reader);
    g_free(train.path);
    g_free(valid.path);
    task_config_clear(&config);
    return g_string_free(all, false);
}

static char *folder;

/* What the text of a file gives, with an option or none. */
static void check(const char *name, const char *text, const char *option, const char *want)
{
    g_autofree char *path = file_write_text(folder, name, text), *data = g_strconcat("task.data=", path, NULL);
    char *settings[] = { data, (char *)"task.input={a} {b}", (char *)"task.target={y}", (char *)option, NULL };
    g_autofree char *got = read_all(settings);
    g_assert_cmpstr(got, ==, want);
}

/* ---- each format: main() wants a function NAME__is_read for each row of the lists in records.h ---- */

static void tsv__is_read(void)
{
    check("t.tsv", "a\tb\ty\n1\t2\t3\n4\t\"5\t6", NULL, "1 2=3;4 \"5=6");
}

static void csv__is_read(void)
{
    check("t.csv", "y,b,a\n3,\"2,\"\"2\"\"\nx\",1\n6,\"\",\"4\"\r\n", NULL, "1 2,\"2\"\nx=3;4 =6");
}

static void jsonl__is_read(void)
{
    check("t.jsonl", "{\"a\":\"x\",\"b\":2.5,\"y\":true}\n\n{\"a\":[\"p\",\"q\"],\"b\":1,\"y\":[\"u\",\"v\"]}\n", NULL,
          "x 2.5=true;p, q 1=u+v");
}

static void parquet__is_read(void)
{
    char *settings[] = { (char *)"task.data=" LOAM_SOURCE_DIR "/tests/golden/parquet/types.parquet",
                         (char *)"task.input={turns.0.role} {date}", (char *)"task.target={answers.text}",
                         (char *)"task.on_error=skip", NULL };
    g_autofree char *got = read_all(settings);
    g_assert_cmpstr(got, ==, "user 2026-02-28=a+b; 0001-01-01=");
}

static void json__is_read(void)
{
    check("t.json", "{\"a\":\"top\",\"l\":[{\"b\":1,\"m\":{\"n\":[{\"y\":1},{\"y\":2,\"a\":\"own\"}]}}]}",
          "task.rows=l[].m.n[]", "top 1=1;own 1=2");
}

static void parallel__is_read(void)
{
    g_autofree char *a = file_write_text(folder, "x.aa", "one\n\nthree\n"),
                    *b = file_write_text(folder, "x.bb", "1\n2\n");
    g_autofree char *data = g_strdup_printf("task.data=%s,%s", a, b);
    char *settings[] = { data, (char *)"task.input=<{aa}>", (char *)"task.target={bb}", NULL, NULL };
    g_autofree char *by_name = read_all(settings);
    settings[3] = (char *)"task.format=parallel";
    g_autofree char *got = read_all(settings);
    const char *error = strchr(got, '!');
    g_assert_cmpstr(by_name, ==, got);
    g_assert_true(g_str_has_prefix(got, "<one>=1;<>=2!"));
    g_assert_nonnull(strstr(error, "the files have different numbers of lines: bb ends before aa"));
}

static void conll__is_read(void)
{
    g_autofree char *path = file_write_text(folder, "t.conll", "1 x\n2 y\n\n3\tz\n"),
                    *data = g_strconcat("task.data=", path, NULL);
    char *settings[] = { data, (char *)"task.input={1}", (char *)"task.target=tags: {2}", NULL };
    g_autofree char *got = read_all(settings);
    g_assert_cmpstr(got, ==, "1, 2=tags: x, y;3=tags: z");
}

static void check_page(const char *page, const char *before, const char *name, const char *after)
{
    g_autofree char *path = g_build_filename(LOAM_SOURCE_DIR, "docs", page, NULL),
                    *item = g_strconcat(before, name, after, NULL), *text = NULL;
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    if (strstr(text, item) == NULL)
        g_error("docs/%s does not have %s", page, item);
}

static void formats__are_on_their_pages(void)
{
    for (const char *const *name = record_format_names + 1; *name; name++)
        check_page("task.md", "- `", *name, "` (");
#define ON_PAGE(NAME, name) check_page("prepare.md", "`.", #name, "`");
    RECORD_ROW_FORMATS(ON_PAGE);
}

/* ---- tables ---- */

static void tables__are_cut_into_cells(void)
{
    check("t.tsv",
          "\xef\xbb\xbf"
          "a\tb\ty\r\n1\t2\t3\r\n\r\n4\t5\t6\r\n",
          NULL, "1 2=3;4 5=6");
    check("t.tsv", "a\tb\ty\n\"1\"\"\n\t\"\t2\t3\n", "task.quotes=true", "1\"\n\t 2=3");
    check("t.csv", "1,2,3\n", "task.columns=y,a,b", "2 3=1");
    check("t.tsv.gz", "no gzip", NULL, "!t.tsv.gz: not a gzip file; rename it if it is not compressed");
    char *numbered[] = { (char *)"task.header=false", (char *)"task.input={2}", (char *)"task.target={3}", NULL, NULL };
    g_autofree char *path = file_write_text(folder, "n.csv", "x,y,z\n1,2,3\n");
    g_autofree char *data = numbered[3] = g_strconcat("task.data=", path, NULL);
    char *const settings[] = { numbered[0], numbered[1], numbered[2], data, NULL };
    g_autofree char *got = read_all(settings);
    g_assert_cmpstr(got, ==, "y=z;2=3");
    char *const renamed[] = { (char *)"task.header=true",
                              (char *)"task.columns=c, b, a",
                              (char *)"task.input={a}",
                              (char *)"task.target={b}",
                              data,
                              NULL };
    g_autofree char *under = read_all(renamed);
    g_assert_cmpstr(under, ==, "3=2");
}

/* A pipe whose name says no format, as <(command) of a shell: with a delimiter it is a table, of which no row is lost.
 */
static void tables__come_through_pipes(void)
{
    static const char text[] = "a\tb\ty\n1\t2\t3\n";
    int ends[2];
    g_assert_cmpint(pipe(ends), ==, 0);
    g_assert_cmpint(write(ends[1], text, sizeof text - 1), ==, sizeof text - 1);
    close(ends[1]);
    g_autofree char *data = g_strdup_printf("task.data=/dev/fd/%d", ends[0]);
    char *settings[] = { data, (char *)"task.input={a} {b}", (char *)"task.target={y}", (char *)"task.delimiter=\\t",
                         NULL };
    g_autofree char *got = read_all(settings);
    g_assert_cmpstr(got, ==, "1 2=3");
    close(ends[0]);
}

static void tables__have_one_of_four_delimiters(void)
{
    check("t.csv", "a;b;y\n\"1;\";2,5;3\n", "task.delimiter=;", "1; 2,5=3");
    check("t.tsv", "a|b|y\n1|2|3\n", "task.delimiter=|", "1 2=3");
    check("t.csv", "a\tb\ty\n1\t2\t3\n", "task.delimiter=\\t", "1 2=3");
    check("t.txt", "a\tb\ty\n1\t2\t3\n", "task.delimiter=\t", "1 2=3");
    check("t.csv", "a;b\n", "task.delimiter=:", "!task.delimiter=:: one of , ; | and \\t is wanted");
    check("t.csv", "\"a\";\"b,b\";\"y\"\n1;2;3\n", NULL,
          "!t.csv: a table separated by semicolons, not commas: give task.delimiter=';' (',' if it has one column)");
    check("t.tsv", "a,b,y|z\n1,2,3\n", NULL,
          "!t.tsv: a table separated by commas, not tabs: give task.delimiter=',' ('\\t' if it has one column)");
    check("t.csv", "1;2;3\n", "task.columns=a,b,y",
          "!t.csv: a table separated by semicolons, not commas: give task.delimiter=';' (',' if it has one column)");
    char *settings[] = { NULL, (char *)"task.input={x}", (char *)"task.target={x}", (char *)"task.columns=x", NULL };
    g_autofree char *path = file_write_text(folder, "t.csv", "one; two\n"),
                    *data = g_strconcat("task.data=", path, NULL);
    settings[0] = data;
    g_autofree char *got = read_all(settings);
    g_assert_cmpstr(got, ==, "one; two=one; two");
}

static void tables__say_what_is_wrong_and_where(void)
{
    const char *skip = "; task.on_error=skip leaves such rows out";
    g_autofree char *few = g_strconcat("1 2=3!t.tsv:3: 2 columns where 3 are wanted (a, b, y)", skip, NULL);
    check("t.tsv", "a\tb\ty\n1\t2\t3\n4\t5\n6\t7\t8\n", NULL, few);
    check("t.tsv", "a\tb\ty\n1\t2\t3\n4\t5\n6\t7\t8\n", "task.on_error=skip", "1 2=3;6 7=8");
    g_autofree char *late =
        g_strconcat("!t.csv:2: column 2: text after the closing quote of a cell; a quote within a cell "
                    "is written twice (\"\")",
                    skip, NULL);
    check("t.csv", "a,b,y\n1,\"2\"2,3\n", NULL, late);
    check("t.csv", "a,b,y\n1,\"2\"2,3\n4,5,6\n", "task.on_error=skip", "4 5=6");
    g_autofree char *open = g_strconcat("!t.csv:2: column 2: a quote is opened and never closed", skip, NULL);
    check("t.csv", "a,b,y\n1,\"2,3\n4,5,6\n", NULL, open);
    check("t.csv", "a,b,y\n1,\"2,3\n4,5,6\n7,8,9\n", "task.on_error=skip", "4 5=6;7 8=9");
    g_autofree char *bytes =
        g_strconcat("!t.tsv:2: column 3: not UTF-8 (byte 0xff); convert the file: iconv -t UTF-8 -f LATIN1, or "
                    "WINDOWS-1252, SHIFT-JIS (Japanese), WINDOWS-1251 (Russian): bytes do not tell which",
                    skip, NULL);
    check("t.tsv", "a\tb\ty\n1\t2\t\xff\n", NULL, bytes);
    check("t.tsv", "a\tb\tz\n1\t2\t3\n", NULL, "!t.tsv:2: no column \"y\"; there are a, b, z");
    check("t.tsv", "a\tb\ta\n1\t2\t3\n", NULL, "!t.tsv: two columns are called \"a\"");
    check("t.tsv", "c\ta\tb\tc\ty\t\t\n0\t1\t2\t0\t3\t0\t0\n", NULL, "1 2=3");
    check("t.tsv", "a\tb\ty\r1\t2\t3\r4\t5\t6\r", NULL, "1 2=3;4 5=6");
    g_autofree char *empty = g_strconcat("!t.tsv:2: the input is empty", skip, NULL);
    check("t.tsv", "a\tb\ty\n\t\t3\n", NULL, empty);
    check("t.feather", "", NULL, "!t.jsonl', orient='records', lines=True)\"");
    g_autofree char *formats = text_choice(record_format_names + 1),
                    *nameless = g_strconcat("!t.txt: its name says no format; set task.format to ", formats, NULL);
    check("t.txt", "", NULL, nameless);
    g_autofree char *renumbered = g_strconcat("1 2=1;1 2=3!t.tsv:4: y: \"0\" is none of the labels 1,2,3: as some are "
                                              "numbers of others (from 0), every value must be a name, and "
                                              "task.labels must name the values that the file has",
                                              skip, NULL);
    check("t.tsv", "a\tb\ty\n1\t2\t1\n1\t2\t3\n1\t2\t0\n", "task.labels=1,2,3", renumbered);
    check("t.tsv", "a\tb\ty\n1\t2\t0\n1\t2\t1\n1\t2\t2\n", "task.labels=0,1,2", "1 2=0;1 2=1;1 2=2");
    check("t.tsv", "a\tb\ty\n1\t2\t0\n1\t2\t-1\n1\t2\t1\n", "task.labels=-1,0,1", "1 2=0;1 2=-1;1 2=1");
    check("t.tsv", "a\tb\ty\n1\t2\t0\n1\t2\t2\n", "task.labels=10,20,30", "1 2=10;1 2=30");
    g_autofree char *label = g_strconcat("!t.tsv:2: y: \"3\" is none of the labels no,yes", skip, NULL);
    check("t.tsv", "a\tb\ty\n1\t2\t3\n", "task.labels=no,yes", label);
    check("t.tsv", "a\tb\ty\n1\t2\tyes\n1\t2\t0\n1\t2\ttrue\n1\t2\t-1\n", "task.labels=no,yes",
          "1 2=yes;1 2=no;1 2=yes!t.tsv:5: it has no label: -1 and -100 mean none, unless task.labels or "
          "model.labels has them; task.on_error=skip leaves such rows out");
}

/* The targets of a file with the labels 1 and 0, and those that the labels have without a file. */
static void check_labelled(const char *first, const char *second, const char *target, const char *want)
{
    g_autofree char *path = file_write_text(folder, "l.tsv", "sentence\tlabel\tother\nx\t1\tp\ny\t0\tq\n"),
                    *data = g_strconcat("task.data=", path, NULL);
    char *settings[] = { data, (char *)"task.input={sentence}", (char *)target, (char *)first, (char *)second, NULL };
    g_autofree char *got = read_all(settings);
    g_autoptr(GError) error = NULL;
    TaskConfig config = task_config_of(settings);
    Task task;
    g_assert_true(task_configure(&task, &config, &error));
    g_auto(GStrv) labels = task_label_texts(&task);
    g_autofree char *all = g_strjoinv("+", labels), *both = g_strdup_printf("%s|%s", got, all);
    task_config_clear(&config);
    g_assert_cmpstr(both, ==, want);
}

static void labels__are_named_before_they_are_put_into_the_template(void)
{
    const char *labels = "task.labels=no,yes", *columns = "task.header=true";
    check_labelled(labels, columns, "task.target={label}", "x=yes;y=no|no+yes");
    check_labelled(labels, columns, "task.target= {label}", "x= yes;y= no| no+ yes");
    check_labelled(labels, columns, "task.target=it is {label} {{!}}",
                   "x=it is yes {!};y=it is no {!}|it is no {!}+it is yes {!}");
    check_labelled("task.labels=1 p,0 q", columns, "task.target={label} {other}", "x=1 p;y=0 q|1 p+0 q");
}

static void labels__of_a_named_task_are_those_of_its_field(void)
{
    const char *sst2 = "task.name=sst2", *columns = "task.header=true";
    check_labelled(sst2, columns, "task.target= {label}", "x= positive;y= negative| negative+ positive");
    check_labelled(sst2, "task.labels=bad,good", "task.target= {label}", "x= good;y= bad| bad+ good");
    check_labelled(sst2, columns, "task.target={other}", "x=p;y=q|");
}

static void templates__without_braces_are_refused(void)
{
    const char *columns = "a\tb\ty\n1\t2\t3\n";
    check("t.tsv", columns, "task.input=a", "!the task's input \"a\" has no {field}; did you mean \"{a}\"?");
    check("t.tsv", columns, "task.target=y", "!the task's target \"y\" has no {field}; did you mean \"{y}\"?");
    check("t.jsonl", "{\"a\":1,\"b\":2,\"y\":3}\n", "task.target=y",
          "!the task's target \"y\" has no {field}; did you mean \"{y}\"?");
    check("t.tsv", columns, "task.input=write", "write=3");
    check("t.tsv", columns, "task.input={{a}}", "{a}=3");
}

static void mistakes_in_a_template_name_the_option_that_was_given(void)
{
    g_autofree char *path = file_write_text(folder, "t.tsv", "a\ty\n1\t3\n"),
                    *data = g_strconcat("task.data=", path, NULL);
    const char *const cases[][2] = { { "task.label={my {y}}", "!task.label: " },
                                     { "task.value={my {y}}", "!task.value: " },
                                     { "task.target={my {y}}", "!task.target: " },
                                     { "task.label=y", "!the task's label \"y\" has no {field}" } };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        char *settings[] = { data, (char *)"task.input={a}", (char *)cases[i][0], NULL };
        g_autofree char *got = read_all(settings);
        if (!g_str_has_prefix(got, cases[i][1]))
            g_error("%s: %s", cases[i][0], got);
    }
}

static void json__has_levels(void)
{
    const char *skip = "; task.on_error=skip leaves such rows out";
    g_autofree char *bad =
        g_strconcat("!t.jsonl:1: column 8: not JSON: string or '}' expected near end of file", skip, NULL);
    check("t.jsonl", "{\"a\":1, ", NULL, bad);
    g_autofree char *nul = g_strconcat(
        "!t.jsonl:1: column 13: \\u0000, a NUL, is no character of a text; write \\ufffd in its place", skip, NULL);
    check("t.jsonl", "{\"a\":\"\\u0000\"}\n", NULL, nul);
    g_autofree char *nul_in_list = g_strconcat(
        "!t.jsonl:1: column 14: \\u0000, a NUL, is no character of a text; write \\ufffd in its place", skip, NULL);
    check("t.jsonl", "[{\"a\":\"\\u0000\"}]\n", NULL, nul_in_list);
    g_autofree char *missing = g_strconcat("!t.jsonl:1: no field \"b\"; there are a, y", skip, NULL);
    check("t.jsonl", "{\"a\":1,\"y\":2}\n", NULL, missing);
    g_autofree char *null = g_strconcat("!t.jsonl:1: the field \"y\" is null", skip, NULL);
    check("t.jsonl", "{\"a\":1,\"b\":2,\"y\":null}\n", NULL, null);
    g_autofree char *second = g_strconcat("!t.jsonl:1: no field \"z\"; there are a, b, y", skip, NULL);
    check("t.jsonl", "{\"a\":1,\"b\":2,\"y\":3}\n", "task.target={y} {z}", second);
    check("t.jsonl", "{\"a\":1,\"b\":2,\"y\":3}\n", "task.references=z", second);
    g_autofree char *object =
        g_strconcat("!t.jsonl:1: the field \"b\" is an object, not a text; write \"b.NAME\"", skip, NULL);
    check("t.jsonl", "{\"a\":1,\"b\":{\"c\":1},\"y\":2}\n", NULL, object);
    check("t.json", "{\"a\":1}", "task.rows=l[]", "!t.json: no list \"l\" where task.rows says so");
    check("t.json", "[1]", "task.rows=l[]",
          "!t.json: an object { } is wanted where records are, not an array or a single value");
    check("t.json", "{\"a\":1,\"b\":2,\"y\":3}\n{\"a\":4,\"b\":5,\"y\":6}\n", NULL, "1 2=3;4 5=6");
    check("t.json", "[\n{\"a\":1,\"b\":2,\"y\":3},\n{\"a\":4,\"b\":5,\"y\":6}]\n", "task.rows=[]", "1 2=3;4 5=6");
    const char *list = "; one list of all records is read with task.format=json task.rows=[]";
    g_autofree char *line =
                        g_strconcat("!t.json:1: an object { } is wanted where records are, not an array or a single "
                                    "value",
                                    list, skip, NULL),
                    *lines =
                        g_strconcat("!t.json:1: column 1: not JSON: ']' expected near end of file", list, skip, NULL);
    check("t.json", "[{\"a\":1,\"b\":2,\"y\":3}]\n", NULL, line);
    check("t.json", "[\n{\"a\":1,\"b\":2,\"y\":3}]\n", NULL, lines);
}

static void templates__have_fields_and_braces(void)
{
    g_autoptr(GPtrArray) fields = g_ptr_array_new_with_free_func(g_free);
    g_assert_true(task_template_fields("{{x}} {a} {b c} {a}", fields, NULL));
    g_assert_cmpuint(fields->len, ==, 2);
    g_assert_cmpstr(fields->pdata[1], ==, "b c");
    static const char *const bad[] = { "{a", "a}", "{}", "{a{b}}" };
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
        g_assert_false(task_template_fields(bad[i], fields, NULL));
    check("t.tsv", "a\tb\ty\n1\t2\t3\n", "task.input={{{a}}} {b}", "{1} 2=3");
}

/* Each example is in one part, equal inputs in the same, and the share is about the one asked for. */
static void held_out__examples_are_chosen_by_their_input(void)
{
    g_autoptr(GString) text = g_string_new("a\ty\n");
    for (int i = 0; i < 2000; i++)
        g_string_append_printf(text, "input %d\t%d\n", i / 2, i);
    g_autofree char *path = file_write_text(folder, "h.tsv", text->str), *data = g_strconcat("task.data=", path, NULL);
    char *settings[] = { data, (char *)"task.input={a}", (char *)"task.target={y}", (char *)"task.valid=20%", NULL };
    TaskConfig config = task_config_of(settings);
    Task task;
    TaskFile files[2];
    int64_t counts[2] = { 0 };
    bool part_of[1000] = { false }, seen[1000] = { false };
    g_assert_true(task_configure(&task, &config, NULL) && task_files(&task, &config, &files[0], &files[1], NULL));
    for (int part = 0; part < 2; part++) {
        TaskReader *reader = task_reader_open(&task, &config, &files[part], true, NULL);
        TaskExample example;
        Record record;
        while (task_reader_next(reader, &example, &record, NULL)) {
            gint64 number = g_ascii_strtoll(example.input + 6, NULL, 10);
            g_assert_true(!seen[number] || part_of[number] == part);
            seen[number] = true;
            part_of[number] = part;
            counts[part]++;
            task_example_clear(&example);
        }
        task_reader_close(reader);
        g_free(files[part].path);
    }
    task_config_clear(&config);
    g_assert_cmpint(counts[0] + counts[1], ==, 2000);
    g_assert_cmpint(counts[1], >, 300);
    g_assert_cmpint(counts[1], <, 500);
}

/* ---- cutting ---- */

static char *cut(const Tokenizer *tok, const char *field, const char *side, int64_t length, TaskEncoder *encoder)
{
    g_autofree char *cut_field = g_strconcat("task.cut_field=", field, NULL),
                    *cut_side = g_strconcat("task.cut_side=", side, NULL);
    char *settings[] = { (char *)"task.input=ba {c} ko {q} ri", (char *)"task.target={q}", cut_field, cut_side, NULL };
    TaskConfig config = task_config_of(settings);
    Task task;
    TaskExample example;
    json_t *row = json_pack("{s:s, s:s}", "c", "tu me sa lo ni da pe gu fi ra", "q", "mo su");
    const Record record = { .levels = { row }, .n_levels = 1, .where = "here" };
    g_autoptr(GArray) ids = g_array_new(false, false, sizeof(int32_t));
    g_autoptr(GError) error = NULL;
    g_assert_true(task_configure(&task, &config, &error) && task_make(&task, &record, true, &example, &error));
    *encoder =
        (TaskEncoder){ .task = &task, .config = &config, .tok = tok, .input_length = length, .target_length = 8 };
    g_assert_true(task_encode_input(encoder, &record, &example, 0, ids, &error));
    g_assert_cmpint(ids->len, <=, length - 1);
    char *text = tokenizer_decode(tok, (const int32_t *)(const void *)ids->data, ids->len, &error);
    task_example_clear(&example);
    json_decref(row);
    task_config_clear(&config);
    return text;
}

/* begins, ends: texts that the shortened input begins and ends with; NULL means any piece of the whole input that does.
 */
static void check_cut(const Tokenizer *tok, const char *field, const char *side, const char *begins, const char *ends)
{
    TaskEncoder whole, short_one;
    g_autofree char *all = cut(tok, field, side, 1000, &whole);
    g_autofree char *text = cut(tok, field, side, whole.longest_input - 3, &short_one);
    g_test_message("%s", text);
    g_assert_cmpstr(all, ==, "ba tu me sa lo ni da pe gu fi ra ko mo su ri");
    g_assert_cmpint(whole.inputs_cut, ==, 0);
    g_assert_cmpint(short_one.inputs_cut, ==, 1);
    g_assert_cmpuint(strlen(text), <, strlen(all));
    g_assert_cmpuint(strlen(text), >, strlen(all) / 2);
    g_assert_true(begins ? g_str_has_prefix(text, begins) : g_str_has_suffix(all, text));
    g_assert_true(ends ? g_str_has_suffix(text, ends) : g_str_has_prefix(all, text));
}

static void inputs__are_cut_where_the_options_say(void)
{
    Tokenizer *tok = tiny_tokenizer(folder, "cut.model", 120);
    check_cut(tok, "", "end", "ba tu me", NULL);
    check_cut(tok, "", "start", NULL, "mo su ri");
    check_cut(tok, "c", "end", "ba tu me", " ko mo su ri");
    check_cut(tok, "c", "start", "ba ", "ra ko mo su ri");
    TaskEncoder encoder;
    g_autofree char *little = cut(tok, "c", "end", 3, &encoder); /* less than is left without the field */
    g_assert_cmpuint(strlen(little), >, 0);
    tokenizer_close(tok);
}

/* ---- datasets ---- */

static void prepare__writes_pairs_and_those_held_out(void)
{
    Tokenizer *tok = tiny_tokenizer(folder, "pairs.model", 120);
    g_autoptr(GString) text = g_string_new("a\ty\n");
    for (uint64_t i = 0; i < 100; i++) {
        g_autofree char *words = tiny_text(i, 5);
        g_string_append_printf(text, "%s\t%s\n", words, i % 2 ? "ba ko" : "ri");
    }
    g_autofree char *path = file_write_text(folder, "p.tsv", text->str), *data = g_strconcat("task.data=", path, NULL);
    g_autofree char *prefix = g_build_filename(folder, "out", "pairs", NULL),
                    *held_out = g_strconcat(prefix, "-valid", NULL);
    char *settings[] = { data, (char *)"task.input={a}", (char *)"task.target={y}", (char *)"task.valid=0.3", NULL };
    TaskConfig config = task_config_of(settings);
    Task task;
    g_autoptr(GError) error = NULL;
    g_assert_true(task_configure(&task, &config, &error));
    const TaskEncoder encoder = {
        .task = &task, .config = &config, .tok = tok, .input_length = 16, .target_length = 2
    };
    g_assert_true(task_prepare(&encoder, prefix, &error));
    Dataset *train = dataset_open(prefix, &error), *valid = dataset_open(held_out, &error);
    g_assert_no_error(error);
    g_assert_cmpint(indexed_documents(train->set) + indexed_documents(valid->set), ==, 100);
    g_assert_cmpint(indexed_sequences(train->set), ==, 2 * indexed_documents(train->set));
    for (int64_t i = 0; i < indexed_documents(train->set); i++) {
        g_assert_cmpint(indexed_length(train->set, 2 * i), <=, 15);
        g_assert_cmpint(indexed_length(train->set, 2 * i + 1), ==, 1);
    }
    dataset_close(train);
    dataset_close(valid);
    task_config_clear(&config);
    tokenizer_close(tok);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = folder_new();
#define READ(NAME, name) g_test_add_func("/data/task/" #name, name##__is_read);
    RECORD_ROW_FORMATS(READ);
    RECORD_TASK_FORMATS(READ);
    g_test_add_func("/data/task/pages", formats__are_on_their_pages);
    g_test_add_func("/data/task/tables", tables__are_cut_into_cells);
    g_test_add_func("/data/task/pipes", tables__come_through_pipes);
    g_test_add_func("/data/task/delimiters", tables__have_one_of_four_delimiters);
    g_test_add_func("/data/task/errors", tables__say_what_is_wrong_and_where);
    g_test_add_func("/data/task/braces", templates__without_braces_are_refused);
    g_test_add_func("/data/task/mistakes_in_a_template_name_the_option_that_was_given",
                    mistakes_in_a_template_name_the_option_that_was_given);
    g_test_add_func("/data/task/labels", labels__are_named_before_they_are_put_into_the_template);
    g_test_add_func("/data/task/labels/named", labels__of_a_named_task_are_those_of_its_field);
    g_test_add_func("/data/task/levels", json__has_levels);
    g_test_add_func("/data/task/templates", templates__have_fields_and_braces);
    g_test_add_func("/data/task/held-out", held_out__examples_are_chosen_by_their_input);
    g_test_add_func("/data/task/cut", inputs__are_cut_where_the_options_say);
    g_test_add_func("/data/task/prepare", prepare__writes_pairs_and_those_held_out);
    int status = g_test_run();
    folder_remove(folder);
    return status;
}
