#include "format/pickle.h"

#include <string.h>

static Pickle *read_bytes(const char *bytes, size_t n, GError **error)
{
    size_t used;
    Pickle *pickle = pickle_read(bytes, n, &used, error);
    g_assert_cmpuint(used, <=, n);
    return pickle;
}

#define READ(literal, error) read_bytes(literal, sizeof literal - 1, error)

/* {"a": [1, -2, 2.5, None, True], "b": (b"x", "ä")} of protocol 2 and, with the same meaning, 4. */
#define PROTOCOL_2                                                                                                     \
    "\x80\x02}q\x00(X\x01\x00\x00\x00"                                                                                 \
    "aq\x01]q\x02(K\x01J\xfe\xff\xff\xffG\x40\x04\x00\x00\x00\x00\x00\x00N\x88"                                        \
    "eX\x01\x00\x00\x00"                                                                                               \
    "bC\x01xX\x02\x00\x00\x00\xc3\xa4\x86u."
#define PROTOCOL_4                                                                                                     \
    "\x80\x04\x95\x2e\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x01"                                                       \
    "a\x94]\x94(K\x01J\xfe\xff\xff\xffG\x40\x04\x00\x00\x00\x00\x00\x00N\x88"                                          \
    "e\x8c\x01"                                                                                                        \
    "bC\x01x\x94\x8c\x02\xc3\xa4\x94\x86\x94u."

static void expect_containers(const Pickle *pickle)
{
    const PickleValue *root = pickle->root, *list = pickle_find(root, "a"), *tuple = pickle_find(root, "b");
    g_assert_true(root->type == PICKLE_DICT && list->type == PICKLE_LIST && tuple->type == PICKLE_TUPLE);
    g_assert_cmpuint(pickle_items(list), ==, 5);
    g_assert_cmpint(pickle_item(list, 0)->integer, ==, 1);
    g_assert_cmpint(pickle_item(list, 1)->integer, ==, -2);
    g_assert_cmpfloat(pickle_item(list, 2)->real, ==, 2.5);
    g_assert_true(pickle_item(list, 3)->type == PICKLE_NONE && pickle_item(list, 4)->type == PICKLE_BOOL);
    g_assert_true(pickle_is(pickle_item(tuple, 0), PICKLE_BYTES, "x"));
    g_assert_true(pickle_is(pickle_item(tuple, 1), PICKLE_TEXT, "ä"));
    g_assert_null(pickle_item(tuple, 2));
    g_assert_null(pickle_find(root, "c"));
}

static void containers_are_read_of_every_protocol(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Pickle) two = READ(PROTOCOL_2, &error), four = READ(PROTOCOL_4, &error);
    g_assert_no_error(error);
    expect_containers(two);
    expect_containers(four);
}

/* os.system("true") with state {}: Python would run it. */
static void a_call_is_a_placeholder(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Pickle) pickle = READ("\x80\x02"
                                    "cos\nsystem\nX\x04\x00\x00\x00true\x85R}b.",
                                    &error);
    g_assert_no_error(error);
    const PickleValue *root = pickle->root;
    g_assert_true(root->type == PICKLE_OBJECT && pickle_is(root->callable, PICKLE_NAME, "os.system"));
    g_assert_true(pickle_is(pickle_item(root->arguments, 0), PICKLE_TEXT, "true"));
    g_assert_true(root->state->type == PICKLE_DICT);
}

static void whole_numbers_have_any_length(void)
{
    static const struct {
        const char *bytes;
        size_t n;
        int64_t value;
    } cases[] = {
        { "\x8a\x00.", 3, 0 },           { "\x8a\x01\xff.", 4, -1 },
        { "\x8a\x02\xff\x00.", 5, 255 }, { "\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80.", 11, INT64_MIN },
        { "M\xff\xff.", 4, 65535 },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(Pickle) pickle = read_bytes(cases[i].bytes, cases[i].n, &error);
        g_assert_no_error(error);
        g_assert_cmpint(pickle->root->integer, ==, cases[i].value);
    }
    g_autoptr(Pickle) large = READ("\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01.", NULL);
    g_assert_true(large->root->type == PICKLE_BYTES && large->root->bytes == 9);
}

