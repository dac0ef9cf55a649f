#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "run/energy/energy.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define FILE_NAME "emissions.csv"
#define MAX_BYTES ((size_t)1 << 26)
#define J_PER_KWH 3.6e6

/* CodeCarbon's columns, in its order. */
static const char header[] =
    "timestamp,project_name,run_id,experiment_id,duration,emissions,emissions_rate,cpu_power,gpu_power,ram_power,"
    "cpu_energy,gpu_energy,ram_energy,energy_consumed,water_consumed,country_name,country_iso_code,region,"
    "cloud_provider,cloud_region,os,python_version,codecarbon_version,cpu_count,cpu_model,gpu_count,gpu_model,"
    "longitude,latitude,ram_total_size,tracking_mode,cpu_utilization_percent,gpu_utilization_percent,"
    "ram_utilization_percent,ram_used_gb,on_cloud,pue,wue\n";

struct Emissions {
    EmissionsInfo info;
    char *path, *id;
    GString *kept; /* header and rows of earlier starts */
};

/* Renames a file with other columns to the first free one of emissions.csv.bak, emissions.csv.bak1, …, as CodeCarbon
 * does, so that it does not keep the run from going on. */
static bool move_away(const char *path, GError **error)
{
    g_autofree char *backup = g_strconcat(path, ".bak", NULL);
    for (int i = 1; g_file_test(backup, G_FILE_TEST_EXISTS); i++) {
        g_free(backup);
        backup = g_strdup_printf("%s.bak%d", path, i);
    }
    if (!io_rename(path, backup, error))
        return false;
    log_warning("%s has other columns than loam writes; it is kept as %s", path, backup);
    return true;
}

static bool read_kept(Emissions *emissions, GError **error)
{
    size_t bytes;
    emissions->kept = g_string_new(header);
    if (!g_file_test(emissions->path, G_FILE_TEST_EXISTS))
        return true;
    g_autofree char *text = io_read_file(emissions->path, MAX_BYTES, &bytes, error);
    if (!text)
        return false;
    if (bytes > 0 && strncmp(text, header, sizeof header - 1) != 0)
        return move_away(emissions->path, error);
    const char *last = memrchr(text, '\n', bytes); /* a torn last row goes */
    if (last)
        g_string_truncate(emissions->kept, 0);
    if (last)
        g_string_append_len(emissions->kept, text, last + 1 - text);
    return true;
}

Emissions *emissions_open(const char *dir, const EmissionsInfo *info, GError **error)
{
    Emissions *emissions = g_new(Emissions, 1);
    *emissions = (Emissions){ *info, g_build_filename(dir, FILE_NAME, NULL), g_uuid_string_random(), NULL };
    if (read_kept(emissions, error))
        return emissions;
    emissions_close(emissions);
    return NULL;
}

void emissions_close(Emissions *emissions)
{
    if (emissions == NULL)
        return;
    g_free(emissions->path);
    g_free(emissions->id);
    g_string_free(emissions->kept, true);
    g_free(emissions);
}

/* The processor's name in /proc/cpuinfo; "" if it has none there. g_free. */
static char *cpu_model(void)
{
    char line[256], *model = NULL;
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && !model && fgets(line, sizeof line, file))
        if (g_str_has_prefix(line, "model name") && strchr(line, ':'))
            model = g_strdup(g_strstrip(strchr(line, ':') + 1));
    if (file)
        fclose(file);
    return model ? model : g_strdup("");
}

/* Appends a field; one with a comma, a quote or a line end in quotes, as CSV has it. */
static void put_text(GString *row, const char *text)
{
    if (row->len > 0)
        g_string_append_c(row, ',');
    if (!strpbrk(text, ",\"\r\n")) {
        g_string_append(row, text);
        return;
    }
    g_auto(GStrv) parts = g_strsplit(text, "\"", -1);
    g_autofree char *doubled = g_strjoinv("\"\"", parts);
    g_string_append_printf(row, "\"%s\"", doubled);
}

static void put_number(GString *row, double value)
{
    g_autofree char *text = text_number(value);
    put_text(row, text);
}

static void put_empty(GString *row, int n)
{
    for (int i = 0; i < n; i++)
        put_text(row, "");
}

/* timestamp … experiment_id */
static void put_names(GString *row, const Emissions *emissions)
{
    g_autoptr(GDateTime) now = g_date_time_new_now_local();
    g_autofree char *time = g_date_time_format(now, "%Y-%m-%dT%H:%M:%S");
    put_text(row, time);
    put_text(row, "loam");
    put_text(row, emissions->id);
    put_text(row, emissions->info.run);
}

