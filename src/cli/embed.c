/* embed.c: `loam embed`: a vector for each line of text. */
#include "base/check.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/prompts.h"
#include "eval/answers.h"
#include "eval/embedder.h"
#include "model/hf/hf.h"
#include "run/config/config.h"
#include "run/model_path.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define USAGE "loam embed --model MODEL [--pooling KIND] [--jsonl FIELD] [--npy FILE] [FILE]… < LINES"

static const char about[] = "Computes a vector (embedding) for every line of the files, or of standard input, and "
                            "prints one JSON object per line;\n"
                            "with --npy it writes a NumPy matrix with one row per line. The model is a BERT, or a T5, "
                            "of which only the encoder\n"
                            "is used: a run directory, a checkpoint or a Hugging Face folder.\n"
                            "\n"
                            "  echo \"The dog walks in the park\" | loam embed --model runs/bert\n";

static LoadedModelSource model_source;
static char *jsonl_field, *pooling_name, *npy_path;
static int64_t max_tokens, batch = 16;
static char *on_error;
static bool skips; /* value of --on-error */
static gboolean as_ids, normalize;
static const GOptionEntry entries[] = {
    CLI_MODEL(model_source.path),
    CLI_TOKENIZER(model_source.tokenizer),
    CLI_DEVICE(model_source.device),
    CLI_PRECISION(model_source.precision_name),
    CLI_VALUE("pooling", pooling_name, "mean|first|last|max|sqrt|weighted|pooler|none",
              "mean of the hidden states, first: that of the first token, last, max, sqrt: mean times the root of the "
              "length, weighted: mean by position, pooler: BERT's pooler, none: one vector per token (default: what a "
              "folder's modules.json declares, else mean)"),
    CLI_SWITCH("normalize", normalize, "scale vectors to length 1"),
    CLI_VALUE("max-tokens", max_tokens, "N", "truncate longer texts to N tokens (default: model.max_positions)"),
    CLI_VALUE("batch", batch, "N", "texts of --max-tokens tokens in one batch, or more shorter texts (default 16)"),
    CLI_VALUE("jsonl", jsonl_field, "FIELD", "lines are JSON objects; the text is this field"),
    CLI_SWITCH("ids", as_ids, "lines are token ids separated by spaces"),
    CLI_ON_ERROR(on_error, "a line"),
    CLI_PATH("npy", npy_path, "FILE", "write a NumPy matrix of f32 with one row per line, instead of JSON"),
    { 0 },
};

/* ---- NumPy ---- */

/* Bytes of the header, enough for any number of rows; the format requires a multiple of 64. */
#define HEADER_BYTES 128

/* Writes a matrix of f32 row by row as a NumPy file (.npy). */
typedef struct NpyWriter {
    char *path;
    IoFile *file;
    int64_t rows, cols;
} NpyWriter;

/* Makes the header: magic number, version 1.0, length of the description, the description, spaces, and a newline. */
static void make_header(char header[HEADER_BYTES + 1], int64_t rows, int64_t cols)
{
    enum { BEFORE = 10 };
    const int length = HEADER_BYTES - BEFORE;
    memcpy(header, "\x93NUMPY\x01\x00", 8);
    header[8] = (char)length;
    header[9] = 0;
    int n = g_snprintf(header + BEFORE, (gulong)length,
                       "{'descr': '<f4', 'fortran_order': False, 'shape': (%" PRId64 ", %" PRId64 "), }", rows, cols);
    CHECK(n < length, "a header of %d bytes", n);
    memset(header + BEFORE + n, ' ', (size_t)(length - n));
    header[HEADER_BYTES - 1] = '\n';
}

/* Writes to a temporary file, which npy_close renames to `path`. Free with npy_clear, also after an error. */
static bool npy_create(NpyWriter *writer, const char *path, int64_t cols, GError **error)
{
    char header[HEADER_BYTES + 1];
    make_header(header, 0, cols);
    *writer = (NpyWriter){ .path = io_follow_links(path), .cols = cols };
    return (writer->file = io_create_beside(writer->path, error)) &&
           io_write(writer->file, header, HEADER_BYTES, error);
}

