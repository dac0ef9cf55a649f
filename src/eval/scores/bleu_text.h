/* bleu_text.h: sacreBLEU's tokenization, applied before n-grams are counted. */
#pragma once

#include "eval/scores/scores.h"

#define SACREBLEU_VERSION "2.6.0" /* the version that tests compare with */

typedef struct BleuText BleuText;

BleuText *bleu_text_open(BleuTokenizer tokenizer, bool lowercase);
void bleu_text_close(BleuText *text);
/* Tokens with white space between them, valid until the next call. 13a: the rules of NIST's mteval-v13a, for European
 * languages; intl: of mteval-v14, with Unicode's punctuation and symbols; char: each character; none: the text's own
 * words. */
const char *bleu_text(BleuText *text, const char *in);
/* The number of references as a signature has it: "1", or "var" where it differs between examples. g_free. */
char *bleu_text_references(const ScoreInput *in);
