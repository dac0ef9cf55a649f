/* task_inputs.c: the token sequences of an example for a classifier. */
#include "data/task/task.h"

#include <inttypes.h>
#include <string.h>

static GArray *new_ids(void)
{
    return g_array_new(false, false, sizeof(int32_t));
}

static GArray *new_ranges(void)
{
    return g_array_new(false, false, sizeof(TokenRange));
}

TaskInputs task_inputs_new(void)
{
    return (TaskInputs){ new_ids(), new_ids(), new_ids(), new_ids(), new_ranges() };
}

void task_inputs_free(TaskInputs *inputs)
{
    g_clear_pointer(&inputs->ids, g_array_unref);
    g_clear_pointer(&inputs->cu, g_array_unref);
    g_clear_pointer(&inputs->second, g_array_unref);
    g_clear_pointer(&inputs->words, g_array_unref);
    g_clear_pointer(&inputs->ranges, g_array_unref);
}

static void clear(TaskInputs *inputs)
{
    g_array_set_size(inputs->ids, 0);
    g_array_set_size(inputs->cu, 1);
    g_array_index(inputs->cu, int32_t, 0) = 0;
    g_array_set_size(inputs->second, 0);
    g_array_set_size(inputs->words, 0);
    g_array_set_size(inputs->ranges, 0);
}

/* A text as token ids. */
typedef struct Encoded {
    GArray *ids, *ranges; /* int32_t, TokenRange; NULL means not wanted */
    guint first, n;       /* the tokens used: first, …, first + n - 1 */
} Encoded;

