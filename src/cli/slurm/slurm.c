/* slurm.c: `loam slurm`: writes a submit script for a configuration. */
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/outline.h"
#include "cli/slurm/script.h"
#include "run/run_dir.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#define USAGE      "loam slurm CONFIG.yaml|RUN [--nodes N] [--ranks N] [--cpus N] [--time TIME] … [group.key=value]…"
#define MARGIN     1.5 /* the estimate does not count evaluations, saves and waiting for other ranks */
#define ROUNDED_S  600
#define MOST_S     (366 * 86400)
#define NOT_GIVEN  INT_MIN
#define MOST_COUNT 65535 /* what Slurm keeps of tasks, cores and seconds of a signal: 16 bits */

static const char about[] =
    "Writes a submit script for Slurm. The job starts `loam train` by srun on all its nodes; before its time is up "
    "the\n"
    "run saves and stops, and the job is put back into the queue (or with --array 1-10%1 the next job of the array "
    "goes\n"
    "on), until the run is at its end. Without --time the time is estimated as `loam plan` does it, with a margin.\n"
    "\n"
    "  loam slurm config.yaml --nodes 4 --cpus 32 --time 20h --partition cpu --out job.sh && sbatch job.sh\n"
    "  loam slurm config.yaml --nodes 2 --time 20:00:00 --array 1-10%1 --before \"module load openmpi\" >job.sh\n";

static char *duration, *out;
static SlurmJob job = { .nodes = "1", .ranks = 1, .cores = NOT_GIVEN, .notice = 120, .mpi = "pmix" };
static const GOptionEntry entries[] = {
    CLI_VALUE("nodes", job.nodes, "N", "number of nodes, or the least and the most: 2-4 (default 1)"),
    CLI_VALUE("ranks", job.ranks, "N", "ranks (processes) per node (default 1)"),
    CLI_VALUE("cpus", job.cores, "N", "cores per rank (default: all of the node, which the job then has to itself)"),
    CLI_VALUE("gpus", job.gpus, "N", "GPUs per node, one per rank (default 0)"),
    CLI_VALUE("memory", job.memory, "SIZE",
              "memory per node, such as 64G; 0 means all of the node's (default: the cluster's)"),
    CLI_VALUE("time", duration, "TIME", "longest time of one job: 19h50m, 20:00:00 or 1-12 (default: estimated)"),
    CLI_VALUE("partition", job.partition, "NAME", "partition"),
    CLI_VALUE("account", job.account, "NAME", "account"),
    CLI_VALUE("name", job.name, "NAME", "name of the job (default: the last part of run.dir)"),
    CLI_VALUE("array", job.array, "1-10%1", "several jobs, one after another, in place of one that is requeued"),
    CLI_SWITCH("no-requeue", job.once, "do not put a job that stopped with a checkpoint back into the queue"),
    CLI_VALUE("signal", job.notice, "SECONDS",
              "seconds before its time is up at which the run is asked to save (default 120)"),
    CLI_VALUE("mpi", job.mpi, "TYPE", "the interface by which srun starts several ranks (default pmix)"),
    CLI_VALUE("sbatch", job.lines, "OPTION", "one more #SBATCH line, such as --constraint=avx512; may be repeated"),
    CLI_VALUE("before", job.before, "COMMAND", "a command before srun, such as 'module load openmpi'; may be repeated"),
    CLI_PATH("out", out, "FILE", "write the script to this file (default: standard output)"),
    { 0 },
};

/* Reads a whole number at *text and moves *text past it. */
static bool scan_count(const char **text, int64_t *value)
{
    char *end;
    if (!g_ascii_isdigit(**text))
        return false;
    *value = g_ascii_strtoll(*text, &end, 10);
    *text = end;
    return true;
}

/* Slurm's own forms: M, M:S, H:M:S, D-H, D-H:M, D-H:M:S; -1 if it is none of them. */
static int64_t slurm_seconds(const char *text)
{
    int64_t part[4], days = 0;
    int n = 0;
    if (!scan_count(&text, &part[n++]))
        return -1;
    const bool dated = *text == '-';
    if (dated) {
        days = part[0];
        text++;
        n = 0;
        if (!scan_count(&text, &part[n++]))
            return -1;
    }
    while (*text == ':' && n < 3) {
        text++;
        if (!scan_count(&text, &part[n++]))
            return -1;
    }
    for (int i = 0; i < n; i++)
        if (part[i] > MOST_S)
            return -1;
    if (*text != '\0' || days > MOST_S / 86400)
        return -1;
    if (dated || n == 3)
        return days * 86400 + part[0] * 3600 + (n > 1 ? part[1] * 60 : 0) + (n > 2 ? part[2] : 0);
    return part[0] * 60 + (n > 1 ? part[1] : 0);
}

