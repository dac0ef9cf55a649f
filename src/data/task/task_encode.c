/* task_encode.c: converts examples to token ids and truncates those that are too long. */
#include "base/log.h"
#include "base/text.h"
#include "data/task/task.h"

#include <inttypes.h>
#include <string.h>

static bool encode_template(const TaskEncoder *encoder, const char *text, GArray *ids, GError **error)
{
    return tokenizer_encode(encoder->tok, text, strlen(text), true, ids, error);
}

/* The most bytes, up to n, that can be kept at the start (or end) of the text without cutting a character. */
static size_t cut_point(const char *text, size_t length, size_t n, bool start)
{
    while (n > 0 && ((start ? text[length - n] : text[n]) & 0xc0) == 0x80)
        n--;
    return n;
}

/* Encodes the example with only the first (or last) n bytes of the field; returns the number of tokens, -1 on error. */
static int64_t encode_short(const TaskEncoder *encoder, const Record *record, size_t n, GArray *ids, GError **error)
{
    Record shorter = *record;
    TaskExample example;
    shorter.short_name = encoder->config->cut_field;
    shorter.short_bytes = n;
    shorter.short_start = encoder->config->cut_side == TASK_CUT_START;
    g_array_set_size(ids, 0);
    if (!task_make(encoder->task, &shorter, false, &example, error))
        return -1;
    bool good = encode_template(encoder, example.input, ids, error);
    task_example_clear(&example);
    return good ? (int64_t)ids->len : -1;
}

/* Replaces ids by those of the input with as much of the field task.cut_field as fits into `room` tokens. Leaves ids
 * unchanged if the input would not fit even without the field. */
static bool cut_field(const TaskEncoder *encoder, const Record *record, guint room, GArray *ids, GError **error)
{
    g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GArray) trial = g_array_new(false, false, sizeof(int32_t));
    bool start = encoder->config->cut_side == TASK_CUT_START;
    if (!record_texts(record, encoder->config->cut_field, texts, &(bool){ false }, NULL) || texts->len == 0)
        return true;
    const char *text = texts->pdata[0];
    size_t length = strlen(text), fits = 0, fails = length;
    while (fits < fails) {
        size_t middle = cut_point(text, length, fits + (fails - fits + 1) / 2, start);
        if (middle <= fits || middle >= fails)
            break;
        int64_t n = encode_short(encoder, record, middle, trial, error);
        if (n < 0)
            return false;
        if (n > room) {
            fails = middle;
            continue;
        }
        fits = middle;
        g_array_set_size(ids, 0);
        g_array_append_vals(ids, trial->data, trial->len);
    }
    return true;
}

/* The special tokens after a text, without a final EOS, which objectives add. */
static FrameTokens after_text(const TaskEncoder *encoder)
{
    FrameTokens after = encoder->frame.after;
    after.n = MAX(after.n - 1, 0);
    return after;
}

/* The number of special tokens that share an input's length with its text. */
static int64_t around_input(const TaskEncoder *encoder)
{
    return encoder->frame.before.n + after_text(encoder).n + (encoder->joined ? 0 : 1);
}

int64_t task_input_room(const TaskEncoder *encoder, int64_t n_target)
{
    return MAX(encoder->input_length - around_input(encoder) - (encoder->joined ? n_target : 0), 1);
}

bool task_encode_input(TaskEncoder *encoder, const Record *record, const TaskExample *example, int64_t n_target,
                       GArray *ids, GError **error)
{
    const int64_t room = task_input_room(encoder, n_target);
    g_autoptr(GArray) own = g_array_new(false, false, sizeof(int32_t));
    if (!encode_template(encoder, example->input, own, error))
        return false;
    encoder->inputs++;
    encoder->longest_input = MAX(encoder->longest_input, (int64_t)own->len + around_input(encoder));
    if (own->len > room) {
        encoder->inputs_cut++;
        if (*encoder->config->cut_field && record && !cut_field(encoder, record, (guint)room, own, error))
            return false;
    }
    if (own->len > room) {
        encoder->fields_short += *encoder->config->cut_field != '\0';
        g_array_remove_range(own, encoder->config->cut_side == TASK_CUT_START ? 0 : (guint)room,
                             own->len - (guint)room);
    }
    const FrameTokens after = after_text(encoder);
    frame_append(ids, &encoder->frame.before);
    g_array_append_vals(ids, own->data, own->len);
    frame_append(ids, &after);
    return true;
}

