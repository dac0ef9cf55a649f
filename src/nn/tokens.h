/* tokens.h: one stream of a batch (tokens of the encoder or decoder) as layers read it, uploaded once per pass. */
#pragma once

#include "data/batch.h"
#include "device/device.h"

/* Packed sequences: sequence s has the rows cu[s] to cu[s + 1] - 1 of a tensor. Attention does not cross sequences. */
typedef struct Sequences {
    int32_t n, max_len; /* number of sequences; upper bound on their length in tokens */
    BothSides cu;       /* (n + 1) cumulative lengths */
    BothSides prefix;   /* (n) tokens at the start of each sequence that every query may attend to; 0 means none */
    BothSides first;    /* (n) row of the first token of each sequence, for key/value caches, which have unused rows
                           between sequences; absent means that cu gives the first rows */
} Sequences;

/* One stream of a batch. Its tensors lie in device memory, in the arena given to tokens_upload. */
typedef struct Tokens {
    int32_t n;          /* rows of the activations: number of tokens, rounded up (stream_rows) */
    int32_t first, all; /* `all`: rows of the whole stream, which `seq` divides into sequences. Context parallelism:
                           this rank has rows first to first + n - 1; otherwise first is 0 and all is n */
    Sequences seq;      /* the attention segments of the stream */
    Tensor ids, position_ids, token_types; /* (n) i32 */
    /* The tokens whose ids are in this rank's part of the vocabulary; absent unless tensor-parallel ranks divide it. */
    Tensor own_at;                   /* (number of them) i32: their rows */
    Tensor own_ids;                  /* (number of them) i32: their ids, counted from this rank's first */
    Tensor sample, dropout_position; /* (n) i64, i32: the counter of dropout's random numbers; absent without dropout */
    Tensor all_samples, all_positions; /* (all) `sample` and `dropout_position` of all rows */
    Tensor starts;                     /* (seq.n) i32: row of the first token of each sequence */
    /* (seq.n) i64, i32: of the first token of each sequence; absent without context-dependent queries. */
    Tensor first_sample, first_position;
    /* M learned memory tokens before each sequence; all three tensors are absent if the model has none. */
    Tensor memory_at;    /* (M seq.n) i32: rows of the memory tokens */
    Tensor memory_index; /* (M seq.n) i32: 0 … M - 1, which memory token is in that row */
    Tensor text;         /* i32: rows of all other tokens, those of the text, padding excluded */
} Tokens;

/* Copies a stream to the device. The memory taken from the arena is never more than for a full stream of this capacity.
 * The result points to the host arrays of `stream`, which must outlive it. */
Tokens tokens_upload(Device *dev, Arena *arena, const TokenStream *stream);
/* Sets own_at and own_ids from the ids (n) of all tokens: those in [first, end) are this rank's. The tensors are made
 * at the first call, with memory for n tokens, and used again afterwards. */
void tokens_upload_own(Tokens *tokens, Device *dev, Arena *arena, const int32_t *ids, int64_t first, int64_t end);
/* Keeps rows first … first + n - 1 of the stream: from then on, ids, position_ids, token_types, sample and
 * dropout_position are theirs. own_at and own_ids are to be set anew. */
void tokens_take_rows(Tokens *tokens, int32_t first, int32_t n);
/* Sets first_sample and first_position; leaves them absent if stream->sample is NULL. */
void tokens_upload_firsts(Tokens *tokens, Device *dev, Arena *arena, const TokenStream *stream);
/* Sets memory_at, memory_index and text: the first n_memory tokens of each sequence are memory tokens. */
void tokens_upload_memory(Tokens *tokens, Device *dev, Arena *arena, int32_t n_memory);
/* Copies n integers from the host into a new tensor (n) i32, whose memory has room for `room` integers. Returns
 * NO_TENSOR if `from` is NULL. */
Tensor indices_upload(Device *dev, Arena *arena, const int32_t *from, int64_t n, int64_t room, const char *tag);
/* Pairs host integers with their copy on the device; absent if the tensor is absent. */
BothSides both_sides(const int32_t *host, Tensor device);
