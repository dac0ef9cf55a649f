/* bench.h: the actions of `loam bench`. */
#pragma once

#include "base/error.h"
#include "device/profile.h"

#include <jansson.h>

bool bench_ops(int argc, char **argv, GError **error);
bool bench_step(int argc, char **argv, GError **error);
bool bench_comm(int argc, char **argv, GError **error);
bool bench_generate(int argc, char **argv, GError **error);

/* A description of the device: "2 threads, amx, bf16" or "NVIDIA H200 (cuda:0, bf16)". g_free. */
char *bench_device(const Device *dev);

/* Prints the calls of each operation and its share of `seconds`, the wall-clock time that the profile covers. */
void bench_print_profile(const Profile *profile, double seconds);
/* The table of bench_print_profile as a JSON array of { op, share, calls }. json_decref. */
json_t *bench_profile_json(const Profile *profile, double seconds);
