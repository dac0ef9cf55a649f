/* Counters of RAPL in a folder like Linux's, and the rows of emissions.csv. */
#include "run/energy/energy.h"

#include "data/data_test.h"

#include <string.h>
#include <sys/stat.h>

static void put_counter(const char *root, const char *zone, const char *name, uint64_t microjoules)
{
    g_autofree char *folder = g_build_filename(root, zone, NULL),
                    *value = g_strdup_printf("%" G_GUINT64_FORMAT "\n", microjoules),
                    *line = g_strdup_printf("%s\n", name);
    g_mkdir_with_parents(folder, 0700);
    g_free(file_write_text(folder, "name", line));
    g_free(file_write_text(folder, "energy_uj", value));
    g_free(file_write_text(folder, "max_energy_range_uj", "262143328850\n"));
}

/* A package with its cores and memory, a second one, and counters that repeat what others have. */
static void packages_and_memory_are_added_up(void)
{
    char *root = folder_new(), *why = NULL;
    put_counter(root, "intel-rapl:0", "package-0", 262143328850 - 1000000);
    put_counter(root, "intel-rapl:0:0", "core", 5);
    put_counter(root, "intel-rapl:0:1", "dram", 100);
    put_counter(root, "intel-rapl:1", "package-1", 7);
    put_counter(root, "intel-rapl:2", "psys", 9);
    put_counter(root, "intel-rapl-mmio:0", "package-0", 11);
    Rapl *rapl = rapl_open(root, &why);
    g_assert_nonnull(rapl);
    g_assert_null(why);
    g_assert_true(rapl_has_memory(rapl));
    EnergyUse use = { 0 };
    rapl_add(rapl, &use);
    g_assert_cmpfloat(use.cpu + use.gpu + use.ram, ==, 0);
    put_counter(root, "intel-rapl:0", "package-0", 2000000); /* it began again from 0 */
    put_counter(root, "intel-rapl:0:0", "core", 900000000);
    put_counter(root, "intel-rapl:0:1", "dram", 500100);
    put_counter(root, "intel-rapl:1", "package-1", 4000007);
    put_counter(root, "intel-rapl:2", "psys", 900000000);
    put_counter(root, "intel-rapl-mmio:0", "package-0", 900000000);
    rapl_add(rapl, &use);
    g_assert_cmpfloat_with_epsilon(use.cpu, 3 + 4, 1e-9);
    g_assert_cmpfloat_with_epsilon(use.ram, 0.5, 1e-9);
    g_assert_cmpfloat(use.gpu, ==, 0);
    rapl_close(rapl);
    folder_remove(root);
}

static void a_machine_without_counters_says_why(void)
{
    char *root = folder_new(), *why = NULL;
    g_assert_null(rapl_open("/nonexistent", &why));
    g_assert_cmpstr(why, ==, "/nonexistent has no energy counters");
    g_clear_pointer(&why, g_free);
    put_counter(root, "intel-rapl:0", "package-0", 1);
    g_free(file_write_text(root, "intel-rapl:0/energy_uj", "many\n"));
    g_assert_null(rapl_open(root, &why));
    g_assert_nonnull(strstr(why, "intel-rapl:0/energy_uj cannot be read"));
    g_free(why);
    folder_remove(root);
}

/* The power that the user states, times the time. */
static void a_stated_power_is_counted(void)
{
    const EnergySources sources = {
        .machine = true, .cpu_watts = 100, .ram_watts = 10, .gpu = -1, .rapl = "/nonexistent"
    };
    EnergyMeter *meter = energy_open(&sources);
    g_usleep(20000);
    const EnergyUse use = energy_used(meter), later = energy_used(meter);
    g_assert_cmpfloat(use.cpu, >=, 100 * 0.019);
    g_assert_cmpfloat_with_epsilon(use.ram, use.cpu / 10, 1e-9);
    g_assert_cmpfloat(later.cpu, >=, use.cpu);
    energy_close(meter);
}

static char *contents(const char *folder)
{
    g_autofree char *path = g_build_filename(folder, "emissions.csv", NULL);
    char *text = NULL;
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    return text;
}

static const EmissionsInfo info = {
    .run = "a", .country = "FRA", .intensity = 100, .pue = 1.5, .gpu_name = "NVIDIA H200", .gpus = 1
};

/* Columns, in front of those with names that may contain a comma, and their values. */
static const struct {
    const char *column;
    double value;
} numbers[] = {
    { "duration", 2000 },        { "emissions", 0.465 }, { "emissions_rate", 0.465 / 2000 },
    { "cpu_power", 1800 },       { "gpu_power", 3600 },  { "ram_power", 180 },
    { "cpu_energy", 1.5 },       { "gpu_energy", 3 },    { "ram_energy", 0.15 },
    { "energy_consumed", 4.65 },
};

