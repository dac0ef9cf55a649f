#include "comm/mesh.h"

#include "base/check.h"

bool mesh_open(Mesh *mesh, Comm *world, int tensor, GError **error)
{
    *mesh = (Mesh){ .world = world, .data = world, .tensor = comm_self() };
    CHECK(tensor > 0 && comm_size(world) % tensor == 0, "%d ranks in groups of %d", comm_size(world), tensor);
    if (tensor == 1)
        return true;
    mesh->data = comm_split(world, comm_rank(world) % tensor);
    mesh->tensor = comm_split(world, comm_rank(world) / tensor);
    if (mesh->data && mesh->tensor)
        return true;
    mesh_close(mesh);
    return comm_check(world, error);
}

void mesh_close(Mesh *mesh)
{
    if (mesh->data != mesh->world)
        comm_close(mesh->data);
    comm_close(mesh->tensor);
    mesh->data = mesh->world;
    mesh->tensor = comm_self();
}

bool mesh_check(const Mesh *mesh, GError **error)
{
    return comm_check(mesh->world, error) && comm_check(mesh->data, error) && comm_check(mesh->tensor, error);
}

void mesh_abort(const Mesh *mesh, const char *why)
{
    comm_abort(mesh->world, why);
    if (mesh->data != mesh->world)
        comm_abort(mesh->data, why);
    comm_abort(mesh->tensor, why);
}

double mesh_waited_s(const Mesh *mesh)
{
    double waited = comm_counts(mesh->world).waited_s + comm_counts(mesh->tensor).waited_s;
    return mesh->data == mesh->world ? waited : waited + comm_counts(mesh->data).waited_s;
}
