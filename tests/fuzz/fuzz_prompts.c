/* Any bytes as the prompts of `loam generate`: an error, or prompts of ids that the model has. The first byte chooses
 * what a line is: text, ids or JSON. */
#include "cli/prompts.h"
#include "fuzz_folder.h"

#include <inttypes.h>

enum { VOCAB = 384 };

static void check_prompt(const Prompt *prompt)
{
    CHECK(prompt->ids->len <= MAX_PROMPT_TOKENS, "%u ids", prompt->ids->len);
    for (guint i = 0; i < prompt->ids->len; i++) {
        int32_t id = g_array_index(prompt->ids, int32_t, i);
        CHECK(id >= 0 && id < VOCAB, "id %" PRId32, id);
    }
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
    g_autoptr(GPtrArray) prompts = g_ptr_array_new_with_free_func(prompt_free);
    g_autoptr(GError) error = NULL;
    const PromptFormat format = { .tok = tok,
                                  .vocab = VOCAB,
                                  .frame = frame_of(-1, tokenizer_eos(tok), false),
                                  .mask = -1,
                                  .field = data[0] % 3 == 2 ? "prompt" : NULL,
                                  .as_ids = data[0] % 3 == 1 };
    int fd = open(path, O_RDONLY);
    PromptReader *reader = prompts_open(fd, "prompts", &format);
    bool good = prompts_read(reader, 8, prompts, &error);
    while (good && prompts->len > 0) {
        for (guint i = 0; i < prompts->len; i++)
            check_prompt(prompts->pdata[i]);
        g_ptr_array_set_size(prompts, 0);
        good = prompts_read(reader, 8, prompts, &error);
    }
    CHECK(good == (error == NULL), "an error without words, or words without an error");
    prompts_close(reader);
    close(fd);
    return 0;
}
