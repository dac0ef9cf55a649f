#include "data/prepare/prepare.h"

#include "base/file.h"
#include "data/dataset/dataset.h"
#include "data/tiny_tokenizer.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static char *folder;
static Tokenizer *tok;

/* n different texts, one JSON object a line, each written `copies` times. */
static char *write_corpus(const char *name, int n, int copies)
{
    g_autoptr(GString) lines = g_string_new(NULL);
    for (int copy = 0; copy < copies; copy++)
        for (int i = 0; i < n; i++) {
            g_autofree char *text = tiny_text((uint64_t)i, 20 + i % 50);
            g_string_append_printf(lines, "{\"text\": \"%s\"}\n", text);
        }
    return file_write(folder, name, lines->str, lines->len);
}

static PrepareStats prepare(char *path, const char *out, PrepareOptions options)
{
    g_autofree char *prefix = g_build_filename(folder, out, NULL);
    g_autoptr(GError) error = NULL;
    PrepareStats stats;
    options.out = prefix;
    bool good = prepare_run(tok, (char *[]){ path }, 1, &options, &stats, &error);
    g_assert_no_error(error);
    g_assert_true(good);
    return stats;
}

static char *contents(const char *name, size_t *bytes)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    char *data = NULL;
    g_assert_true(g_file_get_contents(path, &data, bytes, NULL));
    return data;
}

static void assert_same_dataset(const char *a, const char *b)
{
    static const char *const suffixes[] = { ".bin", ".idx", ".json" };
    for (size_t i = 0; i < G_N_ELEMENTS(suffixes); i++) {
        g_autofree char *name_a = g_strconcat(a, suffixes[i], NULL), *name_b = g_strconcat(b, suffixes[i], NULL);
        size_t bytes_a, bytes_b;
        g_autofree char *data_a = contents(name_a, &bytes_a), *data_b = contents(name_b, &bytes_b);
        g_assert_cmpuint(bytes_a, ==, bytes_b);
        assert_same(data_a, data_b, bytes_a);
    }
}

static void the_bytes_do_not_depend_on_the_workers(void)
{
    g_autofree char *corpus = write_corpus("many.jsonl", 3000, 1);
    PrepareStats one = prepare(corpus, "one", (PrepareOptions){ .workers = 1, .valid = 0.1 });
    PrepareStats five = prepare(corpus, "five", (PrepareOptions){ .workers = 5, .valid = 0.1 });
    assert_same_dataset("one", "five");
    assert_same_dataset("one-valid", "five-valid");
    g_assert_cmpint(one.all.train.documents + one.all.valid.documents, ==, 3000);
    g_assert_cmpint(one.all.valid.documents, >, 230); /* 300 +- 4 deviations of 16 */
    g_assert_cmpint(one.all.valid.documents, <, 370);
    g_assert_cmpint(one.all.train.tokens, ==, five.all.train.tokens);
}

static void documents_decode_to_their_text(void)
{
    g_autofree char *corpus = write_corpus("decode.jsonl", 40, 1);
    g_autofree char *prefix = g_build_filename(folder, "decode", NULL);
    prepare(corpus, "decode", (PrepareOptions){ .append_eod = true });
    Dataset *data = dataset_open(prefix, NULL);
    g_assert_true(data->meta.append_eod);
    g_assert_cmpstr(data->meta.tokenizer_hash, ==, tokenizer_hash(tok));
    g_assert_cmpint(data->meta.vocab, ==, tokenizer_size(tok));
    g_assert_cmpint(indexed_documents(data->set), ==, 40);
    for (int i = 0; i < 40; i++) {
        int32_t n = indexed_length(data->set, i);
        g_autofree int32_t *ids = g_new(int32_t, n);
        g_autofree char *want = tiny_text((uint64_t)i, 20 + i % 50);
        indexed_read(data->set, i, 0, n, ids, NULL);
        g_assert_cmpint(ids[n - 1], ==, tokenizer_eos(tok));
        g_autofree char *got = tokenizer_decode(tok, ids, n - 1, NULL);
        g_assert_cmpstr(got, ==, want);
    }
    dataset_close(data);
}

static bool exists(const char *name)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    return g_file_test(path, G_FILE_TEST_EXISTS);
}

