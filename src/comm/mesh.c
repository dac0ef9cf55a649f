#include "comm/mesh.h"

#include "base/check.h"

enum { GROUPS = 4 + 2 * MESH_LINKS }; /* number of groups in Mesh, not counting `world` */

static void list_groups(const Mesh *mesh, Comm *groups[GROUPS])
{
    Comm *all[GROUPS] = { mesh->data, mesh->tensor, mesh->copies, mesh->pipeline };
    for (int i = 0; i < MESH_LINKS; i++) {
        all[4 + i] = mesh->forward[i];
        all[4 + MESH_LINKS + i] = mesh->backward[i];
    }
    for (int i = 0; i < GROUPS; i++)
        groups[i] = all[i] == mesh->world ? comm_self() : all[i];
}

static void set_alone(Mesh *mesh)
{
    mesh->data = mesh->world;
    mesh->tensor = mesh->copies = mesh->pipeline = comm_self();
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

bool mesh_open(Mesh *mesh, Comm *world, int tensor, int copies, int pipeline, bool ring, GError **error)
{
    int size = comm_size(world), rank = comm_rank(world);
    CHECK(tensor > 0 && pipeline > 0 && size % (tensor * pipeline) == 0, "%d ranks for %d x %d", size, tensor,
          pipeline);
    CHECK(copies > 0 && tensor % copies == 0, "%d copies among %d ranks", copies, tensor);
    int place = rank % tensor, stage_ranks = size / pipeline, stage = rank / stage_ranks;
    mesh->world = world;
    set_alone(mesh);
    if (tensor * pipeline > 1)
        mesh->data = comm_split(world, stage * tensor + place);
    if (tensor > 1)
        mesh->tensor = comm_split(world, rank / tensor);
    if (copies > 1)
        mesh->copies = comm_split(world, rank / copies);
    const bool piped = pipeline == 1 || open_pipeline(mesh, pipeline, ring, rank % stage_ranks);
    if (mesh->data && mesh->tensor && mesh->copies && piped)
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
