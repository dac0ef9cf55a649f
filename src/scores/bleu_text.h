/* bleu_text.h: sacreBLEU's tokenizers, applied before n-grams are counted. */
#pragma once

#include "scores/scores.h"

#define SACREBLEU_VERSION "2.6.0" /* the version of sacreBLEU that the tests compare with */

/* A tokenizer with its compiled patterns. */
typedef struct BleuText BleuText;

BleuText *bleu_text_open(BleuTokenizer tokenizer, bool lowercase);
void bleu_text_close(BleuText *text);
/* Returns the tokens of a text, separated by white space, valid until the next call. 13a: the rules of NIST's
 * mteval-v13a, for European languages; intl: those of mteval-v14, with Unicode punctuation and symbols; char: each
 * character is a token; none: the text is split at white space only. */
const char *bleu_text(BleuText *text, const char *in);
/* The number of references, as sacreBLEU's signature has it: "1", or "var" if it differs between examples. g_free. */
char *bleu_text_references(const ScoreInput *in);
