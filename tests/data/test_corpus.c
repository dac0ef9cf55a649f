#include "data/corpus/corpus.h"

#include "compressions.h"
#include "data/data_test.h"

#include <unistd.h>

/* Every document, each followed by '|'; an error's message, after '!', ends the list. */
static char *read_all(const char *path, CorpusOptions options, int64_t *skipped)
{
    g_autoptr(GError) error = NULL;
    Corpus *corpus = corpus_open((char *[]){ (char *)path }, 1, &options, &error);
    GString *all = g_string_new(NULL);
    const char *text;
    size_t bytes;
    while (corpus && corpus_next(corpus, &text, &bytes, &error)) {
        g_string_append_len(all, text, (gssize)bytes);
        g_string_append_c(all, '|');
    }
    if (error)
        g_string_append_printf(all, "!%s", error->message);
    else
        g_assert_cmpuint(corpus_done_bytes(corpus), ==, corpus_total_bytes(corpus));
    if (skipped)
        *skipped = corpus_counts(corpus)->skipped;
    corpus_close(corpus);
    return g_string_free(all, false);
}

static void check(const char *name, const char *content, CorpusOptions options, const char *want)
{
    char *folder = folder_new();
    g_autofree char *path = file_write_text(folder, name, content);
    g_autofree char *got = read_all(path, options, NULL);
    g_assert_cmpstr(got, ==, want);
    folder_remove(folder);
}

static void blank_lines_end_documents(void)
{
    check("a.txt", "one\ntwo\n\nthree\n \t\n\n\nfour", (CorpusOptions){ 0 }, "one\ntwo|three|four|");
    check("a.txt", "", (CorpusOptions){ 0 }, "");
    check("a.txt", "\n\n", (CorpusOptions){ 0 }, "");
    check("a.txt", "one\r\n\r\ntwo\r\n", (CorpusOptions){ 0 }, "one|two|");
    check("a.txt", "\xEF\xBB\xBFone\n", (CorpusOptions){ 0 }, "one|");
    check("pipe", "one\n\ntwo\n", (CorpusOptions){ 0 }, "one|two|");
}

/* Without an LF in the first bytes of a file its CRs end lines. */
static void line_ends_of_old_macs_are_read(void)
{
    check("a.txt", "one\rtwo\r\rthree\r", (CorpusOptions){ 0 }, "one\ntwo|three|");
    check("a.txt", "one\rtwo", (CorpusOptions){ .whole_file = true }, "one\ntwo|");
    check("a.txt", "one\r", (CorpusOptions){ 0 }, "one|");
    check("a.jsonl", "{\"text\": \"one\"}\r{\"text\": \"two\"}\r", (CorpusOptions){ 0 }, "one|two|");
}

/* Lines that end in CRLF lose the CR, also where a chunk of the file ends between CR and LF; other CRs stay. */
static void crlf_is_read_as_lf(void)
{
    g_autofree char *fill = g_strnfill((1 << 17) - 1, 'a');
    g_autofree char *text = g_strconcat(fill, "\r\nb\rc\r\r\nd\r", NULL);
    g_autofree char *want = g_strconcat(fill, "\nb\rc\r\nd\r|", NULL);
    check("a.py", text, (CorpusOptions){ 0 }, want);
    check("a.txt", text, (CorpusOptions){ .whole_file = true }, want);
    check("a.txt", text, (CorpusOptions){ 0 }, want);
    check("a.jsonl", "{\"text\": \"one\\r\\ntwo\\r\"}\r\n", (CorpusOptions){ 0 }, "one\ntwo\r|");
}

static void a_whole_file_is_kept_to_the_byte(void)
{
    check("a.txt", "one\n\n\ntwo\n", (CorpusOptions){ .whole_file = true }, "one\n\n\ntwo\n|");
    check("a.py", "def f():\n\n    pass\n", (CorpusOptions){ 0 }, "def f():\n\n    pass\n|");
}

