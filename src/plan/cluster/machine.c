#include "plan/cluster/cluster.h"

#include "base/file.h"
#include "base/log.h"

#define GIGA 1e9
#define TERA 1e12

/* The rate of FP8 products: with it T5-1.1-XL, 96 % of whose FLOPs are in FP8 products, trains 1.28 times as fast
 * in FP8 as in bf16, as it did on one H200 (bench/results/2026-11-26-h200.md). */
#define FP8_RATE 1.30
#define LAUNCH_S 4e-6        /* as in bench/results/gpu-counts.md */
#define PCIE_5   (50 * GIGA) /* some 85 % of 16 lanes of PCI Express, in each direction */
#define PCIE_4   (25 * GIGA)
#define PCIE_3   (12 * GIGA)

/* Memory and links are those of the makers' data sheets, links at some 85 %. FLOP/s are what large models reached in
 * published runs: V100 45 (BigScience's estimate for tr1-13B), A100 165 (Narayanan et al. 2021; BLOOM reached 149 with
 * its bubble), H100 and H200 400 (about 40 % of the peak). Watts are those of a GPU with its share of the node. FP8 of
 * processors is emulated (fp8 1). */
static const Machine presets[] = {
    { "h200", 8, 141 * GIGA, 400 * TERA, 4000 * GIGA, 380 * GIGA, 42 * GIGA, 1050, true, true, FP8_RATE, PCIE_5,
      LAUNCH_S },
    { "h100", 8, 80 * GIGA, 400 * TERA, 2800 * GIGA, 380 * GIGA, 42 * GIGA, 1000, true, true, FP8_RATE, PCIE_5,
      LAUNCH_S },
    { "a100", 8, 80 * GIGA, 165 * TERA, 1700 * GIGA, 250 * GIGA, 21 * GIGA, 550, true, true, 0, PCIE_4, LAUNCH_S },
    { "v100", 4, 32 * GIGA, 45 * TERA, 780 * GIGA, 60 * GIGA, 10 * GIGA, 400, true, false, 0, PCIE_3,
      LAUNCH_S }, /* Jean Zay's nodes */
    { "cpu", 2, 256 * GIGA, 3 * TERA, 150 * GIGA, 10 * GIGA, 5 * GIGA, 350, false, true, 1, 0, 0 },
};

/* The numbers of a machine in a file, with the range that they may have. A measurement has no watts. */
static const struct {
    const char *key;
    size_t offset;
    double least, most;
    bool optional;
} fields[] = {
    { "memory_bytes", offsetof(Machine, memory_bytes), 1e6, 1e15, false },
    { "flops_per_s", offsetof(Machine, flops), 1e6, 1e18, false },
    { "copy_bytes_per_s", offsetof(Machine, copy_bytes), 1e3, 1e15, false },
    { "within_bytes_per_s", offsetof(Machine, within), 1e3, 1e15, false },
    { "between_bytes_per_s", offsetof(Machine, between), 1e3, 1e15, false },
    { "watts", offsetof(Machine, watts), 1e-3, 1e6, true },
};

#define FILE_BYTES ((size_t)1 << 20) /* the largest file of a measurement */

static double *field_of(Machine *machine, size_t i)
{
    return (double *)((char *)machine + fields[i].offset);
}

void machine_assume_gpu(Machine *machine, bool has_fp8)
{
    machine->gpus = machine->bf16 = true;
    machine->fp8 = has_fp8 ? FP8_RATE : 0;
    machine->host = PCIE_4;
    machine->launch_s = LAUNCH_S;
}

char *machine_names(void)
{
    GString *names = g_string_new(NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(presets); i++)
        g_string_append_printf(names, "%s%s", i > 0 ? ", " : "", presets[i].name);
    return g_string_free(names, false);
}

/* Reads whether the ranks are GPUs; files of earlier versions do not say it. */
static void read_gpus(Machine *machine, const json_t *object, const char *path)
{
    const json_t *gpus = json_object_get(object, "gpus");
    machine->bf16 = true;
    machine->fp8 = 1;
    if (json_is_true(gpus))
        machine_assume_gpu(machine, json_is_true(json_object_get(object, "fp8")));
    else if (gpus == NULL)
        log_warning("%s does not say whether its ranks are GPUs, as files of earlier versions do not: they count as "
                    "processors; for GPUs measure again, or write \"gpus\": true into its \"machine\"",
                    path);
}

