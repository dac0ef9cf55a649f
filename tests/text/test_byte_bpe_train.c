#include "text/training.h"

/* Runs, contractions, numbers, white space, and characters of several bytes. */
static const char *const toy[] = { "the cat sat on the mat",    "the cats' mats -- the rats'",
                                   "=== ======= == ====",       "  if (a == b)\n    return a;\n\n\n",
                                   "  aaaa aaa aaaaaaa aa",     "Ein Tisch, zwei Tische: 12 und 123, 1234",
                                   "猫が猫を見た。猫だ",        "naïve café, naïve",
                                   "banana bananas ana nana",   "it's she's he'll they'll",
                                   "mat hat that rat rats sat", NULL };

/* What the BpeTrainer of Hugging Face's tokenizers 0.23.3 makes of those lines: byte level, no prefix space, least
 * frequency 2. */
static const char toy_merges[] =
    "#version: 0.2\n= =\na a\na t\nn a\nh e\nt he\nĠ r\nĠ ==\nĠ aa\nat s\n1 2\na na\n« ã\nç Į\nĠ c\nĠ s\nĠ the\nĠ 12\n"
    "çĮ «ã\n' l\n' s\nT i\nb ana\nh at\nm at\ns c\nv e\n¯ ve\nÃ ¯ve\nĊ Ċ\nĠ Ġ\nĠ na\nĠ Ti\n== =\nĠr ats\nĠ== ==\n"
    "Ġaa aa\nĠs at\nĠ12 3\nçĮ«ã ģ\n'l l\nbana na\nĠTi sc\n";

static TokenizerTraining training_of(const char *out)
{
    return (TokenizerTraining){ .type = "byte-bpe", .vocab_size = 1000, .out = out };
}

static void merges_are_hugging_face_s(void)
{
    g_autofree char *out = training_out("toy");
    TokenizerTraining training = training_of(out);
    tokenizer_close(training_run(&training, toy));
    g_autofree char *merges = training_file(out, "merges.txt");
    g_assert_cmpstr(merges, ==, toy_merges);
}

static void ids_are_specials_bytes_merges_sentinels(void)
{
    const char *const specials[] = { "<pad>", "<|end of text|>", NULL };
    g_autofree char *out = training_out("ids");
    TokenizerTraining training = training_of(out);
    training.special_tokens = specials;
    training.sentinels = TOKENIZER_SENTINELS;
    training.vocab_size = 260;
    Tokenizer *tok = training_run(&training, toy);
    g_assert_cmpint(tokenizer_size(tok), ==, 360);
    g_assert_cmpint(tokenizer_pad(tok), ==, 0);
    g_assert_cmpint(tokenizer_id(tok, "<|end of text|>"), ==, 1);
    g_assert_cmpstr(tokenizer_piece(tok, 2), ==, "!");
    g_assert_cmpstr(tokenizer_piece(tok, 257), ==, "Ń"); /* the last of the 256 */
    g_assert_cmpstr(tokenizer_piece(tok, 258), ==, "==");
    g_assert_cmpstr(tokenizer_piece(tok, 259), ==, "aa");
    g_assert_cmpint(tokenizer_sentinel(tok, 0), ==, 359);
    g_assert_cmpint(tokenizer_sentinel(tok, 99), ==, 260);
    tokenizer_close(tok);
    g_autofree char *many = training_out("many");
    training.out = many;
    training.sentinels = 1024;
    tok = training_run(&training, toy);
    g_assert_cmpint(tokenizer_sentinels(tok), ==, 1024);
    g_assert_cmpint(tokenizer_sentinel(tok, 0), ==, 1283);
    g_assert_cmpint(tokenizer_sentinel(tok, 1023), ==, 260);
    tokenizer_close(tok);
}

static void text_that_was_never_seen_comes_back(void)
{
    static const char text[] = "the cat\twent — 123 times — to Ελλάδα 🐈\u200d⬛\n\nthat's all";
    g_autofree char *out = training_out("round");
    TokenizerTraining training = training_of(out);
    Tokenizer *tok = training_run(&training, toy);
    g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(int32_t));
    g_assert_true(tokenizer_encode(tok, text, strlen(text), false, ids, NULL));
    g_autofree char *back = tokenizer_decode(tok, (const int32_t *)(void *)ids->data, ids->len, NULL);
    g_assert_cmpstr(back, ==, text);
    g_assert_cmpint(g_array_index(ids, int32_t, 0), ==, tokenizer_id(tok, "the"));
    tokenizer_close(tok);
}

