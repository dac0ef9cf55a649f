/* fairseq_words.h: a tokenizer whose pieces are the words of a dict.txt of fairseq: text is split at white space, and a
 * word that is not in the dictionary becomes <unk>. */
#pragma once

#include "text/kind.h"

extern const TokenizerKind kind_fairseq_words;

/* Returns the next word of a line and moves *at, the position in the line, past it; NULL at the end of the line. Words
 * are split as by Python's str.split and NUL-terminated in place. */
char *fairseq_next_word(char **at);