static bool npy_write_row(NpyWriter *writer, const float *row, GError **error)
{
    writer->rows++;
    return io_write(writer->file, row, sizeof *row * (size_t)writer->cols, error);
}

/* Writes the number of rows into the header, syncs and renames the file. */
static bool npy_close(NpyWriter *writer, GError **error)
{
    char header[HEADER_BYTES + 1];
    make_header(header, writer->rows, writer->cols);
    return io_patch(writer->file, 0, header, HEADER_BYTES, error) &&
           io_publish(g_steal_pointer(&writer->file), writer->path, error);
}

/* Removes the temporary file, if npy_close has not renamed it. */
static void npy_clear(NpyWriter *writer)
{
    io_discard(writer->file);
    g_free(writer->path);
}

/* ---- vectors ---- */

/* The state of one `loam embed` command, kept over all its input files. */
typedef struct Embedding {
    const Model *model;
    Embedder *embedder;
    Pooling pooling;
    PromptFormat format;
    GPtrArray *pending; /* Prompt *, borrowed: the texts of the next batch */
    NpyWriter npy;      /* of --npy; without it JSON lines are printed */
    int64_t width, longest, n_done, n_cut;
} Embedding;

static int32_t *ids_of(const Prompt *prompt)
{
    return (int32_t *)(void *)prompt->ids->data;
}

static void scale_to_one(float *out, const float *vector, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)vector[i] * (double)vector[i];
    double factor = normalize && sum > 0 ? 1 / sqrt(sum) : 1;
    for (int64_t i = 0; i < n; i++)
        out[i] = (float)(factor * (double)vector[i]);
}

static json_t *vector_json(const float *vector, int64_t n)
{
    json_t *array = json_array();
    for (int64_t i = 0; i < n; i++)
        json_array_append_new(array, json_finite((double)vector[i]));
    return array;
}

static void print_vectors(const Embedding *e, const Prompt *prompt, const float *vectors)
{
    const bool each = e->pooling == POOLING_NONE;
    json_t *rows = each ? json_array() : vector_json(vectors, e->width);
    for (guint i = 0; each && i < prompt->ids->len; i++)
        json_array_append_new(rows, vector_json(vectors + i * e->width, e->width));
    /* with --on-error skip a reader of these lines cannot count which line of the input each belongs to */
    json_auto_t *object = json_pack("{s:o*, s:o*, s:o}", "line", skips ? json_integer(prompt->line) : NULL, "ids",
                                    each ? json_ids(ids_of(prompt), prompt->ids->len) : NULL, "embedding", rows);
    g_autofree char *line =
        json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(9)); /* 9 digits restore an f32 exactly */
    puts(line);
}

static bool run_batch(Embedding *e, GError **error)
{
    if (e->pending->len == 0)
        return true;
    const float *vectors = embedder_run(e->embedder);
    bool good = true;
    for (guint i = 0; good && i < e->pending->len; i++) {
        const Prompt *prompt = e->pending->pdata[i];
        int64_t rows = e->pooling == POOLING_NONE ? prompt->ids->len : 1;
        if (!check_finite(e->model, "a vector with a number", vectors, rows * e->width, error))
            return fail_context(error, "line %" PRId64, e->n_done + i + 1);
        g_autofree float *out = g_new(float, (gsize)(rows * e->width));
        for (int64_t row = 0; row < rows; row++)
            scale_to_one(out + row * e->width, vectors + row * e->width, e->width);
        vectors += rows * e->width;
        if (npy_path)
            good = npy_write_row(&e->npy, out, error);
        else
            print_vectors(e, prompt, out);
    }
    e->n_done += e->pending->len;
    g_ptr_array_set_size(e->pending, 0);
    progress_update((uint64_t)e->n_done);
    return good && (fflush(stdout) == 0 || fail_errno(error, "writing", "standard output"));
}

