/* fairseq_words.h: the words of fairseq's dict.txt as a tokenizer: text is cut at white space, a word that the
 * dictionary lacks is <unk>. */
#pragma once

#include "text/kind.h"

extern const TokenizerKind kind_fairseq_words;

/* The next word of a line, cut as Python's str.split cuts it and NUL-terminated in place; NULL at the end of the line.
 * *at moves past it. */
char *fairseq_next_word(char **at);
