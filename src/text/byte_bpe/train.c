/* byte_bpe/train.c: trains a byte-level BPE tokenizer and writes GPT-2's files, vocab.json and merges.txt. */
#include "base/file.h"
#include "text/byte_bpe/model.h"
#include "text/vocab_builder/vocab_builder.h"

#include <stdlib.h>

static bool count_bpe_word(void *context, const char *word, size_t bytes)
{
    WordTable *words = context;
    if (bytes <= LONG_WORD_BYTES)
        word_table_add(words, word, bytes, 1);
    else
        words->left_out++;
    return true;
}

static void split_into_words(const void *context, const char *text, size_t bytes, WordTable *words)
{
    pre_tokenizer_each(context, NULL, text, bytes, count_bpe_word, words);
}

/* Adds a piece for each of the 256 bytes, in the order of their characters in GPT-2's table. */
static bool add_alphabet(VocabBuilder *builder, GError **error)
{
    for (gunichar c = 1; c < 512; c++) {
        char name[7] = { 0 };
        g_unichar_to_utf8(c, name);
        g_autofree char *byte = byte_bpe_bytes(name, NULL);
        if (byte)
            vocab_builder_add(builder, name);
    }
    int vocab_size = builder->training->vocab_size;
    return (int)builder->names->len <= vocab_size ||
           fail_user(error, "a vocabulary of %d is too small: 256 bytes and %d special tokens make %u", vocab_size,
                     builder->n_specials, builder->names->len);
}

static void learn_merges(VocabBuilder *builder)
{
    const WordTable *words = &builder->words;
    g_autoptr(MergeLearner) learner = merge_learner_open(words->n, words->text_bytes);
    g_autoptr(GArray) symbols = g_array_new(FALSE, FALSE, sizeof(int32_t));
    int32_t ids[256];
    for (int byte = 0; byte < 256; byte++) {
        g_autofree char *name = byte_bpe_name(&(char){ (char)byte }, 1);
        ids[byte] = vocab_builder_id(builder, name);
    }
    for (size_t i = 0; i < words->n; i++) {
        const char *word = word_table_word(words, i);
        g_array_set_size(symbols, words->entries[i].bytes);
        for (guint j = 0; j < symbols->len; j++)
            g_array_index(symbols, int32_t, j) = ids[(uint8_t)word[j]];
        merge_learner_add(learner, (const int32_t *)(void *)symbols->data, symbols->len, words->entries[i].count);
    }
    vocab_builder_learn(builder, learner);
}

static bool write_merges(const VocabBuilder *builder, const char *path, GError **error)
{
    g_autoptr(GString) text = g_string_new("#version: 0.2\n");
    for (guint i = 0; i < builder->merges->len; i++) {
        VocabMerge merge = g_array_index(builder->merges, VocabMerge, i);
        g_string_append_printf(text, "%s %s\n", (char *)builder->names->pdata[merge.left],
                               (char *)builder->names->pdata[merge.right]);
    }
    return io_write_file(path, text->str, text->len, error);
}

/* vocab.json is written last, so a folder with it has a complete tokenizer. */
static bool write_bpe_files(const VocabBuilder *builder, const char *folder, GError **error)
{
    g_autofree char *vocab = g_build_filename(folder, "vocab.json", NULL);
    g_autofree char *merges = g_build_filename(folder, "merges.txt", NULL);
    json_auto_t *pieces = json_vocab(builder->names);
    return vocab_builder_write_config(builder, json_object(), error) && write_merges(builder, merges, error) &&
           json_write_file(vocab, pieces, 0, "", error);
}

static bool train_bpe(const TokenizerTraining *training, TokenizerText next, void *context, GError **error)
{
    /* With sentinels the tokenizer is for T5, whose decoder starts with <pad>, id 0. */
    static const char *const plain[] = { "<|endoftext|>", NULL }, *const denoising[] = { "<pad>", "<|endoftext|>",
                                                                                         NULL };
    g_auto(VocabBuilder) builder = { 0 };
    g_autoptr(PreTokenizer) pre_tokenizer = pre_tokenizer_open_gpt2();
    WordSplitter splitter = { pre_tokenizer, split_into_words, LONG_WORD_TEXT };
    if (!vocab_builder_init(&builder, training, "", training->sentinels ? denoising : plain, error) ||
        !add_alphabet(&builder, error) ||
        !word_count(&builder.words, &splitter, training->workers, training->memory << 20, next, context, error))
        return false;
    learn_merges(&builder);
    return write_bpe_files(&builder, training->out, error);
}

const TokenizerTrainer trainer_byte_bpe = { "byte-bpe", TRAINER_WORDS, "vocab.json", SPELLING_BYTE_BPE, train_bpe };
