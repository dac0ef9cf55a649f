/* Any bytes as a file of RUN/rollback that an interrupted rollback left: whatever it holds, no checkpoint of the run is
 * lost, and a rollback that can be undone brings all of them back. The first byte says which file, and what else is
 * there. */
#include "fuzz_folder.h"
#include "run/checkpoint/format.h"
#include "train/train.h"

#include <string.h>

enum { UNDO = 4, DONE = 8, MOVED = 16 }; /* bits of the first byte; the two below choose the file */

static const char *const files[] = { "to", "latest", "best", "note" };
static const int steps[] = { 4, 8, 12 };
/* A checkpoint as far as a rollback reads it. */
static const char state[] = "{\"files\":{},\"format\":1,\"model\":{\"model.vocab\":\"64\"},\"tokenizer\":\"0\","
                            "\"state\":{\"attempts\":4,\"updates\":4,\"samples\":32,\"tokens\":2048,\"data\":7}}";

static void put(const char *name, const void *data, size_t bytes)
{
    g_autofree char *path = g_build_filename(fuzz_folder(), name, NULL), *parent = g_path_get_dirname(path);
    CHECK(g_mkdir_with_parents(parent, 0700) == 0, "%s", parent);
    fuzz_put(name, data, bytes);
}

static char *sealed_state(void)
{
    json_t *root = json_loads(state, 0, NULL);
    checkpoint_seal(root);
    char *text = json_dumps(root, JSON_COMPACT);
    json_decref(root);
    return text;
}

static void make_run(bool moved)
{
    static const char line[] = "{\"kind\":\"train\",\"step\":8,\"loss\":1}\n";
    static char *text;
    text = text ? text : sealed_state();
    CHECK(io_remove_tree(fuzz_folder(), NULL), "%s", fuzz_folder());
    for (size_t i = 0; i < G_N_ELEMENTS(steps); i++) {
        g_autofree char *name = g_strdup_printf("%s/step-%08d/state.json",
                                                moved && i == 2 ? "rollback/checkpoints" : "checkpoints", steps[i]);
        put(name, text, strlen(text));
    }
    put("metrics.jsonl", line, sizeof line - 1);
    put("spikes/step-00000008.json", "{}", 2);
}

static bool is_in(const char *place, int step)
{
    g_autofree char *path = g_strdup_printf("%s/%s/step-%08d/state.json", fuzz_folder(), place, step);
    return g_file_test(path, G_FILE_TEST_EXISTS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    g_autoptr(GError) error = NULL;
    if (bytes == 0)
        return 0;
    make_run(data[0] & MOVED);
    put("rollback/to", "4\n", 2);
    g_autofree char *name = g_build_filename("rollback", files[data[0] % 4], NULL);
    put(name, data + 1, bytes - 1);
    if (data[0] & UNDO)
        put("rollback/undo", "", 0);
    if (data[0] & DONE)
        put("rollback/done", "", 0);
    const bool finished = rollback_finish(fuzz_folder(), &error);
    CHECK(finished == (error == NULL), "an error, or none");
    for (size_t i = 0; i < G_N_ELEMENTS(steps); i++)
        CHECK(is_in("checkpoints", steps[i]) || is_in("rollback/checkpoints", steps[i]), "step %d is lost", steps[i]);
    if (finished && rollback_undo(fuzz_folder(), NULL))
        for (size_t i = 0; i < G_N_ELEMENTS(steps); i++)
            CHECK(is_in("checkpoints", steps[i]), "step %d is not back", steps[i]);
    return 0;
}