static bool read_machine(Machine *machine, const json_t *object, const char *path, GError **error)
{
    const json_t *per_node = json_object_get(object, "ranks_per_node");
    if (!json_is_object(object))
        return fail_user(error, "%s is not a measurement of loam bench comm --out: it has no \"machine\"", path);
    if (!json_is_integer(per_node) || json_integer_value(per_node) < 1 || json_integer_value(per_node) > 65536)
        return fail_user(error, "%s: machine.ranks_per_node must be a number from 1 to 65536", path);
    machine->per_node = (int)json_integer_value(per_node);
    for (size_t i = 0; i < G_N_ELEMENTS(fields); i++) {
        const json_t *value = json_object_get(object, fields[i].key);
        const double x = json_number_value(value);
        if (value == NULL && fields[i].optional)
            continue;
        if (!json_is_number(value) || !(x >= fields[i].least && x <= fields[i].most))
            return fail_user(error, "%s: machine.%s must be a number from %g to %g", path, fields[i].key,
                             fields[i].least, fields[i].most);
        *field_of(machine, i) = x;
    }
    read_gpus(machine, object, path);
    return true;
}

static bool read_machine_file(Machine *machine, const char *path, GError **error)
{
    g_autofree char *text = NULL, *base = g_path_get_basename(path);
    size_t length = 0;
    json_error_t problem;
    if (!g_file_test(path, G_FILE_TEST_EXISTS)) {
        g_autofree char *names = machine_names();
        return fail_user(error, "--machine %s is neither a preset (%s) nor a file of loam bench comm --out",
                         *path ? path : "\"\"", names);
    }
    text = io_read_file(path, FILE_BYTES, &length, error);
    if (text == NULL)
        return false;
    json_auto_t *root = json_loadb(text, length, 0, &problem);
    if (root == NULL)
        return fail_user(error, "%s is not a measurement of loam bench comm --out: not JSON", path);
    *machine = (Machine){ .watts = 0 };
    g_strlcpy(machine->name, base, sizeof machine->name);
    return read_machine(machine, json_object_get(root, "machine"), path, error);
}

bool machine_find(Machine *machine, const char *name, GError **error)
{
    for (size_t i = 0; i < G_N_ELEMENTS(presets); i++)
        if (g_ascii_strcasecmp(presets[i].name, name) == 0) {
            *machine = presets[i];
            return true;
        }
    return read_machine_file(machine, name, error);
}

char *machine_describe(const Machine *machine)
{
    return g_strdup_printf("%s: nodes of %d with %.3g GB each; each computes %.3g TFLOP/s, sends %.3g GB/s within "
                           "its node, %.3g to others",
                           machine->name, machine->per_node, machine->memory_bytes / GIGA, machine->flops / TERA,
                           machine->within / GIGA, machine->between / GIGA);
}

bool machine_configure(const Machine *machine, Config *config, GError **error)
{
    TrainConfig *train = &config->train;
    g_free(train->device);
    train->device = g_strdup(machine->gpus ? "cuda" : "cpu");
    if (train->precision == PRECISION_AUTO)
        train->precision = machine->bf16 ? PRECISION_BF16 : PRECISION_FP16;
    if (train->precision == PRECISION_FP8 && machine->fp8 == 0)
        return fail_user(error, "train.precision is fp8, and %s has no FP8 products: want %sfp16 or f32", machine->name,
                         machine->bf16 ? "bf16, " : "");
    return machine->bf16 || train->precision != PRECISION_BF16 ||
           fail_user(error, "train.precision is bf16, and %s has no bf16: want fp16 or f32", machine->name);
}

json_t *machine_to_json(const Machine *machine)
{
    json_t *object = json_pack("{s:i, s:b, s:b}", "ranks_per_node", machine->per_node, "gpus", machine->gpus, "fp8",
                               machine->fp8 > 0);
    for (size_t i = 0; i < G_N_ELEMENTS(fields); i++)
        if (!fields[i].optional)
            json_object_set_new(object, fields[i].key, json_real(*field_of((Machine *)machine, i)));
    return object;
}
