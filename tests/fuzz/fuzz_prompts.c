/* Any bytes as the prompts of `loam generate`: an error, or prompts of ids that the model has. The first byte chooses
 * what a line is: text, ids or JSON. */
#include "cli/prompts.h"
#include "fuzz_folder.h"

#include <inttypes.h>

enum { VOCAB = 384 };

static bool check_prompts(void *context, PromptReader *reader, GPtrArray *prompts, GError **error)
{
    (void)context, (void)reader, (void)error;
    for (guint p = 0; p < prompts->len; p++) {
        const Prompt *prompt = prompts->pdata[p];
        CHECK(prompt->ids->len <= MAX_PROMPT_TOKENS, "%u ids", prompt->ids->len);
        for (guint i = 0; i < prompt->ids->len; i++) {
            int32_t id = g_array_index(prompt->ids, int32_t, i);
            CHECK(id >= 0 && id < VOCAB, "id %" PRId32, id);
        }
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static Tokenizer *tok;
    if (bytes == 0)
        return 0;
    if (tok == NULL)
        tok = tokenizer_open("bytes", NULL);
    fuzz_put("prompts", data + 1, bytes - 1);
    g_autofree char *path = g_build_filename(fuzz_folder(), "prompts", NULL);
    g_autoptr(GError) error = NULL;
    const PromptFormat format = { .tok = tok,
                                  .vocab = VOCAB,
                                  .frame = frame_of(-1, tokenizer_eos(tok), false),
                                  .mask = -1,
                                  .field = data[0] % 3 == 2 ? "prompt" : NULL,
                                  .as_ids = data[0] % 3 == 1 };
    int fd = open(path, O_RDONLY);
    bool good = prompts_each(fd, "prompts", &format, 8, check_prompts, NULL, &error);
    CHECK(good == (error == NULL), "an error without words, or words without an error");
    close(fd);
    return 0;
}