static void special_tokens_are_found_where_they_are_asked_for(void)
{
    const char *const specials[] = { "<|user|>", NULL };
    static const char text[] = "<|user|>the";
    g_autofree char *out = training_out("special");
    TokenizerTraining training = training_of(out);
    training.special_tokens = specials;
    Tokenizer *tok = training_run(&training, toy);
    g_autofree char *special = training_ids(tok, text, true), *plain = training_ids(tok, text, false);
    g_autofree char *whole = g_strdup_printf("0 %d", tokenizer_id(tok, "the"));
    g_assert_cmpstr(special, ==, whole);
    g_assert_cmpstr(plain, ==, "28 92 85 83 69 82 92 30 262");
    tokenizer_close(tok);
}

/* Text of a special token in the corpus is text: no merge makes the token. */
static void text_never_becomes_a_special_token(void)
{
    const char *const specials[] = { "user", NULL }, *const lines[] = { "user user", "user users", NULL };
    g_autofree char *out = training_out("forged");
    TokenizerTraining training = training_of(out);
    training.special_tokens = specials;
    Tokenizer *tok = training_run(&training, lines);
    g_autofree char *ids = training_ids(tok, "user", false);
    g_assert_cmpstr(ids, !=, "0");
    g_assert_cmpint(tokenizer_id(tok, "Ġuser"), >, 0);
    tokenizer_close(tok);
}

static void expect_role(const Tokenizer *tok, TokenRole role, const char *piece)
{
    int id = tokenizer_role(tok, role);
    g_assert_cmpstr(id < 0 ? NULL : tokenizer_piece(tok, id), ==, piece);
}

static void a_family_has_the_tokens_of_its_roles(void)
{
    static const struct {
        const char *family, *pad, *eos, *cls, *mask;
        int pad_id, sentinel;
    } families[] = { { "bert", "[PAD]", "[SEP]", "[CLS]", "[MASK]", 0, -1 },
                     { "roberta", "<pad>", "</s>", "<s>", "<mask>", 1, -1 },
                     { "t5", "<pad>", "</s>", NULL, NULL, 0, 399 },
                     { "gpt", "<|endoftext|>", "<|endoftext|>", NULL, NULL, 0, -1 } };
    for (size_t i = 0; i < G_N_ELEMENTS(families); i++) {
        g_autofree char *out = training_out("family");
        TokenizerTraining training = training_of(out);
        training.family = families[i].family;
        training.vocab_size = 300;
        training.min_frequency = 1;
        Tokenizer *tok = training_run(&training, toy);
        expect_role(tok, ROLE_PAD, families[i].pad);
        expect_role(tok, ROLE_EOS, families[i].eos);
        expect_role(tok, ROLE_CLS, families[i].cls);
        expect_role(tok, ROLE_MASK, families[i].mask);
        g_assert_cmpint(tokenizer_pad(tok), ==, families[i].pad_id);
        g_assert_cmpint(tokenizer_sentinel(tok, 0), ==, families[i].sentinel);
        tokenizer_close(tok);
    }
}

/* A mask takes the space before it, which belongs to the word that it hides. */
static void roles_may_be_given_to_any_token(void)
{
    const char *const specials[] = { "pad=<none>", "mask=<hole>", "eos=<stop>", "sep=<stop>", "<|user|>", NULL };
    g_autofree char *out = training_out("roles");
    TokenizerTraining training = training_of(out);
    training.special_tokens = specials;
    Tokenizer *tok = training_run(&training, toy);
    expect_role(tok, ROLE_PAD, "<none>");
    expect_role(tok, ROLE_MASK, "<hole>");
    expect_role(tok, ROLE_EOS, "<stop>");
    expect_role(tok, ROLE_SEP, "<stop>");
    expect_role(tok, ROLE_CLS, NULL);
    g_assert_cmpint(tokenizer_encoder_role(tok, ROLE_CLS), ==, 2);
    g_autofree char *ids = training_ids(tok, "the <hole><|user|>", true), *the = training_ids(tok, "the", true),
                    *want = g_strconcat(the, " 1 3", NULL);
    g_assert_cmpstr(ids, ==, want);
    tokenizer_close(tok);
}

static void roles_that_contradict_each_other_are_refused(void)
{
    g_autofree char *out = training_out("contradict");
    const char *const twice[] = { "pad=<a>", "pad=<b>", NULL }, *const named[] = { "eos=<end>", "</s>", NULL };
    TokenizerTraining training = training_of(out);
    training.special_tokens = twice;
    training_expect_error(training, toy, "two special tokens are pad: \"<a>\" and \"<b>\"");
    training.special_tokens = named;
    training_expect_error(training, toy, "\"</s>\" is eos by its name, so \"<end>\" cannot be");
    training.special_tokens = NULL;
    training.family = "bart";
    training_expect_error(training, toy, "tokenizers are not made for bart: one of bert, roberta, t5, gpt");
}

