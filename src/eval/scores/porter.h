/* porter.h: the stemmer of Porter (1980) with the changes that NLTK makes to it by default, which rouge_score uses. */
#pragma once

/* Stems a word of a-z and 0-9 in place; it never grows. Digits count as consonants. */
void porter_stem(char *word);
