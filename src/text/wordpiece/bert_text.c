#include "text/wordpiece/bert_text.h"

#include "base/check.h"
#include "text/unicode.h"

#include <string.h>

#define PLANE 0x10000 /* code points below, the basic plane, have table entries */

struct BertText {
    BertTextOptions options;
    uint8_t ascii[128];     /* the character that an ASCII character becomes; 0 means not exactly one, or a space */
    uint32_t offset[PLANE]; /* offset of a character's entry in `mapped` */
    GByteArray *mapped;     /* entries: a length byte and UTF-8 */
};

typedef struct CodeRange {
    gunichar first, last;
} CodeRange;

/* Hugging Face's BertNormalizer knows the categories of Unicode 8. Marks, punctuation and format characters of later
 * versions have none there: they lie in these ranges, with characters whose category does not matter. */
static const CodeRange later[] = {
    { 0x61d, 0x61d },     { 0x7fd, 0x7fd },     { 0x890, 0x8e2 },     { 0x9fd, 0x9fe },     { 0xa76, 0xa76 },
    { 0xafa, 0xaff },     { 0xb55, 0xb55 },     { 0xc04, 0xc3c },     { 0xc77, 0xc77 },     { 0xc84, 0xc84 },
    { 0xd00, 0xd00 },     { 0xd3b, 0xd3c },     { 0xd81, 0xd81 },     { 0xeba, 0xeba },     { 0xece, 0xece },
    { 0x180f, 0x1886 },   { 0x1abf, 0x1ace },   { 0x1b7d, 0x1b7e },   { 0x1df6, 0x1dfb },   { 0x2e43, 0x2e5d },
    { 0xa82c, 0xa82c },   { 0xa8c5, 0xa8c5 },   { 0xa8ff, 0xa8ff },   { 0xa9bd, 0xa9bd },   { 0x10d24, 0x10f89 },
    { 0x11070, 0x11074 }, { 0x110c2, 0x110cd }, { 0x111ce, 0x111cf }, { 0x1123e, 0x11241 }, { 0x1133b, 0x1133b },
    { 0x11438, 0x1145e }, { 0x11660, 0x1166c }, { 0x116b9, 0x116b9 }, { 0x1182f, 0x11fff }, { 0x12ff1, 0x13455 },
    { 0x16e97, 0x16f4f }, { 0x16fe2, 0x16fe4 }, { 0x1cf00, 0x1cf46 }, { 0x1e000, 0x1e4ef }, { 0x1e944, 0x1e95f },
};

#define NEVER_SPLIT 0x11938 /* has a decomposition since Unicode 13, which BertNormalizer does not know */

static const CodeRange chinese[] = {
    { 0x3400, 0x4dbf },   { 0x4e00, 0x9fff },   { 0xf900, 0xfaff },   { 0x20000, 0x2a6df },
    { 0x2a700, 0x2b81f }, { 0x2b920, 0x2ceaf }, { 0x2f800, 0x2fa1f },
};

static bool is_within(gunichar c, const CodeRange *ranges, size_t n)
{
    for (size_t i = 0; i < n && ranges[i].first <= c; i++)
        if (c <= ranges[i].last)
            return true;
    return false;
}

static GUnicodeType category(gunichar c)
{
    if (c == 0x166d || c == 0x111c9) /* punctuation in Unicode 8 */
        return G_UNICODE_OTHER_PUNCTUATION;
    if (c == 0x1734)
        return G_UNICODE_NON_SPACING_MARK;
    return is_within(c, later, G_N_ELEMENTS(later)) ? G_UNICODE_UNASSIGNED : g_unichar_type(c);
}

static bool is_punctuation(gunichar c)
{
    if (c < 128)
        return g_ascii_ispunct((gchar)c);
    switch (category(c)) {
    case G_UNICODE_CONNECT_PUNCTUATION:
    case G_UNICODE_DASH_PUNCTUATION:
    case G_UNICODE_OPEN_PUNCTUATION:
    case G_UNICODE_CLOSE_PUNCTUATION:
    case G_UNICODE_INITIAL_PUNCTUATION:
    case G_UNICODE_FINAL_PUNCTUATION:
    case G_UNICODE_OTHER_PUNCTUATION:
        return true;
    default:
        return false;
    }
}

static bool is_dropped(gunichar c)
{
    GUnicodeType type = category(c);
    if (c == '\t' || c == '\n' || c == '\r')
        return false;
    return c == 0 || c == 0xfffd || type == G_UNICODE_CONTROL || type == G_UNICODE_FORMAT ||
           type == G_UNICODE_PRIVATE_USE;
}

/* Writes a character in lower case to out; returns the number of characters, 1 or 2. */
static int lower(gunichar c, gunichar *out)
{
    out[0] = unicode_lower(c);
    if (c != 0x130) /* capital I with a dot above */
        return 1;
    out[0] = 'i';
    out[1] = 0x307;
    return 2;
}

