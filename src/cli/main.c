/* loam: one program that trains T5, BERT and GPT from raw text. The first argument is a verb; each verb is a file of
 * this folder. */
#include "base/fatal.h"
#include "base/text.h"
#include "cli/help.h"

#include <errno.h>
#include <locale.h>
#include <string.h>

const SubVerb verbs[] = {
    { "tokenizer", verb_tokenizer, "train, encode, decode, describe a tokenizer" },
    { "prepare", verb_prepare, "corpus to token dataset" },
    { "dataset", verb_dataset, "merge, shuffle and split token datasets" },
    { "plan", verb_plan, "what a configuration will do, before it does it" },
    { "train", verb_train, "pre-train a model, or go on from one" },
    { "eval", verb_eval, "loss and perplexity on held-out data" },
    { "scores", verb_scores, "predictions against references: accuracy, F1, ROUGE, BLEU and others" },
    { "generate", verb_generate, "fill the blanks of lines, guess masks, or go on from them" },
    { "embed", verb_embed, "vectors of lines, from an encoder" },
    { "import", verb_import, "a Hugging Face folder to a loam model" },
    { "export", verb_export, "a loam model to a Hugging Face folder" },
    { "compare", verb_compare, "how runs differ: their options and their losses" },
    { "inspect", verb_inspect, "look inside a dataset, a batch, a checkpoint, a model file" },
    { "bench", verb_bench, "speed of operations and steps on this machine" },
    { "help", verb_help, "what a verb does; every option; manual pages and completion" },
    { "env", verb_env, "versions, processor, libraries: for bug reports" },
};
const size_t n_verbs = G_N_ELEMENTS(verbs);

/* The status of the program, once all it printed is known to have arrived. */
static int finish(int status)
{
    errno = 0;
    bool flushed = fflush(stdout) == 0;
    if (status != 0 || (flushed && !ferror(stdout)))
        return status;
    fprintf(stderr, "loam: writing standard output: %s\n", errno ? strerror(errno) : "an earlier write failed");
    return LOAM_ERROR_MACHINE;
}

void print_verbs(FILE *out)
{
    fprintf(out, "loam %s: pre-train T5, BERT and GPT models from raw text, on a CPU\n\nusage: loam VERB …\n\n",
            LOAM_VERSION);
    for (size_t i = 0; i < G_N_ELEMENTS(verbs); i++)
        fprintf(out, "  %-10s %s\n", verbs[i].name, verbs[i].does);
    fprintf(out, "\n`loam help VERB` tells more. Exit status: 0 done, 1 a mistake in use, configuration or input,\n"
                 "2 a failure of the machine, 75 stopped on request with a checkpoint written.\n");
}

static int unknown_verb(const char *name)
{
    const char *names[G_N_ELEMENTS(verbs) + 1] = { NULL };
    for (size_t i = 0; i < G_N_ELEMENTS(verbs); i++)
        names[i] = verbs[i].name;
    const char *nearest = text_nearest(name, names);
    if (nearest)
        fprintf(stderr, "loam: unknown verb %s, did you mean %s?\n", name, nearest);
    else
        fprintf(stderr, "loam: unknown verb %s; `loam --help` lists them\n", name);
    return LOAM_ERROR_USER;
}

static int run_verb(VerbFn run, int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    if (run(argc, argv, &error) || error == NULL)
        return 0;
    fprintf(stderr, "loam %s: %s\n", argv[0], error->message);
    return error->domain == LOAM_ERROR ? error->code : LOAM_ERROR_USER;
}

int main(int argc, char **argv)
{
    fatal_install();
    setlocale(LC_CTYPE, "C.UTF-8"); /* numbers stay as C writes them */
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_verbs(argc < 2 ? stderr : stdout);
        return finish(argc < 2 ? LOAM_ERROR_USER : 0);
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("loam %s\n", LOAM_VERSION);
        return finish(0);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(verbs); i++)
        if (strcmp(argv[1], verbs[i].name) == 0)
            return finish(run_verb(verbs[i].run, argc - 1, argv + 1));
    return unknown_verb(argv[1]);
}
