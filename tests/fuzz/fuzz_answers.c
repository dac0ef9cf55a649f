/* Any bytes as a file of answers that an interrupted run left: an error that leaves them as they are, or answers to the
 * three inputs, each once, of which a second run finds all. */
#include "cli/answers_file.h"
#include "fuzz_folder.h"

#include <string.h>

enum { INPUTS = 3, MODEL = 7 };
static const char *const inputs[INPUTS] = { "tuka", "loni", "" };

static char *path_of(void)
{
    return g_build_filename(fuzz_folder(), "answers", NULL);
}

/* Answers the inputs that the file has no answer to. Returns the number of those that it had, or -1 after an error. */
static int answer(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = path_of();
    AnswersFile *file = answers_file_open(path, MODEL, "inputs", &error);
    bool good = file != NULL;
    int stored = 0;
    for (int i = 0; good && i < INPUTS; i++) {
        json_t *found = NULL;
        const size_t n = strlen(inputs[i]);
        good = answers_file_next(file, inputs[i], n, &found, &error);
        stored += found != NULL;
        if (good && !found)
            good = answers_file_add(file, json_pack("{s:s}", "input", inputs[i]), inputs[i], n, &error);
        json_decref(found);
    }
    CHECK(!file || !good || answers_file_stored(file) == stored, "%d answers", stored);
    if (file)
        good = answers_file_close(file, good, good ? &error : NULL);
    CHECK(good == (error == NULL), "an error without words, or words without an error");
    return good ? stored : -1;
}

/* The bytes of the file; g_free. */
static char *held(size_t *n)
{
    g_autofree char *path = path_of();
    char *text;
    CHECK(g_file_get_contents(path, &text, n, NULL), "%s", path);
    return text;
}

static void check_lines(const char *text, size_t n)
{
    const char *at = text;
    for (int i = 0; i < INPUTS; i++) {
        const char *end = memchr(at, '\n', (size_t)(text + n - at));
        g_autofree char *of = answer_owner(MODEL, inputs[i], strlen(inputs[i]));
        CHECK(end, "answer %d", i);
        json_t *line = json_loadb(at, (size_t)(end - at), 0, NULL);
        CHECK(g_strcmp0(json_string_value(json_object_get(line, "of")), of) == 0, "answer %d", i);
        json_decref(line);
        at = end + 1;
    }
    CHECK(at == text + n, "bytes behind the answers");
}

/* Whether the bytes end within a line that is JSON all the same, and no answer of ours. */
static bool ends_with_other_json(const uint8_t *data, size_t bytes)
{
    size_t first = bytes;
    while (first > 0 && data[first - 1] != '\n')
        first--;
    json_t *last = json_loadb((const char *)data + first, bytes - first, 0, NULL);
    const char *of = json_string_value(json_object_get(last, "of"));
    bool other = last != NULL;
    for (int i = 0; i < INPUTS && of; i++) {
        g_autofree char *own = answer_owner(MODEL, inputs[i], strlen(inputs[i]));
        other = other && strcmp(own, of) != 0;
    }
    json_decref(last);
    return other;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    size_t n, again;
    fuzz_put("answers", data, bytes);
    const int stored = answer();
    g_autofree char *text = held(&n);
    if (stored < 0) {
        CHECK(n == bytes && memcmp(text, data, n) == 0, "a file that was refused has changed");
        return 0;
    }
    CHECK(!ends_with_other_json(data, bytes), "an object of somebody else was cut off");
    check_lines(text, n);
    CHECK(answer() == INPUTS, "answers that a second run does not find");
    g_autofree char *second = held(&again);
    CHECK(again == n && memcmp(second, text, n) == 0, "a second run has changed the file");
    return 0;
}
