#include "cli/generate/masks.h"

#include "cli/cli.h"
#include "eval/fill_mask.h"

#include <stdio.h>

static void print_guess(const Tokenizer *tok, const MaskGuesses *mask, int32_t i, guint m)
{
    g_autofree char *piece = one_line(tokenizer_piece(tok, mask->ids[i]));
    printf("%s%s %.4f", i > 0 ? ", " : m > 0 ? " | " : "", piece, mask->probability[i]);
}

static void print_masks_text(const Tokenizer *tok, const GArray *masks)
{
    for (guint m = 0; m < masks->len; m++) {
        const MaskGuesses *mask = &g_array_index(masks, MaskGuesses, m);
        for (int32_t i = 0; i < mask->n; i++)
            print_guess(tok, mask, i, m);
    }
    puts("");
}

static bool print_masks_json(const Tokenizer *tok, const char *prompt, const GArray *masks, GError **error)
{
    json_t *list = json_array();
    bool replaced = false;
    for (guint m = 0; m < masks->len; m++) {
        const MaskGuesses *mask = &g_array_index(masks, MaskGuesses, m);
        json_t *guesses = json_array();
        for (int32_t i = 0; i < mask->n; i++) {
            g_autofree char *piece = valid_text(tokenizer_piece(tok, mask->ids[i]), &replaced);
            json_array_append_new(guesses, json_pack("{s:i, s:s, s:o}", "id", mask->ids[i], "piece", piece,
                                                     "probability", json_finite(mask->probability[i])));
        }
        json_array_append_new(list, json_pack("{s:I, s:o}", "place", (json_int_t)mask->index, "guesses", guesses));
    }
    json_t *object = json_pack("{s:s, s:o}", "prompt", prompt, "masks", list);
    if (replaced)
        json_object_set_new(object, "invalid_utf8", json_true());
    return print_json_line(object, error);
}

static bool answer_mask(Model *model, const Tokenizer *tok, const Prompt *prompt, int32_t mask, bool as_json,
                        GError **error)
{
    g_autoptr(GArray) masks = g_array_new(false, false, sizeof(MaskGuesses));
    const int32_t *ids = (const int32_t *)(void *)prompt->ids->data;
    if (!fill_mask(model, ids, prompt->ids->len, mask, tokenizer_size(tok), masks, error))
        return fail_context(error, "\"%s\"", prompt->text);
    if (masks->len == 0)
        return fail_user(error, "\"%s\" has no %s to fill", prompt->text,
                         mask < 0 ? "mask" : tokenizer_piece(tok, mask));
    if (as_json && !print_masks_json(tok, prompt->text, masks, error))
        return false;
    if (!as_json)
        print_masks_text(tok, masks);
    fflush(stdout);
    return true;
}

bool fill_mask_lines(Model *model, const Tokenizer *tok, int32_t mask, PromptReader *reader, bool as_json,
                     GError **error)
{
    for (;;) {
        g_autoptr(GPtrArray) prompts = g_ptr_array_new_with_free_func(prompt_free);
        GError *problem = NULL;
        if (!prompts_read(reader, 1, prompts, error))
            return false;
        if (prompts->len == 0)
            return true;
        const Prompt *prompt = prompts->pdata[0];
        if (answer_mask(model, tok, prompt, mask, as_json, &problem))
            continue;
        fail_context(&problem, "standard input, line %" G_GINT64_FORMAT, prompt->line);
        if (!prompts_skip(reader, &problem)) {
            g_propagate_error(error, problem);
            return false;
        }
    }
}
