/* harness.h: source text of the Python program that runs and tests completions. */
#pragma once

extern const char program_harness[];
