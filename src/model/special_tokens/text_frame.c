#include "model/special_tokens/text_frame.h"

#include "nn/ctx.h"

#include <string.h>

static TextFrame frame_of_encoder(const ModelConfig *config, const Tokenizer *tok)
{
    const int32_t cls = tokenizer_encoder_role(tok, ROLE_CLS), sep = tokenizer_encoder_role(tok, ROLE_SEP);
    bool doubled = config->token_types < 2 && cls >= 0 && strcmp(tokenizer_piece(tok, cls), "<s>") == 0;
    return frame_of(cls, sep, doubled);
}

TextFrame model_text_frame(const ModelConfig *config, const Tokenizer *tok)
{
    const TextFrame own = *tokenizer_frame(tok);
    const FrameTokens *after = &own.after;
    bool t5 = config->n_dec > 0 || (config->norm == NORM_RMS && config->position == POSITION_RELATIVE_BIAS);
    if (config->n_enc == 0)
        return after->n == 0 ? own : (TextFrame){ .before = own.before };
    if (!t5)
        return own.before.n > 0 && after->n > 0 ? own : frame_of_encoder(config, tok);
    return after->n > 0 && after->ids[after->n - 1] == tokenizer_eos(tok) ? own
                                                                          : frame_of(-1, tokenizer_eos(tok), false);
}
