/* Where tokens lie in the text, against the offsets of Hugging Face's tokenizers (tests/golden), and what must hold for
 * any text. */
#include "golden.h"
#include "text/tokenizer.h"

#include <jansson.h>
#include <string.h>

typedef struct Model {
    const char *path, *model, *ids; /* ids: NULL means that no library's answer is stored */
    int least;                      /* texts that are compared at least */
} Model;

static const Model models[] = {
    { "/token_ends/byte_bpe_as_the_library", GOLDEN "byte-bpe/vocab.json", GOLDEN "byte-bpe/ids.jsonl", 181 },
    { "/token_ends/byte_bpe_json_as_the_library", GOLDEN "byte-bpe/tokenizer.json", GOLDEN "byte-bpe/ids.jsonl", 181 },
    { "/token_ends/wordpiece_as_the_library", GOLDEN "wordpiece/vocab.txt", GOLDEN "wordpiece/ids.jsonl", 181 },
    { "/token_ends/sentencepiece_as_the_library", GOLDEN "unigram/spiece.model", GOLDEN "unigram/ids.jsonl", 181 },
    { "/token_ends/unigram_json_as_the_library", GOLDEN "unigram/tokenizer.json", GOLDEN "unigram/ids.jsonl", 181 },
    { "/token_ends/tiktoken_as_the_library", GOLDEN "tiktoken/small.tiktoken", GOLDEN "tiktoken/ids.jsonl", 17 },
    { "/token_ends/bytes", "bytes", NULL, 0 },
};

static Tokenizer *open_model(const char *path)
{
    g_autoptr(GError) error = NULL;
    Tokenizer *tok = tokenizer_open(path, &error);
    g_assert_no_error(error);
    return tok;
}

typedef struct Encoded {
    GArray *ids, *ends;
} Encoded;

static Encoded encode(const Tokenizer *tok, const char *text)
{
    Encoded out = { g_array_new(FALSE, FALSE, sizeof(int32_t)), g_array_new(FALSE, FALSE, sizeof(uint32_t)) };
    g_autoptr(GArray) alone = g_array_new(FALSE, FALSE, sizeof(int32_t));
    g_autoptr(GError) error = NULL;
    tokenizer_encode_ends(tok, text, strlen(text), false, out.ids, out.ends, &error);
    g_assert_no_error(error);
    g_assert_true(tokenizer_encode(tok, text, strlen(text), false, alone, NULL));
    g_assert_cmpuint(out.ids->len, ==, alone->len);
    g_assert_true(out.ids->len == 0 || memcmp(out.ids->data, alone->data, 4 * (size_t)alone->len) == 0);
    g_assert_cmpuint(out.ends->len, ==, out.ids->len);
    return out;
}

static void encoded_clear(Encoded *encoded)
{
    g_array_unref(encoded->ids);
    g_array_unref(encoded->ends);
}

static uint32_t end_of(const Encoded *encoded, guint i)
{
    return g_array_index(encoded->ends, uint32_t, i);
}

/* A span of the library holds whole characters, and ours ends in the last of them, or after it: of "e" and an accent
 * that become one character, the library counts the first alone. White space at the end of the text is ours alone. */
static void check_spans(const Tokenizer *tok, const Encoded *ours, const char *text, const json_t *spans)
{
    for (guint i = 0; i < ours->ends->len; i++) {
        const json_t *span = json_array_get(spans, i);
        uint32_t begin = (uint32_t)json_integer_value(json_array_get(span, 0)),
                 end = (uint32_t)json_integer_value(json_array_get(span, 1)), from = i > 0 ? end_of(ours, i - 1) : 0;
        bool last = i + 1 == ours->ends->len;
        while (begin < end && g_ascii_isspace(text[begin])) /* of several spaces that become one, any may be it */
            begin++;
        bool is_space = strcmp(tokenizer_piece(tok, g_array_index(ours->ids, int32_t, i)), "\xe2\x96\x81") == 0;
        if (begin == end || is_space) /* a space that the library put there counts there as the character after it */
            continue;
        const json_t *after = json_array_get(spans, last ? i : i + 1);
        uint32_t most = MAX(end, (uint32_t)json_integer_value(json_array_get(after, 0)));
        if (!last && !(end_of(ours, i) <= most && end_of(ours, i) > begin))
            g_error("\"%s\": token %u ends at %u, the library's is %u to %u", text, i, end_of(ours, i), begin, end);
        const json_t *before = json_array_get(spans, i > 0 ? i - 1 : 0);
        bool shared = json_integer_value(json_array_get(before, 1)) > begin; /* both are parts of one character */
        if (from > begin && !shared)
            g_error("\"%s\": token %u starts at %u, the library's at %u", text, i, from, begin);
    }
}