/* Their documents are trained on: a held-out set of them would lie. */
static void documents_held_out_before_go_where_none_are_held_out(void)
{
    g_autofree char *corpus = write_corpus("again.jsonl", 200, 1);
    prepare(corpus, "again", (PrepareOptions){ .valid = 0.2 });
    g_assert_true(exists("again-valid.idx"));
    PrepareStats all = prepare(corpus, "again", (PrepareOptions){ 0 });
    g_assert_cmpint(all.all.train.documents, ==, 200);
    g_assert_false(exists("again-valid.idx") || exists("again-valid.bin") || exists("again-valid.json"));

    prepare(corpus, "own-valid", (PrepareOptions){ 0 }); /* a dataset of its own, by name */
    prepare(corpus, "own", (PrepareOptions){ 0 });
    g_assert_true(exists("own-valid.idx"));

    prepare(corpus, "again-bin", (PrepareOptions){ .fairseq = true, .append_eod = true, .valid = 0.2 });
    prepare(corpus, "again-bin", (PrepareOptions){ .fairseq = true, .append_eod = true });
    g_assert_true(exists("again-bin/train.idx") && !exists("again-bin/valid.idx"));
}

/* The documents of a dataset as text, each of which must lie in `text` behind the one before; returns their bytes. */
static size_t find_in_order(const Tokenizer *bytes, const char *name, const char *text)
{
    g_autofree char *prefix = g_build_filename(folder, name, NULL);
    Dataset *data = dataset_open(prefix, NULL);
    const char *at = text;
    size_t all = 0;
    for (int64_t i = 0; i < indexed_documents(data->set); i++) {
        int32_t n = indexed_length(data->set, i);
        g_autofree int32_t *ids = g_new(int32_t, n);
        g_assert_true(indexed_read(data->set, i, 0, n, ids, NULL));
        g_autofree char *document = tokenizer_decode(bytes, ids, n, NULL);
        at = strstr(at, document);
        g_assert_nonnull(at);
        at += strlen(document);
        all += strlen(document);
    }
    dataset_close(data);
    return all;
}

/* Of a novel parts are held out, and both they and the rest keep their order; repeats stay. */
static void stretches_of_a_long_text_are_held_out(void)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (uint64_t i = 0; text->len < 400000; i++) {
        g_autofree char *paragraph = tiny_text(i, 60);
        g_string_append_printf(text, "%s\n\n* * *\n\n", paragraph);
    }
    g_autofree char *path = file_write(folder, "novel.txt", text->str, text->len);
    Tokenizer *one = tok, *bytes = tokenizer_open("bytes", NULL);
    tok = bytes;
    PrepareStats stats = prepare(path, "novel", (PrepareOptions){ .corpus = { .whole_file = true }, .valid = 0.1 });
    tok = one;
    g_assert_cmpint(stats.duplicates, ==, 0);
    g_assert_cmpint(stats.corpus.text_documents, ==, 1);
    size_t train = find_in_order(bytes, "novel", text->str), valid = find_in_order(bytes, "novel-valid", text->str);
    g_assert_cmpuint(train + valid, ==, text->len);
    g_assert_cmpuint(valid, >, text->len / 25); /* 100 stretches */
    g_assert_cmpuint(valid, <, text->len / 5);
    tokenizer_close(bytes);
}

