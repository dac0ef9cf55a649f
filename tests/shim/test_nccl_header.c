/* The declarations of comm/nccl/api.h, compared with those of NCCL's header by the compiler, on machines that have it.
 */
#include "comm/nccl/api.h"

#include <nccl.h>

#define SAME(ours, theirs) _Static_assert((long long)(ours) == (long long)(theirs), #ours " is " #theirs)
#define AT(ours, theirs)                                                                                               \
    _Static_assert(offsetof(NcclConfig, ours) == offsetof(ncclConfig_t, theirs), #ours " is where " #theirs " is")
/* A call compiles, and its result is as large as that of the function pointer. Neither is made. */
#define CALL(ours, call) _Static_assert(sizeof(call) == sizeof((int)0) && sizeof(((NcclLibrary *)0)->ours), #call)

SAME(NCCL_SUCCESS, ncclSuccess);
SAME(NCCL_IN_PROGRESS, ncclInProgress);
SAME(NCCL_U8, ncclUint8);
SAME(NCCL_UNDEFINED, NCCL_CONFIG_UNDEF_INT);
SAME(sizeof(NcclId), sizeof(ncclUniqueId));
AT(size, size);
AT(magic, magic);
AT(version, version);
AT(blocking, blocking);
AT(cga_cluster_size, cgaClusterSize);
AT(min_ctas, minCTAs);
AT(max_ctas, maxCTAs);
AT(net_name, netName);
AT(split_share, splitShare);

int main(void)
{
    const ncclConfig_t theirs = NCCL_CONFIG_INITIALIZER;
    ncclConfig_t config = theirs;
    ncclUniqueId id = { "" };
    ncclResult_t state;
    ncclComm_t comm = NULL;
    cudaStream_t stream = NULL;
    char x[1];
    int version;
    CALL(get_version, ncclGetVersion(&version));
    CALL(get_unique_id, ncclGetUniqueId(&id));
    CALL(init_rank, ncclCommInitRankConfig(&comm, 1, id, 0, &config));
    CALL(get_async_error, ncclCommGetAsyncError(comm, &state));
    CALL(finalize, ncclCommFinalize(comm));
    CALL(destroy, ncclCommDestroy(comm));
    CALL(abort, ncclCommAbort(comm));
    CALL(group_start, ncclGroupStart());
    CALL(group_end, ncclGroupEnd());
    CALL(all_gather, ncclAllGather(x, x, (size_t)1, ncclUint8, comm, stream));
    CALL(broadcast, ncclBroadcast(x, x, (size_t)1, ncclUint8, 0, comm, stream));
    CALL(send, ncclSend(x, (size_t)1, ncclUint8, 0, comm, stream));
    CALL(receive, ncclRecv(x, (size_t)1, ncclUint8, 0, comm, stream));
    _Static_assert(sizeof(ncclGetErrorString(ncclSuccess)) == sizeof(const char *), "the text of an error");
    return theirs.magic == NCCL_MAGIC ? 0 : 1;
}
