#include "cli/slurm/script.h"

#include "base/text.h"

#include <inttypes.h>
#include <string.h>

enum { BEFORE_DATE_S = 300 }; /* train.stop_date stops a run by so much earlier that its last save is in time */

/* Appends "#SBATCH --NAME=VALUE". sbatch reads a value in double quotes as a shell would, and expands no variables. */
static void add_slurm_option(GString *script, const char *name, const char *value)
{
    g_string_append_printf(script, "#SBATCH --%s=", name);
    g_autofree char *word = text_shell_word(value);
    if (*word != '\'') {
        g_string_append(script, value);
    } else {
        g_string_append_c(script, '"');
        for (const char *c = value; *c; c++)
            g_string_append_printf(script, "%s%c", *c == '"' || *c == '\\' ? "\\" : "", *c);
        g_string_append_c(script, '"');
    }
    g_string_append_c(script, '\n');
}

static void add_count(GString *script, const char *name, int64_t value)
{
    g_string_append_printf(script, "#SBATCH --%s=%" PRId64 "\n", name, value);
}

/* D-HH:MM:SS, as Slurm writes times. */
static void add_time(GString *script, int64_t seconds)
{
    g_string_append_printf(script, "#SBATCH --time=%" PRId64 "-%02d:%02d:%02d\n", seconds / 86400,
                           (int)(seconds / 3600 % 24), (int)(seconds / 60 % 60), (int)(seconds % 60));
}

/* The file of the job's output lies in the run's directory; Slurm replaces %j, so a % of the path is doubled. */
static void add_output(GString *script, const SlurmJob *job)
{
    g_autoptr(GString) path = g_string_new(job->run);
    g_string_replace(path, "%", "%%", 0);
    g_string_append(path, job->array ? "/slurm-%A_%a.out" : "/slurm-%j.out");
    add_slurm_option(script, "output", path->str);
    g_string_append(script, "#SBATCH --open-mode=append\n");
}

static void add_options(GString *script, const SlurmJob *job)
{
    const struct {
        const char *name, *value;
    } given[] = {
        { "partition", job->partition }, { "account", job->account }, { "mem", job->memory }, { "array", job->array }
    };
    add_slurm_option(script, "job-name", job->name);
    add_slurm_option(script, "nodes", job->nodes);
    /* To Slurm a node's ranks are one task: with --ntasks-per-node a job of "2-4" nodes that has lost one waits until
     * it is back, although fewer would do, and at its first start gets the fewest nodes. */
    if (job->cores > 0 || (job->gpus > 0 && job->ranks > 1))
        add_count(script, "cpus-per-task", MAX(1, job->cores) * (int64_t)job->ranks);
    if (job->gpus > 0)
        add_count(script, "gpus-per-node", job->gpus);
    if (job->cores == 0 && job->gpus == 0)
        g_string_append(script, "#SBATCH --exclusive\n");
    add_time(script, job->seconds);
    for (size_t i = 0; i < G_N_ELEMENTS(given); i++)
        if (given[i].value)
            add_slurm_option(script, given[i].name, given[i].value);
    g_string_append_printf(script, "#SBATCH --signal=USR1@%d\n", job->notice);
    g_string_append(script, job->once ? "#SBATCH --no-requeue\n" : "#SBATCH --requeue\n");
    add_slurm_option(script, "chdir", job->folder);
    add_output(script, job);
}

/* Options of sbatch that change what another line of the script says, or what its commands rely on. */
typedef struct Conflict {
    const char *name; /* without --; "gres=gpu" means that value only */
    char letter;      /* the short form; 0 means none */
    const char *line; /* the option that the script must not have for `name` to be accepted; "" means: never accepted */
    const char *advice;
} Conflict;

static const Conflict conflicts[] = {
    { "nodes", 'N', "", "use --nodes of loam slurm" },
    { "ntasks", 'n', "", "use --nodes and --ranks of loam slurm" },
    { "ntasks-per-node", 0, "", "use --ranks of loam slurm" },
    { "cpus-per-task", 'c', "", "use --cpus of loam slurm" },
    { "gpus-per-node", 0, "gpus-per-node", "use --gpus of loam slurm, or leave that out" },
    { "gpus", 'G', "gpus-per-node", "use --gpus of loam slurm, or leave that out" },
    { "gpus-per-task", 0, "gpus-per-node", "use --gpus of loam slurm, or leave that out" },
    { "gres=gpu", 0, "gpus-per-node", "use --gpus of loam slurm, or leave that out" },
    { "time", 't', "", "use --time of loam slurm" },
    { "partition", 'p', "partition", "give one of the two" },
    { "account", 'A', "account", "give one of the two" },
    { "mem", 0, "mem", "give one of the two" },
    { "mem-per-cpu", 0, "mem", "Slurm takes only one of memory per node and per core" },
    { "array", 'a', "", "use --array of loam slurm" },
    { "job-name", 'J', "", "use --name of loam slurm" },
    { "signal", 0, "", "use --signal of loam slurm" },
    { "requeue", 0, "", "loam slurm writes it, unless it is given --no-requeue or --array" },
    { "no-requeue", 0, "", "use --no-requeue of loam slurm" },
    { "chdir", 'D', "", "the job starts in the folder in which loam slurm is called" },
    { "output", 'o', "", "the output goes to the run's directory" },
    { "open-mode", 0, "", "a job that goes on appends to its output" },
};

