/* Examples of classifiers: their token sequences, their encoded labels, and both through the loader. */
#include "base/text.h"
#include "data/loader.h"

#include "data/objective_test.h"
#include "data/task_test.h"
#include "data/tiny_tokenizer.h"
#include "golden.h"

static char *folder;
static Tokenizer *tok;

enum { CLS = 1, SEP = 2 };

/* The inputs of one JSON object under these settings, NULL-terminated. */
typedef struct Case {
    Task task;
    TaskConfig config;
    TaskEncoder encoder;
    TaskExample example;
    TaskInputs inputs;
} Case;

static void make(Case *c, const char *object, int64_t length, char *const *settings)
{
    GError *error = NULL;
    json_t *row = json_loads(object, 0, NULL);
    g_assert_nonnull(row);
    const Record record = { .levels = { row }, .n_levels = 1, .where = "here" };
    c->config = task_config_of(settings);
    c->config.classifies = true;
    task_configure(&c->task, &c->config, &error);
    g_assert_no_error(error);
    task_make(&c->task, &record, true, &c->example, &error);
    g_assert_no_error(error);
    c->encoder = (TaskEncoder){ .task = &c->task,
                                .config = &c->config,
                                .tok = tok,
                                .input_length = length,
                                .labels = "bad,good",
                                .frame = frame_of(CLS, SEP, false) };
    c->inputs = task_inputs_new();
    task_encode_inputs(&c->encoder, &c->example, &c->inputs, &error);
    g_assert_no_error(error);
    json_decref(row);
}

static void drop(Case *c)
{
    task_inputs_free(&c->inputs);
    task_example_clear(&c->example);
    task_config_clear(&c->config);
}

static int32_t at(const GArray *array, int64_t i)
{
    return g_array_index(array, int32_t, i);
}

static ObjectiveConfig plan_of(LabelKind kind, int64_t n_labels)
{
    GError *error = NULL;
    ObjectiveConfig config = { .input_length = 64, .label_kind = (int)kind, .n_labels = n_labels, .token_types = true };
    labels_objective.plan(&config, &error);
    g_assert_no_error(error);
    return config;
}

/* The example that the objective makes of sequence s and its encoded labels. */
static void apply(const Case *c, LabelKind kind, int32_t s, Example *out)
{
    GError *error = NULL;
    ObjectiveConfig config = plan_of(kind, 2);
    g_autoptr(GArray) tokens = g_array_new(false, false, sizeof(int32_t)),
                      encoded = g_array_new(false, false, sizeof(int32_t));
    bool all = kind == LABELS_CHOICE;
    int32_t first = all ? 0 : at(c->inputs.cu, s), end = all ? (int32_t)c->inputs.ids->len : at(c->inputs.cu, s + 1);
    g_array_append_vals(tokens, &g_array_index(c->inputs.ids, int32_t, first), (guint)(end - first));
    task_encode_labels(&c->encoder, "here", &c->example, &c->inputs, s, encoded, &error);
    g_assert_no_error(error);
    g_assert_true(labels_objective.accepts(&config, end - first, (const int32_t *)(void *)encoded->data, encoded->len));
    g_array_append_vals(tokens, encoded->data, encoded->len);
    example_init(out, &config);
    const Choice choice = { .n_first = end - first };
    const Text text = { .tokens = (const int32_t *)(void *)tokens->data, .n = tokens->len };
    labels_objective.apply(&config, &choice, NULL, &text, out);
}

static void a_pair_has_two_token_types_and_loses_of_the_longer_text(void)
{
    Case c;
    Example example;
    char *settings[] = { (char *)"task.input={a}", (char *)"task.second={b}", (char *)"task.label={l}", NULL };
    make(&c, "{\"a\": \"ba ko\", \"b\": \"ri tu me sa lo ni da pe gu fi ra no\", \"l\": \"good\"}", 10, settings);
    g_assert_cmpint(c.inputs.ids->len, ==, 10);
    g_assert_cmpint(c.encoder.inputs_cut, ==, 1);
    apply(&c, LABELS_SEQUENCE, 0, &example);
    g_assert_cmpint(example.label, ==, 1);
    g_assert_cmpint(example.inputs[0], ==, CLS);
    g_assert_cmpint(example.inputs[9], ==, SEP);
    int32_t second = at(c.inputs.second, 0);
    g_assert_cmpint(example.inputs[second - 1], ==, SEP);
    for (int32_t i = 0; i < 10; i++)
        g_assert_cmpint(example.token_types[i], ==, i >= second);
    int32_t short_text = second - 2, long_text = 10 - second - 1;
    g_assert_cmpint(long_text, >=, short_text);
    example_clear(&example);
    drop(&c);
}

