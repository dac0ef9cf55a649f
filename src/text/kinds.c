#include "text/kind.h"

#include "text/byte_bpe/byte_bpe.h"
#include "text/sentencepiece/sentencepiece.h"
#include "text/wordpiece/wordpiece.h"

const TokenizerKind *const tokenizer_kinds[] = {
    &kind_sentencepiece, &kind_wordpiece,     &kind_byte_bpe, &kind_tiktoken, &kind_bytes,
    &kind_unigram,       &kind_fairseq_words, &kind_char_bpe, NULL,
};
