/* text.h: lists in one text, similar names for error messages, and numbers for people. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Splits a list "a, b" at its commas into items without the white space around them, NULL-terminated; NULL and "" are
 * empty lists. "\," is a comma in an item, "\\" a backslash, "\ " white space that stays; any other backslash stands
 * for itself. g_strfreev. */
char **text_list(const char *list);
/* The list "a,b" of these items: the inverse of text_list. g_free. */
char *text_list_join(const char *const *items);
/* Damerau-Levenshtein distance of two strings of bytes. */
int text_distance(const char *a, const char *b);
/* The name in a NULL-terminated list that is most similar to `name`: a name that differs only in case or punctuation,
 * otherwise the one with the smallest text_distance, with preference for names that start alike. NULL if every distance
 * is at least half of the length of `name`. */
const char *text_nearest(const char *name, const char *const *list);
/* The three names of the list that are most similar to `name`, however different, best first: "a, b, c". g_free. */
char *text_nearest_few(const char *name, const char *const *list);
/* Whether a text, such as the name of a file, ends with a suffix in lower or upper case. */
bool text_has_suffix(const char *text, const char *suffix);
/* Orders texts (char *) by their bytes, for g_ptr_array_sort and qsort. */
int text_compare(const void *a, const void *b);
/* The names of a NULL-terminated list as a choice: "a, b or c". g_free. */
char *text_choice(const char *const *list);
/* 3 if the text begins with the byte order mark of UTF-8, which is no part of it; else 0. */
size_t text_mark_bytes(const char *text, size_t bytes);
/* Number of first bytes that two UTF-8 texts share, in whole characters. */
size_t text_common(const char *a, const char *b);
/* Appends the words of `text` in lines of at most `width` columns, each after `indent` blanks, and a line end. column:
 * columns that the current line of `out` has already; 0 means that a line begins. Words are never cut. */
void text_append_wrapped(GString *out, const char *text, glong column, int indent, int width);
/* Each of the following functions returns a string; free with g_free. */
char *text_count(double n);                      /* 1234567 -> "1.23M" */
char *text_bytes(uint64_t bytes);                /* 1536 -> "1.5 KiB" */
char *text_duration(double seconds);             /* 75 -> "1m15s", 3.2 -> "3.2s" */
char *text_percent(double share);                /* 0.0731 -> "7.3 %", 1 -> "100 %" */
char *text_fixed(double n, int digits);          /* -0.00001, 4 -> "0.0000"; NaN of any sign -> "nan"; "inf", "-inf" */
char *text_grouped(int64_t n);                   /* 76961152 -> "76,961,152" */
char *text_counted(int64_t n, const char *noun); /* 1, "step" -> "1 step"; 2 -> "2 steps" */
char *text_number(double n);                     /* the shortest decimal number that strtod reads as n: 0.1 -> "0.1" */
/* A word as a shell reads it in a command that a message recommends: "runs/a" stays, "my run" becomes "'my run'". */
char *text_shell_word(const char *word);
/* A message, or the name of a file, in one line and without control characters, which a terminal would obey: those of
 * file names and of files are written as \x1b, line ends as \x0a. */
char *text_printable(const char *text);
/* Appends bytes as UTF-8, with `other` for what is not: once for each longest start of a character that does not go on,
 * and for each other byte, as Rust and Python do with U+FFFD. */
void text_append_valid(GString *to, const char *bytes, size_t n, const char *other);
