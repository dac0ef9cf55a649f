/* porter.h: the stemmer of Porter (1980) with NLTK's default extensions, as rouge_score uses it. */
#pragma once

/* Stems a word of a-z and 0-9 in place; it never grows. Digits count as consonants. */
void porter_stem(char *word);
