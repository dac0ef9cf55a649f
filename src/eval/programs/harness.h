/* harness.h: the text of the Python program that tests completions. */
#pragma once

extern const char program_harness[];