/* [] that holds itself; the same list as two items of a tuple. */
static void values_may_be_shared_and_hold_themselves(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Pickle) cycle = READ("]q\x00h\x00"
                                   "a.",
                                   &error),
                      shared = READ("]q\x00h\x00\x86.", &error);
    g_assert_no_error(error);
    g_assert_true(pickle_item(cycle->root, 0) == cycle->root);
    g_assert_true(pickle_item(shared->root, 0) == pickle_item(shared->root, 1));
}

static void another_pickle_may_follow(void)
{
    size_t used;
    g_autoptr(Pickle) pickle = pickle_read("K\x07.K\x08.", 6, &used, NULL);
    g_assert_cmpint(pickle->root->integer, ==, 7);
    g_assert_cmpuint(used, ==, 3);
}

static void every_cut_is_an_error(void)
{
    for (size_t n = 0; n < sizeof PROTOCOL_2 - 1; n++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(read_bytes(PROTOCOL_2, n, &error));
        g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    }
}

static void what_no_pickle_holds_is_refused(void)
{
    static const struct {
        const char *bytes, *words;
    } cases[] = {
        { "\x80\x06.", "it is of protocol 6" },
        { "\xff.", "0xff is no opcode that torch.save writes" },
        { ".", "too few values" },
        { "R.", "too few values" },
        { "K\x01(R.", "too few values" },
        { "K\x01(a.", "too few values" },
        { "t.", "no mark" },
        { "h\x01.", "value 1 of the memo" },
        { "K\x01K\x01"
          "a.",
          "no container" },
        { "}K\x01\x85(K\x01u.", "no container" },
        { "}(K\x01u.", "a key of a dict has no value" },
        { "(K\x01"
          "d.",
          "a key of a dict has no value" },
        { "K\x01K\x01\x93.", "not a text" },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(read_bytes(cases[i].bytes, strlen(cases[i].bytes), &error));
        if (strstr(error->message, cases[i].words) == NULL)
            g_error("\"%s\" does not say \"%s\"", error->message, cases[i].words);
    }
    g_autoptr(GString) name = g_string_new("c");
    for (int i = 0; i < 300; i++)
        g_string_append_c(name, 'm');
    g_string_append(name, "\nn\n.");
    g_autoptr(GError) error = NULL;
    g_assert_null(read_bytes(name->str, name->len, &error));
    g_assert_nonnull(strstr(error->message, "longer than 256 bytes"));
}

static void values_are_bounded(void)
{
    size_t n = (1 << 20) + 2;
    g_autofree char *bytes = g_malloc(n);
    memset(bytes, 'N', n);
    g_autoptr(GError) error = NULL;
    g_assert_null(read_bytes(bytes, n, &error));
    g_assert_nonnull(strstr(error->message, "more than 1048576 values"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/pickle/containers_are_read_of_every_protocol", containers_are_read_of_every_protocol);
    g_test_add_func("/pickle/a_call_is_a_placeholder", a_call_is_a_placeholder);
    g_test_add_func("/pickle/whole_numbers_have_any_length", whole_numbers_have_any_length);
    g_test_add_func("/pickle/values_may_be_shared_and_hold_themselves", values_may_be_shared_and_hold_themselves);
    g_test_add_func("/pickle/another_pickle_may_follow", another_pickle_may_follow);
    g_test_add_func("/pickle/every_cut_is_an_error", every_cut_is_an_error);
    g_test_add_func("/pickle/what_no_pickle_holds_is_refused", what_no_pickle_holds_is_refused);
    g_test_add_func("/pickle/values_are_bounded", values_are_bounded);
    return g_test_run();
}