/* The parts of a text that is longer than a document may be are its text, in its order, cut where paragraphs end. */
static void a_long_text_read_whole_is_cut_between_paragraphs(void)
{
    const CorpusOptions options = { .whole_file = true, .max_bytes = 12 };
    check("a.txt", "one two\n\nthree\n\nfour\n", options, "one two\n\n|three\n\nfour\n|");
    check("a.txt", "one two\nthree four\n", options, "one two\n|three four\n|");
    check("a.txt", "one two three four", options, "one two thre|e four|");
    check("a.txt", "aaaaaaaaaaa\xc3\xa9z", options, "aaaaaaaaaaa|\xc3\xa9z|");
    const CorpusOptions trimmed = { .whole_file = true, .without_last_end = true };
    check("a.txt", "one\n\ntwo\n", trimmed, "one\n\ntwo|");
    check("a.txt", "one\r\n\r\n", trimmed, "one\n|");
    check("a.txt", "\n", trimmed, "|");
    check("a.txt", "aaaaaaaaaa\xc3\xa9", options, "aaaaaaaaaa\xc3\xa9|");
    check("a.txt", "", options, "");
    char *folder = folder_new();
    g_autofree char *path = file_write_text(folder, "a.txt", "one two\n\nthree\nfo\xff\n");
    g_autofree char *got = read_all(path, options, NULL);
    g_assert_nonnull(strstr(got, "a.txt:4: not UTF-8 (byte 0xff)"));
    folder_remove(folder);
}

/* Each format of rows: main() wants a function NAME_is_read for each row of RECORD_ROW_FORMATS. */
static void tsv_is_read(void)
{
    check("A.TSV", "id\ttext\n1\t\"one\n", (CorpusOptions){ 0 }, "\"one|");
}

static void csv_is_read(void)
{
    check("a.csv", "id,text\n1,\"one, \"\"two\"\"\r\nthree\"\n2,four\n", (CorpusOptions){ 0 },
          "one, \"two\"\nthree|four|");
}

static void jsonl_is_read(void)
{
    check("a.jsonl", "{\"text\": \"on\\u0065\", \"n\": 123456789012345678901234567890}\n\n{\"text\": \"two\"}\n",
          (CorpusOptions){ 0 }, "one|two|");
    check("a.json", "{\"text\": \"one\", \"body\": \"two\"}", (CorpusOptions){ .field = "body" }, "two|");
}

static void parquet_is_read(void)
{
    g_autofree char *got =
        read_all(LOAM_SOURCE_DIR "/tests/golden/parquet/types.parquet", (CorpusOptions){ .field = "category" }, NULL);
    g_assert_true(g_str_has_prefix(got, "cat|!"));
    g_assert_true(g_str_has_suffix(got, "types.parquet: row 2: field \"category\" is null, not a string"));
}

static void several_fields_are_joined(void)
{
    char *both[] = { (char *)"title", (char *)"body", NULL };
    const CorpusOptions options = { .fields = both };
    check("a.jsonl", "{\"body\": \"b\", \"title\": \"t\"}\n{\"title\": \"\", \"body\": \"c\"}\n", options, "t\nb|\nc|");
    both[1] = NULL;
    check("a.jsonl", "{\"body\": \"b\", \"title\": \"t\"}\n", options, "t|");
}

static void fields_kept_apart_are_told(void)
{
    static char *fields[] = { (char *)"a", (char *)"b", (char *)"c", NULL };
    static const char *const want[] = { "", "two", "3" };
    char *folder = folder_new();
    g_autofree char *path = file_write_text(folder, "a.jsonl", "{\"a\": \"\", \"b\": \"two\", \"c\": \"3\"}\n");
    Corpus *corpus =
        corpus_open((char *[]){ path }, 1, &(CorpusOptions){ .fields = fields, .fields_apart = true }, NULL);
    const char *text;
    size_t bytes, begin;
    g_assert_true(corpus_next(corpus, &text, &bytes, NULL));
    g_assert_cmpint(corpus_fields(corpus), ==, 3);
    for (int field = 0; field < 3; field++) {
        corpus_field(corpus, field, &begin, &bytes);
        g_assert_cmpuint(bytes, ==, strlen(want[field]));
        g_assert_true(strncmp(text + begin, want[field], bytes) == 0);
    }
    corpus_close(corpus);
    folder_remove(folder);
}

