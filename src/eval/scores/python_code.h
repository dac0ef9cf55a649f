/* python_code.h: programs of Python as CodeBLEU's script compares their syntax: without comments and docstrings, as
 * Python's module `tokenize` (3.8 to 3.11) finds them. */
#pragma once

/* The program without comments, without each string token that opens a line or a block (docstrings, and strings in
 * column 0), without empty lines; between tokens of a line each character of white space is a space, and continued
 * lines (a backslash before the line end) are joined. A program that `tokenize` refuses (a text in triple quotes, a
 * bracket or a continued line that is not closed, an indentation that ends nowhere) is returned as it is. g_free. */
char *python_code_bare(const char *code);