static bool is_option(const char *line, const Conflict *option)
{
    const size_t n = strlen(option->name);
    if (g_str_has_prefix(line, "--"))
        return strncmp(line + 2, option->name, n) == 0 && strchr("= :", line[2 + n]);
    return option->letter && line[1] == option->letter;
}

/* Whether the line is one option of sbatch as a shell would read it: "--nice", "--constraint=avx512", "-C avx512". */
static bool is_one_option(const char *line)
{
    int n = 0;
    g_auto(GStrv) words = NULL;
    if (line[0] != '-' || !g_ascii_isalpha(line[1] == '-' ? line[2] : line[1]) || strpbrk(line, "\r\n") ||
        !g_shell_parse_argv(line, &n, &words, NULL))
        return false;
    return n == 1 || (n == 2 && words[1][0] != '-' && strchr(words[0], '=') == NULL);
}

/* Adds the lines of --sbatch. script: the options so far. */
static bool add_lines(GString *script, const SlurmJob *job, GError **error)
{
    for (char **line = job->lines; line && *line; line++) {
        if (!is_one_option(*line))
            return fail_user(error,
                             "--sbatch is %s, want one option of sbatch, such as --constraint=avx512; a value with "
                             "blanks needs double quotes",
                             *line);
        for (size_t i = 0; i < G_N_ELEMENTS(conflicts); i++) {
            g_autofree char *written = g_strdup_printf("#SBATCH --%s=", conflicts[i].line);
            if (is_option(*line, &conflicts[i]) && (*conflicts[i].line == '\0' || strstr(script->str, written)))
                return fail_user(error, "--sbatch=%s contradicts the rest of the script: %s", *line,
                                 conflicts[i].advice);
        }
    }
    for (char **line = job->lines; line && *line; line++)
        g_string_append_printf(script, "#SBATCH %s\n", *line);
    return true;
}

static void add_head(GString *script, const SlurmJob *job)
{
    g_string_append(script, "\n");
    if (job->time_source)
        g_string_append_printf(script, "# --time is %s.\n", job->time_source);
    g_string_append_printf(
        script,
        "# %d seconds before the time is up all ranks get SIGUSR1: `loam train` saves a checkpoint and "
        "ends with status 75,\n# and %s continues the run. Any other status is that of this job.\n",
        job->notice,
        job->once    ? "submitting this script again"
        : job->array ? "the next job of the array"
                     : "this job goes back into the queue and");
}

static bool may_lose_node(const SlurmJob *job)
{
    return !job->once && strcmp(job->nodes, "1") != 0;
}

/* Adds the job's variables and commands, and records the newest checkpoint before the run: a job that saves no newer
 * one is not repeated, since it would be repeated without end. */
static void add_start(GString *script, const SlurmJob *job)
{
    g_autofree char *loam = text_shell_word(job->loam), *run = text_shell_word(job->run);
    g_string_append_printf(script, "loam=%s\nrun=%s\n", loam, run);
    for (char **command = job->before; command && *command; command++)
        g_string_append_printf(script, "%s\n", *command);
    if (!job->once)
        g_string_append(script, "before=$(ls -d \"$run\"/checkpoints/step-* 2>/dev/null | tail -n 1)\n");
    if (may_lose_node(job))
        g_string_append(script, "said=$(cat \"$run/log.txt\" 2>/dev/null | wc -l)\n");
}

/* srun gives a process one core unless it is told the number again; it must not end ranks that still save because
 * others have ended already. The number of nodes is that of this start of the job. */