/* Appends a character to an entry; with `apart`, between spaces. */
static void append_to_entry(uint8_t *room, gunichar c, bool apart)
{
    char utf8[6];
    size_t n = (size_t)g_unichar_to_utf8(c, utf8), at = room[0] + 1U;
    CHECK(at + n + 2 <= BERT_TEXT_CHAR_BYTES, "character %x becomes too long", c);
    if (apart)
        room[at++] = ' ';
    memcpy(room + at, utf8, n);
    at += n;
    if (apart)
        room[at++] = ' ';
    room[0] = (uint8_t)(at - 1);
}

/* Makes the entry of a character; with punctuation_apart, spaces are put around punctuation. */
static void map(const BertTextOptions *options, gunichar c, bool punctuation_apart, uint8_t *room)
{
    room[0] = 0;
    if (options->clean_text && is_dropped(c))
        return;
    if (is_white_space(c)) { /* without clean_text it only separates words */
        append_to_entry(room, options->clean_text || punctuation_apart ? ' ' : c, false);
        return;
    }
    bool apart = options->handle_chinese_chars && is_within(c, chinese, G_N_ELEMENTS(chinese));
    gunichar parts[G_UNICHAR_MAX_DECOMPOSITION_LENGTH] = { c };
    gsize n = options->strip_accents && c != NEVER_SPLIT
                  ? g_unichar_fully_decompose(c, FALSE, parts, G_N_ELEMENTS(parts))
                  : 1;
    for (gsize i = 0; i < n; i++) {
        if (options->strip_accents && category(parts[i]) == G_UNICODE_NON_SPACING_MARK)
            continue;
        gunichar small[2] = { parts[i] };
        int n_small = options->lowercase ? lower(parts[i], small) : 1;
        for (int j = 0; j < n_small; j++)
            append_to_entry(room, small[j], apart || (punctuation_apart && is_punctuation(small[j])));
    }
}

static BertText *make(BertTextOptions options)
{
    BertText *text = g_new0(BertText, 1);
    uint8_t room[BERT_TEXT_CHAR_BYTES];
    text->options = options;
    text->mapped = g_byte_array_new();
    for (gunichar c = 0; c < PLANE; c++) {
        bool surrogate = c >= 0xd800 && c <= 0xdfff;
        room[0] = 0;
        if (!surrogate)
            map(&options, c, true, room);
        text->offset[c] = text->mapped->len;
        g_byte_array_append(text->mapped, room, room[0] + 1U);
        if (c < 128 && room[0] == 1 && room[1] != ' ')
            text->ascii[c] = room[1];
    }
    return text;
}

const BertText *bert_text_of(BertTextOptions options)
{
    static BertText *made[16];
    BertText **text = &made[options.clean_text | options.handle_chinese_chars << 1 | options.strip_accents << 2 |
                            options.lowercase << 3];
    if (g_once_init_enter(text))
        g_once_init_leave(text, make(options));
    return *text;
}

const uint8_t *bert_text_char(const BertText *text, gunichar c, uint8_t *room)
{
    if (c < PLANE)
        return text->mapped->data + text->offset[c];
    map(&text->options, c, true, room);
    return room;
}

char *bert_text_normalize(const BertText *text, const char *chars, size_t bytes)
{
    GString *out = g_string_sized_new(bytes);
    uint8_t room[BERT_TEXT_CHAR_BYTES];
    for (const char *at = chars; at < chars + bytes; at = g_utf8_next_char(at)) {
        map(&text->options, g_utf8_get_char(at), false, room);
        g_string_append_len(out, (const char *)room + 1, room[0]);
    }
    return g_string_free(out, FALSE);
}

/* ---- words ---- */

static void end_word(BertWord *word, BertWordFn fn, void *context)
{
    if (word->n_chars > 0)
        fn(context, word);
    word->bytes = 0;
    word->n_chars = 0;
}

void bert_text_words(const BertText *text, int max_chars, const char *from, size_t bytes, BertWordFn fn, void *context)
{
    const unsigned char *at = (const unsigned char *)from, *end = at + bytes;
    uint8_t room[BERT_TEXT_CHAR_BYTES];
    BertWord word;
    word.bytes = 0;
    word.n_chars = 0;
    while (at < end) {
        while (at < end && *at < 128 && text->ascii[*at] && word.n_chars < max_chars) {
            word.text[word.bytes++] = (char)text->ascii[*at++];
            word.n_chars++;
        }
        if (at == end)
            break;
        const uint8_t *mapped = bert_text_char(text, g_utf8_get_char((const char *)at), room);
        at += g_utf8_skip[*at];
        for (uint8_t i = 1; i <= mapped[0]; i++) {
            if (mapped[i] == ' ') {
                end_word(&word, fn, context);
                continue;
            }
            word.n_chars += (mapped[i] & 0xc0) != 0x80;
            if (word.n_chars <= max_chars)
                word.text[word.bytes++] = (char)mapped[i];
        }
    }
    end_word(&word, fn, context);
}