static void fairseq_s_folder_opens_as_a_dataset(void)
{
    g_autofree char *corpus = write_corpus("fairseq.jsonl", 200, 1), *out = g_build_filename(folder, "data-bin", NULL);
    prepare(corpus, "data-bin", (PrepareOptions){ .fairseq = true, .append_eod = true, .valid = 0.2 });
    g_autofree char *dict = g_build_filename(out, "dict.txt", NULL), *json = g_build_filename(out, "train.json", NULL);
    g_assert_true(g_file_test(dict, G_FILE_TEST_EXISTS));
    for (int with_json = 1; with_json >= 0; with_json--) {
        g_autoptr(GError) error = NULL;
        Dataset *data = dataset_open(out, &error);
        g_assert_no_error(error);
        g_assert_true(g_str_has_suffix(data->prefix, "/train"));
        g_assert_cmpint(indexed_form(data->set), ==, INDEXED_FAIRSEQ);
        g_assert_cmpint(data->meta.vocab, ==, tokenizer_size(tok));
        g_assert_true((data->meta.tokenizer_hash != NULL) == (with_json != 0));
        int32_t n = indexed_length(data->set, 0);
        g_autofree int32_t *ids = g_new(int32_t, n);
        indexed_read(data->set, 0, 0, n, ids, NULL);
        g_assert_cmpint(ids[n - 1], ==, tokenizer_eos(tok));
        dataset_close(data);
        g_assert_true(io_remove_tree(json, NULL)); /* then the dictionary tells the size */
    }
    g_assert_true(g_file_set_contents(dict, "broken\n", -1, NULL));
    g_autoptr(GError) error = NULL;
    g_assert_null(dataset_open(out, &error));
    g_assert_nonnull(strstr(error->message, "dict.txt:1: want a symbol"));
    g_autofree char *valid = g_build_filename(out, "valid.idx", NULL);
    g_assert_true(g_file_test(valid, G_FILE_TEST_EXISTS));
}

static void sentences_become_sequences(void)
{
    static const char text[] = "{\"text\": \"One two. Three four! Five.\\n\\nSix\"}\n{\"text\": \"Seven\"}\n";
    g_autofree char *corpus = file_write(folder, "sentences.jsonl", text, strlen(text));
    g_autofree char *prefix = g_build_filename(folder, "sentences", NULL);
    prepare(corpus, "sentences", (PrepareOptions){ .split_sentences = true, .append_eod = true });
    Dataset *data = dataset_open(prefix, NULL);
    g_assert_cmpint(indexed_documents(data->set), ==, 2);
    g_assert_cmpint(indexed_sequences(data->set), ==, 5);
    int64_t first, last;
    indexed_document(data->set, 1, &first, &last);
    g_assert_cmpint(first, ==, 4);
    for (int i = 0; i < 5; i++) { /* only the last sentence of a document has its end */
        int32_t n = indexed_length(data->set, i), token;
        indexed_read(data->set, i, n - 1, 1, &token, NULL);
        g_assert_true((token == tokenizer_eos(tok)) == (i >= 3));
    }
    dataset_close(data);
}

static void documents_of_wrong_length_are_dropped(void)
{
    g_autofree char *corpus = write_corpus("lengths.jsonl", 100, 1);
    g_autofree char *prefix = g_build_filename(folder, "lengths", NULL);
    PrepareStats all = prepare(corpus, "lengths", (PrepareOptions){ .append_eod = true });
    Dataset *data = dataset_open(prefix, NULL);
    int32_t limit = indexed_length(data->set, 50) - 1; /* without the end token */
    int64_t shorter = 0, longer = 0;
    for (int i = 0; i < 100; i++) {
        shorter += indexed_length(data->set, i) - 1 < limit;
        longer += indexed_length(data->set, i) - 1 > limit;
    }
    dataset_close(data);
    PrepareStats some =
        prepare(corpus, "lengths", (PrepareOptions){ .append_eod = true, .min_tokens = limit, .max_tokens = limit });
    g_assert_cmpint(some.too_short, ==, shorter);
    g_assert_cmpint(some.too_long, ==, longer);
    g_assert_cmpint(some.all.train.documents, ==, all.all.train.documents - shorter - longer);
    g_assert_cmpint(some.all.train.documents, >, 0);
}

static void exact_duplicates_and_empty_documents_are_dropped(void)
{
    g_autofree char *twice = write_corpus("twice.jsonl", 500, 2), *once = write_corpus("once.jsonl", 500, 1);
    PrepareStats dropped = prepare(twice, "twice", (PrepareOptions){ 0 });
    PrepareStats single = prepare(once, "once", (PrepareOptions){ 0 });
    PrepareStats kept = prepare(twice, "kept", (PrepareOptions){ .keep_duplicates = true });
    assert_same_dataset("twice", "once");
    g_assert_cmpint(dropped.duplicates, ==, 500);
    g_assert_cmpint(single.duplicates, ==, 0);
    g_assert_cmpint(kept.all.train.documents, ==, 1000);

    g_autofree char *hollow =
        file_write_text(folder, "hollow.jsonl", "{\"text\": \"\"}\n{\"text\": \"  \"}\n{\"text\": \"ba\"}\n");
    PrepareStats stats = prepare(hollow, "hollow", (PrepareOptions){ 0 });
    g_assert_cmpint(stats.all.train.documents, ==, 1);
    g_assert_cmpint(stats.empty, ==, 2);
}

