#include "data/objectives/objectives.h"

#include <string.h>

enum { HEADER = 3, PER_SEQUENCE = 2 }; /* numbers at the start of encoded labels, and numbers per sequence */

/* Largest number of ids of encoded labels, not counting the tags of LABELS_TOKENS. */
#define MOST_ENCODED (LABELLED_DIGITS * (HEADER + PER_SEQUENCE * LABELS_MAX_CHOICES))

void labelled_append(GArray *encoded, uint32_t number)
{
    for (int i = LABELLED_DIGITS - 1; i >= 0; i--) {
        const int32_t digit = (int32_t)(number >> 4 * i & 15);
        g_array_append_val(encoded, digit);
    }
}

static uint32_t number_at(const int32_t *encoded, int64_t index)
{
    uint32_t number = 0;
    for (int i = 0; i < LABELLED_DIGITS; i++)
        number = number << 4 | (uint32_t)(encoded[index * LABELLED_DIGITS + i] & 15);
    return number;
}

static EncodedLabels decode_labels(const int32_t *encoded)
{
    return (EncodedLabels){ (int32_t)number_at(encoded, 0), (int32_t)number_at(encoded, 1),
                            (int32_t)number_at(encoded, 2) };
}

/* Length and start of the second text of sequence s. */
static int32_t second_length(const int32_t *encoded, int32_t s)
{
    return (int32_t)number_at(encoded, HEADER + (int64_t)PER_SEQUENCE * s);
}

static int32_t second_of(const int32_t *encoded, int32_t s)
{
    return (int32_t)number_at(encoded, HEADER + (int64_t)PER_SEQUENCE * s + 1);
}

/* ---- checking a document ---- */

static bool lengths_fit(const int32_t *encoded, int32_t n, int64_t n_text)
{
    int64_t sum = 0;
    for (int32_t s = 0; s < n; s++) {
        int32_t length = second_length(encoded, s), second = second_of(encoded, s);
        if (length < 1 || length > n_text - sum || second < 0 || second > length)
            return false;
        sum += length;
    }
    return sum == n_text;
}

static bool label_fits(const ObjectiveConfig *config, const EncodedLabels *encoded, int64_t n_text)
{
    switch (config->label_kind) {
    case LABELS_SEQUENCE:
        return encoded->label >= -1 && encoded->label < config->n_labels;
    case LABELS_SPAN:
        return encoded->label == -1 ||
               (encoded->label >= 0 && encoded->label <= encoded->label_end && encoded->label_end < n_text);
    case LABELS_CHOICE:
        return encoded->label >= -1 && encoded->label < encoded->n;
    default:
        return true;
    }
}

static bool accepts(const ObjectiveConfig *config, int64_t n_text, const int32_t *encoded, int64_t n_encoded)
{
    if (n_encoded < LABELLED_DIGITS * HEADER)
        return false;
    const EncodedLabels read = decode_labels(encoded);
    bool tokens = config->label_kind == LABELS_TOKENS;
    if (read.n < 1 || read.n > (config->label_kind == LABELS_CHOICE ? LABELS_MAX_CHOICES : 1))
        return false;
    int64_t numbers = LABELLED_DIGITS * (HEADER + (int64_t)PER_SEQUENCE * read.n);
    if (n_encoded != numbers + (tokens ? n_text : 0) || !lengths_fit(encoded, read.n, n_text))
        return false;
    for (int64_t i = numbers; i < n_encoded; i++)
        if (encoded[i] < 0 || encoded[i] > config->n_labels)
            return false;
    return label_fits(config, &read, n_text);
}

/* ---- the objective ---- */

static bool plan_labelled(ObjectiveConfig *config, GError **error)
{
    if (config->label_kind == LABELS_NONE)
        return fail_user(error, "data.objective=labels trains a classifier: set model.classifier, or a task with "
                                "task.label");
    if (config->raw_length != 0 || config->target_length != 0)
        return fail_user(error, "data.objective=labels takes whole texts: leave out data.raw_length and "
                                "data.target_length");
    config->raw_length = 2 * config->input_length + MOST_ENCODED;
    config->max_segments = config->label_kind == LABELS_CHOICE ? LABELS_MAX_CHOICES : 1;
    return true;
}

static void choose_labelled(G_GNUC_UNUSED const ObjectiveConfig *config, G_GNUC_UNUSED int64_t n, Choice *choice)
{
    choice->n_inputs = choice->n_first;
    choice->n_targets = 0;
}

static void apply_labelled(const ObjectiveConfig *config, const Choice *choice, G_GNUC_UNUSED Philox *rng,
                           const Text *texts, Example *out)
{
    const int64_t n = choice->n_first;
    const int32_t *encoded = texts->tokens + n;
    const EncodedLabels read = decode_labels(encoded);
    const int32_t *of_tokens = encoded + LABELLED_DIGITS * (HEADER + PER_SEQUENCE * read.n);

    example_begin(out, n);
    out->label = read.label;
    out->label_end = read.label_end;
    memcpy(out->inputs, texts->tokens, (size_t)n * sizeof *out->inputs);
    for (int32_t s = 0, first = 0; s < read.n; s++) {
        int32_t length = second_length(encoded, s), second = second_of(encoded, s);
        for (int32_t i = 0; i < length; i++) {
            out->position_ids[first + i] = i;
            out->token_types[first + i] = config->token_types && second > 0 && i >= second;
        }
        out->starts_sequence[first] = true;
        first += length;
    }
    for (int64_t i = 0; i < n; i++) {
        int32_t label = config->label_kind == LABELS_TOKENS ? of_tokens[i] - 1 : -1;
        out->weights[i] = label >= 0;
        out->targets[i] = MAX(label, 0);
    }
}

void labelled_count(LabelKind kind, const int32_t *encoded, int64_t n_encoded, int64_t *counts)
{
    const EncodedLabels read = decode_labels(encoded);
    if (kind == LABELS_SEQUENCE && read.label >= 0)
        counts[read.label]++;
    for (int64_t i = LABELLED_DIGITS * (HEADER + PER_SEQUENCE); kind == LABELS_TOKENS && i < n_encoded; i++)
        if (encoded[i] > 0)
            counts[encoded[i] - 1]++;
}

const Objective labels_objective = { OBJECTIVE("labels", STREAMS_ENCODER, TEXT_DOCUMENTS, 1), .pairs = true,
                                     .accepts = accepts,
                                     OBJECTIVE_STEPS(plan_labelled, choose_labelled, apply_labelled) };
