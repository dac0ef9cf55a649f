/* mesh.h: the ranks of a run in two dimensions. Ranks of one tensor-parallel group divide the matrices of a model;
 * ranks with the same index in their tensor-parallel groups form a data-parallel group, which divides the samples of a
 * step. A tensor-parallel group consists of neighbouring ranks, which a launcher puts on one host, since its ranks
 * exchange the most data:
 *
 *     rank              0  1  2  3  4  5         with tensor = 2
 *     data group 0      0     2     4            data rank 0, 1, 2
 *     data group 1         1     3     5
 *     tensor groups    (0  1)(2  3)(4  5)
 */
#pragma once

#include "comm/comm.h"

typedef struct Mesh {
    Comm *world;  /* all ranks; owned by the caller */
    Comm *data;   /* the data-parallel group of this rank; `world` itself if tensor parallelism is off */
    Comm *tensor; /* the tensor-parallel group of this rank; comm_self() if tensor parallelism is off */
} Mesh;

/* Divides the ranks of `world` into groups of `tensor` neighbouring ranks; the number of ranks must be a multiple of
 * `tensor`. All ranks call it. It is a machine's error if a rank has failed. mesh_close frees the groups, but not
 * `world`; it may be called again. */
bool mesh_open(Mesh *mesh, Comm *world, int tensor, GError **error);
void mesh_close(Mesh *mesh);
/* It is a machine's error if one of the groups has failed (comm_check). */
bool mesh_check(const Mesh *mesh, GError **error);
/* Makes all groups fail for the reason `why` (comm_abort). */
void mesh_abort(const Mesh *mesh, const char *why);
/* Seconds that this rank has spent in comm_wait, over all groups. */
double mesh_waited_s(const Mesh *mesh);