/* Without --time, job.seconds stays 0. */
static bool parse_time(GError **error)
{
    Amount amount;
    if (!duration)
        return true;
    job.seconds = slurm_seconds(duration);
    if (job.seconds < 0 && amount_parse(&amount, duration, NULL) && amount.unit == UNIT_SECONDS &&
        amount.value < MOST_S)
        job.seconds = (int64_t)amount.value;
    if (job.seconds <= 0 || job.seconds > MOST_S)
        return fail_user(error, "--time is %s, want a time of up to a year such as 19h50m, 20:00:00 or 1-12:00:00",
                         duration);
    return job.seconds > job.notice ||
           fail_user(error, "--time %s is no longer than --signal, %d seconds: the run would stop at once", duration,
                     job.notice);
}

/* Reads "4" or "2-4" at *text and moves *text past it; of one number *most is *least. */
static bool scan_range(const char **text, int64_t *least, int64_t *most)
{
    if (!scan_count(text, least))
        return false;
    *most = *least;
    if (**text != '-')
        return true;
    ++*text;
    return scan_count(text, most) && *most >= *least;
}

/* "4" or "2-4"; *least becomes the smallest number. */
static bool parse_nodes(int64_t *least, GError **error)
{
    const char *text = job.nodes;
    int64_t most;
    return (scan_range(&text, least, &most) && *text == '\0' && *least >= 1 && most <= 100000) ||
           fail_user(error, "--nodes is %s, want a number or the least and the most, such as 4 or 2-4", job.nodes);
}

/* Two jobs at once would train in one run directory. */
static bool check_array(GError **error)
{
    int64_t first, last;
    const char *text = job.array;
    return text == NULL || (scan_range(&text, &first, &last) && strcmp(text, "%1") == 0) ||
           fail_user(error, "--array is %s, want FIRST-LAST%%1, such as 1-10%%1: one job of the run at a time",
                     job.array);
}

static bool check_numbers(GError **error)
{
    const struct {
        const char *name;
        int value, least;
    } numbers[] = { { "ranks", job.ranks, 1 }, { "gpus", job.gpus, 0 }, { "signal", job.notice, 1 } };
    for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++)
        if (numbers[i].value < numbers[i].least || numbers[i].value > MOST_COUNT)
            return fail_user(error, "--%s is %d, want %d to %d", numbers[i].name, numbers[i].value, numbers[i].least,
                             MOST_COUNT);
    if (job.cores != NOT_GIVEN && (job.cores < 1 || job.cores > MOST_COUNT))
        return fail_user(error, "--cpus is %d, want 1 to %d; without --cpus the ranks share all cores of the node",
                         job.cores, MOST_COUNT);
    if (job.gpus > 0 && job.gpus != job.ranks)
        return fail_user(error, "--gpus %d with --ranks %d: each rank computes on one GPU, want as many ranks as GPUs",
                         job.gpus, job.ranks);
    return !(job.array && job.once) ||
           fail_user(
               error,
               "--array and --no-requeue exclude each other: each job of an array goes on where the last stopped");
}

/* Slurm would take a number without a unit as megabytes. */
static bool check_memory(GError **error)
{
    int64_t size;
    const char *text = job.memory;
    if (job.memory == NULL || strcmp(job.memory, "0") == 0)
        return true;
    return (scan_count(&text, &size) && size > 0 && *text != '\0' && strchr("KMGT", *text) && text[1] == '\0') ||
           fail_user(error,
                     "--memory is %s, want a whole number with K, M, G or T, such as 64G, or 0 for all of the node's",
                     job.memory);
}

/* Fails if a text from the command line cannot be written into one line of the script. */
static bool check_texts(GError **error)
{
    const struct {
        const char *name, *value;
    } texts[] = { { "nodes", job.nodes },         { "time", duration },
                  { "array", job.array },         { "memory", job.memory },
                  { "partition", job.partition }, { "account", job.account },
                  { "name", job.name },           { "mpi", job.mpi } };
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
        if (texts[i].value && (*texts[i].value == '\0' || strpbrk(texts[i].value, "\r\n")))
            return fail_user(error, "--%s is empty or has a line end", texts[i].name);
    if (job.mpi && job.mpi[strspn(job.mpi, "abcdefghijklmnopqrstuvwxyz0123456789_")])
        return fail_user(error, "--mpi is %s, want a type of `srun --mpi=list`, such as pmix", job.mpi);
    if (job.partition && strpbrk(job.partition, " \t"))
        return fail_user(error, "--partition is %s, want a name that `sinfo` lists, or several joined by commas",
                         job.partition);
    for (char **command = job.before; command && *command; command++)
        if ((*command)[strspn(*command, " \t\r\n")] == '\0')
            return fail_user(error, "--before is empty, want a command, such as 'module load openmpi'");
    return !(out && *out == '\0') || fail_user(error, "--out is empty, want the name of a file, such as job.sh");
}