static void the_held_out_documents_do_not_depend_on_the_order(void)
{
    g_autofree char *forward = write_corpus("forward.jsonl", 400, 1);
    g_auto(GStrv) lines = NULL;
    size_t bytes;
    g_autofree char *text = contents("forward.jsonl", &bytes);
    lines = g_strsplit(g_strchomp(text), "\n", -1);
    g_autoptr(GString) reversed = g_string_new(NULL);
    for (int i = 399; i >= 0; i--)
        g_string_append_printf(reversed, "%s\n", lines[i]);
    g_autofree char *backward = file_write_text(folder, "backward.jsonl", reversed->str);
    PrepareStats a = prepare(forward, "forward", (PrepareOptions){ .valid = 0.2 });
    PrepareStats b = prepare(backward, "backward", (PrepareOptions){ .valid = 0.2 });
    g_assert_cmpint(a.all.valid.documents, ==, b.all.valid.documents);
    g_assert_cmpint(a.all.valid.tokens, ==, b.all.valid.tokens);
}

static guint count_names(void)
{
    GDir *dir = g_dir_open(folder, 0, NULL);
    guint n = 0;
    while (g_dir_read_name(dir))
        n++;
    g_dir_close(dir);
    return n;
}

/* A folder that holds the corpus and what an earlier run made of it. */
static void a_run_does_not_read_what_an_earlier_one_wrote(void)
{
    g_autofree char *corpus = g_build_filename(folder, "own", NULL), *lines = g_build_filename(folder, "own-bin", NULL);
    g_assert_true(io_make_directories(corpus, NULL) && io_make_directories(lines, NULL));
    g_free(write_corpus("own/a.jsonl", 60, 1));
    g_free(write_corpus("own-bin/a.jsonl", 60, 1));
    g_free(file_write_text(corpus, "b.json", "{\n  \"name\": \"another program's\"\n}\n"));
    PrepareOptions documents = { .valid = 0.3 }, fairseq = { .fairseq = true, .append_eod = true };
    PrepareStats outside = prepare(corpus, "outside", documents);
    g_assert_cmpint(outside.all.train.documents + outside.all.valid.documents, ==, 61);
    prepare(lines, "outside-bin", fairseq);
    for (int run = 0; run < 2; run++) {
        prepare(corpus, "own/c", documents);
        assert_same_dataset("own/c", "outside");
        assert_same_dataset("own/c-valid", "outside-valid");
        prepare(lines, "own-bin", fairseq);
        assert_same_dataset("own-bin/train", "outside-bin/train");
    }
}

static void a_text_with_the_name_of_an_output_is_not_replaced(void)
{
    g_autofree char *corpus = g_build_filename(folder, "named", NULL), *out = g_build_filename(corpus, "x", NULL);
    g_assert_true(io_make_directories(corpus, NULL));
    g_free(file_write_text(corpus, "x.json", "{\"text\": \"ba ce\"}\n"));
    PrepareOptions options = { .out = out };
    PrepareStats stats;
    g_autoptr(GError) error = NULL;
    g_assert_false(prepare_run(tok, (char *[]){ corpus }, 1, &options, &stats, &error));
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    g_assert_nonnull(strstr(error->message, "x.json would be replaced by what this run writes; give it another name"));
}

static void a_failed_run_leaves_the_old_dataset_and_nothing_else(void)
{
    g_autofree char *good = write_corpus("good.jsonl", 50, 1), *prefix = g_build_filename(folder, "kept-safe", NULL);
    prepare(good, "kept-safe", (PrepareOptions){ 0 });
    prepare(good, "copy", (PrepareOptions){ 0 });
    g_autofree char *bad = file_write_text(folder, "bad.jsonl", "{\"text\": \"ba\"}\n{\"text\": 1}\n");
    guint names = count_names();
    PrepareOptions options = { .out = prefix, .valid = 0.5 };
    PrepareStats stats;
    g_autoptr(GError) error = NULL;
    g_assert_false(prepare_run(tok, (char *[]){ bad }, 1, &options, &stats, &error));
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    g_assert_nonnull(strstr(error->message, "bad.jsonl:2: "));
    g_assert_cmpuint(count_names(), ==, names);
    assert_same_dataset("kept-safe", "copy");

    options.corpus.skip_errors = true;
    options.valid = 0;
    g_assert_true(prepare_run(tok, (char *[]){ bad }, 1, &options, &stats, NULL));
    g_assert_cmpint(stats.corpus.skipped, ==, 1);
    g_assert_cmpint(stats.all.train.documents, ==, 1);
}

