/* heldout.h: loss on held-out data: the same samples with the same masks at every call. */
#pragma once

#include "data/loader.h"
#include "model/model.h"

/* Asked before every microbatch: true ends the evaluation with LOAM_ERROR_STOPPED. */
typedef bool (*HeldoutStopFn)(void);
/* Adds the loss of samples [0, n) of the loader's epoch 0 to *sums, micro samples at a time, dropout off. The
 * loader shuffles (loader.h), so the first n are a random sample; n = 0 means the whole epoch. stop may be NULL. Shows
 * a progress bar on a terminal. */
bool heldout_loss(Model *model, Loader *loader, int64_t n, int64_t micro, HeldoutStopFn stop, LossSums *sums,
                  GError **error);
/* Nats per target token of the best unigram model of the very same targets, sentinels and EOS included: their entropy.
 * A model above it has learned nothing from the input. */
bool heldout_unigram(Loader *loader, int64_t n, int64_t vocab, double *nats, GError **error);
/* UTF-8 bytes of the text of the very same targets, without sentinels and EOS. Bits per byte is the loss of all
 * targets, sentinels included, divided by this number. -1 where some target is the unknown token: what it stood for
 * is not known. A space that begins a sequence's targets is not counted. */
bool heldout_bytes(Loader *loader, const Tokenizer *tok, int64_t n, int64_t *bytes, GError **error);
