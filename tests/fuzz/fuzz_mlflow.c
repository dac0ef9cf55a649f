/* Any bytes as the files of a store of MLflow that a run goes on with: the meta.yaml of an experiment, the run's id, or
 * the values of a metric, of which whole lines of earlier steps stay. The first byte chooses. */
#include "base/file.h"
#include "fuzz_folder.h"
#include "train/services/services.h"

#include <string.h>

#define ID    "0123456789abcdef0123456789abcdef"
#define FIRST "lifecycle_stage: active\nname: loam\n"

static char *inner(const char *name)
{
    g_autofree char *path = g_build_filename(fuzz_folder(), name, NULL), *parent = g_path_get_dirname(path);
    CHECK(io_make_directories(parent, NULL), "%s", parent);
    return g_steal_pointer(&path);
}

static void open_store(void)
{
    g_autoptr(GError) error = NULL;
    Mlflow *mlflow = mlflow_open(fuzz_folder(), "loam", fuzz_folder(), 9, &error);
    CHECK(mlflow, "%s", error->message);
    mlflow_close(mlflow, MLFLOW_FINISHED);
}

/* Every line that is left has a step of at most 9. */
static void check_metric(const char *path)
{
    g_autofree char *text = NULL;
    CHECK(g_file_get_contents(path, &text, NULL, NULL), "%s", path);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; line[0] && line[1]; line++) {
        g_auto(GStrv) fields = g_strsplit(*line, " ", 4);
        CHECK(g_strv_length(fields) >= 3 && g_ascii_strtoll(fields[2], NULL, 10) <= 9, "%s", *line);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes == 0 || io_is_lfs_pointer(data + 1, bytes - 1))
        return 0;
    g_autofree char *metric = inner("1/" ID "/metrics/train/loss");
    const int which = data[0] % 3;
    fuzz_put("1/meta.yaml", FIRST, sizeof FIRST - 1);
    fuzz_put("mlflow.txt", ID " 5\n", sizeof ID + 2);
    fuzz_put(which == 0   ? "1/" ID "/metrics/train/loss"
             : which == 1 ? "mlflow.txt"
                          : "1/meta.yaml",
             data + 1, bytes - 1);
    open_store();
    if (which == 0)
        check_metric(metric);
    if (which > 0) /* another run, or another experiment, was made there */
        CHECK(io_remove_tree(fuzz_folder(), NULL) && io_make_directories(fuzz_folder(), NULL), "%s", fuzz_folder());
    return 0;
}
