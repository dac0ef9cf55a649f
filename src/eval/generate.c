#include "eval/generate.h"

/* One answer that is being generated. */
typedef struct Writer {
    Generation *out;
    GArray *said; /* int32_t: tokens that the repetition penalty makes less likely; NULL means no penalty */
    Philox rng;
} Writer;

/* The tokens that precede an answer, the last of which is the first input of decoder_step: the decoder start of an
 * encoder-decoder, the prompt of a decoder-only model. */
static const int32_t *read_before(const Model *model, const Prompts *prompts, int32_t prompt,
                                  const GenerateOptions *options, int64_t *n)
{
    bool encodes = model_config(model)->n_enc > 0;
    *n = encodes ? 1 : prompts->cu[prompt + 1] - prompts->cu[prompt];
    return encodes ? &options->decoder_start : prompts->ids + prompts->cu[prompt];
}

/* Appends a token to an answer; false if it ends the answer. */
static bool write_token(Writer *writer, int32_t token, double logprob, const TokenList *eos)
{
    writer->out->logprob += logprob;
    writer->out->finished = token_list_has(eos, token);
    if (!writer->out->finished)
        g_array_append_val(writer->out->ids, token);
    if (writer->said)
        g_array_append_val(writer->said, token);
    return !writer->out->finished;
}

/* Chooses the next token of an answer by its logits (V); false if the answer ended. */
static bool choose_token(Writer *writer, float *logits, int64_t vocab, const GenerateOptions *options, int32_t *token)
{
    const Sampling *sampling = &options->sampling;
    if (writer->said)
        sampler_penalize(logits, (const int32_t *)(void *)writer->said->data, writer->said->len,
                         sampling->repetition_penalty);
    *token = sampler_pick(logits, vocab, sampling, sampling->temperature > 0 ? philox_uniform(&writer->rng) : 0);
    return write_token(writer, *token, (double)logits[*token] - sampler_log_sum(logits, vocab), &options->eos);
}

/* Runs one decoding step of all `rows` answers; returns how many of them end. */
static int32_t write_step(Decoder *decoder, Writer *writers, int32_t rows, int64_t vocab,
                          const GenerateOptions *options, int32_t *tokens)
{
    bool greedy = options->sampling.temperature == 0 && options->sampling.repetition_penalty == 1;
    TopTokens top = greedy ? decoder_step_top(decoder, tokens, 1) : (TopTokens){ 0 };
    float *logits = greedy ? NULL : decoder_step(decoder, tokens);
    int32_t ended = 0;
    for (int32_t r = 0; r < rows; r++) {
        if (writers[r].out->finished)
            continue;
        if (greedy)
            tokens[r] = top.ids[r];
        bool more = greedy ? write_token(&writers[r], tokens[r], (double)top.logits[r] - top.log_sums[r], &options->eos)
                           : choose_token(&writers[r], logits + r * vocab, vocab, options, &tokens[r]);
        ended += !more;
    }
    return ended;
}

/* Greedy decoding and sampling: each answer on its own. */
static void write_answers(Decoder *decoder, const Model *model, const Prompts *prompts, int64_t first_prompt,
                          const GenerateOptions *options, Generation *out)
{
    int64_t vocab = model_config(model)->vocab, n_before;
    int32_t rows = prompts->n * options->n;
    g_autofree Writer *writers = g_new0(Writer, rows);
    g_autofree int32_t *tokens = g_new0(int32_t, rows);
    for (int32_t r = 0; r < rows; r++) {
        out[r] = (Generation){ .ids = g_array_new(false, false, sizeof(int32_t)) };
        PhiloxKey key = philox_key(options->seed, PHILOX_SAMPLING, (uint32_t)(r % options->n));
        writers[r] = (Writer){ .out = &out[r], .rng = philox_open(key, (uint64_t)(first_prompt + r / options->n)) };
        const int32_t *before = read_before(model, prompts, r / options->n, options, &n_before);
        tokens[r] = before[n_before - 1];
        if (options->sampling.repetition_penalty != 1) {
            writers[r].said = g_array_new(false, false, sizeof(int32_t));
            g_array_append_vals(writers[r].said, before, (guint)n_before);
        }
    }
    int32_t running = rows;
    for (int64_t step = 0; step < options->max_tokens && running > 0; step++)
        running -= write_step(decoder, writers, rows, vocab, options, tokens);
    for (int32_t r = 0; r < rows; r++)
        g_clear_pointer(&writers[r].said, g_array_unref);
}

/* Advances the beam search of one prompt by one token. first: index of its first sequence in the decoder. */
static bool advance_one(BeamSearch *search, const BeamOptions *options, float *logits, const TopTokens *top,
                        int32_t first, int32_t *from, int32_t *tokens)
{
    if (logits)
        return beam_advance(search, logits + first * options->vocab, from, tokens);
    return beam_advance_top(search, top->ids + first * top->k, top->logits + first * top->k, top->log_sums + first,
                            from, tokens);
}

