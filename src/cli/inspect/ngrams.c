/* ngrams.c: `loam inspect ngrams`: what n-gram models of a training dataset predict of a held-out one. */
#include "data/ngrams.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/inspect/inspect.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define USAGE "loam inspect ngrams TRAIN VALID [--tokenizer TOK] [--order N] [--tokens N] [--json]"

static const char about[] =
    "Counts the n-grams of a dataset and prints what they predict of another one: loss (nats per "
    "token), perplexity, and\n"
    "with --tokenizer bits per byte. A decoder that was trained on the same data should do "
    "better. The models are\n"
    "interpolated modified Kneser-Ney of 1 to N tokens; documents are read as one text.\n"
    "\n"
    "  loam inspect ngrams data/moby data/moby-valid --tokenizer tok.model\n";

static char *tokenizer_file;
static gint64 order = 5, most_tokens;
static gboolean as_json;
static const GOptionEntry entries[] = {
    CLI_PATH("tokenizer", tokenizer_file, "TOK", "tokenizer that decodes ids to text, for bits per byte"),
    CLI_VALUE("order", order, "N", "n-grams of up to N tokens, 1 to 8 (5)"),
    CLI_VALUE("tokens", most_tokens, "N", "count only the first N tokens; 0 means all (default)"),
    CLI_SWITCH("json", as_json, "one JSON object"),
    { 0 },
};

/* *bytes becomes the bytes of the text of all documents; -1 if a token is unknown, whose text is lost. */
static bool text_bytes_of(const Dataset *data, const Tokenizer *tok, int64_t *bytes, GError **error)
{
    const int64_t n = indexed_tokens(data->set);
    const int32_t unknown = tokenizer_unk(tok);
    g_autofree int32_t *ids = g_new(int32_t, n);
    if (!dataset_read(data, 0, 0, n, tokenizer_size(tok), ids, error))
        return false;
    for (int64_t i = 0; i < n; i++)
        if (ids[i] == unknown) {
            *bytes = -1;
            return true;
        }
    g_autofree char *text = tokenizer_decode(tok, ids, n, error);
    *bytes = text ? (int64_t)strlen(text) : 0;
    return text != NULL;
}

static bool print_ngrams(const double *bits, int64_t tokens, int64_t bytes, GError **error)
{
    json_t *models = json_array();
    for (int k = 1; k <= order; k++) {
        const double loss = bits[k - 1] * G_LN2 / (double)tokens, per_byte = bits[k - 1] / (double)bytes;
        json_array_append_new(models, json_pack("{s:i, s:f, s:o*}", "order", k, "loss", loss, "bits_per_byte",
                                                bytes > 0 ? json_real(per_byte) : NULL));
        if (!as_json)
            printf("%d-gram  loss %.4f  perplexity %.2f", k, loss, exp(loss));
        if (!as_json && bytes > 0)
            printf("  %.4f bits per byte", per_byte);
        if (!as_json)
            putchar('\n');
    }
    if (as_json)
        return print_json_line(json_pack("{s:I, s:o}", "tokens", (json_int_t)tokens, "ngrams", models), error);
    json_decref(models);
    return true;
}

/* Fails if the two datasets were made by different tokenizers, or if no one says how many ids there are. */
static bool check_pair(const Dataset *train, const Dataset *valid, const Tokenizer *tok, GError **error)
{
    const char *hash = train->meta.tokenizer_hash, *other = valid->meta.tokenizer_hash;
    if (hash && other && strcmp(hash, other) != 0)
        return fail_user(error, "%s and %s were made with different tokenizers: their tokens do not compare",
                         train->name, valid->name);
    if (tok && hash && strcmp(hash, tokenizer_hash(tok)) != 0)
        return fail_user(error, "%s was made with another tokenizer than %s", train->name, tokenizer_path(tok));
    if (!tok && train->meta.vocab == 0)
        return fail_user(error, "%s: how many ids there are is not known: give --tokenizer", train->name);
    const Dataset *empty = indexed_tokens(train->set) == 0 ? train : indexed_tokens(valid->set) == 0 ? valid : NULL;
    return !empty || fail_user(error, "%s has no token", empty->name);
}

static bool compare_pair(const Dataset *train, const Dataset *valid, const Tokenizer *tok, GError **error)
{
    double bits[NGRAMS_MOST];
    int64_t bytes = 0;
    if (!check_pair(train, valid, tok, error) || (tok && !text_bytes_of(valid, tok, &bytes, error)) ||
        !ngrams_bits(train, valid, (int)order, tok ? tokenizer_size(tok) : (int32_t)train->meta.vocab, most_tokens,
                     bits, error))
        return false;
    if (bytes < 0)
        log_warning("no bits per byte: a token of %s is the unknown one, whose text is lost", valid->name);
    return print_ngrams(bits, indexed_tokens(valid->set), bytes, error);
}

bool inspect_ngrams(int argc, char **argv, GError **error)
{
    if (!cli_parse(&argc, &argv, entries, USAGE, about, error))
        return false;
    if (argc != 3)
        return fail_user(error, "two datasets are wanted, one to count and one to predict; usage: " USAGE);
    if (order < 1 || order > NGRAMS_MOST)
        return fail_user(error, "--order %" PRId64 " is out of range: 1 to %d", order, NGRAMS_MOST);
    if (most_tokens < 0)
        return fail_user(error, "--tokens %" PRId64 " is out of range: a number of tokens, or 0 for all", most_tokens);
    g_autoptr(Dataset) train = dataset_open(argv[1], error), valid = train ? dataset_open(argv[2], error) : NULL;
    g_autoptr(Tokenizer) tok = valid && tokenizer_file ? tokenizer_open(tokenizer_file, error) : NULL;
    return valid && (tok || !tokenizer_file) && compare_pair(train, valid, tok, error);
}