static void an_interrupted_run_leaves_nothing(void)
{
    g_autofree char *corpus = write_corpus("long.jsonl", 3000, 1), *prefix = g_build_filename(folder, "stopped", NULL);
    const volatile sig_atomic_t interrupted = 1;
    const PrepareOptions options = { .out = prefix, .corpus.interrupted = &interrupted };
    guint names = count_names();
    PrepareStats stats;
    g_autoptr(GError) error = NULL;
    g_assert_false(prepare_run(tok, (char *[]){ corpus }, 1, &options, &stats, &error));
    g_assert_nonnull(strstr(error->message, "interrupted"));
    g_assert_cmpuint(count_names(), ==, names);
}

/* Each field is the dataset that it would be alone, where no document is a duplicate; the same objects are held out. */
static void fields_apart_make_a_dataset_each(void)
{
    static char *fields[] = { (char *)"text", (char *)"summary", NULL }, *summary[] = { (char *)"summary", NULL };
    g_autoptr(GString) lines = g_string_new(NULL), twice = g_string_new(NULL);
    for (uint64_t i = 0; i < 400; i++) {
        g_autofree char *text = tiny_text(i, 20), *short_text = tiny_text(i + 1000, i % 7 == 0 ? 0 : 5);
        g_string_append_printf(lines, "{\"text\": \"%s\", \"summary\": \"%s\"}\n", text, short_text);
    }
    g_string_append_printf(twice, "%s%s", lines->str, lines->str);
    g_autofree char *once_path = file_write(folder, "fields.jsonl", lines->str, lines->len);
    g_autofree char *twice_path = file_write(folder, "fields-twice.jsonl", twice->str, twice->len);
    PrepareStats stats =
        prepare(twice_path, "apart", (PrepareOptions){ .corpus = { .fields = fields, .fields_apart = true } });
    prepare(once_path, "text-alone", (PrepareOptions){ 0 });
    PrepareStats alone = prepare(once_path, "summary-alone", (PrepareOptions){ .corpus = { .fields = summary } });
    assert_same_dataset("apart_text_document", "text-alone");
    assert_same_dataset("apart_summary_document", "summary-alone");
    g_assert_cmpint(stats.outputs[0].train.documents, ==, 400);
    g_assert_cmpint(stats.outputs[1].train.documents, ==, alone.all.train.documents);
    g_assert_cmpint(stats.outputs[1].train.tokens, ==, alone.all.train.tokens);
    g_assert_cmpint(stats.duplicates, ==, 400);
    g_assert_cmpint(stats.empty, ==, 58);
    stats = prepare(once_path, "apart",
                    (PrepareOptions){
                        .valid = 0.2, .split_sentences = true, .corpus = { .fields = fields, .fields_apart = true } });
    g_assert_cmpint(stats.outputs[0].valid.documents, >, 40);
    g_autofree char *valid = g_build_filename(folder, "apart_summary_sentence-valid", NULL);
    Dataset *data = dataset_open(valid, NULL);
    g_assert_cmpint(indexed_documents(data->set), ==, stats.outputs[1].valid.documents);
    g_assert_cmpint(stats.outputs[1].valid.documents, <=, stats.outputs[0].valid.documents);
    g_assert_cmpint(stats.outputs[1].valid.documents, >, stats.outputs[0].valid.documents / 2);
    dataset_close(data);
}

