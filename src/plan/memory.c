#include "plan/memory.h"

#include "base/text.h"
#include "device/cuda/cuda.h"

#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

size_t memory_total(const MemoryPlan *plan)
{
    return plan->scratch + plan->saving + plan->weights + plan->gradients + plan->optimizer + plan->activations +
           plan->batches;
}

char *memory_describe(const MemoryPlan *plan)
{
    g_autofree char *total = text_bytes(memory_total(plan)), *weights = text_bytes(plan->weights),
                    *gradients = text_bytes(plan->gradients), *optimizer = text_bytes(plan->optimizer),
                    *activations = text_bytes(plan->activations), *host = text_bytes(plan->host),
                    *saving = text_bytes(plan->saving), *scratch = text_bytes(plan->scratch);
    g_autofree char *each = plan->ranks > 1 ? g_strdup_printf(" for each of %d ranks", plan->ranks) : g_strdup("");
    return g_strdup_printf("%s%s: weights %s, gradients %s, optimizer %s, activations %s%s%s%s%s%s%s", total, each,
                           weights, gradients, optimizer, activations, plan->scratch ? ", scratch " : "",
                           plan->scratch ? scratch : "", plan->saving ? ", a copy to save " : "",
                           plan->saving ? saving : "", plan->host ? ", on the host " : "", plan->host ? host : "");
}

char *memory_describe_trained(const MemoryPlan *plan, int64_t params)
{
    g_autofree char *trained = text_grouped(plan->trained);
    return plan->trained == params ? g_strdup("") : g_strdup_printf(", %s of them trained", trained);
}

/* Reads the number after `key` in a kernel file, such as memory.max; NO_LIMIT if there is none ("max", or no file). */
#define NO_LIMIT SIZE_MAX

static size_t kernel_number(const char *path, const char *key)
{
    g_autofree char *text = NULL;
    const char *at = g_file_get_contents(path, &text, NULL, NULL) ? strstr(text, key) : NULL;
    at = at ? at + strlen(key) + strspn(at + strlen(key), " \t") : NULL;
    return at && g_ascii_isdigit(*at) ? (size_t)g_ascii_strtoull(at, NULL, 10) : NO_LIMIT;
}

static size_t group_number(const char *folder, const char *name, const char *key)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    return kernel_number(path, key);
}

/* File names of the two versions of control groups. */
static const struct {
    const char *limit, *usage, *cached;
} group_files[] = { { "memory.max", "memory.current", "\ninactive_file " },
                    { "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file " } };

/* Bytes that a control group may still use; memory of its file cache counts as free. */
static size_t group_room(const char *folder, bool version_1)
{
    size_t limit = group_number(folder, group_files[version_1].limit, ""),
           usage = group_number(folder, group_files[version_1].usage, ""),
           cached = group_number(folder, "memory.stat", group_files[version_1].cached);
    if (limit == NO_LIMIT || usage == NO_LIMIT)
        return NO_LIMIT;
    usage -= cached == NO_LIMIT ? 0 : MIN(cached, usage);
    return limit - MIN(usage, limit);
}

size_t memory_group_room(const char *groups, const char *root)
{
    g_autofree char *text = NULL;
    size_t room = NO_LIMIT;
    if (!g_file_get_contents(groups, &text, NULL, NULL))
        return room;
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line; line++) { /* "4:memory:/a/b" of version 1, "0::/a/b" of version 2 */
        g_auto(GStrv) parts = g_strsplit(*line, ":", 3);
        if (g_strv_length(parts) < 3 || (*parts[1] && strcmp(parts[1], "memory") != 0))
            continue;
        bool version_1 = *parts[1];
        g_autofree char *folder = g_build_filename(root, version_1 ? "memory" : "", parts[2], NULL);
        for (; strlen(folder) >= strlen(root); *strrchr(folder, '/') = 0) /* limits of the group's parents apply too */
            room = MIN(room, group_room(folder, version_1));
    }
    return room;
}

/* Bytes that this process can allocate without swapping: the smaller of the machine's free memory and what its control
 * groups allow; NO_LIMIT if unknown. */
static size_t available(void)
{
    size_t machine = kernel_number("/proc/meminfo", "MemAvailable:");
    return MIN(machine == NO_LIMIT ? NO_LIMIT : machine * 1024,
               memory_group_room("/proc/self/cgroup", "/sys/fs/cgroup"));
}

/* Address space of each thread beside the plan: stack, malloc arena, and copies of operands of matrix products. */
#define THREAD_BYTES  ((size_t)88 << 20)
#define OTHER_THREADS 2 /* the prefetching thread and the thread that waits for signals */

/* Bytes that the limit of the address space (ulimit -v) leaves for the plan with `threads` compute threads; NO_LIMIT if
 * there is no limit. It is checked beforehand, because libraries crash if an allocation fails. */