/* Runs one decoding step and advances every search that is not over; false if all are over. */
static bool advance_all(Decoder *decoder, BeamSearch **searches, bool *over, int32_t n, const BeamOptions *options,
                        int32_t *from, int32_t *tokens)
{
    bool running = false, all = options->repetition_penalty != 1;
    TopTokens top = all ? (TopTokens){ 0 } : decoder_step_top(decoder, tokens, beam_top(options));
    float *logits = all ? decoder_step(decoder, tokens) : NULL;
    for (int32_t p = 0; p < n; p++) {
        int32_t first = p * options->beams;
        if (!over[p])
            over[p] = !advance_one(searches[p], options, logits, &top, first, from + first, tokens + first);
        for (int32_t i = 0; i < options->beams; i++)
            from[first + i] = over[p] ? first + i : from[first + i] + first;
        running |= !over[p];
    }
    return running;
}

static void search_all(Decoder *decoder, Model *model, const Prompts *prompts, const GenerateOptions *options,
                       Generation *out)
{
    int32_t n_prompts = prompts->n;
    BeamOptions beam = { .beams = options->beams,
                         .length_penalty = options->length_penalty,
                         .repetition_penalty = options->sampling.repetition_penalty,
                         .max_tokens = options->max_tokens,
                         .eos = options->eos,
                         .vocab = model_config(model)->vocab,
                         .n_ids = model_roles(model)->n_ids };
    g_autofree BeamSearch **searches = g_new(BeamSearch *, n_prompts);
    g_autofree bool *over = g_new0(bool, n_prompts);
    g_autofree int32_t *from = g_new0(int32_t, n_prompts * beam.beams);
    g_autofree int32_t *tokens = g_new(int32_t, n_prompts * beam.beams);
    for (int32_t p = 0; p < n_prompts; p++) {
        beam.said = read_before(model, prompts, p, options, &beam.n_said);
        searches[p] = beam_open(&beam);
        for (int32_t i = 0; i < beam.beams; i++)
            tokens[p * beam.beams + i] = beam.said[beam.n_said - 1];
    }
    while (advance_all(decoder, searches, over, n_prompts, &beam, from, tokens))
        decoder_reorder(decoder, from);
    for (int32_t p = 0; p < n_prompts; p++) {
        beam_results(searches[p], options->n, out + p * options->n);
        beam_close(searches[p]);
    }
}

int64_t generate_most_tokens(const ModelConfig *config, int64_t n_prompt, int64_t max_tokens)
{
    const int64_t before = config->n_enc > 0 ? 0 : n_prompt - 1;
    return model_config_bounds_length(config) ? MAX(MIN(max_tokens, config->max_positions - before), 1) : max_tokens;
}

/* Generates answers to prompts that all have the same limit, options->max_tokens. */
static bool generate_alike(Model *model, const Prompts *prompts, int64_t first_prompt, const GenerateOptions *options,
                           Generation *out, GError **error)
{
    int32_t each = options->beams > 1 ? options->beams : options->n;
    g_autoptr(Decoder) decoder = decoder_open(model, prompts, each, options->max_tokens, error);
    if (decoder == NULL)
        return false;
    if (options->beams > 1)
        search_all(decoder, model, prompts, options, out);
    else
        write_answers(decoder, model, prompts, first_prompt, options, out);
    return true;
}

bool generate(Model *model, const Prompts *prompts, int64_t first_prompt, const GenerateOptions *options,
              Generation *out, GError **error)
{
    const ModelConfig *config = model_config(model);
    const int32_t *cu = prompts->cu;
    bool good = true;
    for (int32_t i = 0; i < prompts->n * options->n; i++)
        out[i] = (Generation){ 0 };
    for (int32_t first = 0, end; good && first < prompts->n; first = end) {
        GenerateOptions alike = *options;
        alike.max_tokens = generate_most_tokens(config, cu[first + 1] - cu[first], options->max_tokens);
        for (end = first + 1; end < prompts->n; end++)
            if (generate_most_tokens(config, cu[end + 1] - cu[end], options->max_tokens) != alike.max_tokens)
                break;
        const Prompts some = { .ids = prompts->ids, .cu = cu + first, .n = end - first };
        good = generate_alike(model, &some, first_prompt + first, &alike, out + first * options->n, error);
    }
    return good;
}

/* Appends the span that follows the sentinel in the answer; false if the answer lacks the sentinel. */
static bool append_span(const Tokenizer *tok, const GArray *answer, int32_t sentinel, GArray *out)
{
    guint i = 0;
    while (i < answer->len && g_array_index(answer, int32_t, i) != sentinel)
        i++;
    if (i == answer->len)
        return false;
    for (i++; i < answer->len && tokenizer_sentinel_index(tok, g_array_index(answer, int32_t, i)) < 0; i++)
        g_array_append_val(out, g_array_index(answer, int32_t, i));
    return true;
}

char *generate_fill(const Tokenizer *tok, const int32_t *inputs, int64_t n_inputs, const GArray *answer, GError **error)
{
    g_autoptr(GArray) filled = g_array_new(false, false, sizeof(int32_t));
    for (int64_t i = 0; i < n_inputs; i++)
        if (tokenizer_sentinel_index(tok, inputs[i]) < 0 || !append_span(tok, answer, inputs[i], filled))
            g_array_append_val(filled, inputs[i]);
    return tokenizer_decode(tok, (const int32_t *)(void *)filled->data, filled->len, error);
}