/* The same bytes, cut elsewhere. */
static void fields_are_told_apart_from_their_join(void)
{
    static char *fields[] = { (char *)"a", (char *)"b", NULL };
    g_autofree char *path = file_write_text(folder, "cuts.jsonl",
                                            "{\"a\": \"ba\\nko\", \"b\": \"ri\"}\n"
                                            "{\"a\": \"ba\", \"b\": \"ko\\nri\"}\n");
    PrepareOptions options = { .corpus = { .fields = fields } };
    g_assert_cmpint(prepare(path, "cuts", options).duplicates, ==, 1);
    options.corpus.fields_apart = true;
    g_assert_cmpint(prepare(path, "cuts", options).duplicates, ==, 0);
}

static void fields_apart_want_json(void)
{
    static char *fields[] = { (char *)"text", (char *)"summary", NULL };
    g_autofree char *path = file_write_text(folder, "plain.txt", "ba ko\n"),
                    *prefix = g_build_filename(folder, "no", NULL);
    const PrepareOptions options = { .out = prefix, .corpus = { .fields = fields, .fields_apart = true } };
    PrepareStats stats;
    g_autoptr(GError) error = NULL;
    g_assert_false(prepare_run(tok, (char *[]){ path }, 1, &options, &stats, &error));
    g_assert_nonnull(strstr(error->message, "plain.txt: its format has no fields"));
}

/* Copies of one document, for as long as someone reads them; set the flag after a while. */
static void *write_copies(void *flag)
{
    g_autofree char *path = g_build_filename(folder, "endless", NULL);
    int fd = open(path, O_WRONLY);
    for (int i = 0; write(fd, "ba ko ri\n\n", 10) > 0; i++)
        if (i == 20000)
            *(volatile sig_atomic_t *)flag = 1;
    close(fd);
    return NULL;
}

static void an_endless_stream_of_duplicates_is_interrupted(void)
{
    g_autofree char *pipe = g_build_filename(folder, "endless", NULL),
                    *prefix = g_build_filename(folder, "stopped", NULL);
    volatile sig_atomic_t interrupted = 0;
    const PrepareOptions options = { .out = prefix, .corpus.interrupted = &interrupted };
    PrepareStats stats;
    g_autoptr(GError) error = NULL;
    signal(SIGPIPE, SIG_IGN);
    g_assert_cmpint(mkfifo(pipe, 0600), ==, 0);
    GThread *writer = g_thread_new("writer", write_copies, (void *)(uintptr_t)&interrupted);
    g_assert_false(prepare_run(tok, (char *[]){ pipe }, 1, &options, &stats, &error));
    g_assert_nonnull(strstr(error->message, "interrupted"));
    g_thread_join(writer);
    g_assert_cmpint(unlink(pipe), ==, 0);
}

static void every_failing_system_call_is_an_error_and_leaves_no_half_dataset(void)
{
    g_autofree char *corpus = write_corpus("rig.jsonl", 20, 1), *prefix = g_build_filename(folder, "rig", NULL);
    const PrepareOptions options = { .out = prefix, .workers = 1 };
    PrepareStats stats;
    int calls;
    io_fail_at(0, 0);
    g_assert_true(prepare_run(tok, (char *[]){ corpus }, 1, &options, &stats, NULL));
    calls = io_calls();
    for (int n = 1; n <= calls; n++) {
        g_autoptr(GError) error = NULL;
        io_fail_at(n, EIO);
        bool good = prepare_run(tok, (char *[]){ corpus }, 1, &options, &stats, &error);
        io_fail_at(0, 0);
        g_assert_true(good == (error == NULL));
        if (good)
            continue;
        Dataset *data = dataset_open(prefix, NULL);
        g_assert_true(data == NULL || indexed_documents(data->set) == 20);
        dataset_close(data);
    }
    g_test_message("%d system calls failed in turn", calls);
}