static void pieces_keep_the_longest_length(void)
{
    g_autofree char *out = training_out("short");
    TokenizerTraining training = training_of(out);
    training.max_piece = 3;
    Tokenizer *tok = training_run(&training, toy);
    bool reached = false;
    for (int id = 1; id < tokenizer_size(tok); id++) {
        long n = g_utf8_strlen(tokenizer_piece(tok, id), -1);
        g_assert_cmpint(n, <=, 3);
        reached |= n == 3;
    }
    g_assert_true(reached);
    tokenizer_close(tok);
}

static void threads_make_no_difference(void)
{
    g_autofree char *first = NULL;
    for (int workers = 1; workers <= 7; workers += 3) {
        g_autofree char *out = training_out("threads");
        TokenizerTraining training = training_of(out);
        training.workers = workers;
        tokenizer_close(training_run(&training, toy));
        g_autofree char *vocab = training_file(out, "vocab.json");
        if (first)
            g_assert_cmpstr(vocab, ==, first);
        else
            first = g_steal_pointer(&vocab);
    }
}

static void training_tells_what_would_be_right(void)
{
    g_autofree char *out = training_out("wrong");
    const char *const nothing[] = { "", NULL }, *const broken[] = { "one", "two", "!", NULL };
    const char *const latin1[] = { "one", "caf\xe9", NULL }, *const single[] = { "<pad>", "x", NULL };
    TokenizerTraining training = training_of(out);
    training_expect_error(training, nothing, "there is no text to train on");
    training_expect_error(training, broken, "corpus.txt:3: cannot be read");
    training_expect_error(training, latin1, "text 2 of those to train on is not valid UTF-8");
    training.vocab_size = 256;
    training_expect_error(training, toy, "a vocabulary of 256 is too small: 256 bytes and 1 special tokens make 257");
    training = training_of(out);
    training.special_tokens = single;
    training_expect_error(training, toy, "the special token \"x\" is none");
    training = training_of(out);
    training.byte_fallback = true;
    training_expect_error(training, toy, "--byte-fallback is not for tokenizers of kind byte-bpe");
    training = training_of(out);
    training.min_frequency = -1;
    training_expect_error(training, toy, "a least frequency of -1 is out of range");
}

static void a_failing_disk_leaves_no_half_file(void)
{
    g_autofree char *out = training_out("disk");
    TokenizerTraining training = training_of(out);
    for (int n = 1;; n++) {
        const char *const *lines = toy;
        g_autoptr(GError) error = NULL;
        io_fail_at(n, 28); /* ENOSPC */
        bool done = tokenizer_train(&training, training_line, &lines, &error);
        io_fail_at(0, 0);
        if (done)
            break;
        g_autofree char *vocab = training_file(out, "vocab.json"), *merges = training_file(out, "merges.txt");
        g_assert_true(merges == NULL || strcmp(merges, toy_merges) == 0);
        g_assert_true(vocab == NULL || g_str_has_suffix(vocab, "}"));
        g_assert_cmpint(n, <, 100);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    training_folder = g_dir_make_tmp("loam-byte-bpe-train-XXXXXX", NULL);
    g_test_add_func("/byte_bpe_train/merges_are_hugging_face_s", merges_are_hugging_face_s);
    g_test_add_func("/byte_bpe_train/ids_are_specials_bytes_merges_sentinels", ids_are_specials_bytes_merges_sentinels);
    g_test_add_func("/byte_bpe_train/text_that_was_never_seen_comes_back", text_that_was_never_seen_comes_back);
    g_test_add_func("/byte_bpe_train/special_tokens_are_found_where_they_are_asked_for",
                    special_tokens_are_found_where_they_are_asked_for);
    g_test_add_func("/byte_bpe_train/text_never_becomes_a_special_token", text_never_becomes_a_special_token);
    g_test_add_func("/byte_bpe_train/a_family_has_the_tokens_of_its_roles", a_family_has_the_tokens_of_its_roles);
    g_test_add_func("/byte_bpe_train/roles_may_be_given_to_any_token", roles_may_be_given_to_any_token);
    g_test_add_func("/byte_bpe_train/roles_that_contradict_each_other_are_refused",
                    roles_that_contradict_each_other_are_refused);
    g_test_add_func("/byte_bpe_train/pieces_keep_the_longest_length", pieces_keep_the_longest_length);
    g_test_add_func("/byte_bpe_train/threads_make_no_difference", threads_make_no_difference);
    g_test_add_func("/byte_bpe_train/training_tells_what_would_be_right", training_tells_what_would_be_right);
    g_test_add_func("/byte_bpe_train/a_failing_disk_leaves_no_half_file", a_failing_disk_leaves_no_half_file);
    int status = g_test_run();
    io_remove_tree(training_folder, NULL);
    g_free(training_folder);
    return status;
}
