#include "model/transformer/slot.h"

#include "base/check.h"
#include "device/profile.h"
#include "model/heads/heads.h"
#include "model/transformer/transformer.h"
#include "nn/context.h"

#include <string.h>

static Slot *slot_at(Model *model, int index, SlotState expected)
{
    CHECK(index >= 0 && index < model->work.n_slots, "slot %d of %d", index, model->work.n_slots);
    Slot *slot = &model->slots[index];
    CHECK(slot->state == expected, "slot %d is in state %d, not %d", index, (int)slot->state, (int)expected);
    return slot;
}

/* A copy of the encoder's stream with n_memory placeholders before each of its sequences (capacity for n_seq
 * sequences), in *kept, which is replaced if its capacity is another. */
static TokenStream *copy_stream(TokenStream **kept, const TokenStream *enc, int32_t n_memory, int32_t n_seq)
{
    if (*kept == NULL || (*kept)->max_tokens != enc->max_tokens + n_memory * n_seq ||
        (*kept)->max_seq != enc->max_seq || (*kept)->max_len != enc->max_len + n_memory) {
        stream_close(*kept);
        *kept = stream_memory_new(enc, n_memory, n_seq);
    }
    stream_copy_behind_memory(*kept, enc, n_memory);
    return *kept;
}

/* The encoder's stream: that of the batch, or a copy with the model's memory tokens. */
static const TokenStream *encoder_stream(const Model *model, Slot *slot, const TokenStream *enc, int32_t n_seq)
{
    const int32_t n_memory = (int32_t)model->config.memory_tokens;
    return n_memory == 0 ? enc : copy_stream(&slot->with_memory, enc, n_memory, n_seq);
}

/* The decoder's stream: that of the batch. For a classifier that reads the decoder's output, the encoder's tokens
 * shifted right: each sequence starts with decoder_start and lacks its last token, as in transformers'
 * T5ForSequenceClassification. NULL without a decoder. */
static const TokenStream *decoder_stream(const Model *model, Slot *slot, const Batch *batch)
{
    if (!model_config_shifts(&model->config))
        return batch->dec.max_tokens > 0 ? &batch->dec : NULL;
    TokenStream *shifted = copy_stream(&slot->shifted, &batch->enc, 0, 0);
    for (int32_t s = 0; s < shifted->n_seq; s++) {
        int32_t first = shifted->cu[s], n = shifted->cu[s + 1] - first;
        memmove(shifted->ids + first + 1, shifted->ids + first, (size_t)(n - 1) * sizeof *shifted->ids);
        shifted->ids[first] = MAX(model->roles.decoder_start, 0);
    }
    return shifted;
}

Tokens stream_upload(const Model *model, Arena *save, const TokenStream *stream)
{
    Tokens tokens = tokens_upload(model->dev, save, stream);
    stream_upload_own(model, save, &tokens, stream->ids);
    return tokens;
}

void stream_upload_own(const Model *model, Arena *save, Tokens *tokens, const int32_t *ids)
{
    const TensorParallel *tp = params_tensor_parallel(model->params);
    int size = tensor_parallel_size(tp), rank = tensor_parallel_rank(tp);
    if (size > 1)
        tokens_upload_own(tokens, model->dev, save, ids, tensor_parallel_start(model->config.vocab, size, rank),
                          tensor_parallel_start(model->config.vocab, size, rank + 1));
}

Tokens encoder_upload(const Model *model, Arena *save, const TokenStream *enc)
{
    Tokens tokens = stream_upload(model, save, enc);
    if (model->config.context_queries)
        tokens_upload_firsts(&tokens, model->dev, save, enc);
    if (model->config.memory_tokens > 0)
        tokens_upload_memory(&tokens, model->dev, save, (int32_t)model->config.memory_tokens);
    return tokens;
}