static void json_of_a_source_folder_is_text(void)
{
    char *folder = folder_new();
    g_free(file_write_text(folder, "a.json", "{\n  \"name\": 1\n}\n"));
    g_free(file_write_text(folder, "b.json", "[1,\n2]"));
    g_free(file_write_text(folder, "c.json", "{\"text\": \"one\"}\n{\"text\": \"two\"}\n"));
    g_free(file_write_text(folder, "d.json", "{\"text\": \"three\"}"));
    g_free(file_write_text(folder, "e.json", "\xff\n"));
    g_autofree char *got = read_all(folder, (CorpusOptions){ 0 }, NULL);
    g_assert_cmpstr(got, ==, "{\n  \"name\": 1\n}\n|[1,\n2]|one|two|three|");
    folder_remove(folder);
}

/* As Spark writes them. In a folder, objects without the field of the text are not JSON lines of it. */
static void files_without_suffix_are_json_lines_if_they_begin_so(void)
{
    check("part-0", "{\"text\": \"one\"}\n{\"text\": \"two\"}\n", (CorpusOptions){ 0 }, "one|two|");
    check("part-0", "{\"text\": \"one\"}", (CorpusOptions){ 0 }, "one|");
    check("part-0", "{ a brace }\n", (CorpusOptions){ 0 }, "{ a brace }|");
    check("part-0", "{", (CorpusOptions){ 0 }, "{|");
    check("part-0", "{\"text\": \"one\"}\n", (CorpusOptions){ .format = RECORD_TEXT }, "{\"text\": \"one\"}|");
    check("a.ndjson", "{\"text\": \"one\"}\n", (CorpusOptions){ 0 }, "one|");
    char *folder = folder_new();
    g_free(file_write_text(folder, "part-0", "{\"text\": \"one\"}\n{\"text\": \"two\"}\n"));
    g_free(file_write_text(folder, "settings", "{\"theme\": \"dark\"}\n"));
    g_autofree char *got = read_all(folder, (CorpusOptions){ 0 }, NULL);
    g_assert_cmpstr(got, ==, "one|two|{\"theme\": \"dark\"}\n|");
    folder_remove(folder);
}

static void a_nul_of_json_becomes_a_replacement_character(void)
{
    check("a.jsonl", "{\"text\": \"a\\u0000b\"}\n{\"text\": \"\\u0000\\u0000\"}\n", (CorpusOptions){ 0 },
          "a\xEF\xBF\xBD"
          "b|\xEF\xBF\xBD\xEF\xBF\xBD|");
    char *both[] = { (char *)"a", (char *)"b", NULL };
    check("a.jsonl", "{\"a\": \"x\\u0000\", \"b\": \"y\"}\n", (CorpusOptions){ .fields = both }, "x\xEF\xBF\xBD\ny|");
}

static void a_long_text_in_a_folder_is_too_long_and_not_unknown(void)
{
    char *folder = folder_new();
    g_autoptr(GString) text = g_string_new("x"); /* a chunk's end lies within a character */
    while (text->len < 300000)
        g_string_append(text, "\xC3\xA9");
    g_free(file_write(folder, "long.md", text->str, text->len));
    g_autofree char *got = read_all(folder, (CorpusOptions){ .max_bytes = 200000 }, NULL);
    g_assert_nonnull(strstr(got, "long.md: a document longer than"));
    text->str[100001] = '\xff'; /* a file of other bytes is none all the same */
    g_free(file_write(folder, "long.md", text->str, text->len));
    g_autofree char *other = read_all(folder, (CorpusOptions){ .max_bytes = 200000 }, NULL);
    g_assert_cmpstr(other, ==, "");
    folder_remove(folder);
}