static void add_srun(GString *script, const SlurmJob *job)
{
    g_string_append_printf(
        script, "srun --nodes=\"$SLURM_JOB_NUM_NODES\" --ntasks=$((SLURM_JOB_NUM_NODES * %d)) --ntasks-per-node=%d ",
        job->ranks, job->ranks);
    if (job->cores > 0)
        g_string_append_printf(script, "--cpus-per-task=%d", job->cores);
    else
        g_string_append_printf(script, "--cpus-per-task=$((SLURM_CPUS_ON_NODE / %d))", job->ranks);
    g_string_append_printf(script, " \\\n    --mpi=%s --kill-on-bad-exit=0 --wait=0 \"$loam\" train",
                           job->alone ? "none" : job->mpi);
    g_autofree char *config = text_shell_word(job->config);
    g_string_append_printf(script, " %s", config);
    for (char **override = job->overrides; *override; override++) {
        g_autofree char *word = text_shell_word(*override);
        g_string_append_printf(script, " %s", word);
    }
    g_string_append(script, "\nstatus=$?\n");
}

static const char next_job[] = "    if [ \"$SLURM_ARRAY_TASK_ID\" != \"$SLURM_ARRAY_TASK_MAX\" ]; then\n"
                               "        exit 0 # the next job of the array goes on\n"
                               "    fi\n"
                               "    echo \"slurm: this was the last job of the array, and the run is not at its end: "
                               "submit the script again\" >&2\n";

static const char requeue[] = "    scontrol requeue \"$SLURM_JOB_ID\" && sleep 60 # which ends this script\n";

/* The processes that miss a rank end after parallel.timeout, which may be shorter than the time after which Slurm knows
 * that a node is lost. A job that ended before that would not be requeued. */
static const char wait_for_node[] =
    "if [ \"$status\" != 0 ] && tail -n +$((said + 1)) \"$run/log.txt\" | grep -q '\\<rank .* did not '; then\n"
    "    echo \"slurm: a rank is lost: if its node is, Slurm finds out and requeues this job\" >&2\n"
    "    sleep $(($(scontrol show config | sed -n 's/^SlurmdTimeout *= *\\([0-9]*\\).*/\\1/p') + 60))\n"
    "    lost=yes # the node answers: the job goes back into the queue as one whose time is up\n"
    "fi\n";

static const char cancel[] = "    scancel --state=PENDING \"$SLURM_ARRAY_JOB_ID\" # the rest of the array\n";

static void add_end(GString *script, const SlurmJob *job)
{
    g_autofree char *file = text_shell_word(job->stop_file);
    if (job->once) {
        g_string_append(script, "exit \"$status\"\n");
        return;
    }
    if (may_lose_node(job))
        g_string_append_printf(script, "lost=no\n%s", wait_for_node);
    g_string_append_printf(
        script,
        "goes_on=no\n"
        "if [ \"$status\" = 75 ]%s; then\n"
        "    goes_on=yes\n"
        "    if [ \"$(ls -d \"$run\"/checkpoints/step-* 2>/dev/null | tail -n 1)\" = \"$before\" ]; then\n"
        "        echo \"slurm: this job saved no new checkpoint, so it is not repeated: it needs "
        "more time\" >&2\n"
        "        goes_on=no\n"
        "    fi\n",
        may_lose_node(job) ? " || [ $lost = yes ]" : "");
    if (*job->stop_file)
        g_string_append_printf(script,
                               "    if [ -e %s ]; then # train.stop_file: a person wants the run to stand still\n"
                               "        goes_on=no\n"
                               "    fi\n",
                               file);
    if (job->stop_date > 0)
        g_string_append_printf(script,
                               "    if [ \"$(date +%%s)\" -ge %" PRId64
                               " ]; then # train.stop_date, less some minutes\n"
                               "        goes_on=no\n"
                               "    fi\n",
                               job->stop_date - BEFORE_DATE_S);
    g_string_append_printf(script, "fi\nif [ $goes_on = yes ]; then\n%s", job->array ? next_job : requeue);
    if (job->array)
        g_string_append_printf(script, "else\n%s", cancel);
    g_string_append(script, "fi\nexit \"$status\"\n");
}

/* Slurm replaces nothing in a name with a backslash. */
static bool check_paths(const SlurmJob *job, GError **error)
{
    const char *const paths[] = { job->run, job->folder, job->loam };
    for (size_t i = 0; i < G_N_ELEMENTS(paths); i++)
        if (strpbrk(paths[i], "\n\r\\"))
            return fail_user(error, "a path with a line end or a backslash does not go into a submit script: %s",
                             paths[i]);
    return true;
}

char *slurm_script(const SlurmJob *job, GError **error)
{
    if (!check_paths(job, error))
        return NULL;
    g_autoptr(GString) script = g_string_new("#!/bin/bash\n");
    add_options(script, job);
    if (!add_lines(script, job, error))
        return NULL;
    add_head(script, job);
    add_start(script, job);
    add_srun(script, job);
    add_end(script, job);
    return g_string_free(g_steal_pointer(&script), false);
}
