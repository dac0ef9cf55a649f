/* lists.c: a grammar of tree-sitter, small enough to be written by hand, so that tests need no other: names and lists
 * of them in brackets, such as "a (b c) ()". The tables are those of an LR(1) parser.
 *   program: items | nothing     items: items item | item     item: list | identifier     list: ( items ) | ( ) */
#include <tree_sitter/parser.h>

enum { END, OPEN, CLOSE, IDENTIFIER, PROGRAM, LIST, ITEMS, N_SYMBOLS, N_TOKENS = PROGRAM };
enum { N_STATES = 12 };

/* Indices of parse_actions. */
enum {
    RECOVERY = 1,
    EMPTY = 3,
    NAME = 5,
    BRACKET = 7,
    WHOLE = 9,
    FIRST = 11,
    NEXT_NAME = 13,
    MORE = 15,
    NO_ITEMS = 17,
    STOP = 19,
    SHORT_LIST = 21,
    LONG_LIST = 23,
    ACCEPTED = 25
};

#define ONE                                                                                                            \
    {                                                                                                                  \
        .entry = {.count = 1, .reusable = true }                                                                       \
    }
static const TSParseActionEntry parse_actions[] = {
    [0] = { .entry = { .count = 0 } },
    [RECOVERY] = { .entry = { .count = 1 } },
    { { .type = TSParseActionTypeRecover } },
    [EMPTY] = ONE,
    { { .reduce = { .type = TSParseActionTypeReduce, .symbol = PROGRAM } } },
    [NAME] = ONE,
    { { .shift = { .type = TSParseActionTypeShift, .state = 3 } } },
    [BRACKET] = ONE,
    { { .shift = { .type = TSParseActionTypeShift, .state = 4 } } },
    [WHOLE] = ONE,
    { { .reduce = { .type = TSParseActionTypeReduce, .symbol = PROGRAM, .child_count = 1 } } },
    [FIRST] = ONE,
    { { .reduce = { .type = TSParseActionTypeReduce, .symbol = ITEMS, .child_count = 1 } } },
    [NEXT_NAME] = ONE,
    { { .shift = { .type = TSParseActionTypeShift, .state = 7 } } },
    [MORE] = ONE,
    { { .reduce = { .type = TSParseActionTypeReduce, .symbol = ITEMS, .child_count = 2 } } },
    [NO_ITEMS] = ONE,
    { { .shift = { .type = TSParseActionTypeShift, .state = 9 } } },
    [STOP] = ONE,
    { { .shift = { .type = TSParseActionTypeShift, .state = 11 } } },
    [SHORT_LIST] = ONE,
    { { .reduce = { .type = TSParseActionTypeReduce, .symbol = LIST, .child_count = 2 } } },
    [LONG_LIST] = ONE,
    { { .reduce = { .type = TSParseActionTypeReduce, .symbol = LIST, .child_count = 3 } } },
    [ACCEPTED] = ONE,
    { { .type = TSParseActionTypeAccept } },
};

#define EVERYWHERE(action)                                                                                             \
    {                                                                                                                  \
        [END] = action, [OPEN] = action, [CLOSE] = action, [IDENTIFIER] = action                                       \
    }
/* A token's entry is an index of parse_actions, another symbol's the state that follows. */
static const uint16_t parse_table[N_STATES][N_SYMBOLS] = {
    [0] = EVERYWHERE(RECOVERY),
    [1] = { [END] = EMPTY, [OPEN] = BRACKET, [IDENTIFIER] = NAME, [PROGRAM] = 6, [LIST] = 5, [ITEMS] = 2 },
    [2] = { [END] = WHOLE, [OPEN] = BRACKET, [IDENTIFIER] = NEXT_NAME, [LIST] = 8 },
    [3] = EVERYWHERE(FIRST),
    [4] = { [OPEN] = BRACKET, [CLOSE] = NO_ITEMS, [IDENTIFIER] = NAME, [LIST] = 5, [ITEMS] = 10 },
    [5] = EVERYWHERE(FIRST),
    [6] = { [END] = ACCEPTED },
    [7] = EVERYWHERE(MORE),
    [8] = EVERYWHERE(MORE),
    [9] = EVERYWHERE(SHORT_LIST),
    [10] = { [OPEN] = BRACKET, [CLOSE] = STOP, [IDENTIFIER] = NEXT_NAME, [LIST] = 8 },
    [11] = EVERYWHERE(LONG_LIST),
};

static const char *const symbol_names[] = { "end", "(", ")", "identifier", "program", "list", "items" };
static const TSSymbolMetadata symbol_metadata[] = {
    [END] = { .named = true },
    [OPEN] = { .visible = true },
    [CLOSE] = { .visible = true },
    [IDENTIFIER] = { .visible = true, .named = true },
    [PROGRAM] = { .visible = true, .named = true },
    [LIST] = { .visible = true, .named = true },
    [ITEMS] = { 0 },
};
static const TSSymbol public_symbols[] = { END, OPEN, CLOSE, IDENTIFIER, PROGRAM, LIST, ITEMS };
static const uint16_t alias_map[] = { 0 };
static const TSSymbol alias_sequences[] = { 0 };
static const TSLexMode lex_modes[N_STATES] = { { 0 } };
static const TSStateId primary_states[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 };

#ifdef LOAM_TEST_WORDS /* the same grammar with digits in its names, a rival for files of this one */
#define tree_sitter_lists tree_sitter_words
#define FACTS             "words 1.0 word ?list"
#define IS_DIGIT(c)       ((c) >= '0' && (c) <= '9')
#else
#define FACTS       "lists 1.0 list lst =brackets"
#define IS_DIGIT(c) false
#endif

static bool is_letter(int32_t c)
{
    return IS_DIGIT(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 128;
}

static bool lex(TSLexer *lexer, TSStateId state)
{
    (void)state;
    while (lexer->lookahead == ' ' || (lexer->lookahead >= '\t' && lexer->lookahead <= '\r'))
        lexer->advance(lexer, true);
    if (lexer->eof(lexer)) {
        lexer->result_symbol = END;
        lexer->mark_end(lexer);
        return true;
    }
    if (lexer->lookahead == '(' || lexer->lookahead == ')') {
        lexer->result_symbol = lexer->lookahead == '(' ? OPEN : CLOSE;
        lexer->advance(lexer, false);
        lexer->mark_end(lexer);
        return true;
    }
    if (!is_letter(lexer->lookahead))
        return false;
    while (is_letter(lexer->lookahead) && !lexer->eof(lexer))
        lexer->advance(lexer, false);
    lexer->result_symbol = IDENTIFIER;
    lexer->mark_end(lexer);
    return true;
}

extern const char loam_grammar[];
const char loam_grammar[] = FACTS;

const TSLanguage *tree_sitter_lists(void);
const TSLanguage *tree_sitter_lists(void)
{
    static const TSLanguage language = { .version = 14,
                                         .symbol_count = N_SYMBOLS,
                                         .token_count = N_TOKENS,
                                         .state_count = N_STATES,
                                         .large_state_count = N_STATES,
                                         .production_id_count = 1,
                                         .max_alias_sequence_length = 1,
                                         .parse_table = &parse_table[0][0],
                                         .parse_actions = parse_actions,
                                         .symbol_names = symbol_names,
                                         .symbol_metadata = symbol_metadata,
                                         .public_symbol_map = public_symbols,
                                         .alias_map = alias_map,
                                         .alias_sequences = alias_sequences,
                                         .lex_modes = lex_modes,
                                         .lex_fn = lex,
                                         .primary_state_ids = primary_states };
    return &language;
}