/* Loads the configuration for the job's smallest number of ranks, so that one that does not fit, or that `loam train`
 * would refuse at the start of the job, is an error now. */
static bool load_task(Config *config, char **argv, int argc, int64_t world, GError **error)
{
    g_autoptr(GPtrArray) overrides = g_ptr_array_new_with_free_func(g_free);
    for (int i = 2; i < argc; i++)
        g_ptr_array_add(overrides, g_strdup(argv[i]));
    g_auto(Config) given = { 0 };
    if (!config_load_run(&given, argv[1], argv + 2, argc - 2, error))
        return false;
    if (given.parallel.ranks > 0)
        return fail_user(
            error, "parallel.ranks is %" PRId64 ": leave it out, srun starts %" PRId64 " ranks (--nodes, --ranks)",
            given.parallel.ranks, world);
    if (world > 1)
        g_ptr_array_add(overrides, g_strdup_printf("parallel.ranks=%" PRId64, world));
    return config_load_run(config, argv[1], (char **)overrides->pdata, (int)overrides->len, error) &&
           config_check_inputs(config, error) && outline_check_layout(config, error);
}

/* Seconds of the run on the job's cores, from the estimate on this machine; 0 means unknown. loader: NULL if the data
 * cannot be read here. *source: in words; g_free. */
static bool estimate(Config *config, const Loader *loader, int64_t least_nodes, double *seconds, char **source,
                     GError **error)
{
    Outline outline;
    *seconds = 0;
    if (!outline_of(&outline, config, loader, NULL, error) || !outline_time(&outline, config, 0, error))
        return false;
    if (outline.steps <= 0 || outline.step_s <= 0)
        return true;
    const int own = config->train.threads > 0 ? (int)config->train.threads : (int)g_get_num_processors();
    const int each = config->train.threads > 0 ? (int)config->train.threads : job.cores;
    const int64_t all = least_nodes * job.ranks * each;
    const double here = outline_seconds(&outline, outline.steps);
    *seconds = job.cores > 0 ? here * own / (double)all : here / (double)least_nodes;
    g_autofree char *local = text_duration(ceil(here)), *there = text_duration(ceil(*seconds));
    if (job.cores > 0)
        *source = g_strdup_printf("%.1f times an estimate, rounded up to 10 minutes: %s for this machine's %d cores, "
                                  "%s for the job's %" PRId64,
                                  MARGIN, local, own, there, all);
    else
        *source = g_strdup_printf("%.1f times an estimate, rounded up to 10 minutes: %s for nodes like this machine",
                                  MARGIN, there);
    return true;
}

/* Opens tokenizer and data as the run will. What cannot be read on this machine is a warning: the job may run on
 * others. *loader: NULL if the data cannot be read. Fails only if the time must be estimated and cannot. */
static bool open_data(Config *config, bool estimated, Loader **loader, GError **error)
{
    g_autoptr(Tokenizer) tok = NULL;
    g_autoptr(GError) reason = NULL;
    g_autoptr(GPtrArray) unread = g_ptr_array_new_with_free_func(g_free);
    *loader = NULL;
    if (!outline_resolve(config, NULL, &tok, loader, unread, &reason)) {
        if (estimated)
            return fail_with(error, g_steal_pointer(&reason));
        g_ptr_array_add(unread, g_strdup(reason->message));
    }
    for (guint i = 0; i < unread->len; i++)
        log_warning("on this machine the job would fail: %s", (const char *)unread->pdata[i]);
    return true;
}

/* Says how many jobs follow each other if train.length is a time and longer than that of a job. */
static void note_jobs(const Config *config)
{
    const Amount length = config->train.length;
    const double each = (double)(job.seconds - job.notice);
    g_autofree char *whole = amount_format(length);
    if (length.unit == UNIT_SECONDS && length.value > each)
        log_info("train.length=%s counts the training time of all jobs: at least %.0f follow each other", whole,
                 ceil(length.value / each));
}

/* Sets the time of the job to that of the whole run, unless one is given. */
static bool choose_time(Config *config, int64_t least_nodes, char **source, GError **error)
{
    double seconds;
    g_autoptr(Loader) loader = NULL;
    if (job.seconds == 0 && config->train.length.unit == UNIT_SECONDS)
        return fail_user(error, "train.length is a time, the training time of all jobs: give --time, that of one job, "
                                "such as --time 20h");
    if (!open_data(config, job.seconds == 0, &loader, error))
        return false;
    if (job.seconds > 0) {
        note_jobs(config);
        return true;
    }
    if (!estimate(config, loader, least_nodes, &seconds, source, error))
        return false;
    if (seconds <= 0)
        return fail_user(error, "the time of this run is not known here (a GPU, or a length in epochs of data that "
                                "cannot be read): give --time, such as --time 20h");
    seconds = fmin(MARGIN * seconds + job.notice, MOST_S);
    job.seconds = (int64_t)ceil(seconds / ROUNDED_S) * ROUNDED_S;
    job.time_source = *source;
    g_autofree char *time = text_duration((double)job.seconds);
    log_info("--time %s: %s", time, *source);
    return true;
}