/* Truncates a text that is too long, but keeps the special tokens around it. */
static void cut_prompt(Embedding *e, const Prompt *prompt)
{
    if (prompt->ids->len <= e->longest)
        return;
    const FrameTokens *before = &e->format.frame.before, *after = &e->format.frame.after;
    const bool framed = prompt->framed && e->longest >= before->n + after->n;
    const char *side = e->format.tok ? json_text(tokenizer_settings(e->format.tok), "truncation_side") : "";
    const guint excess = prompt->ids->len - (guint)e->longest;
    const guint end = prompt->ids->len - (framed ? (guint)after->n : 0);
    g_array_remove_range(prompt->ids, strcmp(side, "left") != 0 ? end - excess : framed ? (guint)before->n : 0, excess);
    if (e->n_cut++ == 0)
        log_warning("texts longer than %" PRId64 " tokens are cut, such as line %" PRId64, e->longest,
                    e->n_done + e->pending->len + 1);
}

static bool embed_prompt(Embedding *e, Prompt *prompt, GError **error)
{
    for (guint i = 0; i < prompt->ids->len; i++)
        if (ids_of(prompt)[i] >= e->format.vocab)
            return fail_user(error, "the tokenizer gives an id of %d, but the model's are 0 to %" PRId64,
                             ids_of(prompt)[i], e->format.vocab - 1);
    cut_prompt(e, prompt);
    if (!embedder_add(e->embedder, ids_of(prompt), prompt->ids->len)) {
        if (!run_batch(e, error))
            return false;
        embedder_add(e->embedder, ids_of(prompt), prompt->ids->len);
    }
    g_ptr_array_add(e->pending, prompt);
    return true;
}

static bool embed_lines(void *context, G_GNUC_UNUSED PromptReader *reader, GPtrArray *prompts, GError **error)
{
    for (guint i = 0; i < prompts->len; i++)
        if (!embed_prompt(context, prompts->pdata[i], error))
            return false;
    return run_batch(context, error);
}

static bool embed_file(Embedding *e, const char *path, GError **error)
{
    bool standard = strcmp(path, "-") == 0;
    int descriptor = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return fail_errno(error, "cannot read", path);
    bool done = prompts_each(descriptor, standard ? "standard input" : path, &e->format, 256, embed_lines, e, error);
    if (!standard)
        close(descriptor);
    return done;
}

static bool embed_files(Embedding *e, char **paths, int n, GError **error)
{
    static char *standard_input[] = { (char *)"-" };
    bool done = true, bar = !isatty(STDOUT_FILENO);
    if (npy_path && (!cli_check_suffix("npy", npy_path, ".npy", error) || !io_check_apart(npy_path, paths, n, error) ||
                     !npy_create(&e->npy, npy_path, e->width, error)))
        return false;
    if (n == 0)
        paths = standard_input;
    if (bar)
        progress_open("embedding", "lines", 0);
    for (int i = 0; done && i < MAX(n, 1); i++)
        done = embed_file(e, paths[i], error);
    if (bar)
        progress_close();
    if (e->n_cut > 1)
        log_warning("%" PRId64 " of %" PRId64 " texts were cut to %" PRId64 " tokens", e->n_cut, e->n_done, e->longest);
    return done && (npy_path == NULL || npy_close(&e->npy, error));
}

static bool embed_with(const LoadedModel *loaded, Pooling pooling, char **paths, int n, GError **error)
{
    const ModelConfig *config = model_config(loaded->model);
    Embedding e = { .model = loaded->model,
                    .pooling = pooling,
                    .width = config->width,
                    .longest = max_tokens ? max_tokens : config->max_positions,
                    .pending = g_ptr_array_new() };
    bool done = (e.embedder = embedder_open(loaded->model, pooling, e.longest, batch, error)) != NULL;
    if (done) {
        e.format = prompt_format(loaded->model, loaded->tok);
        e.format.field = jsonl_field;
        e.format.as_ids = as_ids;
        e.format.skip_errors = skips;
        e.format.most_tokens = 0;
        done = embed_files(&e, paths, n, error);
    }
    npy_clear(&e.npy);
    embedder_close(e.embedder);
    g_ptr_array_unref(e.pending);
    return done;
}

