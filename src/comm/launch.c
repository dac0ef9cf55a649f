#include "comm/launch.h"

#include "base/error.h"

#include <string.h>
#include <unistd.h>

/* The variables of a launcher. A name that is NULL or not set means that the launcher does not give the number. */
static const struct {
    const char *launcher, *rank, *size, *local_rank, *local_size;
} launchers[] = {
    { "Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
      "OMPI_COMM_WORLD_LOCAL_SIZE" },
    { "torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE" },
    { "PMIx", "PMIX_RANK", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", NULL },
    { "MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS" },
    { "Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", NULL },
};

/* The number >= 0 in a variable; `absent` if the variable is not set or holds something else. */
static int number_of(const char *name, int absent)
{
    guint64 value;
    const char *text = name ? g_getenv(name) : NULL;
    return text && g_ascii_string_to_unsigned(text, 10, 0, 1 << 20, &value, NULL) ? (int)value : absent;
}

CommLaunch comm_launch(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(launchers); i++) {
        CommLaunch found = { .launcher = launchers[i].launcher,
                             .rank = number_of(launchers[i].rank, -1),
                             .size = number_of(launchers[i].size, 0),
                             .local_rank = number_of(launchers[i].local_rank, -1),
                             .local_size = number_of(launchers[i].local_size, 0),
                             .variable = launchers[i].rank };
        bool is_slurm = i == G_N_ELEMENTS(launchers) - 1;
        if (found.rank < 0 || (is_slurm && (found.size < 2 || !g_getenv("SLURM_STEP_ID"))))
            continue;
        return found;
    }
    return (CommLaunch){ .local_rank = -1 };
}

bool comm_launch_is_mpirun(const CommLaunch *launch)
{
    return launch->launcher == launchers[0].launcher || launch->launcher == launchers[3].launcher;
}

/* Variables that Open MPI 4 and 5, MPICH, srun and torchrun set for a process; * stands for any text. */
static const char told[] =
    "RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE GROUP_RANK GROUP_WORLD_SIZE ROLE_RANK ROLE_WORLD_SIZE ROLE_NAME "
    "MASTER_ADDR MASTER_PORT SLURM_PROCID SLURM_LOCALID SLURM_NODEID SLURM_GTIDS SLURM_TASK_PID SLURM_MPI_TYPE "
    "SLURM_STEP* SLURM_SRUN_* SLURM_LAUNCH_* SLURM_PMIX* OMPI_COMM_WORLD_* OMPI_APP_CTX_* OMPI_NUM_APP_CTX* "
    "OMPI_FIRST_RANKS* OMPI_UNIVERSE_SIZE* OMPI_COMMAND* OMPI_ARGV* OMPI_FILE_* OMPI_MCA_orte_* OMPI_MCA_ess* "
    "OMPI_MCA_pmix* OMPI_MCA_initial_wdir* OMPI_MCA_shmem_* PMIX_* PMI_* PRTE_* MPI_LOCAL* HYDI_* TORCHELASTIC_*";

char **comm_launch_forget(char **env)
{
    g_auto(GStrv) all = g_strdupv(env), patterns = g_strsplit(told, " ", -1);
    for (char **variable = all; *variable; variable++) {
        g_autofree char *name = g_strndup(*variable, strcspn(*variable, "="));
        for (char **pattern = patterns; *pattern; pattern++)
            if (g_pattern_match_simple(*pattern, name))
                env = g_environ_unsetenv(env, name);
    }
    return env;
}

bool comm_launch_is_parent(void)
{
    static const char *const names[] = { "mpirun", "mpiexec",       "orterun",         "orted",      "prterun", "prted",
                                         "prte",   "mpiexec.hydra", "hydra_pmi_proxy", "slurmstepd", NULL };
    g_autofree char *path = g_strdup_printf("/proc/%d/comm", (int)getppid()), *name = NULL;
    return g_file_get_contents(path, &name, NULL, NULL) && g_strv_contains(names, g_strchomp(name));
}

bool comm_launch_check(GError **error)
{
    const CommLaunch launch = comm_launch();
    const int rank = number_of("RANK", -1), size = number_of("WORLD_SIZE", 0);
    if (launch.launcher && launch.size > 0 && launch.rank >= launch.size)
        return fail_user(error, "%s says that this is rank %d of %d: ranks are numbered from 0", launch.launcher,
                         launch.rank, launch.size);
    if (launch.launcher == launchers[0].launcher && rank >= 0 && size > 0 &&
        (rank != launch.rank || size != launch.size))
        return fail_user(error,
                         "RANK=%d and WORLD_SIZE=%d contradict %s, which says that this is rank %d of %d: start loam "
                         "with one launcher, or unset those that are left over",
                         rank, size, launch.launcher, launch.rank, launch.size);
    return true;
}
