/* The launcher that started a process, by the variables that it sets: each case has those of one program, or of
 * several. */
#include "comm/launch.h"

#include <glib.h>

static const char *const variables[] = {
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "PMIX_RANK",
    "PMI_RANK",
    "PMI_SIZE",
    "MPI_LOCALRANKID",
    "MPI_LOCALNRANKS",
    "SLURM_PROCID",
    "SLURM_NTASKS",
    "SLURM_LOCALID",
    "SLURM_STEP_ID",
    "SLURM_STEP_NUM_TASKS",
};

static const struct {
    const char *set; /* NAME=VALUE, separated by spaces */
    CommLaunch found;
} cases[] = {
    { "", { NULL, 0, 0, -1, 0, NULL } },
    { "RANK=3 WORLD_SIZE=8 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2", { "torchrun", 3, 8, 1, 2, "RANK" } },
    { "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_LOCAL_SIZE=2",
      { "Open MPI", 1, 4, 1, 2, "OMPI_COMM_WORLD_RANK" } },
    { "PMI_RANK=2 PMI_SIZE=3 MPI_LOCALRANKID=0", { "MPICH", 2, 3, 0, 0, "PMI_RANK" } },
    /* srun --mpi=pmix */
    { "PMIX_RANK=2 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=4 SLURM_LOCALID=1 SLURM_PROCID=2 SLURM_NTASKS=4",
      { "PMIx", 2, 4, 1, 0, "PMIX_RANK" } },
    { "SLURM_STEP_ID=0 SLURM_PROCID=2 SLURM_NTASKS=4 SLURM_LOCALID=1", { "Slurm", 2, 4, 1, 0, "SLURM_PROCID" } },
    /* the shell of a batch script, and a step of one task: no launcher */
    { "SLURM_PROCID=0 SLURM_NTASKS=4 SLURM_LOCALID=0", { NULL, 0, 0, -1, 0, NULL } },
    { "SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_NTASKS=1 SLURM_LOCALID=0", { NULL, 0, 0, -1, 0, NULL } },
    /* mpirun within a Slurm job: its own variables count */
    { "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 PMIX_RANK=1 SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_NTASKS=4",
      { "Open MPI", 1, 2, -1, 0, "OMPI_COMM_WORLD_RANK" } },
    /* torchrun's variables, left over */
    { "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 RANK=0 WORLD_SIZE=1",
      { "Open MPI", 1, 2, -1, 0, "OMPI_COMM_WORLD_RANK" } },
    { "RANK=x WORLD_SIZE=2", { NULL, 0, 0, -1, 0, NULL } },
    { "RANK=-1 WORLD_SIZE=2", { NULL, 0, 0, -1, 0, NULL } },
};

static void set_all(const char *text)
{
    g_auto(GStrv) words = g_strsplit(text, " ", -1);
    for (size_t i = 0; i < G_N_ELEMENTS(variables); i++)
        g_unsetenv(variables[i]);
    for (char **word = words; *word; word++) {
        g_auto(GStrv) pair = g_strsplit(*word, "=", 2);
        if (**word)
            g_setenv(pair[0], pair[1], true);
    }
}

static void the_launcher_is_known_by_its_variables(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        set_all(cases[i].set);
        const CommLaunch found = comm_launch(), wanted = cases[i].found;
        g_test_message("%s", cases[i].set);
        g_assert_cmpstr(found.launcher, ==, wanted.launcher);
        g_assert_cmpstr(found.variable, ==, wanted.variable);
        g_assert_cmpint(found.rank, ==, wanted.rank);
        g_assert_cmpint(found.size, ==, wanted.size);
        g_assert_cmpint(found.local_rank, ==, wanted.local_rank);
        g_assert_cmpint(found.local_size, ==, wanted.local_size);
    }
}

static void variables_that_contradict_each_other_are_refused(void)
{
    static const struct {
        const char *set, *problem; /* NULL means none */
    } sets[] = {
        { "", NULL },
        { "RANK=1 WORLD_SIZE=2", NULL },
        { "RANK=1", NULL },
        { "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 RANK=1 WORLD_SIZE=2", NULL },
        { "RANK=2 WORLD_SIZE=2", "torchrun says that this is rank 2 of 2: ranks are numbered from 0" },
        { "RANK=1 WORLD_SIZE=1", "torchrun says that this is rank 1 of 1: ranks are numbered from 0" },
        { "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 RANK=0 WORLD_SIZE=1",
          "RANK=0 and WORLD_SIZE=1 contradict Open MPI, which says that this is rank 1 of 2: start loam with one "
          "launcher, or unset those that are left over" },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(sets); i++) {
        g_autoptr(GError) error = NULL;
        set_all(sets[i].set);
        g_test_message("%s", sets[i].set);
        g_assert_true(comm_launch_check(&error) == (sets[i].problem == NULL));
        g_assert_cmpstr(error ? error->message : NULL, ==, sets[i].problem);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/launch/the_launcher_is_known_by_its_variables", the_launcher_is_known_by_its_variables);
    g_test_add_func("/launch/variables_that_contradict_each_other_are_refused",
                    variables_that_contradict_each_other_are_refused);
    return g_test_run();
}
