/* typescript_scanner.h: the scanner of the grammars typescript and tsx, in place of the file common/scanner.h that their
 * source distribution lacks. Their first tokens are those of JavaScript's scanner, which does the rest; their own are the
 * end of a signature without a body, and automatic semicolons beside types. tools/install-grammars puts JavaScript's
 * scanner.c beside this file. */
#include "javascript_scanner.c"

#include <string.h>

enum { SIGNATURE_END = JSX_TEXT + 1 };

/* Whether "x" at the start of a line goes on with the statement of the line before. */
static bool goes_on(TSLexer *lexer, const bool *valid_symbols)
{
    bool in_expression = valid_symbols[LOGICAL_OR];
    switch (lexer->lookahead) {
    case '(':
    case '[':
        return in_expression;
    case '{':
        return valid_symbols[SIGNATURE_END];
    case '+':
    case '-': {
        int32_t mark = lexer->lookahead;
        skip(lexer);
        return lexer->lookahead != mark;
    }
    case '!':
        skip(lexer);
        return lexer->lookahead == '=';
    case 'i': {
        skip(lexer);
        if (lexer->lookahead != 'n')
            return false;
        skip(lexer);
        if (!iswalpha((wint_t)lexer->lookahead))
            return true;
        for (const char *rest = "stanceof"; *rest; rest++, skip(lexer))
            if (lexer->lookahead != *rest)
                return false;
        return !iswalpha((wint_t)lexer->lookahead);
    }
    default:
        return lexer->lookahead > 0 && lexer->lookahead < 128 && strchr("`,.;*%><=?^|&/:", (char)lexer->lookahead);
    }
}

/* After "}": an object pattern with its type is no end of a statement. */
static bool ends_before_brace(TSLexer *lexer, const bool *valid_symbols)
{
    do
        skip(lexer);
    while (iswspace((wint_t)lexer->lookahead));
    return lexer->lookahead != ':' || valid_symbols[LOGICAL_OR];
}

static bool scan_statement_end(TSLexer *lexer, const bool *valid_symbols, bool *scanned_comment)
{
    lexer->result_symbol = AUTOMATIC_SEMICOLON;
    lexer->mark_end(lexer);
    for (; lexer->lookahead != '\n'; skip(lexer)) {
        if (lexer->lookahead == 0)
            return true;
        if (lexer->lookahead == '}')
            return ends_before_brace(lexer, valid_symbols);
        if (!iswspace((wint_t)lexer->lookahead))
            return false;
    }
    skip(lexer);
    return scan_whitespace_and_comments(lexer, scanned_comment, true) != REJECT && !goes_on(lexer, valid_symbols);
}

/* The "?" of a conditional expression; not that of "a?: T", "(a?)", "a ?? b" and "a?.b". */
static bool scan_conditional(TSLexer *lexer)
{
    while (iswspace((wint_t)lexer->lookahead))
        skip(lexer);
    if (lexer->lookahead != '?')
        return false;
    advance(lexer);
    lexer->mark_end(lexer);
    lexer->result_symbol = TERNARY_QMARK;
    if (lexer->lookahead == '?' || lexer->lookahead == '.') {
        bool point = lexer->lookahead == '.';
        advance(lexer);
        return point && iswdigit((wint_t)lexer->lookahead);
    }
    while (iswspace((wint_t)lexer->lookahead))
        advance(lexer);
    return lexer->lookahead != ':' && lexer->lookahead != ')' && lexer->lookahead != ',';
}

static bool external_scanner_scan(void *payload, TSLexer *lexer, const bool *valid_symbols)
{
    bool scanned_comment = false, in_template = valid_symbols[TEMPLATE_CHARS],
         statement_end = valid_symbols[AUTOMATIC_SEMICOLON] || valid_symbols[SIGNATURE_END];
    if (!in_template && valid_symbols[JSX_TEXT] && scan_jsx_text(lexer))
        return true;
    if (!in_template && statement_end) {
        if (scan_statement_end(lexer, valid_symbols, &scanned_comment))
            return true;
        return !scanned_comment && valid_symbols[TERNARY_QMARK] && lexer->lookahead == '?' && scan_conditional(lexer);
    }
    if (!in_template && valid_symbols[TERNARY_QMARK])
        return scan_conditional(lexer);
    bool rest[SIGNATURE_END];
    memcpy(rest, valid_symbols, sizeof rest);
    rest[JSX_TEXT] = false; /* tried above */
    return tree_sitter_javascript_external_scanner_scan(payload, lexer, rest);
}