static void agrees_with_the_library(gconstpointer data)
{
    const Model *model = data;
    Tokenizer *tok = open_model(model->model);
    g_autofree char *content = NULL;
    int n = 0;
    g_assert_true(g_file_get_contents(model->ids, &content, NULL, NULL));
    g_auto(GStrv) lines = g_strsplit(g_strchomp(content), "\n", -1);
    for (char **line = lines; *line; line++) {
        json_t *record = json_loads(*line, 0, NULL), *spans = json_object_get(record, "spans");
        const char *text = json_string_value(json_object_get(record, "text"));
        Encoded ours = encode(tok, text);
        bool same = spans && json_array_size(spans) == ours.ids->len; /* the library may read special tokens */
        if (same)
            check_spans(tok, &ours, text, spans);
        n += same;
        encoded_clear(&ours);
        json_decref(record);
    }
    g_assert_cmpint(n, >=, model->least);
    tokenizer_close(tok);
}

static const char *const texts[] = {
    "def f(x):\n    return x + 1\n",
    "\tif (a  &&\r\n\t\tb) { s = \"n\xc3\xa9\"; }  \r\n",
    "e\xcc\x81t\xc3\xa9 na\xc3\xafve \xef\xac\x81n \xc2\xbd \xe2\x82\xac",
    "\xe5\x8c\x97\xe4\xba\xac\xf0\x9f\x99\x82\xf0\x9f\x99\x82 x",
    "   ",
    "",
    "a",
    " a",
    "a ",
    "\n\n\n",
    "\xe2\x80\x8b\xe2\x80\x8b",
    "Hello, HELLO hello.x",
};

/* Every byte belongs to one token, and the tokens of the text up to a token's end are those before it, or nearly. */
static void every_byte_belongs_to_one_token(gconstpointer data)
{
    Tokenizer *tok = open_model(((const Model *)data)->model);
    for (size_t t = 0; t < G_N_ELEMENTS(texts); t++) {
        Encoded ours = encode(tok, texts[t]);
        for (guint i = 1; i < ours.ends->len; i++)
            g_assert_cmpuint(end_of(&ours, i - 1), <=, end_of(&ours, i));
        if (ours.ends->len > 0)
            g_assert_cmpuint(end_of(&ours, ours.ends->len - 1), ==, strlen(texts[t]));
        encoded_clear(&ours);
    }
    tokenizer_close(tok);
}

static bool starts_word(const Tokenizer *tok, int32_t id)
{
    const char *piece = tokenizer_piece(tok, id);
    return g_str_has_prefix(piece, "\xe2\x96\x81") || g_str_has_prefix(piece, "\xc4\xa0");
}

/* The slices of the text between two words, each encoded by itself, give the ids of the whole. */
static void slices_encode_to_their_ids(gconstpointer data)
{
    const Model *model = data;
    Tokenizer *tok = open_model(model->model);
    bool is_wordpiece = strcmp(tokenizer_kind(tok), "wordpiece") == 0;
    bool strips =
        strcmp(tokenizer_kind(tok), "unigram") == 0; /* white space at the end of every text, so of slices too */
    for (size_t t = 0; t < G_N_ELEMENTS(texts); t++) {
        if (strips && strpbrk(texts[t], "\n"))
            continue;
        Encoded whole = encode(tok, texts[t]);
        guint first = 0;
        for (guint i = 1; i <= whole.ids->len; i++) {
            int32_t id = i < whole.ids->len ? g_array_index(whole.ids, int32_t, i) : -1;
            bool cut = id < 0 || starts_word(tok, id) ||
                       (is_wordpiece && !g_str_has_prefix(tokenizer_piece(tok, id), "##")) || !model->ids;
            if (!cut)
                continue;
            uint32_t begin = first > 0 ? end_of(&whole, first - 1) : 0;
            g_autofree char *slice = g_strndup(texts[t] + begin, end_of(&whole, i - 1) - begin);
            g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(int32_t));
            if (!g_utf8_validate(slice, -1, NULL)) /* a cut within a character */
                continue;
            g_assert_true(tokenizer_encode(tok, slice, strlen(slice), false, ids, NULL));
            if (ids->len != i - first ||
                memcmp(ids->data, &g_array_index(whole.ids, int32_t, first), 4 * ids->len) != 0)
                g_error("%s: \"%s\" of \"%s\" has %u ids, not the %u of the whole", model->model, slice, texts[t],
                        ids->len, i - first);
            first = i;
        }
        encoded_clear(&whole);
    }
    tokenizer_close(tok);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(models); i++) {
        g_autofree char *covers = g_strconcat(models[i].path, "/every_byte_belongs_to_one_token", NULL),
                        *slices = g_strconcat(models[i].path, "/slices_encode_to_their_ids", NULL),
                        *agrees = g_strconcat(models[i].path, "/agrees_with_the_library", NULL);
        g_test_add_data_func(covers, &models[i], every_byte_belongs_to_one_token);
        g_test_add_data_func(slices, &models[i], slices_encode_to_their_ids);
        if (models[i].ids)
            g_test_add_data_func(agrees, &models[i], agrees_with_the_library);
    }
    return g_test_run();
}
