/* trace_names.h: names of places in a program that is built with debug information. */
#pragma once

#include <stddef.h>
#include <string>

/* File and line of the source of an instruction, the one before the address `place`; the address if they are not known.
 */
void name_place(char *text, size_t bytes, const void *place);
/* Name of a function without namespaces, template arguments and parameters. */
std::string function_name(const void *function);