/* A row is a document: a column of it, or several. */
static void tables_are_read_if_they_are_named(void)
{
    char *both[] = { (char *)"b", (char *)"text", NULL };
    int64_t skipped;
    check("a.csv", "text;b\n1;\"2;\"\n", (CorpusOptions){ .fields = both, .delimiter = ';' }, "2;\n1|");
    check("a.csv", "id,text\n1,one\n", (CorpusOptions){ .field = "2" }, "one|");
    check("pipe", "id,text\n1,one\n", (CorpusOptions){ .format = RECORD_CSV }, "one|");
    check("a.csv", "id,text\n1,one\n", (CorpusOptions){ .format = RECORD_TEXT }, "id,text\n1,one|");
    check("a.csv", "id,text\r1,one\r2,two\r", (CorpusOptions){ 0 }, "one|two|");
    check("a.csv", "id,text\r\n1,one\r\n2,two\r", (CorpusOptions){ 0 }, "one|two|");
    char *folder = folder_new();
    g_autofree char *table = file_write_text(folder, "a.csv", "text,b\n1\none,x\n\"two,y\nthree,z\n");
    g_autofree char *got = read_all(table, (CorpusOptions){ .skip_errors = true }, &skipped);
    g_assert_cmpstr(got, ==, "one|three|");
    g_assert_cmpint(skipped, ==, 2);
    g_free(file_write_text(folder, "a.csv", "text,b\none,x\n2\n"));
    g_autofree char *other = read_all(table, (CorpusOptions){ .field = "body" }, NULL);
    g_assert_nonnull(strstr(other, "a.csv: no column \"body\" in the table; choose one with --field: \"text\", \"b\""));
    g_autofree char *none = read_all(table, (CorpusOptions){ .field = "body", .skip_errors = true }, &skipped);
    g_assert_cmpstr(none, ==, "");
    g_assert_cmpint(skipped, ==, 1); /* the table, of which no row has the column */
    folder_remove(folder);
}

static void tables_are_left_out_of_folders(void)
{
    char *folder = folder_new();
    g_free(file_write_text(folder, "a.csv", "id,text\n1,one\n"));
    g_free(file_write_text(folder, "b.TSV.gz", "id\ttext\n1\tone\n"));
    g_free(file_write_text(folder, "c.txt", "two\n"));
    g_autofree char *others = read_all(folder, (CorpusOptions){ 0 }, NULL);
    g_assert_cmpstr(others, ==, "two|");
    folder_remove(folder);
}

/* The message after the path. */
static void check_error(const char *name, const void *content, size_t bytes, const char *want)
{
    char *folder = folder_new();
    g_autofree char *path = file_write(folder, name, content, bytes);
    g_autofree char *got = read_all(path, (CorpusOptions){ .max_bytes = 100 }, NULL);
    g_autofree char *full = g_strdup_printf("%s%s", path, want);
    const char *message = strchr(got, '!');
    g_assert_nonnull(message);
    g_assert_cmpstr(message + 1, ==, full);
    folder_remove(folder);
}

#define CONVERT                                                                                                        \
    "; convert the file: iconv -t UTF-8 -f LATIN1, or WINDOWS-1252, SHIFT-JIS (Japanese), WINDOWS-1251 (Russian): "    \
    "bytes do not tell which"

#define LIST                                                                                                           \
    "; one list of objects becomes lines by: python3 -c 'import json, sys; [print(json.dumps(row)) for row in "        \
    "json.load(sys.stdin)]' <FILE >NEW.jsonl"

