/* tokens.h: a stream of a batch (the encoder's or the decoder's tokens) as layers read it: uploaded once a pass. */
#pragma once

#include "data/batch.h"
#include "device/device.h"

/* Attention segments: sequence s is the rows cu[s] to cu[s + 1] of a tensor. Attention crosses no boundary. */
typedef struct Sequences {
    int32_t n, max_len; /* how many; no sequence is longer than max_len */
    BothSides cu;       /* (n + 1) cumulative lengths */
    BothSides prefix;   /* (n) tokens at the start of each sequence that every query may attend to; 0 means none */
    BothSides first;    /* (n) row of the first token of each sequence where rows are left free between sequences
                           (key/value caches); absent means cu */
} Sequences;

/* One stream of a batch. Integers lie in memory of the device, in the arena of the upload. */
typedef struct Tokens {
    int32_t n; /* rows: tokens, rounded up (stream_rows) */
    Sequences seq;
    Tensor ids, position_ids, token_types; /* (n) i32 */
    Tensor sample, dropout_position;       /* (n) i64, i32: dropout masks depend on them; absent without dropout */
    Tensor starts;                         /* (seq.n) i32: row of the first token of each sequence */
    /* (seq.n) i64, i32: sample and dropout_position of the first token of each sequence, for context-dependent queries;
     * absent elsewhere. */
    Tensor first_sample, first_position;
    /* Learned memory tokens, m before each sequence; all three are absent where the model has none. */
    Tensor memory_at;    /* (m seq.n) i32: rows of the memory tokens */
    Tensor memory_index; /* (m seq.n) i32: 0 … m - 1, which memory token stands there */
    Tensor text;         /* (rest) i32: rows of the other tokens that belong to a sequence */
} Tokens;

/* Copies a stream to the device; takes as much of the arena for every stream of the same capacity. The host arrays of
 * the result's Sequences are those of `stream`, which must outlive it. */
Tokens tokens_upload(Device *dev, Arena *arena, const TokenStream *stream);
/* Sets first_sample and first_position; leaves them absent where stream->sample is NULL. */
void tokens_upload_firsts(Tokens *tokens, Device *dev, Arena *arena, const TokenStream *stream);
/* Sets memory_at, memory_index and text: the first n_memory tokens of each sequence are memory tokens. */
void tokens_upload_memory(Tokens *tokens, Device *dev, Arena *arena, int32_t n_memory);
/* (n) i32 copied from the host into a tensor with room for `room` numbers; absent where `from` is NULL. */
Tensor indices_upload(Device *dev, Arena *arena, const int32_t *from, int64_t n, int64_t room, const char *tag);
/* Pairs host integers with their copy on the device; absent where the tensor is absent. */
BothSides both_sides(const int32_t *host, Tensor device);