/* Begins a pass of an encoder or decoder whose tokens are uploaded: its context, of this rank's rows. */
static void begin_pass(Model *model, Slot *slot, StackPass *pass, const TokenStream *stream,
                       const Tokens *encoder_tokens)
{
    const Stack *stack = pass->stack;
    Tokens *tokens = &pass->tokens;
    const int size = slot->loss.divided ? context_parallel_size(stack->cp) : 1,
              rank = model->dev->computes ? stack->cp->rank : 0;

    stack_context(pass, &model->work, slot->save, encoder_tokens, &slot->loss);
    pass->cx.sequence = stack->tp->sequence;
    if (size == 1)
        return;
    pass->cx.context = stack->cp;
    const int32_t first = context_first_row(tokens->all, size, rank);
    tokens_take_rows(tokens, first, context_first_row(tokens->all, size, rank + 1) - first);
    stream_upload_own(model, slot->save, tokens, stream->ids + first);
}

static Tensor slot_tensor(const Model *model, const Slot *slot, DType dtype, int64_t n_rows, const char *tag)
{
    return arena_tensor(slot->save, dtype, n_rows, model->config.width, tag);
}

Slot *slot_open(Model *model, int index, const Batch *batch, int32_t n_memory_seq, const ModelLoss *loss)
{
    Slot *slot = slot_at(model, index, SLOT_FREE);
    const bool encodes = batch->enc.max_tokens > 0;
    const TokenStream *dec = decoder_stream(model, slot, batch);

    CHECK(slot->save->base || !model->dev->computes, "model_reserve comes before the first batch");
    arena_reset(slot->save, 0);
    arena_reset(&model->work.scratch, 0);
    arena_reset(&model->work.recompute, 0);
    slot->batch = batch;
    slot->loss = *loss;
    slot->encoder_output = NO_TENSOR;
    slot->sent = slot->gradient = (StageMessage){ 0 };
    if (encodes) {
        const TokenStream *enc = encoder_stream(model, slot, &batch->enc, n_memory_seq);
        slot->encoder.tokens = encoder_upload(model, slot->save, enc);
        begin_pass(model, slot, &slot->encoder, enc, NULL);
        if (stack_blocks(&slot->stage->encoder) > 0)
            stack_begin(&slot->encoder);
    }
    if (dec && stack_blocks(&slot->stage->decoder) > 0) {
        slot->decoder.tokens = stream_upload(model, slot->save, dec);
        begin_pass(model, slot, &slot->decoder, dec, encodes ? &slot->encoder.tokens : NULL);
        stack_begin(&slot->decoder);
    }
    return slot;
}

/* The tensors that receive the previous stage's message. */
static StageMessage received(Model *model, Slot *slot)
{
    const Stack *enc = &slot->stage->encoder, *dec = &slot->stage->decoder;
    StageMessage in = { 0 };

    if (stack_blocks(enc) > 0) {
        in.x = enc->part.embeds ? NO_TENSOR : slot->encoder.x[0];
        return in;
    }
    in.x = dec->part.embeds ? NO_TENSOR : slot->decoder.x[0];
    if (model->config.n_enc > 0)
        in.encoder_output = slot->encoder_output =
            slot_tensor(model, slot, model->dev->precision.compute, slot->encoder.tokens.n, "slot.received");
    return in;
}

StageMessage slot_begin(Model *model, int index, const Batch *batch, const ModelLoss *loss)
{
    const ModelConfig *config = &model->config;
    const int32_t enc_len = batch->enc.max_len;

    CHECK((config->n_enc > 0) == (batch->enc.max_tokens > 0) &&
              (config->n_dec > 0 && !model_config_shifts(config)) == (batch->dec.max_tokens > 0),
          "a batch of %d and %d rows for %d and %d blocks", batch->enc.max_tokens, batch->dec.max_tokens,
          (int)config->n_enc, (int)config->n_dec);
    Slot *slot = slot_open(model, index, batch, enc_len ? batch->enc.max_tokens / enc_len : 0, loss);
    slot->state = SLOT_BEGUN;
    return received(model, slot);
}

