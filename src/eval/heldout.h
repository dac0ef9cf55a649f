/* heldout.h: the held-out datasets of data.valid, and the loss on each. Every call uses the same samples with the same
 * masks. */
#pragma once

#include "data/loader.h"
#include "model/model.h"

typedef struct HeldoutSet {
    char *name;        /* NULL means that data.valid gives none */
    char *path_prefix; /* of the dataset's files */
    Loader *loader;
} HeldoutSet;

/* Opens the datasets of data.valid, PREFIX or NAME:PREFIX,NAME:PREFIX …, in this order: HeldoutSet *, owned by the
 * array. Where data.valid is empty, opens the validation part of data.train if data.split names one, else nothing.
 * Names consist of letters, digits, - and _, and are unique. */
GPtrArray *heldout_sets_open(const DataConfig *config, const Tokenizer *tok, uint64_t seed, GError **error);
/* Calls loader_start_decoder for each set. */
void heldout_sets_start_decoder(const GPtrArray *sets, int32_t id);

/* Asked before every microbatch; true abandons the evaluation with LOAM_ERROR_STOPPED. */
typedef bool (*HeldoutStopFn)(void);
/* One of several equal parts of an evaluation: part 0 … of - 1. of 0 means one part, all of it. */
typedef struct HeldoutPart {
    int index, of;
} HeldoutPart;
/* Adds the losses of samples 0 … n - 1 of the loader's epoch 0, or of a part of these samples, to *sums, `micro`
 * samples at a time, without dropout. n 0 means the whole epoch; the loader's order is random (loader.h), so n samples
 * are a random subset. stop may be NULL. Shows progress on a terminal. */
bool heldout_loss(Model *model, Loader *loader, int64_t n, int64_t micro, HeldoutPart part, HeldoutStopFn stop,
                  LossSums *sums, GError **error);
/* Entropy, in nats per token, of the unigram distribution of the targets of the first n samples (sentinels and EOS
 * included): the lowest loss of a model that ignores its input. */
bool heldout_unigram(Loader *loader, int64_t n, int64_t vocab, double *nats, GError **error);
/* UTF-8 bytes of the text of the targets of the first n samples, without sentinels and EOS: the denominator of bits per
 * byte, whose numerator is the loss of all targets. -1 where a target is the unknown token, whose text is lost. A space
 * at the start of a sequence's targets does not count. */
bool heldout_bytes(Loader *loader, const Tokenizer *tok, int64_t n, int64_t *bytes, GError **error);
