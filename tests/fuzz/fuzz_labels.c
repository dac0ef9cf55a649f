/* Any ids as the encoded labels of a text for a classifier: refused, or an example whose labels, sequences and token
 * types are in range. The first bytes choose the kind of labels, the number of classes and the length of the text. */
#include "data/objectives/objectives.h"
#include "fuzz_folder.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    enum { TEXT = 64 };
    if (bytes < 3)
        return 0;
    ObjectiveConfig config = { .input_length = TEXT,
                               .label_kind = LABELS_SEQUENCE + data[0] % LABELS_CHOICE,
                               .n_labels = 1 + data[1] % 8,
                               .token_types = true };
    int64_t n_text = 1 + data[2] % TEXT, n_encoded = (int64_t)bytes - 3;
    g_autoptr(GError) error = NULL;
    CHECK(labels_objective.plan(&config, &error), "a plan");
    g_autofree int32_t *tokens = g_new0(int32_t, (gsize)(n_text + n_encoded));
    for (int64_t i = 0; i < n_encoded; i++)
        tokens[n_text + i] = data[3 + i];
    if (!labels_objective.accepts(&config, n_text, tokens + n_text, n_encoded))
        return 0;
    int64_t counts[8] = { 0 }, counted = 0;
    labelled_count((LabelKind)config.label_kind, tokens + n_text, n_encoded, counts);
    for (int i = 0; i < 8; i++) {
        CHECK(counts[i] == 0 || i < config.n_labels, "class %d of %d", i, (int)config.n_labels);
        counted += counts[i];
    }
    CHECK(counted <= n_text, "%d labels of %d tokens", (int)counted, (int)n_text);
    Example example;
    const Choice choice = { .n_first = n_text };
    const Text text = { .tokens = tokens, .n = n_text + n_encoded };
    example_init(&example, &config);
    labels_objective.apply(&config, &choice, NULL, &text, &example);
    CHECK(example.n_inputs == n_text && example.starts_sequence[0], "%d tokens", (int)example.n_inputs);
    if (config.label_kind == LABELS_SEQUENCE)
        CHECK(example.label >= -1 && example.label < config.n_labels, "class %d", example.label);
    if (config.label_kind == LABELS_SPAN && example.label >= 0)
        CHECK(example.label <= example.label_end && example.label_end < n_text, "a span to %d", example.label_end);
    for (int64_t i = 0; i < n_text; i++)
        CHECK(example.targets[i] >= 0 && example.targets[i] < config.n_labels, "a class %d", example.targets[i]);
    example_clear(&example);
    return 0;
}
