#include "cli/inspect/inspect.h"

#include "cli/cli.h"

static const SubVerb sub_verbs[] = {
    { "dataset", inspect_dataset, "a token dataset: counts, lengths, tokenizer, first documents" },
    { "batch", inspect_batch, "what the model sees at a step of a configuration" },
    { "checkpoint", inspect_checkpoint, "the contents of a checkpoint, after verifying it" },
    { "model", inspect_model, "the tensors of a safetensors file or a Hugging Face folder" },
};

bool verb_inspect(int argc, char **argv, GError **error)
{
    return cli_run_sub_verb(sub_verbs, G_N_ELEMENTS(sub_verbs), "inspect",
                            "loam inspect dataset data/train --documents 3", argc, argv, error);
}