static void errors_say_what_is_wrong(void)
{
    const struct {
        const char *name, *content, *want;
    } cases[] = {
        { "a.jsonl", "{\"text\": \"x\"}\n{\"text\": 7}\n", ":2: field \"text\" is a number, not a string" },
        { "a.jsonl", "{\"body\": \"x\", \"id\": 3}\n",
          ":1: no field \"text\" in the record; choose one with --field: \"body\"" },
        { "a.jsonl", "{\"id\": 3}\n", ":1: no field \"text\" in the record, nor any other text" },
        { "a.jsonl", "\n[1]\n", ":2: an array where a line should hold one object" LIST },
        { "a.json", "[\n{\"text\": \"x\"}\n]\n",
          ":1: not JSON, one object a line: ']' expected near end of file (column 1)" LIST },
        { "a.jsonl", "7\n", ":1: a number where a line should hold one object" },
        { "a.jsonl", "{\"text\": \"x\n",
          ":1: not JSON, one object a line: premature end of input near '\"x' (column 11)" },
        { "a.jsonl", "{\"text\": \"\xff\"}\n", ":1: not UTF-8 (byte 0xff)" CONVERT },
        { "a.txt", "one\ntwo \xc3\n", ":2: not UTF-8 (byte 0xc3)" CONVERT },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
        check_error(cases[i].name, cases[i].content, strlen(cases[i].content), cases[i].want);
    check_error("a.txt", "one\n\ntwo\0\n", 10, ":3: a NUL byte: not a text file");
    check_error("a.py", "one\n\xff\n", 6, ":2: not UTF-8 (byte 0xff)" CONVERT);
    g_autofree char *word = g_strnfill(150, 'x'), *lines = g_strnfill(150, 'x');
    lines[70] = '\n';
    check_error("a.txt", word, 150, ":1: a line longer than 100 B");
    check_error("a.jsonl", word, 150, ":1: a line longer than 100 B");
    check_error("a.txt", lines, 150, ":1: a document longer than 100 B; end it with a blank line");
    check_error("a.py", word, 150,
                ": a document longer than 100 B; as .txt without --whole-file, blank lines end documents");
    check_error("a.gz", "not gzip", 8, ": not a gzip file; rename it if it is not compressed");
    check_error("a.txt.zst", "", 0, ": the file is cut short: its zstd data stop before their end");
}

static void skip_counts_errors_and_goes_on(void)
{
    char *folder = folder_new();
    int64_t skipped;
    g_autofree char *json = file_write_text(folder, "a.jsonl", "{\"text\": \"x\"}\nbad\n{}\n{\"text\": \"y\"}\n");
    g_autofree char *text = file_write_text(folder, "a.txt", "one\n\ntwo\nt\xffo\ntwo\n\nthree\n\xff\n");
    g_autofree char *from_json = read_all(json, (CorpusOptions){ .skip_errors = true }, &skipped);
    g_assert_cmpstr(from_json, ==, "x|y|");
    g_assert_cmpint(skipped, ==, 2);
    g_autofree char *from_text = read_all(text, (CorpusOptions){ .skip_errors = true }, &skipped);
    g_assert_cmpstr(from_text, ==, "one|");
    g_assert_cmpint(skipped, ==, 2);
    folder_remove(folder);
}

/* The line begins with text, and goes on with more NULs than are skipped, which take no room on the disk. */
static void a_line_without_end_is_refused(void)
{
    char *folder = folder_new();
    g_autofree char *start = g_strnfill(1 << 18, 'x'), *path = file_write_text(folder, "a.txt", start);
    g_assert_cmpint(truncate(path, ((off_t)1 << 30) + (1 << 20)), ==, 0);
    for (int skip = 0; skip < 2; skip++) {
        const CorpusOptions options = { .skip_errors = skip };
        g_autoptr(GError) error = NULL;
        const char *text;
        size_t bytes;
        Corpus *corpus = corpus_open(&path, 1, &options, &error);
        g_assert_no_error(error);
        g_assert_false(corpus_next(corpus, &text, &bytes, &error));
        g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
        g_assert_nonnull(
            strstr(error->message, skip ? "a.txt:1: a line longer than 1.0 GiB; so long a line is not skipped"
                                        : "a.txt:1: a line longer than 64.0 MiB"));
        corpus_close(corpus);
    }
    folder_remove(folder);
}

static void a_too_long_line_is_skipped(void)
{
    char *folder = folder_new();
    int64_t skipped;
    g_autoptr(GString) text = g_string_new("{\"text\": \"x\"}\n{\"text\": \"");
    g_autofree char *filling = g_strnfill(300000, 'y');
    g_string_append_printf(text, "%s\"}\n{\"text\": \"z\"}\n", filling);
    g_autofree char *path = file_write_text(folder, "a.jsonl", text->str);
    g_autofree char *got = read_all(path, (CorpusOptions){ .skip_errors = true, .max_bytes = 1000 }, &skipped);
    g_assert_cmpstr(got, ==, "x|z|");
    g_assert_cmpint(skipped, ==, 1);
    folder_remove(folder);
}

static void folders_are_walked_in_byte_order(void)
{
    char *folder = folder_new();
    g_free(file_write_text(folder, "b/z.txt", "bz"));
    g_free(file_write_text(folder, "b/A.txt", "bA"));
    g_free(file_write_text(folder, "a.txt", "a"));
    g_free(file_write_text(folder, "B.txt", "B"));
    g_free(file_write_text(folder, ".hidden.txt", "hidden"));
    g_free(file_write_text(folder, ".git/x.txt", "hidden"));
    g_free(file_write_text(folder, "code.py", "x = 1\n\ny = 2\n"));
    g_free(file_write(folder, "image.png", "\x89PNG\0\0", 6));
    g_autofree char *loop = g_build_filename(folder, "b", "loop", NULL);
    g_autofree char *nowhere = g_build_filename(folder, "nowhere.txt", NULL);
    g_assert_cmpint(symlink("..", loop), ==, 0);
    g_assert_cmpint(symlink("does-not-exist", nowhere), ==, 0);
    g_autofree char *got = read_all(folder, (CorpusOptions){ 0 }, NULL);
    g_assert_cmpstr(got, ==, "B|a|bA|bz|x = 1\n\ny = 2\n|");
    folder_remove(folder);
}

static void compressed_files_are_read_to_their_last_member(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(compressions); i++) {
        const struct Compression *by = &compressions[i];
        char stored[1000], *folder = folder_new();
        size_t n = by->compress("one\n\ntwo", 8, stored, sizeof stored);
        n += by->compress(" more\n\nthree\n", 13, stored + n, sizeof stored - n);
        g_free(file_write(folder, by->file, stored, n));
        g_autofree char *got = read_all(folder, (CorpusOptions){ 0 }, NULL);
        g_assert_cmpstr(got, ==, "one|two more|three|");
        folder_remove(folder);
    }
}