/* Whether the script can be written and the run can be trained in its folder. To be called before anything is made. */
static bool check_outputs(const char *run, GError **error)
{
    return run_check_folder(run, error) &&
           (out == NULL || (cli_check_suffix("out", out, ".sh", error) && io_check_writable(out, error) &&
                            io_check_replaces(out, "#!/bin/bash\n#SBATCH --job-name=", "script of loam slurm", error)));
}

/* Writes the script, and creates the run's directory, because Slurm does not create the folder for a job's output.
 * After an error no folder is left. */
static bool write_outputs(const char *script, const char *run, GError **error)
{
    g_autoptr(GPtrArray) made = io_missing_folders(run);
    const bool written =
        io_make_directories(run, error) && (out ? io_write_file(out, script, strlen(script), error)
                                                : (fputs(script, stdout) != EOF && fflush(stdout) == 0) ||
                                                      fail_errno(error, "writing", "standard output"));
    if (!written)
        io_remove_empty(made);
    return written;
}

/* `loam train` waits for its hooks after the last save, while the job's time runs out. */
static void warn_of_hooks(const Config *config)
{
    const HooksConfig *hooks = &config->hooks;
    const double timeout = hooks->timeout.value;
    const bool others = *hooks->on_save || *hooks->on_best || *hooks->on_alert;
    if ((others || *hooks->on_stop) && (timeout <= 0 || timeout * (others + (*hooks->on_stop != '\0')) >= job.notice))
        log_warning(
            "a hook may take up to hooks.timeout (%.0f s; 0 means no limit), and on_stop as long after it; the job is "
            "told to save %d s before its time is up, and a job that ends while it waits for a hook does not go on: "
            "give --signal more than these times, or lower hooks.timeout",
            timeout, job.notice);
}

/* GPUs may also be requested by --sbatch=--gres=gpu:1. */
static void warn_of_device(const char *device)
{
    bool requested = job.gpus > 0;
    for (char **line = job.lines; line && *line; line++)
        requested |= strstr(*line, "gpu") != NULL;
    if (requested && strcmp(device, "cpu") == 0)
        log_warning("train.device is cpu: the run would not use the GPUs; set train.device=cuda");
    if (!requested && g_str_has_prefix(device, "cuda"))
        log_warning("train.device is %s and the job asks for no GPU: give --gpus %d", device, job.ranks);
    if (job.ranks > 1 && g_str_has_prefix(device, "cuda:"))
        log_warning(
            "train.device is %s for all %d ranks of a node: with train.device=cuda each rank takes a GPU of its "
            "own",
            device, job.ranks);
}

static bool write_job(Config *config, int64_t least_nodes, GError **error)
{
    g_autofree char *source = NULL, *folder = g_get_current_dir(), *loam = g_file_read_link("/proc/self/exe", NULL),
                    *run = g_canonicalize_filename(config->run.dir, folder), *base = g_path_get_basename(run);
    job.folder = folder;
    job.run = run;
    job.loam = loam ? loam : "loam";
    job.name = job.name ? job.name : base;
    job.stop_file = config->train.stop_file;
    double date;
    if (!config_stop_date(config, &date, error))
        return false;
    job.stop_date = (int64_t)date;
    warn_of_hooks(config);
    warn_of_device(config->train.device);
    if (!choose_time(config, least_nodes, &source, error))
        return false;
    g_autofree char *script = slurm_script(&job, error);
    return script && check_outputs(run, error) && write_outputs(script, run, error);
}

bool verb_slurm(int argc, char **argv, GError **error)
{
    int64_t least_nodes = 0;
    if (!cli_parse(&argc, &argv, entries, USAGE, about, error))
        return false;
    if (argc < 2)
        return fail_user(error, "no configuration given; usage: " USAGE);
    if (!check_numbers(error) || !check_texts(error) || !check_memory(error) || !check_array(error) ||
        !parse_nodes(&least_nodes, error) || !parse_time(error))
        return false;
    if (job.cores == NOT_GIVEN)
        job.cores = 0;
    g_auto(Config) config = { 0 };
    if (!load_task(&config, argv, argc, least_nodes * job.ranks, error))
        return false;
    job.alone = job.ranks == 1 && strcmp(job.nodes, "1") == 0;
    job.config = argv[1];
    job.overrides = argv + 2;
    return write_job(&config, least_nodes, error);
}