static void metadata_is_read_strictly(void)
{
    g_autofree char *corpus = write_corpus("meta.jsonl", 5, 1), *prefix = g_build_filename(folder, "meta", NULL);
    static const char *const bad[] = {
        "",
        "[]",
        "{}",
        "{\"version\": 1}",
        "{\"version\": 1, \"version\": 1}",
        "{\"version\": 2, \"tokenizer\": {\"hash\": \"x\", \"kind\": \"y\", \"size\": 9}, \"append_eod\": false, "
        "\"documents\": 5, \"tokens\": 5}",
        "{\"version\": 1, \"tokenizer\": {\"hash\": \"x\", \"kind\": \"y\", \"size\": 9}, \"append_eod\": false, "
        "\"documents\": 5, \"tokens\": 5, \"more\": 1}",
        "{\"version\": 1, \"tokenizer\": {\"hash\": \"x\", \"kind\": \"y\", \"size\": -9}, \"append_eod\": false, "
        "\"documents\": 5, \"tokens\": 5}",
        "{\"version\": 1, \"tokenizer\": {\"hash\": \"x\", \"kind\": \"y\", \"size\": 9}, \"append_eod\": false, "
        "\"documents\": 6, \"tokens\": 5}",
    };
    prepare(corpus, "meta", (PrepareOptions){ 0 });
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autoptr(GError) error = NULL;
        g_free(file_write_text(folder, "meta.json", bad[i]));
        g_assert_null(dataset_open(prefix, &error));
        g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    }
    g_autofree char *path = g_strconcat(prefix, ".json", NULL);
    g_assert_true(io_remove_tree(path, NULL));
    Dataset *foreign = dataset_open(prefix, NULL);
    g_assert_nonnull(foreign);
    g_assert_null(foreign->meta.tokenizer_hash);
    dataset_close(foreign);
}

static void a_missing_dataset_names_the_command_that_makes_it(void)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(dataset_open("no/such/set", &error));
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    g_assert_nonnull(strstr(error->message, "loam prepare --out no/such/set"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = folder_new();
    tok = tiny_tokenizer(folder, "tiny.model", 100);
    g_test_add_func("/prepare/the_bytes_do_not_depend_on_the_workers", the_bytes_do_not_depend_on_the_workers);
    g_test_add_func("/prepare/documents_decode_to_their_text", documents_decode_to_their_text);
    g_test_add_func("/prepare/documents_held_out_before_go_where_none_are_held_out",
                    documents_held_out_before_go_where_none_are_held_out);
    g_test_add_func("/prepare/stretches_of_a_long_text_are_held_out", stretches_of_a_long_text_are_held_out);
    g_test_add_func("/prepare/fairseq_s_folder_opens_as_a_dataset", fairseq_s_folder_opens_as_a_dataset);
    g_test_add_func("/prepare/sentences_become_sequences", sentences_become_sequences);
    g_test_add_func("/prepare/documents_of_wrong_length_are_dropped", documents_of_wrong_length_are_dropped);
    g_test_add_func("/prepare/exact_duplicates_and_empty_documents_are_dropped",
                    exact_duplicates_and_empty_documents_are_dropped);
    g_test_add_func("/prepare/the_held_out_documents_do_not_depend_on_the_order",
                    the_held_out_documents_do_not_depend_on_the_order);
    g_test_add_func("/prepare/a_run_does_not_read_what_an_earlier_one_wrote",
                    a_run_does_not_read_what_an_earlier_one_wrote);
    g_test_add_func("/prepare/a_text_with_the_name_of_an_output_is_not_replaced",
                    a_text_with_the_name_of_an_output_is_not_replaced);
    g_test_add_func("/prepare/a_failed_run_leaves_the_old_dataset_and_nothing_else",
                    a_failed_run_leaves_the_old_dataset_and_nothing_else);
    g_test_add_func("/prepare/an_interrupted_run_leaves_nothing", an_interrupted_run_leaves_nothing);
    g_test_add_func("/prepare/fields_apart_make_a_dataset_each", fields_apart_make_a_dataset_each);
    g_test_add_func("/prepare/fields_are_told_apart_from_their_join", fields_are_told_apart_from_their_join);
    g_test_add_func("/prepare/fields_apart_want_json", fields_apart_want_json);
    g_test_add_func("/prepare/an_endless_stream_of_duplicates_is_interrupted",
                    an_endless_stream_of_duplicates_is_interrupted);
    g_test_add_func("/prepare/every_failing_system_call_is_an_error_and_leaves_no_half_dataset",
                    every_failing_system_call_is_an_error_and_leaves_no_half_dataset);
    g_test_add_func("/dataset/metadata_is_read_strictly", metadata_is_read_strictly);
    g_test_add_func("/dataset/a_missing_dataset_names_the_command_that_makes_it",
                    a_missing_dataset_names_the_command_that_makes_it);
    int failed = g_test_run();
    tokenizer_close(tok);
    folder_remove(folder);
    return failed;
}