/* Junk after the first of two members. */
static void a_damaged_file_is_left_out_from_the_damage_on(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(compressions); i++) {
        const struct Compression *by = &compressions[i];
        char stored[1000], *folder = folder_new();
        size_t n = by->compress("one\n\n", 5, stored, sizeof stored);
        n += g_strlcpy(stored + n, "junk, and more junk", sizeof stored - n);
        n += by->compress("two\n\n", 5, stored + n, sizeof stored - n);
        g_autofree char *path = file_write(folder, by->file, stored, n);
        g_autofree char *got = read_all(path, (CorpusOptions){ 0 }, NULL);
        g_assert_true(g_str_has_prefix(got, "one|!"));
        g_assert_nonnull(strstr(got, by->second));
        int64_t skipped;
        g_autofree char *kept = read_all(path, (CorpusOptions){ .skip_errors = true }, &skipped);
        g_assert_cmpstr(kept, ==, "one|");
        g_assert_cmpint(skipped, ==, 1);
        folder_remove(folder);
    }
}

/* Reads a file of many documents, which loses its end after the first one was read. */
static void check_cut_while_read(const char *name, const void *content, size_t bytes, size_t left)
{
    char *folder = folder_new();
    g_autofree char *path = file_write(folder, name, content, bytes);
    g_autoptr(GError) error = NULL;
    Corpus *corpus = corpus_open((char *[]){ path }, 1, &(CorpusOptions){ 0 }, &error);
    const char *text;
    size_t n;
    g_assert_true(corpus_next(corpus, &text, &n, &error));
    g_assert_cmpint(truncate(path, (off_t)left), ==, 0);
    while (corpus_next(corpus, &text, &n, &error))
        continue;
    g_assert_nonnull(error);
    g_assert_nonnull(strstr(error->message, "the file was cut while it was read: "));
    corpus_close(corpus);
    folder_remove(folder);
}

