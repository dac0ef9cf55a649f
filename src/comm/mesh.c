#include "comm/mesh.h"

#include "base/check.h"
#include "comm/nccl/nccl.h"

enum { DATA, CONTEXT, REPLICAS, TENSOR, COPIES, PIPELINE, LINKS, GROUPS = LINKS + 2 * MESH_LINKS }; /* without world */

/* The groups that mesh_close frees: comm_self() in place of a group that is another one's. */
static void list_groups(const Mesh *mesh, Comm *groups[GROUPS])
{
    Comm *replicas = mesh->replicas == mesh->data ? comm_self() : mesh->replicas;
    Comm *all[GROUPS] = { [DATA] = mesh->data,     [CONTEXT] = mesh->context, [REPLICAS] = replicas,
                          [TENSOR] = mesh->tensor, [COPIES] = mesh->copies,   [PIPELINE] = mesh->pipeline };
    for (int i = 0; i < MESH_LINKS; i++) {
        all[LINKS + i] = mesh->forward[i];
        all[LINKS + MESH_LINKS + i] = mesh->backward[i];
    }
    for (int i = 0; i < GROUPS; i++)
        groups[i] = all[i] == mesh->world ? comm_self() : all[i];
}

static void set_alone(Mesh *mesh)
{
    mesh->data = mesh->replicas = mesh->world;
    mesh->context = mesh->tensor = mesh->copies = mesh->pipeline = comm_self();
    for (int i = 0; i < MESH_LINKS; i++)
        mesh->forward[i] = mesh->backward[i] = comm_self();
}

int mesh_link(int size, bool ring, int from)
{
    return !ring ? 0 : size % 2 == 1 && from == size - 1 ? 2 : from % 2;
}

/* Opens the groups of a pipeline; `color` is its number. */
static bool open_pipeline(Mesh *mesh, int size, bool ring, int color)
{
    const int links = ring ? 2 + size % 2 : 1;
    bool opened = (mesh->pipeline = comm_split(mesh->world, color)) != NULL;
    for (int i = 0; i < links; i++) {
        mesh->forward[i] = comm_split(mesh->world, color);
        mesh->backward[i] = comm_split(mesh->world, color);
        opened = opened && mesh->forward[i] && mesh->backward[i];
    }
    return opened;
}

/* Opens the groups of the ranks that hold the same parameters. stage: the first rank of this rank's stage; place: this
 * rank's number within its stage. */
static bool open_replicas(Mesh *mesh, const MeshShape *shape, int stage, int place)
{
    const int tensor = shape->tensor, context = shape->context, inner = tensor * context;
    if (inner * shape->pipeline > 1)
        mesh->data = comm_split(mesh->world, stage + place % inner);
    mesh->replicas = mesh->data;
    if (context > 1) {
        mesh->context = comm_split(mesh->world, stage + place / inner * tensor + place % tensor);
        mesh->replicas = tensor * shape->pipeline > 1 ? comm_split(mesh->world, stage + place % tensor) : mesh->world;
    }
    return mesh->data && mesh->context && mesh->replicas;
}

bool mesh_open(Mesh *mesh, Comm *world, const MeshShape *shape, GError **error)
{
    const int size = comm_size(world), rank = comm_rank(world), tensor = shape->tensor, copies = shape->copies;
    CHECK(tensor > 0 && shape->context > 0 && shape->pipeline > 0 &&
              size % (tensor * shape->context * shape->pipeline) == 0,
          "%d ranks for %d x %d x %d", size, tensor, shape->context, shape->pipeline);
    CHECK(copies > 0 && tensor % copies == 0, "%d copies among %d ranks", copies, tensor);
    const int stage_ranks = size / shape->pipeline, place = rank % stage_ranks;
    mesh->world = world;
    set_alone(mesh);
    const bool replicated = open_replicas(mesh, shape, rank - place, place);
    if (tensor > 1)
        mesh->tensor = comm_split(world, rank / tensor);
    if (copies > 1)
        mesh->copies = comm_split(world, rank / copies);
    const bool piped = shape->pipeline == 1 || open_pipeline(mesh, shape->pipeline, shape->ring, place);
    if (replicated && mesh->tensor && mesh->copies && piped)
        return true;
    mesh_close(mesh);
    return comm_check(world, error);
}

void mesh_close(Mesh *mesh)
{
    Comm *groups[GROUPS];
    list_groups(mesh, groups);
    for (int i = 0; i < GROUPS; i++)
        comm_close(groups[i]);
    set_alone(mesh);
}

/* The groups that exchange tensors, each once. Either the data-parallel ranks or the replicas may be `world` itself. */
static void list_exchanging(const Mesh *mesh, Comm *groups[GROUPS])
{
    list_groups(mesh, groups);
    groups[DATA] = mesh->data;
    if (mesh->replicas != mesh->data)
        groups[REPLICAS] = mesh->replicas;
}

bool mesh_use_gpu(const Mesh *mesh, Device *dev, GError **error)
{
    Comm *groups[GROUPS];
    bool used = true;
    list_exchanging(mesh, groups);
    for (int i = 0; used && i < GROUPS; i++)
        used = comm_use_gpu(groups[i], dev, i < LINKS, error);
    return used;
}

void mesh_leave_gpu(const Mesh *mesh)
{
    Comm *groups[GROUPS];
    list_exchanging(mesh, groups);
    for (int i = 0; i < GROUPS; i++)
        if (groups[i])
            comm_leave_gpu(groups[i]);
}

const char *mesh_transport(const Mesh *mesh)
{
    Comm *groups[GROUPS];
    int first = 0;
    list_exchanging(mesh, groups);
    while (first < GROUPS - 1 && comm_size(groups[first]) == 1)
        first++;
    return comm_name(groups[first]);
}

bool mesh_check(const Mesh *mesh, GError **error)
{
    Comm *groups[GROUPS];
    bool whole = comm_check(mesh->world, error);
    list_groups(mesh, groups);
    for (int i = 0; whole && i < GROUPS; i++)
        whole = comm_check(groups[i], error);
    return whole;
}

int mesh_lost(const Mesh *mesh)
{
    Comm *groups[GROUPS];
    int lost = comm_lost(mesh->world);
    list_groups(mesh, groups);
    for (int i = 0; lost < 0 && i < GROUPS; i++)
        lost = comm_lost(groups[i]);
    return lost;
}

void mesh_abort(const Mesh *mesh, const char *why)
{
    Comm *groups[GROUPS];
    comm_abort(mesh->world, why);
    list_groups(mesh, groups);
    for (int i = 0; i < GROUPS; i++)
        comm_abort(groups[i], why);
}

double mesh_waited_s(const Mesh *mesh)
{
    Comm *groups[GROUPS];
    double waited = comm_counts(mesh->world).waited_s;
    list_groups(mesh, groups);
    for (int i = 0; i < GROUPS; i++)
        waited += comm_counts(groups[i]).waited_s;
    return waited;
}

double mesh_pipeline_waited_s(const Mesh *mesh)
{
    double waited = 0;
    for (int i = 0; i < MESH_LINKS; i++)
        waited += comm_counts(mesh->forward[i]).waited_s + comm_counts(mesh->backward[i]).waited_s;
    return waited;
}
