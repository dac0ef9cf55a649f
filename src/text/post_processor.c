#include "text/post_processor.h"

#include "text/tokenizer_json.h"

#include <string.h>

static int32_t id_of(const Tokenizer *tok, const json_t *piece)
{
    return json_is_string(piece) ? tokenizer_id(tok, json_string_value(piece)) : -1;
}

/* TemplateProcessing.single: [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}]. */
static void read_template(const json_t *parts, const Tokenizer *tok, PostProcessor *around)
{
    int32_t *side = &around->before;
    for (size_t i = 0; i < json_array_size(parts); i++) {
        const json_t *part = json_array_get(parts, i), *piece = json_object_get(part, "SpecialToken");
        if (piece)
            *side = id_of(tok, json_object_get(piece, "id"));
        else if (json_object_get(part, "Sequence"))
            side = &around->after;
    }
}

static void read_processor(const json_t *processor, const Tokenizer *tok, PostProcessor *around)
{
    const char *type = json_string_value(json_object_get(processor, "type"));
    if (g_strcmp0(type, "TemplateProcessing") == 0)
        read_template(json_object_get(processor, "single"), tok, around);
    if (g_strcmp0(type, "BertProcessing") == 0 || g_strcmp0(type, "RobertaProcessing") == 0) {
        around->before = id_of(tok, json_array_get(json_object_get(processor, "cls"), 0));
        around->after = id_of(tok, json_array_get(json_object_get(processor, "sep"), 0));
    }
    const json_t *list = g_strcmp0(type, "Sequence") == 0 ? json_object_get(processor, "processors") : NULL;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *each = json_array_get(list, i);
        if (g_strcmp0(json_string_value(json_object_get(each, "type")), "Sequence") != 0) /* none holds another */
            read_processor(each, tok, around);
    }
}

/* The id of config[name], "<s>" or {"content": "<s>", …}, if config[flag] is true; otherwise -1. */
static int32_t flagged_id(const json_t *config, const char *flag, const char *name, const Tokenizer *tok)
{
    const json_t *token = json_object_get(config, name), *content = json_object_get(token, "content");
    return json_is_true(json_object_get(config, flag)) ? id_of(tok, content ? content : token) : -1;
}

bool post_processor_read(const char *folder, const Tokenizer *tok, PostProcessor *around)
{
    json_auto_t *root = NULL, *config = NULL;
    *around = (PostProcessor){ -1, -1 };
    tokenizer_json_read(folder, "tokenizer.json", &root, NULL);
    if (root) {
        read_processor(json_object_get(root, "post_processor"), tok, around);
        return true;
    }
    tokenizer_json_read(folder, "tokenizer_config.json", &config, NULL);
    if (config == NULL || json_object_get(config, "add_bos_token") == NULL)
        return false;
    around->before = flagged_id(config, "add_bos_token", "bos_token", tok);
    around->after = flagged_id(config, "add_eos_token", "eos_token", tok);
    return true;
}