static void roberta_has_two_separators_between_texts(void)
{
    Case c;
    char *settings[] = { (char *)"task.input={a}", (char *)"task.second={a}", (char *)"task.label={l}", NULL };
    GError *error = NULL;
    make(&c, "{\"a\": \"ba ko\", \"l\": \"good\"}", 40, settings);
    guint before = c.inputs.ids->len;
    c.encoder.frame = frame_of(CLS, SEP, true);
    g_assert_true(task_encode_inputs(&c.encoder, &c.example, &c.inputs, &error));
    g_assert_cmpint(c.inputs.ids->len, ==, before + 1);
    int32_t second = at(c.inputs.second, 0);
    g_assert_cmpint(at(c.inputs.ids, second - 1), ==, SEP);
    g_assert_cmpint(at(c.inputs.ids, second - 2), ==, SEP);
    drop(&c);
}

static void a_value_is_a_float(void)
{
    Case c;
    Example example;
    float value;
    char *settings[] = { (char *)"task.input={a}", (char *)"task.value={v}", NULL };
    make(&c, "{\"a\": \"ba ko\", \"v\": -3.25}", 40, settings);
    apply(&c, LABELS_VALUE, 0, &example);
    memcpy(&value, &example.label, sizeof value);
    g_assert_cmpfloat(value, ==, -3.25f);
    example_clear(&example);
    drop(&c);
}

/* With a byte-level BPE, as transformers does with add_prefix_space: a word gets a space unless it begins with one. */
static void an_empty_word_has_no_token(void)
{
    Case c;
    GError *error = NULL;
    Tokenizer *before = tok;
    static const int32_t ids[] = { CLS, 268, 220, 268, SEP }, first[] = { 1, -1, 2, 3 };
    char *settings[] = { (char *)"task.input={w}", (char *)"task.tags=t", NULL };
    tok = tokenizer_open(GOLDEN "byte-bpe/tokenizer.json", &error);
    g_assert_no_error(error);
    make(&c, "{\"w\": [\"a\", \"\", \" \", \" a\"], \"t\": [\"good\", \"bad\", \"good\", \"bad\"]}", 40, settings);
    g_assert_cmpuint(c.inputs.ids->len, ==, G_N_ELEMENTS(ids));
    g_assert_cmpuint(c.inputs.words->len, ==, G_N_ELEMENTS(first));
    for (guint i = 0; i < G_N_ELEMENTS(ids); i++)
        g_assert_cmpint(at(c.inputs.ids, i), ==, ids[i]);
    for (guint i = 0; i < G_N_ELEMENTS(first); i++)
        g_assert_cmpint(at(c.inputs.words, i), ==, first[i]);
    drop(&c);
    tokenizer_close(tok);
    tok = before;
}

static void the_first_piece_of_a_word_has_its_tag(void)
{
    Case c;
    Example example;
    char *settings[] = { (char *)"task.input={w}", (char *)"task.tags=t", NULL };
    make(&c, "{\"w\": [\"bakoritume\", \"sa\", \"loni\"], \"t\": [\"good\", \"bad\", \"good\"]}", 40, settings);
    apply(&c, LABELS_TOKENS, 0, &example);
    static const int32_t tags[] = { 1, 0, 1 };
    int64_t tagged = 0;
    for (int w = 0; w < 3; w++) {
        int32_t first = at(c.inputs.words, w);
        g_assert_cmpint(first, >, 0);
        g_assert_cmpfloat(example.weights[first], ==, 1);
        g_assert_cmpint(example.targets[first], ==, tags[w]);
    }
    for (int64_t i = 0; i < example.n_inputs; i++)
        tagged += example.weights[i] > 0;
    g_assert_cmpint(tagged, ==, 3);
    example_clear(&example);
    drop(&c);
}

