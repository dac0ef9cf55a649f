/* fairseq_words.h: a tokenizer whose pieces are the words of fairseq's dict.txt: text is split at white space; a word
 * that the dictionary lacks is <unk>. */
#pragma once

#include "text/kind.h"

extern const TokenizerKind kind_fairseq_words;

/* Returns the next word of the line at *at, split as by Python's str.split and NUL-terminated in place, and moves *at
 * past it; NULL at the end of the line. */
char *fairseq_next_word(char **at);
