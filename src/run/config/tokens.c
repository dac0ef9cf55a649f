/* tokens.c: checks that tokenizer, datasets and model agree about tokens. */
#include "run/config/config.h"

#include "base/log.h"

#include <string.h>

/* The argument of `loam tokenizer train --for` that makes a tokenizer for the model. */
static const char *family_of(const ModelConfig *model)
{
    if (model->n_dec > 0)
        return model->n_enc > 0 ? "t5" : "gpt";
    return model->position_offset > 0 ? "roberta" : "bert";
}

static bool fail_missing(const Config *config, const Tokenizer *tok, const char *what, GError **error)
{
    return fail_user(error,
                     "the tokenizer %s has no %s, which data.objective=%s needs; loam tokenizer train --for %s makes "
                     "one that has",
                     tokenizer_path(tok), what, data_objective_row(&config->data)->name, family_of(&config->model));
}

static bool check_objective(const Config *config, const Tokenizer *tok, GError **error)
{
    const Objective *objective = data_objective_row(&config->data);
    if (objective->streams == STREAMS_ENCODER) {
        if (!objective->pairs && tokenizer_encoder_role(tok, ROLE_MASK) < 0)
            return fail_missing(config, tok, "piece to hide words behind ([MASK], <mask> or a sentinel)", error);
        if (tokenizer_encoder_role(tok, ROLE_SEP) < 0)
            return fail_missing(config, tok, "piece to end a text with ([SEP] or </s>)", error);
        return true;
    }
    if (tokenizer_eos(tok) < 0)
        return fail_missing(config, tok, "end of a sequence (</s> or <|endoftext|>)", error);
    bool denoises =
        objective->streams == STREAMS_BOTH && !objective->pairs && strcmp(objective->name, "prefix_lm") != 0;
    if (denoises && tokenizer_sentinel(tok, 0) < 0)
        return fail_missing(config, tok, "sentinels (<extra_id_0> …), for which model.vocab has no room either", error);
    return true;
}

static void warn_missing(const Config *config, const Tokenizer *tok, const char *what, int instead, const char *effect)
{
    log_warning("the tokenizer %s has no %s: \"%s\" %s; loam tokenizer train --for %s makes one that has",
                tokenizer_path(tok), what, tokenizer_piece(tok, instead), effect, family_of(&config->model));
}

static void warn_of_encoder(const Config *config, const Tokenizer *tok)
{
    int64_t offset = config->model.position_offset;
    if (tokenizer_role(tok, ROLE_MASK) < 0)
        warn_missing(config, tok, "mask", tokenizer_encoder_role(tok, ROLE_MASK), "hides words instead");
    if (tokenizer_role(tok, ROLE_SEP) < 0)
        warn_missing(config, tok, "piece between texts", tokenizer_encoder_role(tok, ROLE_SEP), "ends them instead");
    if (tokenizer_pad(tok) < 0)
        log_warning("the tokenizer %s has no padding: transformers will not batch texts of different lengths; loam "
                    "tokenizer train --for %s makes one that has",
                    tokenizer_path(tok), family_of(&config->model));
    else if (offset > 0 && tokenizer_pad(tok) != offset - 1)
        log_warning("positions begin at row %" G_GINT64_FORMAT ", so transformers will take id %" G_GINT64_FORMAT
                    " for padding, but the tokenizer's is %d: loam tokenizer train --for roberta, or "
                    "model.position_offset=%d",
                    offset, offset - 1, tokenizer_pad(tok), tokenizer_pad(tok) + 1);
}

bool config_check_tokens(const Config *config, const Tokenizer *tok, GError **error)
{
    const ModelConfig *model = &config->model;
    if (!check_objective(config, tok, error))
        return false;
    if (model->n_dec == 0)
        warn_of_encoder(config, tok);
    else if (model->n_enc > 0 && tokenizer_pad(tok) < 0)
        warn_missing(config, tok, "padding", 0, "begins what the decoder writes instead");
    return true;
}