/* ---- what a folder of sentence-transformers declares: how hidden states become a vector ---- */

typedef struct SentenceFolder {
    Pooling pooling;
    bool normalize;
    int64_t max_tokens; /* max_seq_length; 0 means that there is none */
} SentenceFolder;

#define ASIDE "; --pooling KIND leaves modules.json aside"

/* The modes of the module Pooling. */
static const struct {
    const char *key, *name; /* the key of older files, the value of "pooling_mode" in newer ones */
    Pooling pooling;
} modes[] = {
    { "pooling_mode_cls_token", "cls", POOLING_FIRST },
    { "pooling_mode_mean_tokens", "mean", POOLING_MEAN },
    { "pooling_mode_max_tokens", "max", POOLING_MAX },
    { "pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", POOLING_SQRT },
    { "pooling_mode_weightedmean_tokens", "weightedmean", POOLING_WEIGHTED },
    { "pooling_mode_lasttoken", "lasttoken", POOLING_LAST },
};

/* The content of FOLDER/NAME; NULL means that there is none. */
static const json_t *json_file(const json_t *files, const char *folder, const char *name)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    return json_object_get(files, path);
}

static bool read_pooling(const json_t *root, const char *module, SentenceFolder *folder, GError **error)
{
    int n = 0;
    const char *name = json_text(root, "pooling_mode");
    for (size_t i = 0; i < G_N_ELEMENTS(modes); i++)
        if (json_is_true(json_object_get(root, modes[i].key)) || strcmp(name, modes[i].name) == 0) {
            folder->pooling = modes[i].pooling;
            n++;
        }
    return n == 1 ||
           fail_user(error, "%s/config.json has %d modes of pooling that loam knows, want one" ASIDE, module, n);
}

/* Settings of the module Transformer by which sentence-transformers computes something else than loam. */
static bool check_transformer(const json_t *root, GError **error)
{
    static const char *const sets[] = { "processing_kwargs", "processor_kwargs", "tokenizer_args", "model_kwargs",
                                        "model_args",        "config_kwargs",    "config_args" };
    static const char *const only[][2] = { { "transformer_task", "feature-extraction" },
                                           { "module_output_name", "token_embeddings" } };
    for (size_t i = 0; i < G_N_ELEMENTS(sets); i++)
        if (json_object_size(json_object_get(root, sets[i])) > 0)
            return fail_user(error, HF_SENTENCE_LIMITS " has %s, which loam does not read" ASIDE, sets[i]);
    for (size_t i = 0; i < G_N_ELEMENTS(only); i++) {
        const char *value = json_text(root, only[i][0]);
        if (*value && strcmp(value, only[i][1]) != 0)
            return fail_user(error, HF_SENTENCE_LIMITS " has %s \"%s\": loam reads \"%s\" only" ASIDE, only[i][0],
                             value, only[i][1]);
    }
    return true;
}

static bool read_limits(const json_t *root, SentenceFolder *folder, GError **error)
{
    const json_t *most = json_object_get(root, "max_seq_length");
    folder->max_tokens = json_is_integer(most) && json_integer_value(most) > 0 ? json_integer_value(most) : 0;
    if (!check_transformer(root, error))
        return false;
    return !json_is_true(json_object_get(root, "do_lower_case")) ||
           fail_user(error, HF_SENTENCE_LIMITS " has do_lower_case, which loam does not do: write the texts in lower "
                                               "case and set it to false");
}

static bool read_module(const json_t *files, const json_t *entry, SentenceFolder *folder, GError **error)
{
    const char *type = json_text(entry, "type"), *name = hf_sentence_module(entry), *module = json_text(entry, "path");
    if (strcmp(name, "Transformer") == 0)
        return read_limits(json_file(files, module, HF_SENTENCE_LIMITS), folder, error);
    if (strcmp(name, "Pooling") == 0)
        return read_pooling(json_file(files, module, "config.json"), module, folder, error);
    folder->normalize = strcmp(name, "Normalize") == 0;
    return folder->normalize || fail_user(error, "modules.json has the module %s, which loam does not have" ASIDE,
                                          *type ? type : "without a type");
}

