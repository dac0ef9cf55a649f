#include "text/training.h"

static const char *const toy[] = {
    "The cat sat on the mat", "the cats' mats -- the rats'", "Ein Tisch, zwei Tische: 12 und 123, 1234",
    "naïve café, Naïve",      "banana bananas ana nana",     "mat hat that rat rats sat",
    "猫が猫を見た。猫だ",     "hatter matter chatter",       NULL
};

/* What the WordPieceTrainer of Hugging Face's tokenizers 0.23.3 makes of those lines in lower case with least frequency
 * 2, when it is told the order of the characters: its own changes from run to run. */
static const char toy_vocabulary[] =
    "[PAD] [UNK] [CLS] [SEP] [MASK] ' , - 1 2 3 4 : a b c d e f h i m n o r s t u v w z 。 か た を 猫 見 ##2 ##3 ##4 "
    "##a ##c ##d ##e ##f ##h ##i ##n ##r ##s ##t ##v ##w ##at ##na th mat the 12 na rat ##er ##ter ba cat hat sat ti "
    "##ch ##iv ##sch ##nana 123 naiv rats banana tisch naive ";

static TokenizerTraining training_of(const char *out)
{
    return (TokenizerTraining){ .type = "wordpiece", .vocab_size = 1000, .out = out, .lowercase = true };
}

static void pieces_are_hugging_face_s(void)
{
    g_autofree char *out = training_out("toy");
    TokenizerTraining training = training_of(out);
    tokenizer_close(training_run(&training, toy));
    g_autofree char *vocabulary = training_file(out, "vocab.txt");
    g_strdelimit(vocabulary, "\n", ' ');
    g_assert_cmpstr(vocabulary, ==, toy_vocabulary);
}

static void the_folder_says_how_text_is_treated(void)
{
    g_autofree char *out = training_out("cased");
    TokenizerTraining training = training_of(out);
    Tokenizer *uncased = training_run(&training, toy);
    g_autofree char *small = training_ids(uncased, "the cafe naive", false);
    g_autofree char *large = training_ids(uncased, "The Café NAÏVE", false);
    g_assert_cmpstr(small, ==, large);
    g_assert_cmpint(tokenizer_id(uncased, "T"), ==, -1);
    tokenizer_close(uncased);
    training.lowercase = false;
    Tokenizer *cased = training_run(&training, (const char *const[]){ "ab ab é é", "cd", NULL });
    g_autofree char *capital = training_ids(cased, "AB ab e é", false);
    g_autofree char *expected = g_strdup_printf("%d %d %d %d", tokenizer_unk(cased), tokenizer_id(cased, "ab"),
                                                tokenizer_unk(cased), tokenizer_id(cased, "é"));
    g_assert_cmpstr(capital, ==, expected); /* no capital in the vocabulary, and yet it is cased */
    tokenizer_close(cased);
}

static void only_the_most_frequent_characters_are_letters(void)
{
    static const char *const lines[] = { "aab aab aab", "bc bc", "xa xa xa yb", NULL };
    g_autofree char *out = training_out("limited");
    TokenizerTraining training = training_of(out);
    training.limit_alphabet = 3;
    tokenizer_close(training_run(&training, lines)); /* a 9, b 6, x 3; c 2, y 1 */
    g_autofree char *vocabulary = training_file(out, "vocab.txt");
    g_assert_cmpstr(vocabulary, ==, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nx\n##a\n##b\naa\nxa\naab\n");
}

static void words_too_long_for_the_encoder_teach_nothing(void)
{
    g_autofree char *word = g_strnfill(101, 'q'), *out = training_out("long");
    const char *const lines[] = { word, word, "on on", NULL };
    TokenizerTraining training = training_of(out);
    Tokenizer *tok = training_run(&training, lines);
    g_assert_cmpint(tokenizer_id(tok, "q"), ==, -1);
    g_assert_cmpint(tokenizer_id(tok, "on"), ==, 8);
    tokenizer_close(tok);
}

static void sentinels_lie_on_top(void)
{
    g_autofree char *out = training_out("sentinels");
    TokenizerTraining training = training_of(out);
    training.sentinels = TOKENIZER_SENTINELS;
    training.vocab_size = 60;
    Tokenizer *tok = training_run(&training, toy);
    g_assert_cmpint(tokenizer_size(tok), ==, 160);
    g_assert_cmpint(tokenizer_sentinel(tok, 0), ==, 159);
    g_assert_cmpint(tokenizer_pad(tok), ==, 0);
    tokenizer_close(tok);
}

static void training_tells_what_would_be_right(void)
{
    g_autofree char *out = training_out("wrong");
    const char *const controls[] = { " ", "\x7f", "\t", NULL }, *const others[] = { "[PAD]", "[CLS]", NULL };
    TokenizerTraining training = training_of(out);
    training_expect_error(training, controls, "there is no text to train on");
    training.vocab_size = 30;
    training_expect_error(training, toy,
                          "a vocabulary of 30 is too small: 5 special tokens, and 32 characters at the beginning of "
                          "words and within, make 53; --limit-alphabet makes them fewer");
    training = training_of(out);
    training.special_tokens = others;
    training_expect_error(training, toy, "lack [UNK]");
    training = training_of(out);
    training.type = "byte-bpe";
    training_expect_error(training, toy, "--lowercase is not for tokenizers of kind byte-bpe");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    training_folder = g_dir_make_tmp("loam-wordpiece-train-XXXXXX", NULL);
    g_test_add_func("/wordpiece_train/pieces_are_hugging_face_s", pieces_are_hugging_face_s);
    g_test_add_func("/wordpiece_train/the_folder_says_how_text_is_treated", the_folder_says_how_text_is_treated);
    g_test_add_func("/wordpiece_train/only_the_most_frequent_characters_are_letters",
                    only_the_most_frequent_characters_are_letters);
    g_test_add_func("/wordpiece_train/words_too_long_for_the_encoder_teach_nothing",
                    words_too_long_for_the_encoder_teach_nothing);
    g_test_add_func("/wordpiece_train/sentinels_lie_on_top", sentinels_lie_on_top);
    g_test_add_func("/wordpiece_train/training_tells_what_would_be_right", training_tells_what_would_be_right);
    int status = g_test_run();
    io_remove_tree(training_folder, NULL);
    g_free(training_folder);
    return status;
}
