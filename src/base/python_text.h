/* python_text.h: equivalents of Python's str methods and of float, because scores must equal those of Python packages.
 * Character classes are those of GLib's version of Unicode. */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* str.isspace for one character; equal to \s of the module re. */
bool python_is_space(gunichar c);
/* \w of the module re, for one character: letters, numbers and _, no combining marks. */
bool python_is_word(gunichar c);
/* Whether the character is in string.punctuation: 32 ASCII characters. */
bool python_is_punctuation(gunichar c);
/* str.lower, including its special cases: İ becomes two characters, and a final capital sigma becomes ς. g_free. */
char *python_lower(const char *text);
/* str.split: finds the next word from *at on and moves *at past it; false if only white space is left. */
bool python_next_word(const char **at, const char **word, size_t *bytes);
/* " ".join(text.split()), in place. */
void python_collapse(char *text);
/* str.strip. g_free. */
char *python_strip(const char *text);
/* The text without empty lines and lines of white space; a line feed between two lines, none after the last. g_free. */
char *python_drop_empty_lines(const char *text);
/* float(text) of a finite number: white space around it and single underscores between digits are ignored, false for
 * others, such as hexadecimal numbers, "inf" and "nan". Reads all numbers of tables and predictions. */
bool python_float(double *out, const char *text);
