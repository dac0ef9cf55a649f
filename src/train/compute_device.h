/* compute_device.h: the device that training, evaluation and decoding run on: the CPU or a GPU. */
#pragma once

#include "device/device.h"

#include <glib.h>

/* A device by name, the values of train.device: "cpu" or NULL; "cuda" or "cuda:N", GPU 0 or N; "auto", GPU 0 where one
 * can be used, else the CPU. Another name is an error. */
bool compute_device_check(const char *name, GError **error);
/* Whether compute_device_open would open a GPU. */
bool compute_device_is_gpu(const char *name);
/* Whether products of FP8 can be computed there: on every CPU, which repeats their rounding, and on GPUs of compute
 * capability 8.9. false with the reason in `why` (CUDA_WHY bytes). A GPU that cannot be used counts as one that can. */
bool compute_device_has_fp8(const char *name, char *why);
/* Opens it; `threads` compute threads on the CPU, where 0 means one per core, or OMP_NUM_THREADS: warns where that is
 * more threads than this process has cores to run on. A GPU that was asked for by name and cannot be used is an error;
 * "auto" warns, where the machine has a driver, and takes the CPU. */
Device *compute_device_open(const char *name, int threads, Precision precision, GError **error);
/* "cpu on 2 threads (amx, bf16)", "NVIDIA H200 (cuda:0, bf16)", with the text of precision_describe. g_free. */
char *compute_device_describe(const Device *dev, const char *precision);