static void a_row_has_codecarbon_s_columns(void)
{
    char *folder = folder_new();
    g_autoptr(GError) error = NULL;
    Emissions *emissions = emissions_open(folder, &info, &error);
    g_assert_no_error(error);
    const EnergyUse use = { .cpu = 3.6e6, .gpu = 7.2e6, .ram = 0.36e6 };
    g_assert_true(emissions_write(emissions, 1000, &(EnergyUse){ 0 }, &error));
    g_assert_true(emissions_write(emissions, 2000, &use, &error)); /* in place of the row before */
    emissions_close(emissions);
    g_autofree char *text = contents(folder);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_assert_cmpuint(g_strv_length(lines), ==, 3);
    g_auto(GStrv) names = g_strsplit(lines[0], ",", -1), values = g_strsplit(lines[1], ",", -1);
    g_assert_cmpuint(g_strv_length(names), ==, 38);
    for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++) {
        g_assert_cmpstr(names[4 + i], ==, numbers[i].column);
        g_assert_cmpfloat_with_epsilon(g_ascii_strtod(values[4 + i], NULL), numbers[i].value, 1e-9);
    }
    g_assert_cmpstr(names[16], ==, "country_iso_code");
    g_assert_cmpstr(values[16], ==, "FRA");
    g_assert_nonnull(strstr(lines[1], ",1,NVIDIA H200,"));
    g_assert_true(g_str_has_suffix(lines[0], ",tracking_mode,cpu_utilization_percent,gpu_utilization_percent,"
                                             "ram_utilization_percent,ram_used_gb,on_cloud,pue,wue"));
    g_assert_true(g_str_has_suffix(lines[1], ",machine,,,,,N,1.5,"));
    folder_remove(folder);
}

static void a_name_with_a_comma_is_quoted(void)
{
    char *folder = folder_new();
    EmissionsInfo named = info;
    named.run = "a,\"b\"";
    Emissions *emissions = emissions_open(folder, &named, NULL);
    g_assert_true(emissions_write(emissions, 1, &(EnergyUse){ 0 }, NULL));
    emissions_close(emissions);
    g_autofree char *text = contents(folder);
    g_assert_nonnull(strstr(text, ",\"a,\"\"b\"\"\",1,0,"));
    folder_remove(folder);
}

static void a_run_that_goes_on_adds_a_row(void)
{
    char *folder = folder_new();
    g_autoptr(GError) error = NULL;
    g_autofree char *first = NULL;
    for (int start = 0; start < 2; start++) {
        Emissions *emissions = emissions_open(folder, &info, &error);
        g_assert_no_error(error);
        g_assert_true(emissions_write(emissions, 10, &(EnergyUse){ .cpu = 5 }, &error));
        emissions_close(emissions);
        g_autofree char *text = contents(folder);
        g_assert_true(!first || g_str_has_prefix(text, first));
        g_free(first);
        first = g_strdup(text);
    }
    g_auto(GStrv) lines = g_strsplit(first, "\n", -1);
    g_assert_cmpuint(g_strv_length(lines), ==, 4);

    /* A torn row goes; files with the columns of another program are kept beside the new one. */
    g_autofree char *torn = g_strconcat(first, "2026-01-31T07", NULL);
    g_free(file_write_text(folder, "emissions.csv", torn));
    Emissions *emissions = emissions_open(folder, &info, &error);
    g_assert_true(emissions_write(emissions, 10, &(EnergyUse){ 0 }, &error));
    emissions_close(emissions);
    g_autofree char *text = contents(folder);
    g_assert_true(g_str_has_prefix(text, first));
    g_assert_null(strstr(text, "2026-01-31T07\n"));
    for (int i = 0; i < 2; i++) {
        g_autofree char *backup = g_build_filename(folder, i == 0 ? "emissions.csv.bak" : "emissions.csv.bak1", NULL);
        g_autofree char *kept = NULL;
        g_free(file_write_text(folder, "emissions.csv", i == 0 ? "timestamp,emissions\n" : "time\r\n"));
        emissions_close(emissions_open(folder, &info, &error));
        g_assert_no_error(error);
        g_assert_true(g_file_get_contents(backup, &kept, NULL, NULL));
        g_assert_cmpstr(kept, ==, i == 0 ? "timestamp,emissions\n" : "time\r\n");
    }
    folder_remove(folder);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define CASE(name) g_test_add_func("/energy/" #name, name)
    CASE(packages_and_memory_are_added_up);
    CASE(a_machine_without_counters_says_why);
    CASE(a_stated_power_is_counted);
    CASE(a_row_has_codecarbon_s_columns);
    CASE(a_name_with_a_comma_is_quoted);
    CASE(a_run_that_goes_on_adds_a_row);
    return g_test_run();
}
