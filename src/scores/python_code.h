/* python_code.h: removes comments and docstrings from Python programs, as CodeBLEU's script does before it compares
 * their syntax; it finds them by Python's module `tokenize` (3.8 to 3.11). */
#pragma once

/* Removes comments, string tokens that begin a line or block (docstrings, and strings in column 0) and empty lines.
 * Each white-space character between tokens becomes a space, and continued lines (a backslash before the line end) are
 * joined. Returns a program unchanged if `tokenize` rejects it: a string in triple quotes, a bracket or a continued
 * line that is not closed, or inconsistent indentation. g_free. */
char *python_code_bare(const char *code);
