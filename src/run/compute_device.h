/* compute_device.h: the device that training, evaluation and decoding run on: the CPU or a GPU. */
#pragma once

#include "comm/comm.h"

#include <glib.h>

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Device, device_close)

/* Checks the name of a device, a value of train.device: "cpu" or NULL; "cuda" for GPU 0; "cuda:N" for GPU N; "auto" for
 * GPU 0 if it can be used, else the CPU. Another name is an error. */
bool compute_device_check(const char *name, GError **error);
/* Whether compute_device_open would open a GPU. */
bool compute_device_is_gpu(const char *name);
/* Whether the device supports FP8: every CPU, by emulating its rounding, and GPUs of compute capability 8.9 or higher.
 * If false, `why` (CUDA_WHY bytes) has the reason. True for a GPU that cannot be opened: opening it reports so. */
bool compute_device_has_fp8(const char *name, char *why);
/* Opens a device. threads: compute threads on the CPU; 0 means OMP_NUM_THREADS if set, else one per core. Warns if
 * there are more threads than cores that this process may use. A GPU that is named but cannot be used is an error; with
 * "auto" it is a warning, if the machine has a GPU driver, and the CPU is opened. */
Device *compute_device_open(const char *name, int threads, Precision precision, GError **error);
/* Warns if `ranks` ranks with `threads` compute threads each have more threads than this process may use cores. */
void compute_device_check_threads(int threads, int ranks);
/* Compute threads of `ranks` ranks here, `threads` each: at most the cores of this process. 0, the default, stays 0. */
int compute_device_all_threads(int threads, int ranks);
/* As compute_device_open, for one of several ranks, all of which call it; the warning is rank 0's, of all ranks of a
 * host. "cuda" and "auto" mean that the ranks of a host take its GPUs in the order of their numbers: the i-th rank of a
 * host takes GPU i % number of GPUs (those that CUDA_VISIBLE_DEVICES leaves). Ranks are on one host if they have the
 * same boot id. It is an error if two ranks have the same GPU, or if only some ranks have one. */
Device *compute_device_open_rank(const char *name, int threads, Precision precision, Comm *ranks, GError **error);
/* A description such as "cpu on 2 threads (amx, bf16)" or "NVIDIA H200 (cuda:0, bf16)". precision: text of
 * precision_describe. g_free. */
char *compute_device_describe(const Device *dev, const char *precision);