static size_t address_room(int threads)
{
    struct rlimit limit;
    size_t pages = kernel_number("/proc/self/statm", "");
    if (getrlimit(RLIMIT_AS, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY || pages == NO_LIMIT)
        return NO_LIMIT;
    size_t used = pages * (size_t)sysconf(_SC_PAGESIZE) + (size_t)(threads + OTHER_THREADS) * THREAD_BYTES;
    return (size_t)limit.rlim_cur - MIN(used, (size_t)limit.rlim_cur);
}

/* Bytes that the plan takes of the device's memory (first function) and of host memory (second). */
static size_t device_bytes(const MemoryPlan *plan, const Device *dev)
{
    return *dev->gpu.name ? plan->device : memory_total(plan);
}

static size_t machine_bytes(const MemoryPlan *plan, const Device *dev)
{
    size_t ranks = (size_t)MAX(plan->ranks, 1);
    return ranks * (*dev->gpu.name ? plan->batches + plan->host + plan->saving : memory_total(plan));
}

/* Other values of options, with which a run that does not fit is planned again to find what would fit. */
typedef struct Trial {
    const Config *config;
    int32_t input_length, target_length;
    Device *dev;
    size_t room;
} Trial;

typedef struct Settings {
    int64_t micro; /* samples */
    int recompute;
    bool offload, scores;
} Settings;

static bool fits_memory(const Trial *trial, Settings settings, MemoryPlan *plan)
{
    Config config = *trial->config; /* shallow copy */
    config.train.micro_batch = (Amount){ .value = (double)settings.micro, .unit = UNIT_SAMPLES };
    config.train.recompute = settings.recompute;
    config.optim.offload = settings.offload;
    config.train.scores = settings.scores;
    return memory_plan_rank(&config, trial->input_length, trial->target_length, plan, NULL) &&
           device_bytes(plan, trial->dev) <= trial->room &&
           (plan->host == 0 || machine_bytes(plan, trial->dev) <= available());
}

bool memory_fits(const Config *config, int32_t input_length, int32_t target_length, Device *dev, double share)
{
    MemoryPlan plan;
    if (!memory_plan_rank(config, input_length, target_length, &plan, NULL))
        return false;
    if (*dev->gpu.name && (double)device_bytes(&plan, dev) > share * (double)device_memory_available(dev))
        return false;
    return (double)machine_bytes(&plan, dev) <= share * (double)MIN(available(), address_room(dev->threads));
}

/* The largest microbatch below settings.micro, a power of two of samples, with which the plan fits; 0 means none. */
static int64_t find_micro(const Trial *trial, Settings settings, MemoryPlan *plan)
{
    int64_t n = 1, micro = settings.micro;
    while (2 * n < micro)
        n *= 2;
    for (; n > 0; n /= 2) {
        settings.micro = n;
        if (n < micro && fits_memory(trial, settings, plan))
            break;
    }
    return n;
}

static void append_settings(GString *text, const MemoryPlan *plan, const char *format, ...) G_GNUC_PRINTF(3, 4);

/* Appends "SETTING (BYTES)", preceded by " or " unless it is the first. */
static void append_settings(GString *text, const MemoryPlan *plan, const char *format, ...)
{
    g_autofree char *bytes = text_bytes(memory_total(plan));
    va_list arguments;
    g_string_append(text, text->len ? " or " : "");
    va_start(arguments, format);
    g_string_append_vprintf(text, format, arguments);
    va_end(arguments);
    g_string_append_printf(text, " (%s)", bytes);
}

/* Appends what the run needs at the least, and that this is too much. */
static void append_least(GString *text, const Trial *trial)
{
    const bool gpu = *trial->dev->gpu.name;
    const Settings least = { 1, RECOMPUTE_BLOCK, gpu, false };
    MemoryPlan plan = { 0 };
    (void)fits_memory(trial, least, &plan);
    g_autofree char *needs = text_bytes(memory_total(&plan)), *host = text_bytes(plan.host),
                    *each = plan.ranks > 1 ? g_strdup_printf(" for each of %d ranks", plan.ranks) : g_strdup("");
    g_string_append_printf(text,
                           "even train.micro_batch='1 samples' with train.recompute=block%s needs %s%s%s%s; shorter "
                           "samples, a smaller model, or parallel.zero, tensor or pipeline on more %s need less",
                           gpu ? " and optim.offload=true" : "", needs, gpu ? " and on the host " : "", gpu ? host : "",
                           each, gpu ? "GPUs" : "machines");
}

/* Option values with which the run would fit, as the end of an error message. g_free. */
static char *advise(const Trial *trial)
{
    const Settings now = { config_micro_samples(trial->config), trial->config->train.recompute,
                           trial->config->optim.offload, trial->config->train.scores };
    const Settings recompute = { now.micro, RECOMPUTE_BLOCK, now.offload, now.scores },
                   offload = { now.micro, now.recompute, true, now.scores },
                   unscored = { now.micro, now.recompute, now.offload, false };
    const Settings both = { now.micro, RECOMPUTE_BLOCK, true, now.scores };
    bool may_offload = *trial->dev->gpu.name && !now.offload;
    int64_t n;
    MemoryPlan plan = { 0 };
    GString *text = g_string_new(NULL);
    if ((n = find_micro(trial, now, &plan)) > 0)
        append_settings(text, &plan, "train.micro_batch='%" PRId64 " samples'", n);
    if (now.recompute == RECOMPUTE_NONE && fits_memory(trial, recompute, &plan))
        append_settings(text, &plan, "train.recompute=block");
    if (may_offload && fits_memory(trial, offload, &plan))
        append_settings(text, &plan, "optim.offload=true");
    if (now.scores && fits_memory(trial, unscored, &plan)) /* the run fits without generating answers in evaluations */
        append_settings(text, &plan, "train.scores=false");
    if (text->len == 0 && (n = find_micro(trial, recompute, &plan)) > 0)
        g_string_append_printf(text, "train.micro_batch='%" PRId64 " samples' with train.recompute=block", n);
    if (text->len == 0 && may_offload && fits_memory(trial, both, &plan))
        append_settings(text, &plan, "train.recompute=block with optim.offload=true");
    if (text->len == 0 && may_offload && (n = find_micro(trial, both, &plan)) > 0)
        g_string_append_printf(
            text, "train.micro_batch='%" PRId64 " samples' with train.recompute=block and optim.offload=true", n);
    if (text->len > 0)
        g_string_append(text, " would fit");
    else
        append_least(text, trial);
    return g_string_free(text, false);
}

static bool check_memory_room(const MemoryPlan *plan, size_t needed, const char *what, const Trial *trial,
                              GError **error)
{
    if (needed <= trial->room)
        return true;
    g_autofree char *parts = memory_describe(plan), *has = text_bytes(trial->room), *advice = advise(trial);
    return fail_machine(error, "the run needs %s; %s has %s free: %s", parts, what, has, advice);
}

/* The host has too little memory for the part of a GPU's run that is kept there. */
static bool fail_host(const MemoryPlan *plan, const Trial *trial, GError **error)
{
    const Config *config = trial->config;
    const Trial on_gpu = { config, trial->input_length, trial->target_length, trial->dev,
                           device_memory_available(trial->dev) };
    const Settings kept = { config_micro_samples(config), config->train.recompute, false, config->train.scores };
    MemoryPlan without;
    const bool fits_gpu = fits_memory(&on_gpu, kept, &without);
    g_autofree char *needs = text_bytes(machine_bytes(plan, trial->dev)), *has = text_bytes(trial->room),
                    *each = plan->ranks > 1 ? g_strdup_printf(" for %d ranks", plan->ranks) : g_strdup(""),
                    *gpu = fits_gpu ? text_bytes(memory_total(&without)) : NULL;
    if (fits_gpu)
        return fail_machine(error,
                            "optim.offload=true needs %s of this machine's memory%s, which has %s free: "
                            "optim.offload=false would fit (%s of %s)",
                            needs, each, has, gpu, trial->dev->gpu.name);
    return fail_machine(error,
                        "optim.offload=true needs %s of this machine's memory%s, which has %s free, and without it the "
                        "run does not fit %s; parallel.zero=1 on more machines, or a smaller model, needs less",
                        needs, each, has, trial->dev->gpu.name);
}

bool memory_check(const MemoryPlan *plan, const Config *config, int32_t input_length, int32_t target_length,
                  Device *dev, GError **error)
{
    size_t addresses = address_room(dev->threads);
    Trial trial = { config, input_length, target_length, dev, device_memory_available(dev) };
    if (machine_bytes(plan, dev) > addresses) {
        trial.room = addresses;
        g_autofree char *needed = memory_describe(plan), *has = text_bytes(addresses), *advice = advise(&trial);
        return fail_machine(error,
                            "the run needs %s; the limit of its address space (ulimit -v) leaves %s beside its %d "
                            "threads and their libraries: %s",
                            needed, has, dev->threads, advice);
    }
    if (*dev->gpu.name && !check_memory_room(plan, device_bytes(plan, dev), dev->gpu.name, &trial, error))
        return false;
    trial.room = available();
    if (plan->host > 0 && machine_bytes(plan, dev) > trial.room)
        return fail_host(plan, &trial, error);
    return check_memory_room(plan, machine_bytes(plan, dev), "this machine", &trial, error);
}

bool memory_take(MemoryPlan *plan, const Config *config, int32_t input_length, int32_t target_length, Device *dev,
                 GError **error)
{
    if (!memory_plan(config, input_length, target_length, plan, error) ||
        !memory_check(plan, config, input_length, target_length, dev, error))
        return false;
    dev->gpu.scratch = plan->scratch;
    if (cuda_reserve(dev, plan->device))
        return true;
    g_autofree char *needed = memory_describe(plan);
    return fail_machine(error, "%s has no memory for the run, which needs %s", dev->gpu.name, needed);
}