/* The tokens of the span are those of the answer, in each window that holds it, and every byte lies in a window. */
static void windows_cover_the_text_and_find_the_answer(void)
{
    Case c;
    g_autofree char *text = tiny_text(3, 40);
    char *answer = strchr(text + strlen(text) / 2, ' ') + 1;
    g_autofree char *word = g_strndup(answer, strcspn(answer, " "));
    g_autofree char *object =
        g_strdup_printf("{\"q\": \"ba ko\", \"t\": \"%s\", \"a\": [{\"text\": \"%s\", \"answer_start\": %d}]}", text,
                        word, (int)(answer - text));
    char *settings[] = { (char *)"task.input={q}", (char *)"task.second={t}", (char *)"task.answers=a",
                         (char *)"task.stride=6", NULL };
    make(&c, object, 32, settings);
    g_assert_cmpint(task_inputs_count(&c.inputs), >, 2);
    uint32_t covered = 0;
    int found = 0;
    for (int32_t s = 0; s < task_inputs_count(&c.inputs); s++) {
        Example example;
        int32_t first = at(c.inputs.cu, s), end = at(c.inputs.cu, s + 1);
        g_assert_cmpint(end - first, <=, 32);
        for (int32_t i = first; i < end; i++) {
            const TokenRange *range = &g_array_index(c.inputs.ranges, TokenRange, i);
            g_assert_cmpuint(range->before, <=, covered);
            covered = MAX(covered, range->end);
        }
        apply(&c, LABELS_SPAN, s, &example);
        if (example.label > 0) {
            uint32_t from = g_array_index(c.inputs.ranges, TokenRange, first + example.label).begin,
                     to = g_array_index(c.inputs.ranges, TokenRange, first + example.label_end).end;
            g_autofree char *said = g_strndup(text + from, to - from);
            g_assert_nonnull(strstr(said, word));
            found++;
        } else {
            g_assert_cmpint(example.label_end, ==, 0);
        }
        example_clear(&example);
    }
    g_assert_cmpuint(covered, ==, strlen(text));
    g_assert_cmpint(found, >, 0);
    drop(&c);
}

/* What a tokenizer drops beside an answer is no part of it: a label of the wrong token would teach another answer. */
static void dropped_characters_move_no_answer(void)
{
    static const struct {
        const char *text, *answer;
        int start; /* the answer's first character */
        const char *span;
    } cases[] = {
        { "the cafe\\u0301 whale sea", "cafe\\u0301", 4, "cafe\xcc\x81" },
        { "the cafe\\u0301 whale sea", "whale", 10, "whale" },
        { "the ship\\u200b whale sea", "ship\\u200b", 4, "ship" },
        { "the ship\\u200b whale sea", "whale", 10, "whale" },
        { "ship \\u00ad whale sea", "\\u00ad whale", 5, "whale" },
        { "the ship whale sea", "ship ", 4, "ship" },
    };
    Tokenizer *own = tok;
    GError *error = NULL;
    tok = tokenizer_open(GOLDEN "wordpiece/vocab.txt", &error);
    g_assert_no_error(error);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        Case c;
        Example example;
        char *settings[] = { (char *)"task.input={q}", (char *)"task.second={t}", (char *)"task.answers=a", NULL };
        g_autofree char *object =
            g_strdup_printf("{\"q\": \"who\", \"t\": \"%s\", \"a\": [{\"text\": \"%s\", \"answer_start\": %d}]}",
                            cases[i].text, cases[i].answer, cases[i].start);
        make(&c, object, 64, settings);
        apply(&c, LABELS_SPAN, 0, &example);
        uint32_t from = g_array_index(c.inputs.ranges, TokenRange, example.label).begin,
                 to = g_array_index(c.inputs.ranges, TokenRange, example.label_end).end;
        g_autofree char *span = g_strndup(c.example.second + from, to - from);
        g_assert_cmpstr(span, ==, cases[i].span);
        example_clear(&example);
        drop(&c);
    }
    tokenizer_close(tok);
    tok = own;
}