/* duration … energy_consumed. As in CodeCarbon, energies are multiplied by the PUE, powers are not. */
static void put_energy(GString *row, const Emissions *emissions, double seconds, const EnergyUse *use)
{
    const double unit = emissions->info.pue / J_PER_KWH, kwh = (use->cpu + use->gpu + use->ram) * unit,
                 kilograms = kwh * emissions->info.intensity / 1e3, time = seconds > 0 ? seconds : 1;
    const double fields[] = { seconds,         kilograms,       kilograms / time, use->cpu / time, use->gpu / time,
                              use->ram / time, use->cpu * unit, use->gpu * unit,  use->ram * unit, kwh };
    for (size_t i = 0; i < G_N_ELEMENTS(fields); i++)
        put_number(row, fields[i]);
}

/* water_consumed … wue */
static void put_machine(GString *row, const Emissions *emissions)
{
    struct utsname system = { 0 };
    g_autofree char *model = cpu_model();
    const double ram = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / (double)(1 << 30);
    uname(&system);
    g_autofree char *os = g_strdup_printf("%s-%s-%s", system.sysname, system.release, system.machine);
    put_empty(row, 2); /* water_consumed, country_name */
    put_text(row, emissions->info.country);
    put_empty(row, 3); /* region, cloud_provider, cloud_region */
    put_text(row, os);
    put_empty(row, 2); /* python_version, codecarbon_version */
    put_number(row, (double)sysconf(_SC_NPROCESSORS_ONLN));
    put_text(row, model);
    if (emissions->info.gpus > 0)
        put_number(row, emissions->info.gpus);
    else
        put_empty(row, 1);
    put_text(row, emissions->info.gpu_name);
    put_empty(row, 2); /* longitude, latitude */
    put_number(row, ram);
    put_text(row, "machine");
    put_empty(row, 4); /* utilizations, ram_used_gb */
    put_text(row, "N");
    put_number(row, emissions->info.pue);
    put_empty(row, 1); /* wue */
}

bool emissions_write(Emissions *emissions, double seconds, const EnergyUse *use, GError **error)
{
    g_autoptr(GString) row = g_string_new(NULL),
                       text = g_string_new_len(emissions->kept->str, (gssize)emissions->kept->len);
    put_names(row, emissions);
    put_energy(row, emissions, seconds, use);
    put_machine(row, emissions);
    g_string_append_len(text, row->str, (gssize)row->len);
    g_string_append_c(text, '\n');
    return io_write_file(emissions->path, text->str, text->len, error);
}

/* The 249 codes of ISO 3166-1 alpha-3. */
static const char codes[] =
    "ABW AFG AGO AIA ALA ALB AND ARE ARG ARM ASM ATA ATF ATG AUS AUT AZE BDI BEL BEN BES BFA BGD BGR BHR "
    "BHS BIH BLM BLR BLZ BMU BOL BRA BRB BRN BTN BVT BWA CAF CAN CCK CHE CHL CHN CIV CMR COD COG COK COL "
    "COM CPV CRI CUB CUW CXR CYM CYP CZE DEU DJI DMA DNK DOM DZA ECU EGY ERI ESH ESP EST ETH FIN FJI FLK "
    "FRA FRO FSM GAB GBR GEO GGY GHA GIB GIN GLP GMB GNB GNQ GRC GRD GRL GTM GUF GUM GUY HKG HMD HND HRV "
    "HTI HUN IDN IMN IND IOT IRL IRN IRQ ISL ISR ITA JAM JEY JOR JPN KAZ KEN KGZ KHM KIR KNA KOR KWT LAO "
    "LBN LBR LBY LCA LIE LKA LSO LTU LUX LVA MAC MAF MAR MCO MDA MDG MDV MEX MHL MKD MLI MLT MMR MNE MNG "
    "MNP MOZ MRT MSR MTQ MUS MWI MYS MYT NAM NCL NER NFK NGA NIC NIU NLD NOR NPL NRU NZL OMN PAK PAN PCN "
    "PER PHL PLW PNG POL PRI PRK PRT PRY PSE PYF QAT REU ROU RUS RWA SAU SDN SEN SGP SGS SHN SJM SLB SLE "
    "SLV SMR SOM SPM SRB SSD STP SUR SVK SVN SWE SWZ SXM SYC SYR TCA TCD TGO THA TJK TKL TKM TLS TON TTO "
    "TUN TUR TUV TWN TZA UGA UKR UMI URY USA UZB VAT VCT VEN VGB VIR VNM VUT WLF WSM YEM ZAF ZMB ZWE ";

bool country_is_known(const char *code)
{
    return strlen(code) == 3 && strchr(code, ' ') == NULL && strstr(codes, code) != NULL;
}
