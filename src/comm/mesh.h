/* mesh.h: the ranks of a run in four dimensions. Ranks of one tensor-parallel group divide the matrices of a model;
 * ranks of one context-parallel group divide the tokens of each sample; a data-parallel group divides the samples of a
 * step; the ranks of a pipeline each have some of the blocks. A tensor-parallel group consists of neighbouring ranks,
 * which a launcher puts on one host, since its ranks exchange the most data; next to it come context-parallel ranks;
 * the stages of a pipeline are farthest apart:
 *
 *     8 ranks, tensor 2, pipeline 2
 *                      data 0     data 1        data groups        (0 2) (1 3) (4 6) (5 7)
 *     first stage     ranks 0 1  ranks 2 3      tensor groups      (0 1) (2 3) (4 5) (6 7)
 *     second stage    ranks 4 5  ranks 6 7      pipelines          (0 4) (1 5) (2 6) (3 7)
 *
 * With context 2 in place of pipeline 2, the context groups are (0 2) (1 3) (4 6) (5 7), the data groups (0 4) (1 5)
 * (2 6) (3 7), and the replicas, which have the same parameters, (0 2 4 6) (1 3 5 7). */
#pragma once

#include "comm/comm.h"

enum { MESH_LINKS = 3 };

typedef struct Mesh {
    Comm *world;    /* all ranks; owned by the caller */
    Comm *data;     /* the data-parallel group of this rank; `world` itself if the other dimensions are off */
    Comm *context;  /* the context-parallel group of this rank; comm_self() if context parallelism is off */
    Comm *replicas; /* the ranks that have the same parameters, over which gradients are summed: those of the data
                       groups of all ranks of `context`; `data` itself if context parallelism is off */
    Comm *tensor;   /* the tensor-parallel group of this rank; comm_self() if tensor parallelism is off */
    Comm *copies;   /* the tensor-parallel ranks with the key/value heads of this rank; comm_self() if it is alone */
    Comm *pipeline; /* the ranks of this rank's pipeline, numbered by their stage; comm_self() without one */
    /* The same ranks as `pipeline`: groups for activations, and for their gradients, so that one direction never waits
     * for the other. mesh_link says which messages go through which group; comm_self() means that none do. */
    Comm *forward[MESH_LINKS], *backward[MESH_LINKS];
} Mesh;

/* Sizes of the groups of a mesh; data-parallel groups have the rest. */
typedef struct MeshShape {
    int tensor, context, pipeline;
    int copies; /* neighbouring tensor-parallel ranks with the same key/value heads, a divisor of tensor */
    bool ring;  /* the last rank of a pipeline also sends to the first one */
} MeshShape;

/* Divides the ranks of `world` into groups; their number must be a multiple of tensor × context × pipeline. All ranks
 * call it. A failed rank is a machine's error. mesh_close frees the groups but not `world`; it may be called again. */
bool mesh_open(Mesh *mesh, Comm *world, const MeshShape *shape, GError **error);
void mesh_close(Mesh *mesh);
/* comm_use_gpu (comm/nccl/nccl.h) and comm_leave_gpu, for all groups that exchange tensors. Every rank calls them. */
bool mesh_use_gpu(const Mesh *mesh, Device *dev, GError **error);
void mesh_leave_gpu(const Mesh *mesh);
/* Name of what carries the tensors of the groups (comm_name): "nccl" after mesh_use_gpu, whatever carries numbers of
 * the hosts; "self" for one rank. */
const char *mesh_transport(const Mesh *mesh);
/* It is a machine's error if one of the groups has failed (comm_check). */
bool mesh_check(const Mesh *mesh, GError **error);
/* The number of the rank that did not answer one of the groups in time (comm_lost); -1 means that there is none. */
int mesh_lost(const Mesh *mesh);
/* Makes all groups fail for the reason `why` (comm_abort). */
void mesh_abort(const Mesh *mesh, const char *why);
/* Seconds that this rank has spent in comm_wait: in all groups, and only in those of Mesh.forward and Mesh.backward. */
double mesh_waited_s(const Mesh *mesh);
double mesh_pipeline_waited_s(const Mesh *mesh);

/* Index of the group in Mesh.forward for messages from rank `from` of a pipeline of `size` ranks to the next rank;
 * Mesh.backward has, at the same index, the group for messages from the next rank to `from`. A group sends and receives
 * in the order of the calls, and a send lasts until it is received. If the last rank also sends to the first one
 * (ring), ranks that send through one group would all wait for each other; so each rank receives through another group
 * than it sends through. Without a ring the index is always 0. */
int mesh_link(int size, bool ring, int from);