static void choices_are_sequences_of_one_sample(void)
{
    Case c;
    Example example;
    char *settings[] = { (char *)"task.input={q}", (char *)"task.choices=a,b,c", (char *)"task.label={l}", NULL };
    make(&c, "{\"q\": \"ba ko\", \"a\": \"ri\", \"b\": \"tu me\", \"c\": \"sa\", \"l\": \"b\"}", 64, settings);
    g_assert_cmpint(task_inputs_count(&c.inputs), ==, 3);
    apply(&c, LABELS_CHOICE, 0, &example);
    g_assert_cmpint(example.label, ==, 1);
    for (int32_t i = 0, starts = 0; i < (int32_t)example.n_inputs; i++) {
        starts += example.starts_sequence[i];
        g_assert_cmpint(example.starts_sequence[i], ==, i == at(c.inputs.cu, starts - 1));
        g_assert_cmpint(example.position_ids[i], ==, i - at(c.inputs.cu, starts - 1));
    }
    example_clear(&example);
    drop(&c);
}

static void notes_of_another_classifier_are_refused(void)
{
    Case c;
    GError *error = NULL;
    char *settings[] = { (char *)"task.input={a}", (char *)"task.label={l}", NULL };
    g_autoptr(GArray) encoded = g_array_new(false, false, sizeof(int32_t));
    make(&c, "{\"a\": \"ba ko\", \"l\": \"good\"}", 40, settings);
    g_assert_true(task_encode_labels(&c.encoder, "here", &c.example, &c.inputs, 0, encoded, &error));
    const int32_t *digits = (const int32_t *)(void *)encoded->data;
    int64_t n = c.inputs.ids->len;
    const struct {
        LabelKind kind;
        int64_t labels, n_text, n_encoded;
        bool accepted;
    } cases[] = {
        { LABELS_SEQUENCE, 2, n, encoded->len, true },      { LABELS_SEQUENCE, 1, n, encoded->len, false },
        { LABELS_SEQUENCE, 2, n + 1, encoded->len, false }, { LABELS_SEQUENCE, 2, n, encoded->len - 1, false },
        { LABELS_TOKENS, 2, n, encoded->len, false },       { LABELS_SEQUENCE, 2, n, 3, false },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        ObjectiveConfig config = plan_of(cases[i].kind, cases[i].labels);
        g_assert_cmpint(labels_objective.accepts(&config, cases[i].n_text, digits, cases[i].n_encoded), ==,
                        cases[i].accepted);
    }
    c.encoder.labels = "no,yes";
    g_assert_false(task_encode_labels(&c.encoder, "here", &c.example, &c.inputs, 0, encoded, &error));
    g_assert_cmpstr(error->message, ==, "here: \"good\" is none of the classes of model.labels (no,yes)");
    g_clear_error(&error);
    drop(&c);
}

static char *read_conll(const char *text)
{
    g_autofree char *path = g_build_filename(folder, "words.conll", NULL);
    g_autoptr(GError) error = NULL;
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
    const RecordSource source = { .path = path, .rows = "", .columns = "" };
    RecordReader *reader = record_reader_open(&source, &error);
    GString *out = g_string_new(NULL);
    Record record;
    for (;;) {
        if (record_reader_next(reader, &record, &error)) {
            char *json = json_dumps(record.levels[0], JSON_COMPACT);
            g_string_append(out, json);
            free(json);
            continue;
        }
        if (error == NULL)
            break;
        g_string_append(out, strrchr(error->message, '/') + 1);
        g_clear_error(&error);
    }
    record_reader_close(reader);
    return g_string_free(out, false);
}