/* A prompt that sentence-transformers puts before every text. */
static void warn_of_prompt(const json_t *root)
{
    const char *name = json_text(root, "default_prompt_name"),
               *prompt = json_text(json_object_get(root, "prompts"), name);
    if (*prompt)
        log_warning("the model's default prompt \"%s\" is not put before the texts: write it into them", prompt);
}

/* Reads TokenRoles.sentence. It is a user's error if it has a module that loam does not have. */
static bool sentence_folder_read(const json_t *files, SentenceFolder *folder, GError **error)
{
    size_t i;
    const json_t *entry;
    *folder = (SentenceFolder){ 0 };
    json_array_foreach(json_object_get(files, "modules.json"), i,
                       entry) if (!read_module(files, entry, folder, error)) return false;
    const json_t *settings = json_object_get(files, HF_SENTENCE_PROMPTS);
    warn_of_prompt(settings);
    return !json_is_integer(json_object_get(settings, "truncate_dim")) ||
           fail_user(error, HF_SENTENCE_PROMPTS " has truncate_dim, and loam's vectors are whole" ASIDE);
}

/* ---- the verb ---- */

static bool find_pooling(Pooling *pooling, GError **error)
{
    int i = 0;
    while (pooling_name && pooling_names[i] && strcmp(pooling_names[i], pooling_name) != 0)
        i++;
    if (pooling_names[i] == NULL)
        return fail_user(error, "--pooling %s is unknown: want mean, first, pooler, none, last, max, sqrt or weighted",
                         pooling_name);
    *pooling = (Pooling)i; /* POOLING_MEAN is the first */
    return *pooling != POOLING_NONE || npy_path == NULL ||
           fail_user(error, "--npy writes one row per line: give a --pooling other than none");
}

/* Takes what a folder of sentence-transformers declared of the model and no option does. */
static bool take_declared(Model *model, Pooling *pooling, GError **error)
{
    SentenceFolder folder;
    const json_t *files = model_roles(model)->sentence;
    if (pooling_name || files == NULL)
        return true;
    if (!sentence_folder_read(files, &folder, error))
        return fail_context(error, "%s", model_source.path);
    *pooling = folder.pooling;
    normalize = normalize || folder.normalize;
    if (max_tokens == 0 && model_config_fits(model_config(model), folder.max_tokens, NULL))
        max_tokens = folder.max_tokens;
    log_info("%s: modules.json: pooling %s%s", model_source.path, pooling_names[folder.pooling],
             folder.normalize ? ", scaled to length 1" : "");
    return true;
}

bool verb_embed(int argc, char **argv, GError **error)
{
    Pooling pooling = POOLING_MEAN;
    if (!cli_parse(&argc, &argv, entries, USAGE, about, error))
        return false;
    if (model_source.path == NULL)
        return fail_user(error, "--model is missing; usage: " USAGE);
    if (!find_pooling(&pooling, error) || !cli_parse_on_error(&skips, on_error, error))
        return false;
    if (skips && npy_path)
        return fail_user(error, "--npy writes one row per line: leave out --on-error skip, or write JSON lines, which "
                                "have the number of their line then");
    if (max_tokens < 0)
        return fail_user(error, "--max-tokens %" PRId64 ": it must be at least 1, or 0 for the model's maximum",
                         max_tokens);
    if (batch < 1)
        return fail_user(error, "--batch %" PRId64 ": it must be at least 1", batch);
    g_auto(LoadedModel) loaded = { 0 };
    model_source.advice = as_ids || jsonl_field ? NULL : "give --tokenizer FILE";
    return loaded_model_open(&loaded, &model_source, error) && take_declared(loaded.model, &pooling, error) &&
           embed_with(&loaded, pooling, argv + 1, argc - 1, error);
}