static void a_file_that_is_cut_while_it_is_read_is_an_error(void)
{
    enum { MEMBERS = 40, ROOM = 100000 };
    g_autoptr(GString) plain = g_string_new(NULL), noise = g_string_new(NULL);
    for (int i = 0; i < 60000; i++)
        g_string_append_printf(plain, "document %d\n\n", i);
    check_cut_while_read("a.txt", plain->str, plain->len, plain->len / 2);
    for (guint i = 0; i < 8000; i++)
        g_string_append_printf(noise, "%u\n\n", (i + 1) * 2654435761u);
    for (size_t i = 0; i < G_N_ELEMENTS(compressions); i++) {
        g_autofree char *stored = g_malloc((size_t)MEMBERS * ROOM);
        size_t bytes = 0, half = 0;
        for (int member = 0; member < MEMBERS; member++) {
            half =
                member == MEMBERS / 2 ? bytes : half; /* the end of a member: only the size tells that more was there */
            bytes += compressions[i].compress(noise->str, noise->len, stored + bytes, ROOM);
        }
        check_cut_while_read(compressions[i].file, stored, bytes, half);
    }
}

static void a_missing_path_is_an_error_of_the_user(void)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(corpus_open((char *[]){ "/no/such/file" }, 1, &(CorpusOptions){ 0 }, &error));
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/corpus/blank_lines_end_documents", blank_lines_end_documents);
    g_test_add_func("/corpus/crlf_is_read_as_lf", crlf_is_read_as_lf);
    g_test_add_func("/corpus/line_ends_of_old_macs_are_read", line_ends_of_old_macs_are_read);
    g_test_add_func("/corpus/a_whole_file_is_kept_to_the_byte", a_whole_file_is_kept_to_the_byte);
    g_test_add_func("/corpus/a_long_text_read_whole_is_cut_between_paragraphs",
                    a_long_text_read_whole_is_cut_between_paragraphs);
#define READ(NAME, name) g_test_add_func("/corpus/" #name "_is_read", name##_is_read);
    RECORD_ROW_FORMATS(READ);
    g_test_add_func("/corpus/several_fields_are_joined", several_fields_are_joined);
    g_test_add_func("/corpus/fields_kept_apart_are_told", fields_kept_apart_are_told);
    g_test_add_func("/corpus/json_of_a_source_folder_is_text", json_of_a_source_folder_is_text);
    g_test_add_func("/corpus/files_without_suffix_are_json_lines_if_they_begin_so",
                    files_without_suffix_are_json_lines_if_they_begin_so);
    g_test_add_func("/corpus/a_nul_of_json_becomes_a_replacement_character",
                    a_nul_of_json_becomes_a_replacement_character);
    g_test_add_func("/corpus/a_long_text_in_a_folder_is_too_long_and_not_unknown",
                    a_long_text_in_a_folder_is_too_long_and_not_unknown);
    g_test_add_func("/corpus/tables_are_read_if_they_are_named", tables_are_read_if_they_are_named);
    g_test_add_func("/corpus/tables_are_left_out_of_folders", tables_are_left_out_of_folders);
    g_test_add_func("/corpus/errors_say_what_is_wrong", errors_say_what_is_wrong);
    g_test_add_func("/corpus/skip_counts_errors_and_goes_on", skip_counts_errors_and_goes_on);
    g_test_add_func("/corpus/folders_are_walked_in_byte_order", folders_are_walked_in_byte_order);
    g_test_add_func("/corpus/compressed_files_are_read_to_their_last_member",
                    compressed_files_are_read_to_their_last_member);
    g_test_add_func("/corpus/a_damaged_file_is_left_out_from_the_damage_on",
                    a_damaged_file_is_left_out_from_the_damage_on);
    g_test_add_func("/corpus/a_file_that_is_cut_while_it_is_read_is_an_error",
                    a_file_that_is_cut_while_it_is_read_is_an_error);
    g_test_add_func("/corpus/a_line_without_end_is_refused", a_line_without_end_is_refused);
    g_test_add_func("/corpus/a_too_long_line_is_skipped", a_too_long_line_is_skipped);
    g_test_add_func("/corpus/a_missing_path_is_an_error_of_the_user", a_missing_path_is_an_error_of_the_user);
    return g_test_run();
}
