/* heldout.h: the held-out (validation) datasets of data.valid, and the loss on each. Every evaluation uses the same
 * samples with the same masks. */
#pragma once

#include "data/loader.h"
#include "model/model.h"

typedef struct HeldoutSet {
    char *name;        /* name of the set in the metrics; NULL means that data.valid gives none */
    char *path_prefix; /* path prefix of the dataset's files */
    Loader *loader;
    int64_t bytes; /* bytes of the targets' text in an evaluation of training, as by heldout_bytes; 0 means not counted
                      yet */
} HeldoutSet;

/* Opens the datasets of data.valid, which is PREFIX or NAME:PREFIX,NAME:PREFIX …, in this order: HeldoutSet *, owned by
 * the array. If data.valid is empty, opens the validation part of data.train if data.split defines one, else nothing.
 * Names consist of letters, digits, - and _, and are unique. */
GPtrArray *heldout_sets_open(const DataConfig *config, const Tokenizer *tok, uint64_t seed, GError **error);
/* The name of a set in metrics.jsonl: its own, or "valid". */
const char *heldout_set_name(const HeldoutSet *set);
/* A hash of the samples that an evaluation of n samples (0 means all) uses. */
int64_t heldout_set_hash(const HeldoutSet *set, int64_t n);
/* Calls loader_start_decoder for each set. */
void heldout_sets_start_decoder(const GPtrArray *sets, int32_t id);

/* Called before every microbatch; true ends the evaluation with the error LOAM_ERROR_STOPPED. */
typedef bool (*HeldoutStopFn)(void);
/* One of `of` equal parts of an evaluation, such as one rank's share: index 0 … of - 1. of 0 means all of it. */
typedef struct HeldoutPart {
    int index, of;
} HeldoutPart;
/* Adds the losses of samples 0 … n - 1 of the loader's epoch 0, or of a part of these samples, to *sums, without
 * dropout, in microbatches of `micro` samples. n 0 means the whole epoch; the loader's order is random (loader.h), so
 * the first n samples are a random subset. stop may be NULL. Shows progress on a terminal. */
bool heldout_loss(Model *model, Loader *loader, int64_t n, int64_t micro, HeldoutPart part, HeldoutStopFn stop,
                  LossSums *sums, GError **error);
/* *nats becomes the entropy, in nats per token, of the unigram distribution of the targets of the first n samples,
 * sentinels and EOS included: the lowest loss that a model which ignores its input can have. */
bool heldout_unigram(Loader *loader, int64_t n, int64_t vocab, double *nats, GError **error);
/* *bytes becomes the UTF-8 bytes of the targets' text in the first n samples, without sentinels and EOS. Bits per byte
 * are the negative log-likelihood of all targets in nats, divided by ln 2 and by these bytes. *bytes is -1 if a target
 * is the unknown token, whose text is lost. A space at the start of a sequence's targets does not count. */
bool heldout_bytes(Loader *loader, const Tokenizer *tok, int64_t n, int64_t *bytes, GError **error);
/* Bits per byte of the targets' text; NaN if bytes is not above 0, and for classifiers, whose targets have no text. */
double heldout_bits_per_byte(const LossSums *sums, int64_t bytes);