static void encoded_clear(Encoded *text)
{
    g_clear_pointer(&text->ids, g_array_unref);
    g_clear_pointer(&text->ranges, g_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Encoded, encoded_clear)

static bool encode_input(const TaskEncoder *encoder, const char *text, bool ranges, Encoded *out, GError **error)
{
    *out = (Encoded){ .ids = new_ids(), .ranges = ranges ? new_ranges() : NULL };
    bool good = ranges ? token_ranges_encode(encoder->tok, text, out->ids, out->ranges, error)
                       : tokenizer_encode(encoder->tok, text, strlen(text), true, out->ids, error);
    out->n = out->ids->len;
    return good;
}

static void append_input(TaskInputs *inputs, int32_t id)
{
    const TokenRange none = { 0 };
    g_array_append_val(inputs->ids, id);
    g_array_append_val(inputs->ranges, none);
}

static void append_frame(TaskInputs *inputs, const FrameTokens *tokens)
{
    for (int32_t i = 0; i < tokens->n; i++)
        append_input(inputs, tokens->ids[i]);
}

static void append_encoded(TaskInputs *inputs, const Encoded *text)
{
    for (guint i = text->first; i < text->first + text->n; i++) {
        append_input(inputs, g_array_index(text->ids, int32_t, i));
        if (text->ranges)
            g_array_index(inputs->ranges, TokenRange, inputs->ids->len - 1) =
                g_array_index(text->ranges, TokenRange, i);
    }
}

/* [CLS] first [SEP], or [CLS] first [SEP] second [SEP]. */
static void append_sequence(const TaskEncoder *encoder, const Encoded *first, const Encoded *second, TaskInputs *inputs)
{
    const TextFrame *frame = &encoder->frame;
    const int32_t start = (int32_t)inputs->ids->len;
    int32_t second_start = 0;
    append_frame(inputs, &frame->before);
    append_encoded(inputs, first);
    append_frame(inputs, second ? &frame->between : &frame->after);
    if (second) {
        second_start = (int32_t)inputs->ids->len - start;
        append_encoded(inputs, second);
        append_frame(inputs, &frame->last);
    }
    const int32_t end = (int32_t)inputs->ids->len;
    g_array_append_val(inputs->cu, end);
    g_array_append_val(inputs->second, second_start);
}

/* The number of special tokens of a sequence of one text, or of two. */
static int64_t special_tokens(const TextFrame *frame, bool pair)
{
    return frame->before.n + (pair ? frame->between.n + frame->last.n : frame->after.n);
}

/* *room becomes the number of tokens for texts, without special tokens; fails if there is not at least one per text. */
static bool find_room(const TaskEncoder *encoder, bool pair, guint *room, GError **error)
{
    const int64_t special = special_tokens(&encoder->frame, pair);
    if (encoder->input_length < special + 1 + pair)
        return fail_user(
            error, "data.input_length: %s of %" PRId64 " tokens has no room for %s beside %" PRId64 " special tokens",
            encoder->task->learns == LABELS_CHOICE ? "a choice's share" : "a sequence", encoder->input_length,
            pair ? "two texts" : "a text", special);
    *room = (guint)(encoder->input_length - special);
    return true;
}

/* Truncates to n tokens, on the side that task.cut_side says. */
static void shorten(const TaskEncoder *encoder, Encoded *text, guint n)
{
    if (encoder->config->cut_side == TASK_CUT_START)
        text->first += text->n - n;
    text->n = n;
}

/* Shortens the longer text, and both equally if they have the same length. */
static void fit(TaskEncoder *encoder, Encoded *first, Encoded *second, guint room)
{
    guint a = first->n, b = second ? second->n : 0;
    encoder->inputs++;
    encoder->longest_input =
        MAX(encoder->longest_input, (int64_t)(a + b) + special_tokens(&encoder->frame, second != NULL));
    if (a + b <= room)
        return;
    encoder->inputs_cut++;
    while (a + b > room)
        if (a > b)
            a--;
        else
            b--;
    shorten(encoder, first, a);
    if (second)
        shorten(encoder, second, b);
}

static bool encode_plain(TaskEncoder *encoder, const char *input, const char *second, TaskInputs *inputs,
                         GError **error)
{
    g_auto(Encoded) a = { 0 }, b = { 0 };
    guint room;
    if (!find_room(encoder, second != NULL, &room, error) || !encode_input(encoder, input, false, &a, error) ||
        (second && !encode_input(encoder, second, false, &b, error)))
        return false;
    fit(encoder, &a, second ? &b : NULL, room);
    append_sequence(encoder, &a, second ? &b : NULL, inputs);
    return true;
}

/* ---- words ---- */

/* Encodes each word separately; if the tokenizer's pieces contain spaces, with a space before it unless it is empty or
 * begins with one. */
static bool encode_words(TaskEncoder *encoder, const TaskExample *example, TaskInputs *inputs, GError **error)
{
    guint room;
    if (!find_room(encoder, false, &room, error))
        return false;
    g_auto(Encoded) all = { .ids = new_ids() };
    const int32_t before = encoder->frame.before.n;
    const bool spaces = g_str_has_prefix(tokenizer_kind(encoder->tok), "byte-bpe");
    for (guint i = 0; i < example->words->len; i++) {
        const int32_t at = (int32_t)all.ids->len + before;
        const char *word = example->words->pdata[i];
        g_autofree char *text = g_strconcat(spaces && *word && *word != ' ' ? " " : "", word, NULL);
        if (!tokenizer_encode(encoder->tok, text, strlen(text), false, all.ids, error))
            return false;
        const int32_t first = (int32_t)all.ids->len + before > at ? at : -1; /* a word without a token has no tag */
        g_array_append_val(inputs->words, first);
    }
    all.n = all.ids->len;
    encoder->inputs++;
    encoder->longest_input = MAX(encoder->longest_input, (int64_t)all.n + special_tokens(&encoder->frame, false));
    if (all.n > room) {
        encoder->inputs_cut++;
        all.n = room; /* words lose their end whatever the side: tags begin with the first word */
    }
    for (guint i = 0; i < inputs->words->len; i++)
        if (g_array_index(inputs->words, int32_t, i) >= before + (int32_t)all.n)
            g_array_index(inputs->words, int32_t, i) = -1;
    append_sequence(encoder, &all, NULL, inputs);
    return true;
}

/* ---- windows of a text with answers ---- */

/* Counts the example if its first answer has more tokens than a span that is answered. */
static void note_long_answer(TaskEncoder *encoder, const TaskExample *example, const Encoded *text)
{
    if (example->targets->len == 0)
        return;
    const int64_t from = g_array_index(example->starts, int64_t, 0),
                  to = from + (int64_t)strlen(example->targets->pdata[0]);
    int tokens = 0;
    for (guint i = 0; i < text->ranges->len; i++) {
        const TokenRange *token = &g_array_index(text->ranges, TokenRange, i);
        tokens += token->begin < to && from < token->end;
    }
    encoder->answers_long += tokens > TASK_SPAN_TOKENS;
}

/* As many windows as the text needs; consecutive windows share `stride` tokens. */
static bool encode_windows(TaskEncoder *encoder, const TaskExample *example, TaskInputs *inputs, GError **error)
{
    g_auto(Encoded) question = { 0 }, text = { 0 };
    guint room;
    if (!find_room(encoder, true, &room, error) || !encode_input(encoder, example->input, false, &question, error) ||
        !encode_input(encoder, example->second, true, &text, error))
        return false;
    const guint whole = text.n;
    encoder->inputs_cut += question.n > room / 2;
    question.n = MIN(question.n, room / 2);
    const guint width = room - question.n, stride = (guint)MIN(encoder->config->stride, (int64_t)width / 2);
    encoder->inputs++;
    encoder->longest_input = MAX(encoder->longest_input, (int64_t)question.ids->len);
    note_long_answer(encoder, example, &text);
    for (text.first = 0;; text.first += width - stride) {
        text.n = MIN(width, whole - text.first);
        append_sequence(encoder, &question, &text, inputs);
        if (text.first + text.n == whole)
            return true;
    }
}

static bool encode_choices(TaskEncoder *encoder, const TaskExample *example, TaskInputs *inputs, GError **error)
{
    const int64_t length = encoder->input_length, before = encoder->inputs, cut = encoder->inputs_cut,
                  longest = encoder->longest_input, n = example->choices->len;
    bool good = true;
    encoder->input_length = length / n; /* all choices share a packed sequence */
    encoder->longest_input = 0;
    for (guint i = 0; good && i < n; i++)
        good = encode_plain(encoder, example->input, example->choices->pdata[i], inputs, error);
    encoder->input_length = length;
    encoder->longest_input = MAX(longest, n * encoder->longest_input);
    encoder->inputs = before + 1;
    encoder->inputs_cut = MIN(encoder->inputs_cut, cut + 1);
    return good;
}

bool task_encode_inputs(TaskEncoder *encoder, const TaskExample *example, TaskInputs *inputs, GError **error)
{
    clear(inputs);
    switch (encoder->task->learns) {
    case LABELS_TOKENS:
        return encode_words(encoder, example, inputs, error);
    case LABELS_SPAN:
        return encode_windows(encoder, example, inputs, error);
    case LABELS_CHOICE:
        return encode_choices(encoder, example, inputs, error);
    default:
        return encode_plain(encoder, example->input, example->second, inputs, error);
    }
}