static void conll_sentences_are_records_of_lists(void)
{
    g_autofree char *good = read_conll("-DOCSTART- -X- O\n\nba B\nko I\n\n\nri\tO\n"),
                    *bad = read_conll("ba B\nko\nri O\n\ntu O\n"), *none = read_conll("\n\n"),
                    *byte = read_conll("ba B\nko \xff\nri O\nsu \xff\nlu O\n\ntu O\n");
    g_assert_cmpstr(good, ==, "{\"1\":[\"ba\",\"ko\"],\"2\":[\"B\",\"I\"]}{\"1\":[\"ri\"],\"2\":[\"O\"]}");
    g_assert_cmpstr(bad, ==, "words.conll:2: 1 columns where 2 are wanted (1, 2){\"1\":[\"tu\"],\"2\":[\"O\"]}");
    g_assert_cmpstr(none, ==, "");
    g_assert_true(g_str_has_prefix(byte, "words.conll:2: column 1: not UTF-8 (byte 0xff)"));
    g_assert_true(g_str_has_suffix(byte, "do not tell which{\"1\":[\"tu\"],\"2\":[\"O\"]}"));
}

static void names_of_classes_are_found_and_counted(void)
{
    g_autofree char *name = labels_name("bad,so so,good", 1);
    g_assert_cmpstr(name, ==, "so so");
    g_assert_cmpint(labels_count("bad,so so,good"), ==, 3);
    g_assert_cmpint(labels_count(""), ==, 0);
    g_assert_cmpint(labels_count(NULL), ==, 0);
    g_assert_cmpint(labels_find("bad,good", "good"), ==, 1);
    g_assert_cmpint(labels_find("bad,good", "goo"), ==, -1);
}

/* PREFIX.json of a dataset of labels, and what is wrong with one. */
static void a_dataset_keeps_the_names_of_its_classes(void)
{
    g_autofree char *path = g_build_filename(folder, "labels.json", NULL);
    GError *error = NULL;
    DatasetMeta meta = dataset_meta_of(tok, false), read = { 0 };
    meta.label_kind = LABELS_TOKENS;
    meta.labels = (char *)"O,B-\xc3\x89";
    g_assert_true(dataset_meta_write(&meta, path, &error));
    g_assert_true(dataset_meta_read(&read, path, &error));
    g_assert_cmpint(read.label_kind, ==, LABELS_TOKENS);
    g_assert_cmpstr(read.labels, ==, meta.labels);
    dataset_meta_clear(&read);
    static const struct {
        const char *kind, *names, *said;
    } bad[] = {
        { "sequence", NULL, "labels: the kind sequence and no names" },
        { "value", "a,b", "labels: the kind value and names of classes" },
        { "words", "a,b", "labels: the kind \"words\" is unknown to this program" },
        { "tokens", "a,a", "\"a,a\" names the class a twice" },
        { "tokens", "a,", "\"a,\" has an empty name between its commas" },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        json_t *root = json_load_file(path, 0, NULL);
        json_object_set_new(root, "labels", json_pack("{s:s, s:s*}", "kind", bad[i].kind, "names", bad[i].names));
        char *text = json_dumps(root, 0);
        g_autofree char *other = g_build_filename(folder, "bad.json", NULL);
        g_assert_true(g_file_set_contents(other, text, -1, NULL));
        g_assert_false(dataset_meta_read(&read, other, &error));
        g_assert_nonnull(strstr(error->message, bad[i].said));
        g_clear_error(&error);
        free(text);
        json_decref(root);
    }
}

static void counts_out_of_range_are_refused(void)
{
    static const struct {
        const char *key, *value;
    } bad[] = {
        { "documents", "-1" },
        { "tokens", "-1" },
        { "unknown", "{\"id\": 0, \"tokens\": -1}" },
        { "unknown", "{\"id\": -2, \"tokens\": 0}" },
        { "tree", "{\"hash\": \"0\", \"bytes\": -1}" },
        { "tree", "{\"hash\": \"0\", \"bytes\": 0}" },
    };
    g_autofree char *path = g_build_filename(folder, "counts.json", NULL);
    g_autoptr(GError) error = NULL;
    DatasetMeta meta = dataset_meta_of(tok, false), read = { 0 };
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_assert_true(dataset_meta_write(&meta, path, &error));
        json_t *root = json_load_file(path, 0, NULL);
        json_object_set_new(root, bad[i].key, json_loads(bad[i].value, JSON_DECODE_ANY, NULL));
        json_dump_file(root, path, 0);
        json_decref(root);
        g_assert_false(dataset_meta_read(&read, path, &error));
        g_assert_nonnull(strstr(error->message, "a size or count is out of range"));
        g_clear_error(&error);
    }
}

