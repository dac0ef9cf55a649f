/* python_text.h: text as Python's str methods see it, because scores must equal those of Python packages. Unicode is
 * that of GLib. */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* str.isspace of one character: also \s of the module re. */
bool python_is_space(gunichar c);
/* \w of the module re, for one character: letters, numbers and _, no combining marks. */
bool python_is_word(gunichar c);
/* string.punctuation: the 32 of ASCII. */
bool python_is_punctuation(gunichar c);
/* str.lower, with its capital İ that becomes two characters and its final sigma. g_free. */
char *python_lower(const char *text);
/* str.split: the next word from *at on, which moves past the word; false where only white space is left. */
bool python_next_word(const char **at, const char **word, size_t *bytes);
/* " ".join(text.split()), in place. */
void python_collapse(char *text);
/* str.strip. g_free. */
char *python_strip(const char *text);
/* The text without lines, between \n, that are empty or white space alone. g_free. */
char *python_drop_empty_lines(const char *text);
