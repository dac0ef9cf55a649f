/* Any bytes as the heartbeat of a rank: nothing, or one whose texts are short and printable; and as that of a run whose
 * status is asked for. */
#include "fuzz_folder.h"
#include "run/heartbeat.h"
#include "run/run_status.h"

#include <string.h>

static void check_printable(const char *text)
{
    for (const char *c = text; *c; c++)
        CHECK(g_ascii_isprint(*c), "byte %d", *c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static bool made;
    g_autofree char *ranks = g_build_filename(fuzz_folder(), "ranks", NULL);
    made = made || io_make_directories(ranks, NULL);
    Heartbeat beat;
    RunStatus status;
    fuzz_put("ranks/0000.json", data, bytes);
    if (heartbeat_read(fuzz_folder(), 0, &beat)) {
        g_autofree char *stood = heartbeat_describe(&beat, beat.time), *words = heartbeat_last_words(fuzz_folder());
        check_printable(stood);
        CHECK((words == NULL) == (beat.ended >= 0), "ended %d", beat.ended);
    }
    run_status_read(&status, fuzz_folder(), RUN_SILENT_S, RUN_STALLED_S);
    g_free(run_status_describe(&status, "run"));
    run_status_clear(&status);
    return 0;
}
