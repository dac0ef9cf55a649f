/* api.h: the functions of libnccl.so.2 that loam calls, declared here as NVIDIA documents them, so that neither
 * NCCL's header nor the library is needed to build loam. tests/shim/test_nccl_header.c compares the declarations with
 * nccl.h on machines that have it. */
#pragma once

#include <limits.h>
#include <stddef.h>

typedef struct NcclComm NcclComm; /* ncclComm_t is a pointer to it */

/* ncclUniqueId */
typedef struct NcclId {
    char internal[128];
} NcclId;

/* ncclResult_t: every other value is an error. */
enum { NCCL_SUCCESS = 0, NCCL_IN_PROGRESS = 7 };
/* ncclDataType_t: loam only copies by NCCL, so elements of any dtype are bytes. */
enum { NCCL_U8 = 1 };

/* ncclConfig_t of version 2.18. Later versions have more fields at the end; NCCL sets them to their defaults for a
 * configuration of this size and version. */
typedef struct NcclConfig {
    size_t size;
    unsigned magic, version;
    int blocking, cga_cluster_size, min_ctas, max_ctas;
    const char *net_name;
    int split_share;
} NcclConfig;
#define NCCL_MAGIC 0xcafebeefu
enum { NCCL_OLDEST = 21800, NCCL_NEXT_MAJOR = 30000, NCCL_UNDEFINED = INT_MIN };
/* A communicator whose functions return before they have waited for other ranks. */
#define NCCL_CONFIG                                                                                                    \
    {                                                                                                                  \
        sizeof(NcclConfig), NCCL_MAGIC, NCCL_OLDEST, 0, NCCL_UNDEFINED, NCCL_UNDEFINED, NCCL_UNDEFINED, NULL,          \
            NCCL_UNDEFINED                                                                                             \
    }

/* Functions of NCCL; `stream` is a cudaStream_t. Results are ncclResult_t. */
typedef struct NcclLibrary {
    int (*get_version)(int *version);
    const char *(*get_error_string)(int result);
    int (*get_unique_id)(NcclId *id);
    int (*init_rank)(NcclComm **comm, int n, NcclId id, int rank, NcclConfig *config);
    int (*get_async_error)(NcclComm *comm, int *state);
    int (*finalize)(NcclComm *comm);
    int (*destroy)(NcclComm *comm);
    int (*abort)(NcclComm *comm);
    int (*group_start)(void);
    int (*group_end)(void);
    int (*all_gather)(const void *from, void *to, size_t n, int dtype, NcclComm *comm, void *stream);
    int (*broadcast)(const void *from, void *to, size_t n, int dtype, int root, NcclComm *comm, void *stream);
    int (*send)(const void *from, size_t n, int dtype, int peer, NcclComm *comm, void *stream);
    int (*receive)(void *to, size_t n, int dtype, int peer, NcclComm *comm, void *stream);
} NcclLibrary;