/* The message for the next stage. y: the output of this stage's last block. */
static StageMessage message_of(const Slot *slot, Tensor y)
{
    const ModelStage *stage = slot->stage;
    const bool within = !stage->encoder.part.finishes || stack_blocks(&stage->decoder) > 0;
    if (stage_has_heads(stage->encoder.config, stage->range))
        return (StageMessage){ 0 };
    return (StageMessage){ within ? y : NO_TENSOR, slot->encoder_output };
}

Tensor slot_fwd(Model *model, int index)
{
    Slot *slot = slot_at(model, index, SLOT_BEGUN);
    const Stack *enc = &slot->stage->encoder, *dec = &slot->stage->decoder;
    Tensor y = NO_TENSOR;

    if (stack_blocks(enc) > 0)
        y = stack_fwd(&slot->encoder, NO_TENSOR);
    if (enc->part.finishes)
        slot->encoder_output = y;
    if (stack_blocks(dec) > 0)
        y = stack_fwd(&slot->decoder, slot->encoder_output);
    slot->sent = message_of(slot, y);
    slot->state = SLOT_FORWARD;
    return y;
}

StackPass *slot_last(Slot *slot)
{
    return stack_blocks(&slot->stage->decoder) > 0 ? &slot->decoder : &slot->encoder;
}

StageMessage slot_loss(Model *model, int index, Tensor y)
{
    Slot *slot = slot_at(model, index, SLOT_FORWARD);

    slot->state = slot->loss.grad ? SLOT_FORWARD : SLOT_FREE;
    if (stage_has_heads(&model->config, slot->stage->range)) {
        if (slot->loss.grad)
            slot->gradient.x = slot_tensor(model, slot, model->dev->precision.residual, y.d[0], "slot.dx");
        profile_begin(model->dev, "loss", -1); /* includes the logits and their backward */
        heads_loss(model, &slot_last(slot)->cx, slot->gradient.x, y, slot->batch, &slot->loss);
        profile_end(model->dev);
    }
    return slot->sent;
}

static Tensor gradient_of(const Model *model, const Slot *slot, Tensor t)
{
    return tensor_present(t) ? slot_tensor(model, slot, model->dev->precision.residual, t.d[0], "slot.gradient")
                             : NO_TENSOR;
}

StageMessage slot_gradient(Model *model, int index)
{
    Slot *slot = slot_at(model, index, SLOT_FORWARD);
    StageMessage sent = slot->sent;

    if (stage_has_heads(&model->config, slot->stage->range))
        return sent; /* the last stage receives no gradient: heads_loss computed it */
    return slot->gradient =
               (StageMessage){ gradient_of(model, slot, sent.x), gradient_of(model, slot, sent.encoder_output) };
}

StageMessage slot_bwd(Model *model, int index)
{
    Slot *slot = slot_at(model, index, SLOT_FORWARD);
    const Stack *enc = &slot->stage->encoder, *dec = &slot->stage->decoder;
    Tensor dx = slot->gradient.x, d_encoder_output = slot->gradient.encoder_output;

    if (stack_blocks(dec) > 0) {
        if (dec->part.finishes && model->config.n_enc > 0) {
            d_encoder_output = gradient_of(model, slot, slot->encoder_output);
            op_fill(model->dev, d_encoder_output, 0);
        }
        dx = stack_bwd(&slot->decoder, dx, slot->encoder_output, d_encoder_output);
    }
    if (dec->part.embeds && tensor_present(d_encoder_output))
        tensor_parallel_sum(dec->tp, model->dev, d_encoder_output);
    if (stack_blocks(enc) > 0) {
        dx = tensor_present(d_encoder_output) ? d_encoder_output : dx;
        dx = stack_bwd(&slot->encoder, dx, NO_TENSOR, NO_TENSOR);
        d_encoder_output = NO_TENSOR;
    }
    slot->state = SLOT_FREE;
    bool embeds = stack_blocks(enc) > 0 ? enc->part.embeds : dec->part.embeds;
    return (StageMessage){ embeds ? NO_TENSOR : dx, d_encoder_output };
}
