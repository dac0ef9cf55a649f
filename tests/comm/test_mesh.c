/* The groups of a mesh of 8 ranks, as the picture in comm/mesh.h has them. */
#include "comm/mesh.h"

/* The ranks of a group, as the digits of a number. */
static int members(Comm *group, int rank)
{
    int all[8] = { 0 }, number = 0;
    comm_share(group, all, &rank, sizeof rank);
    for (int i = 0; i < comm_size(group); i++)
        number = 10 * number + all[i];
    return number;
}

static void check_groups(Comm *world, void *context)
{
    static const int data[] = { 2, 13, 2, 13, 46, 57, 46, 57 }, tensor[] = { 1, 1, 23, 23, 45, 45, 67, 67 },
                     pipeline[] = { 4, 15, 26, 37, 4, 15, 26, 37 };
    Mesh mesh;
    GError *error = NULL;
    int rank = comm_rank(world);
    (void)context;
    g_assert_true(mesh_open(
        &mesh, world, &(MeshShape){ .tensor = 2, .context = 1, .pipeline = 2, .copies = 1, .ring = false }, &error));
    g_assert_cmpint(members(mesh.data, rank), ==, data[rank]);
    g_assert_cmpint(members(mesh.tensor, rank), ==, tensor[rank]);
    g_assert_cmpint(members(mesh.pipeline, rank), ==, pipeline[rank]);
    g_assert_cmpint(members(mesh.forward[0], rank), ==, pipeline[rank]);
    g_assert_cmpint(members(mesh.backward[0], rank), ==, pipeline[rank]);
    g_assert_true(mesh_check(&mesh, &error));
    g_assert_true(mesh.copies == comm_self());
    mesh_close(&mesh);
    mesh_close(&mesh);
    g_assert_true(mesh_open(
        &mesh, world, &(MeshShape){ .tensor = 4, .context = 1, .pipeline = 2, .copies = 2, .ring = true }, &error));
    g_assert_cmpint(members(mesh.tensor, rank), ==, rank < 4 ? 123 : 4567);
    g_assert_cmpint(members(mesh.copies, rank), ==, tensor[rank]);
    for (int i = 0; i < 2; i++) {
        g_assert_cmpint(members(mesh.forward[i], rank), ==, pipeline[rank]);
        g_assert_cmpint(members(mesh.backward[i], rank), ==, pipeline[rank]);
    }
    g_assert_true(mesh.forward[2] == comm_self());
    mesh_close(&mesh);
}

static void groups_are_those_of_the_picture(void)
{
    comm_run_threads(8, 30, check_groups, NULL);
}

static void check_context(Comm *world, void *context)
{
    static const int data[] = { 4, 15, 26, 37, 4, 15, 26, 37 }, tokens[] = { 2, 13, 2, 13, 46, 57, 46, 57 },
                     pairs[] = { 1, 1, 23, 23, 45, 45, 67, 67 };
    Mesh mesh;
    int rank = comm_rank(world);
    (void)context;
    g_assert_true(mesh_open(&mesh, world, &(MeshShape){ .tensor = 2, .context = 2, .pipeline = 1, .copies = 1 }, NULL));
    g_assert_cmpint(members(mesh.data, rank), ==, data[rank]);
    g_assert_cmpint(members(mesh.context, rank), ==, tokens[rank]);
    g_assert_cmpint(members(mesh.replicas, rank), ==, rank % 2 ? 1357 : 246);
    mesh_close(&mesh);
    g_assert_true(mesh_open(&mesh, world, &(MeshShape){ .tensor = 1, .context = 2, .pipeline = 2, .copies = 1 }, NULL));
    g_assert_cmpint(members(mesh.data, rank), ==, tokens[rank]);
    g_assert_cmpint(members(mesh.context, rank), ==, pairs[rank]);
    g_assert_cmpint(members(mesh.replicas, rank), ==, rank < 4 ? 123 : 4567);
    g_assert_cmpint(members(mesh.pipeline, rank), ==, data[rank]);
    mesh_close(&mesh);
}

static void context__lies_between_tensor_and_data(void)
{
    comm_run_threads(8, 30, check_context, NULL);
}

/* In a ring no rank sends through the group through which it receives. */
static void in_a_ring__sends_never_wait_for_receives(void)
{
    for (int size = 2; size <= 9; size++)
        for (int rank = 0; rank < size; rank++) {
            const int sends = mesh_link(size, true, rank), receives = mesh_link(size, true, (rank + size - 1) % size);
            g_assert_cmpint(sends, !=, receives);
            g_assert_true(sends >= 0 && sends < MESH_LINKS);
            g_assert_cmpint(mesh_link(size, false, rank), ==, 0);
        }
}

static void check_alone(Comm *world, void *context)
{
    Mesh mesh;
    (void)context;
    g_assert_true(mesh_open(
        &mesh, world, &(MeshShape){ .tensor = 1, .context = 1, .pipeline = 1, .copies = 1, .ring = false }, NULL));
    g_assert_true(mesh.data == world && mesh.tensor == comm_self() && mesh.pipeline == comm_self());
    mesh_close(&mesh);
}

static void without_other_dimensions__all_ranks_divide_the_samples(void)
{
    comm_run_threads(3, 30, check_alone, NULL);
}

static void check_abort(Comm *world, void *context)
{
    Mesh mesh;
    g_autoptr(GError) error = NULL;
    (void)context;
    g_assert_true(mesh_open(
        &mesh, world, &(MeshShape){ .tensor = 2, .context = 1, .pipeline = 1, .copies = 1, .ring = false }, NULL));
    if (comm_rank(world) == 3)
        mesh_abort(&mesh, "rank 3: disk full");
    else
        comm_barrier(world);
    g_assert_false(mesh_check(&mesh, &error));
    g_assert_cmpstr(error->message, ==, "rank 3: disk full");
    mesh_close(&mesh);
}

static void abort__ends_all_groups(void)
{
    comm_run_threads(4, 30, check_abort, NULL);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mesh/groups", groups_are_those_of_the_picture);
    g_test_add_func("/mesh/context", context__lies_between_tensor_and_data);
    g_test_add_func("/mesh/ring", in_a_ring__sends_never_wait_for_receives);
    g_test_add_func("/mesh/alone", without_other_dimensions__all_ranks_divide_the_samples);
    g_test_add_func("/mesh/abort", abort__ends_all_groups);
    return g_test_run();
}
