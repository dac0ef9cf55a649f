#include "scores/python_code.h"

#include "base/python_text.h"

#include <string.h>

#define TAB_WIDTH 8

/* Kind of a token, as far as the rule for docstrings needs it. */
typedef enum TokenKind { TOKEN_INDENT, TOKEN_NEWLINE, TOKEN_OTHER } TokenKind;

/* A tokenizer in progress, at byte `at` of the line [line, end), whose line end is part of it. */
typedef struct Scan {
    const char *at, *line, *end;
    const char *gap; /* [gap, at) is the white space after the previous token */
    GString *out;
    TokenKind before;
    GArray *indents;    /* int64_t: columns of the open blocks; the first is 0 */
    int64_t brackets;   /* open brackets minus closed ones; below 0 if more were closed */
    bool continued;     /* the previous line ended with a backslash */
    const char *string; /* start of a string that continues in the next line; NULL means none */
    char quote;         /* quote character of this string */
    bool triple;
    bool needs_backslash; /* the string continues only after a line that ends with a backslash. As in Python, a string
                             that breaks off without a backslash passes this flag on to the next string, even if that
                             has triple quotes */
} Scan;

/* ---- output ---- */

/* Writes one space per character of the white space between two tokens of a line. */
static void put_gap(Scan *s)
{
    for (const char *at = s->gap; at < s->at; at++)
        g_string_append_c(s->out, ' ');
}

/* Writes the token [begin, s->at). */
static void end_token(Scan *s, const char *begin, TokenKind kind)
{
    g_string_append_len(s->out, begin, s->at - begin);
    s->before = kind;
    s->gap = s->at;
}

/* ---- strings ---- */

/* Bytes of the prefix of a string, such as rb of rb"x"; 0 if none is at `at`. */
static size_t prefix_bytes(const char *at)
{
    static const char *const prefixes[] = { "b", "r", "u", "f", "br", "rb", "fr", "rf" };
    const size_t n = strspn(at, "bBrRuUfF");
    for (size_t i = 0; i < G_N_ELEMENTS(prefixes); i++)
        if (strlen(prefixes[i]) == n && g_ascii_strncasecmp(prefixes[i], at, n) == 0 && strchr("'\"", at[n]) && at[n])
            return n;
    return 0;
}

/* Whether the line ends at `at`. */
static bool is_line_end(const char *at)
{
    return at[0] == '\n' || (at[0] == '\r' && at[1] == '\n');
}

/* Moves s->at past the closing quotes. Returns false if the line has no closing quotes; *joined then tells whether the
 * line ends with a backslash. */
static bool close_string(Scan *s, bool *joined)
{
    const char *at = s->at;
    *joined = false;
    while (at < s->end) {
        if (*at == s->quote && (!s->triple || (at[1] == s->quote && at[2] == s->quote))) {
            s->at = at + (s->triple ? 3 : 1);
            return true;
        }
        if (*at == '\\' && is_line_end(at + 1)) {
            *joined = true;
            return false;
        }
        at += *at == '\\' && at[1] ? 2 : 1;
    }
    return false;
}

/* Writes the string token [begin, s->at), or drops it if it is the first token of a block or line or in column 0. */
static void put_string(Scan *s, const char *begin, bool first_column)
{
    const bool kept = s->before == TOKEN_OTHER && !first_column;
    end_token(s, kept ? begin : s->at, TOKEN_OTHER);
}

/* Reads a string token whose quote is `n` bytes after s->at; false if the string neither ends in this line nor goes on
 * in the next one (triple quotes, or a backslash at the end): then it is not a string. */
static bool read_string(Scan *s, size_t n)
{
    const char *begin = s->at, quote = begin[n];
    const bool triple = begin[n + 1] == quote && begin[n + 2] == quote;
    bool joined = false;
    s->quote = quote;
    s->triple = triple;
    s->at = begin + n + (triple ? 3 : 1);
    const bool closed = close_string(s, &joined), found = closed || triple || joined;
    if (!closed)
        s->at = found ? s->end : begin;
    if (closed) {
        put_string(s, begin, begin == s->line);
        return true;
    }
    s->string = found ? begin : NULL;
    s->needs_backslash |= joined && !triple;
    return found;
}