FrameTokens task_frame_before_target(const TaskEncoder *encoder)
{
    return encoder->joined ? (FrameTokens){ 0 } : encoder->frame.before;
}

bool task_encode_target(TaskEncoder *encoder, const char *target, GArray *ids, GError **error)
{
    const FrameTokens before = task_frame_before_target(encoder), after = after_text(encoder);
    frame_append(ids, &before);
    guint first = ids->len;
    const int64_t around = before.n + after.n + 1, room = MAX(encoder->target_length - around, 0);
    if (!encode_template(encoder, target, ids, error))
        return false;
    int64_t n = (int64_t)(ids->len - first);
    encoder->longest_target = MAX(encoder->longest_target, n + around);
    if (n > room) {
        encoder->targets_cut++;
        g_array_set_size(ids, first + (guint)room);
    }
    frame_append(ids, &after);
    return true;
}

/* "the field {text} loses its end; …": which part of the inputs that are too long was removed. g_free. */
static char *what_is_lost(const TaskEncoder *encoder)
{
    const bool start = encoder->config->cut_side == TASK_CUT_START && encoder->task->learns != LABELS_TOKENS;
    const char *side = start ? "start" : "end", *field = encoder->config->cut_field;
    g_autofree char *whole = text_grouped(encoder->fields_short);
    if (*field == '\0')
        return g_strdup_printf("the input loses its %s", side);
    if (encoder->fields_short == 0)
        return g_strdup_printf("the field {%s} loses its %s", field, side);
    if (encoder->fields_short == encoder->inputs_cut)
        return g_strdup_printf("the field {%s} is shorter than what must go, so the whole input loses its %s", field,
                               side);
    return g_strdup_printf("the field {%s} loses its %s; where it is shorter than what must go (%s inputs), the whole "
                           "input does",
                           field, side, whole);
}

static void report_inputs(const TaskEncoder *encoder, const char *what)
{
    g_autofree char *all = text_grouped(encoder->inputs), *cut = text_grouped(encoder->inputs_cut);
    const LabelKind learns = encoder->task->learns;
    const char *limit = encoder->input_limit ? encoder->input_limit : "data.input_length";
    g_autofree char *lost = what_is_lost(encoder);
    const char *beside = encoder->joined && learns == LABELS_NONE ? " beside a target of up to data.target_length" : "";
    if (learns == LABELS_SPAN)
        log_warning("%s: %s of %s questions are longer than half of %s=%" PRId64 " (the longest has %" PRId64
                    " tokens): they lose their end",
                    what, cut, all, limit, encoder->input_length, encoder->longest_input);
    else
        log_warning("%s: %s of %s inputs are longer than %s=%" PRId64 " takes%s (the longest needs %" PRId64
                    ", special "
                    "tokens included): %s%s",
                    what, cut, all, limit, encoder->input_length, beside, encoder->longest_input, lost,
                    learns == LABELS_NONE     ? "; task.cut_field and task.cut_side choose"
                    : learns == LABELS_TOKENS ? ""
                                              : "; task.cut_side chooses");
}

void task_encoder_report(const TaskEncoder *encoder, const char *what)
{
    g_autofree char *targets = text_grouped(encoder->targets_cut), *answers = text_grouped(encoder->answers_long);
    if (encoder->inputs_cut > 0)
        report_inputs(encoder, what);
    if (encoder->targets_cut > 0)
        log_warning("%s: %s targets are longer than data.target_length=%" PRId64 " takes (the longest needs %" PRId64
                    ", special "
                    "tokens included): they lose their end",
                    what, targets, encoder->target_length, encoder->longest_target);
    if (encoder->answers_long > 0)
        log_warning("%s: %s answers have more than %d tokens, and a prediction has at most so many: none will equal "
                    "them",
                    what, answers, TASK_SPAN_TOKENS);
}
