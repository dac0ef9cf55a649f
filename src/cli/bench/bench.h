/* bench.h: the actions of `loam bench`. */
#pragma once

#include "base/error.h"

bool bench_ops(int argc, char **argv, GError **error);
bool bench_step(int argc, char **argv, GError **error);