/* The list of unknown characters keeps whole ones. */
static void a_long_list_of_characters_is_cut_between_two(void)
{
    g_autofree char *path = g_build_filename(folder, "characters.json", NULL);
    g_autoptr(GError) error = NULL;
    DatasetMeta meta = dataset_meta_of(tok, false), read = { 0 };
    g_assert_true(dataset_meta_write(&meta, path, &error));
    json_t *root = json_load_file(path, 0, NULL);
    g_autoptr(GString) cats = g_string_new("x");
    for (int i = 0; i < 30; i++)
        g_string_append(cats, "\xe7\x8c\xab"); /* three bytes: byte 63 lies within one */
    json_object_set_new(json_object_get(root, "unknown"), "commonest", json_string(cats->str));
    json_dump_file(root, path, 0);
    json_decref(root);
    g_assert_true(dataset_meta_read(&read, path, &error));
    g_assert_true(g_utf8_validate(read.commonest, -1, NULL));
    g_assert_cmpuint(strlen(read.commonest), ==, 61);
    dataset_meta_clear(&read);
}

/* Names of classes in one text: "\," is a comma of a name, "\\" a backslash, and any other backslash itself. */
static void names_have_commas_and_backslashes(void)
{
    static const char *const names[] = { "no, bad", "yes\\", "a\\,b", "c\\d", "\\\\", " e ", NULL };
    g_autofree char *all = text_list_join(names);
    g_auto(GStrv) split = text_list(all);
    g_assert_cmpstr(all, ==, "no\\, bad,yes\\\\,a\\\\\\,b,c\\d,\\\\\\\\,\\ e\\ ");
    g_assert_true(g_strv_equal((const char *const *)split, names));
    g_assert_cmpint(labels_count(all), ==, 6);
    g_assert_cmpint(labels_count(""), ==, 0);
    g_assert_cmpint(labels_count("a,"), ==, 2);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = folder_new();
    tok = tiny_tokenizer(folder, "tok.model", 60);
    g_test_add_func("/labelled/a_pair_has_two_token_types_and_loses_of_the_longer_text",
                    a_pair_has_two_token_types_and_loses_of_the_longer_text);
    g_test_add_func("/labelled/roberta_has_two_separators_between_texts", roberta_has_two_separators_between_texts);
    g_test_add_func("/labelled/a_value_is_a_float", a_value_is_a_float);
    g_test_add_func("/labelled/an_empty_word_has_no_token", an_empty_word_has_no_token);
    g_test_add_func("/labelled/the_first_piece_of_a_word_has_its_tag", the_first_piece_of_a_word_has_its_tag);
    g_test_add_func("/labelled/windows_cover_the_text_and_find_the_answer", windows_cover_the_text_and_find_the_answer);
    g_test_add_func("/labelled/dropped_characters_move_no_answer", dropped_characters_move_no_answer);
    g_test_add_func("/labelled/choices_are_sequences_of_one_sample", choices_are_sequences_of_one_sample);
    g_test_add_func("/labelled/notes_of_another_classifier_are_refused", notes_of_another_classifier_are_refused);
    g_test_add_func("/labelled/conll_sentences_are_records_of_lists", conll_sentences_are_records_of_lists);
    g_test_add_func("/labelled/names_of_classes_are_found_and_counted", names_of_classes_are_found_and_counted);
    g_test_add_func("/labelled/a_dataset_keeps_the_names_of_its_classes", a_dataset_keeps_the_names_of_its_classes);
    g_test_add_func("/labelled/counts_out_of_range_are_refused", counts_out_of_range_are_refused);
    g_test_add_func("/labelled/a_long_list_of_characters_is_cut_between_two",
                    a_long_list_of_characters_is_cut_between_two);
    g_test_add_func("/labelled/names_have_commas_and_backslashes", names_have_commas_and_backslashes);
    int status = g_test_run();
    tokenizer_close(tok);
    folder_remove(folder);
    return status;
}
