/* library.h: opens libnccl.so.2. */
#pragma once

#include "base/error.h"
#include "comm/nccl/api.h"

/* Opens libnccl.so.2, or the file that LOAM_NCCL names, once. NULL with a machine's error if there is no library, or
 * one older than NCCL_OLDEST or of another major version. */
const NcclLibrary *nccl_library(GError **error);