/* Reads the next line of a string that began in an earlier line. */
static void go_on_with_string(Scan *s, const char *code)
{
    bool joined;
    const char *begin = s->string;
    const size_t bytes = (size_t)(s->end - s->line);
    if (close_string(s, &joined)) {
        s->string = NULL;
        s->needs_backslash = false;
        put_string(s, begin, begin == code || begin[-1] == '\n');
        return;
    }
    s->at = s->end;
    const bool goes_on =
        !s->needs_backslash || (bytes > 1 && s->end[-1] == '\n' &&
                                (s->end[-2] == '\\' || (bytes > 2 && s->end[-2] == '\r' && s->end[-3] == '\\')));
    if (goes_on)
        return;
    s->string = NULL;
    end_token(s, begin, TOKEN_OTHER); /* not a string: written unchanged */
}

/* ---- lines ---- */

/* Opens or closes blocks by the column of a line; false if no open block has this column. */
static bool indent(Scan *s, int64_t column)
{
    GArray *indents = s->indents;
    if (column > g_array_index(indents, int64_t, indents->len - 1)) {
        g_array_append_val(indents, column);
        end_token(s, s->line, TOKEN_INDENT);
    }
    while (column < g_array_index(indents, int64_t, indents->len - 1)) {
        g_array_set_size(indents, indents->len - 1);
        put_gap(s);
        end_token(s, s->at, TOKEN_OTHER);
    }
    return column == g_array_index(indents, int64_t, indents->len - 1);
}

/* Reads the white space at the start of a line; a line without a statement is read to its end. */
static bool begin_line(Scan *s)
{
    int64_t column = 0;
    for (; s->at < s->end && strchr(" \t\f", *s->at); s->at++)
        column = *s->at == ' ' ? column + 1 : *s->at == '\t' ? (column / TAB_WIDTH + 1) * TAB_WIDTH : 0;
    if (s->at == s->end || !strchr("#\r\n", *s->at))
        return s->at == s->end || indent(s, column);
    put_gap(s);
    if (*s->at == '#') /* the line end is not part of a comment */
        for (s->at = s->end; s->at > s->line && strchr("\r\n", s->at[-1]);)
            s->at--;
    const char *rest = s->at;
    s->at = s->end;
    end_token(s, rest, TOKEN_OTHER);
    return true;
}

static bool is_word(char c)
{
    return g_ascii_isalnum(c) || c == '_' || (signed char)c < 0;
}

/* Reads a token that is neither a string nor white space. */
static void read_token(Scan *s)
{
    const char *begin = s->at;
    TokenKind kind = TOKEN_OTHER;
    if (is_line_end(begin)) {
        s->at = s->end;
        kind = s->brackets > 0 ? TOKEN_OTHER : TOKEN_NEWLINE;
    } else if (*begin == '#') {
        s->at += strcspn(begin, "\r\n");
        begin = s->at;
    } else if (is_word(*begin)) {
        while (is_word(*s->at))
            s->at++;
    } else {
        s->brackets += (strchr("([{", *begin) != NULL) - (strchr(")]}", *begin) != NULL);
        s->at++;
    }
    end_token(s, begin, kind);
}

static void read_indentation(Scan *s)
{
    while (s->at < s->end && !s->string) {
        while (s->at < s->end && strchr(" \t\f", *s->at))
            s->at++;
        if (s->at == s->end) { /* the text does not end with a line end */
            put_gap(s);
            return;
        }
        if (*s->at == '\\' && is_line_end(s->at + 1)) {
            s->continued = true;
            return;
        }
        put_gap(s);
        s->gap = s->at;
        const size_t prefix = prefix_bytes(s->at);
        if (!((prefix > 0 || strchr("'\"", *s->at)) && read_string(s, prefix)))
            read_token(s);
    }
}

/* Reads the whole program; false if Python's tokenizer rejects it. */
static bool scan(Scan *s, const char *code)
{
    while (*s->end) {
        const char *line_end = strchr(s->end, '\n');
        s->at = s->line = s->gap = s->end;
        s->end = line_end ? line_end + 1 : s->line + strlen(s->line);
        if (s->string)
            go_on_with_string(s, code);
        else if (s->brackets == 0 && !s->continued && !begin_line(s))
            return false;
        else
            s->continued = false;
        read_indentation(s);
    }
    return !s->string && s->brackets == 0 && !s->continued;
}

char *python_code_bare(const char *code)
{
    const int64_t outermost = 0;
    g_autoptr(GString) out = g_string_sized_new(strlen(code));
    g_autoptr(GArray) indents = g_array_new(false, false, sizeof(int64_t));
    Scan s = { .end = code, .before = TOKEN_INDENT, .out = out, .indents = indents };
    g_array_append_val(indents, outermost);
    return scan(&s, code) ? python_drop_empty_lines(out->str) : g_strdup(code);
}
