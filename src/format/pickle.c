#include "format/pickle.h"

#include <string.h>

#define MAX_VALUES     (1 << 20) /* bounds memory at some 100 MB, whatever the file */
#define MAX_NAME_BYTES 256       /* longest name of a module or a class */
#define MAX_PROTOCOL   5

struct Pickle {
    GPtrArray *values;   /* PickleValue *, owned */
    GStringChunk *names; /* texts of PICKLE_NAME */
    const PickleValue *root;
};

typedef struct Reader {
    Pickle *pickle;
    const unsigned char *start, *at, *end;
    GPtrArray *stack;                  /* PickleValue * */
    GArray *marks;                     /* guint: heights of the stack */
    GHashTable *memo;                  /* number -> PickleValue * */
    const struct Opcode *opcodes[256]; /* by code; NULL if the code is not used */
    bool stopped;
} Reader;

/* The argument that follows the code of an opcode. */
typedef struct Argument {
    uint64_t number;
    double real;
    const char *text;
    size_t bytes;
} Argument;

static void value_free(void *pointer)
{
    PickleValue *value = pointer;
    if (value->items)
        g_ptr_array_unref(value->items);
    g_free(value);
}

void pickle_free(Pickle *pickle)
{
    if (pickle == NULL)
        return;
    g_ptr_array_unref(pickle->values);
    g_string_chunk_free(pickle->names);
    g_free(pickle);
}

/* ---- the stack ---- */

static PickleValue *push_new(Reader *reader, PickleType type)
{
    PickleValue *value = g_new0(PickleValue, 1);
    value->type = type;
    g_ptr_array_add(reader->pickle->values, value);
    g_ptr_array_add(reader->stack, value);
    return value;
}

/* The stack height at which the values of the innermost mark (or of the whole stack) start; nothing below it is popped.
 */
static guint floor_of(const Reader *reader)
{
    return reader->marks->len ? g_array_index(reader->marks, guint, reader->marks->len - 1) : 0;
}

static bool fail_empty(GError **error)
{
    return fail_user(error, "an opcode finds too few values before it");
}

static bool pop(Reader *reader, PickleValue **value, GError **error)
{
    if (reader->stack->len <= floor_of(reader))
        return fail_empty(error);
    *value = g_ptr_array_steal_index(reader->stack, reader->stack->len - 1);
    return true;
}

static bool peek(const Reader *reader, PickleValue **value, GError **error)
{
    if (reader->stack->len <= floor_of(reader))
        return fail_empty(error);
    *value = g_ptr_array_index(reader->stack, reader->stack->len - 1);
    return true;
}

/* Moves the values above stack height `from` to the end of `value`'s items. */
static void take_items(Reader *reader, PickleValue *value, guint from)
{
    guint n = reader->stack->len - from;
    if (n == 0)
        return;
    if (value->items == NULL)
        value->items = g_ptr_array_sized_new(n);
    for (guint i = from; i < reader->stack->len; i++)
        g_ptr_array_add(value->items, g_ptr_array_index(reader->stack, i));
    g_ptr_array_set_size(reader->stack, (gint)from);
}

static bool pop_mark(Reader *reader, guint *from, GError **error)
{
    if (reader->marks->len == 0)
        return fail_user(error, "an opcode finds no mark before it");
    *from = floor_of(reader);
    g_array_set_size(reader->marks, reader->marks->len - 1);
    return true;
}

/* ---- opcodes: each gets its argument and a constant of its row ---- */

static bool push_none(Reader *reader, const Argument *argument, int unused, GError **error)
{
    (void)argument, (void)unused, (void)error;
    push_new(reader, PICKLE_NONE);
    return true;
}

static bool push_bool(Reader *reader, const Argument *argument, int truth, GError **error)
{
    (void)argument, (void)error;
    push_new(reader, PICKLE_BOOL)->integer = truth;
    return true;
}

/* bits: of a signed number; 0 means unsigned. */
static bool push_int(Reader *reader, const Argument *argument, int bits, GError **error)
{
    (void)error;
    push_new(reader, PICKLE_INT)->integer = bits == 32 ? (int32_t)argument->number : (int64_t)argument->number;
    return true;
}

/* Two's complement, the lowest byte first. */
static bool push_long(Reader *reader, const Argument *argument, int unused, GError **error)
{
    (void)unused, (void)error;
    PickleValue *value = push_new(reader, argument->bytes <= 8 ? PICKLE_INT : PICKLE_BYTES);
    value->text = argument->text;
    value->bytes = argument->bytes;
    if (value->type == PICKLE_BYTES || argument->bytes == 0)
        return true;
    uint64_t bits = argument->text[argument->bytes - 1] & 0x80 ? ~(uint64_t)0 : 0;
    for (size_t i = argument->bytes; i-- > 0;)
        bits = bits << 8 | (unsigned char)argument->text[i];
    value->integer = (int64_t)bits;
    return true;
}

static bool push_real(Reader *reader, const Argument *argument, int unused, GError **error)
{
    (void)unused, (void)error;
    push_new(reader, PICKLE_REAL)->real = argument->real;
    return true;
}

static bool push_text(Reader *reader, const Argument *argument, int type, GError **error)
{
    (void)error;
    PickleValue *value = push_new(reader, (PickleType)type);
    value->text = argument->text;
    value->bytes = argument->bytes;
    return true;
}

static bool push_empty(Reader *reader, const Argument *argument, int type, GError **error)
{
    (void)argument, (void)error;
    push_new(reader, (PickleType)type);
    return true;
}

static bool check_pairs(const PickleValue *value, GError **error)
{
    return pickle_items(value) % 2 == 0 || fail_user(error, "a key of a dict has no value");
}

/* A container of the values since the mark. */
static bool push_marked(Reader *reader, const Argument *argument, int type, GError **error)
{
    (void)argument;
    guint from = 0;
    if (!pop_mark(reader, &from, error))
        return false;
    PickleValue *value = push_new(reader, (PickleType)type);
    g_ptr_array_set_size(reader->stack, (gint)reader->stack->len - 1);
    take_items(reader, value, from);
    g_ptr_array_add(reader->stack, value);
    return type != PICKLE_DICT || check_pairs(value, error);
}

static bool push_tuple(Reader *reader, const Argument *argument, int n, GError **error)
{
    (void)argument;
    if (reader->stack->len - floor_of(reader) < (guint)n)
        return fail_empty(error);
    PickleValue *value = push_new(reader, PICKLE_TUPLE);
    g_ptr_array_set_size(reader->stack, (gint)reader->stack->len - 1);
    take_items(reader, value, reader->stack->len - (guint)n);
    g_ptr_array_add(reader->stack, value);
    return true;
}

/* Adds the values above stack height `from` to the container below them. An object takes pairs only: whatever else a
 * class would do with them, a placeholder forgets. */
static bool add_from(Reader *reader, guint from, bool pairs, GError **error)
{
    if (from <= floor_of(reader))
        return fail_empty(error);
    PickleValue *container = g_ptr_array_index(reader->stack, from - 1);
    bool is_dict = container->type == PICKLE_DICT || container->type == PICKLE_OBJECT;
    bool is_list = container->type == PICKLE_LIST || container->type == PICKLE_SET;
    if (!pairs && container->type == PICKLE_OBJECT) {
        g_ptr_array_set_size(reader->stack, (gint)from);
        return true;
    }
    if (pairs ? !is_dict : !is_list)
        return fail_user(error, "items are added to a value that is no container");
    take_items(reader, container, from);
    return !pairs || check_pairs(container, error);
}

static bool add_one(Reader *reader, const Argument *argument, int pairs, GError **error)
{
    (void)argument;
    guint n = pairs ? 2 : 1;
    return reader->stack->len < n ? fail_empty(error) : add_from(reader, reader->stack->len - n, pairs, error);
}

static bool add_marked(Reader *reader, const Argument *argument, int pairs, GError **error)
{
    (void)argument;
    guint from = 0;
    return pop_mark(reader, &from, error) && add_from(reader, from, pairs, error);
}

static bool push_mark(Reader *reader, const Argument *argument, int unused, GError **error)
{
    (void)argument, (void)unused, (void)error;
    g_array_append_val(reader->marks, reader->stack->len);
    return true;
}

static bool drop(Reader *reader, const Argument *argument, int unused, GError **error)
{
    (void)argument, (void)unused;
    PickleValue *value = NULL;
    return pop(reader, &value, error);
}

static bool drop_marked(Reader *reader, const Argument *argument, int unused, GError **error)
{
    (void)argument, (void)unused;
    guint from = 0;
    if (!pop_mark(reader, &from, error))
        return false;
    g_ptr_array_set_size(reader->stack, (gint)from);
    return true;
}

static bool duplicate(Reader *reader, const Argument *argument, int unused, GError **error)
{
    (void)argument, (void)unused;
    PickleValue *value = NULL;
    if (!peek(reader, &value, error))
        return false;
    g_ptr_array_add(reader->stack, value);
    return true;
}

static bool memo_get(Reader *reader, const Argument *argument, int unused, GError **error)
{
    (void)unused;
    PickleValue *value = g_hash_table_lookup(reader->memo, GSIZE_TO_POINTER(argument->number));
    if (value == NULL)
        return fail_user(error, "an opcode needs value %" G_GUINT64_FORMAT " of the memo, which was never put there",
                         argument->number);
    g_ptr_array_add(reader->stack, value);
    return true;
}

static bool memo_put(Reader *reader, const Argument *argument, int unused, GError **error)
{
    (void)unused;
    PickleValue *value = NULL;
    if (!peek(reader, &value, error))
        return false;
    g_hash_table_replace(reader->memo, GSIZE_TO_POINTER(argument->number), value);
    return true;
}

static bool memoize(Reader *reader, const Argument *argument, int unused, GError **error)
{
    (void)argument;
    const Argument next = { .number = g_hash_table_size(reader->memo) };
    return memo_put(reader, &next, unused, error);
}

static bool push_name(Reader *reader, const char *module, size_t module_bytes, const char *name, size_t name_bytes,
                      GError **error)
{
    if (module_bytes > MAX_NAME_BYTES || name_bytes > MAX_NAME_BYTES)
        return fail_user(error, "the name of a class is longer than %d bytes", MAX_NAME_BYTES);
    g_autofree char *whole = g_strdup_printf("%.*s.%.*s", (int)module_bytes, module, (int)name_bytes, name);
    PickleValue *value = push_new(reader, PICKLE_NAME);
    value->text = g_string_chunk_insert_const(reader->pickle->names, whole);
    value->bytes = strlen(value->text);
    return true;
}

/* "module\nname\n" */
static bool push_global(Reader *reader, const Argument *argument, int unused, GError **error)
{
    (void)unused;
    const char *name = memchr(argument->text, '\n', argument->bytes);
    size_t module_bytes = (size_t)(name - argument->text);
    return push_name(reader, argument->text, module_bytes, name + 1, argument->bytes - module_bytes - 2, error);
}

static bool push_stack_global(Reader *reader, const Argument *argument, int unused, GError **error)
{
    (void)argument, (void)unused;
    PickleValue *module = NULL, *name = NULL;
    if (!pop(reader, &name, error) || !pop(reader, &module, error))
        return false;
    if (module->type != PICKLE_TEXT || name->type != PICKLE_TEXT)
        return fail_user(error, "the name of a class is not a text");
    return push_name(reader, module->text, module->bytes, name->text, name->bytes, error);
}

/* keywords: keyword arguments are on the stack above the others, and are dropped. */
static bool push_call(Reader *reader, const Argument *argument, int keywords, GError **error)
{
    (void)argument;
    PickleValue *callable = NULL, *arguments = NULL;
    if ((keywords && !pop(reader, &arguments, error)) || !pop(reader, &arguments, error) ||
        !pop(reader, &callable, error))
        return false;
    bool is_dict = pickle_is(callable, PICKLE_NAME, "collections.OrderedDict") && pickle_items(arguments) == 0;
    PickleValue *value = push_new(reader, is_dict ? PICKLE_DICT : PICKLE_OBJECT);
    value->callable = callable;
    value->arguments = arguments;
    return true;
}

static bool set_state(Reader *reader, const Argument *argument, int unused, GError **error)
{
    (void)argument, (void)unused;
    PickleValue *state = NULL, *object = NULL;
    if (!pop(reader, &state, error) || !peek(reader, &object, error))
        return false;
    object->state = state;
    return true;
}

static bool push_persistent(Reader *reader, const Argument *argument, int unused, GError **error)
{
    (void)argument, (void)unused;
    PickleValue *id = NULL;
    if (!pop(reader, &id, error))
        return false;
    push_new(reader, PICKLE_PERSISTENT)->arguments = id;
    return true;
}

static bool check_protocol(Reader *reader, const Argument *argument, int unused, GError **error)
{
    (void)reader, (void)unused;
    return argument->number <= MAX_PROTOCOL ||
           fail_user(error, "it is of protocol %d; up to %d can be read", (int)argument->number, MAX_PROTOCOL);
}

static bool skip(Reader *reader, const Argument *argument, int unused, GError **error)
{
    (void)reader, (void)argument, (void)unused, (void)error;
    return true;
}

static bool stop(Reader *reader, const Argument *argument, int unused, GError **error)
{
    (void)argument, (void)unused;
    PickleValue *root = NULL;
    reader->stopped = pop(reader, &root, error);
    if (reader->stopped)
        reader->pickle->root = root;
    return reader->stopped;
}

typedef enum ArgumentType {
    NOTHING,
    NUMBER, /* of `width` bytes, the lowest first */
    REAL,   /* of 8 bytes, the highest first */
    SIZED,  /* a length in `width` bytes, then as many bytes as the length says */
    LINES   /* two lines, each with a line feed at its end */
} ArgumentType;

typedef struct Opcode {
    unsigned char code;
    ArgumentType argument;
    int width;
    bool (*run)(Reader *reader, const Argument *argument, int constant, GError **error);
    int constant;
} Opcode;

static const Opcode opcodes[] = {
    { 0x80, NUMBER, 1, check_protocol, 0 },
    { 0x95, NUMBER, 8, skip, 0 }, /* FRAME */
    { '.', NOTHING, 0, stop, 0 },
    { 'N', NOTHING, 0, push_none, 0 },
    { 0x88, NOTHING, 0, push_bool, true },
    { 0x89, NOTHING, 0, push_bool, false },
    { 'J', NUMBER, 4, push_int, 32 },
    { 'K', NUMBER, 1, push_int, 0 },
    { 'M', NUMBER, 2, push_int, 0 },
    { 0x8a, SIZED, 1, push_long, 0 },
    { 0x8b, SIZED, 4, push_long, 0 },
    { 'G', REAL, 8, push_real, 0 },
    { 'X', SIZED, 4, push_text, PICKLE_TEXT },
    { 0x8c, SIZED, 1, push_text, PICKLE_TEXT },
    { 0x8d, SIZED, 8, push_text, PICKLE_TEXT },
    { 'T', SIZED, 4, push_text, PICKLE_TEXT }, /* str of Python 2 */
    { 'U', SIZED, 1, push_text, PICKLE_TEXT },
    { 'B', SIZED, 4, push_text, PICKLE_BYTES },
    { 'C', SIZED, 1, push_text, PICKLE_BYTES },
    { 0x8e, SIZED, 8, push_text, PICKLE_BYTES },
    { 0x96, SIZED, 8, push_text, PICKLE_BYTES },
    { ']', NOTHING, 0, push_empty, PICKLE_LIST },
    { ')', NOTHING, 0, push_empty, PICKLE_TUPLE },
    { '}', NOTHING, 0, push_empty, PICKLE_DICT },
    { 0x8f, NOTHING, 0, push_empty, PICKLE_SET },
    { 'l', NOTHING, 0, push_marked, PICKLE_LIST },
    { 't', NOTHING, 0, push_marked, PICKLE_TUPLE },
    { 'd', NOTHING, 0, push_marked, PICKLE_DICT },
    { 0x91, NOTHING, 0, push_marked, PICKLE_SET },
    { 0x85, NOTHING, 0, push_tuple, 1 },
    { 0x86, NOTHING, 0, push_tuple, 2 },
    { 0x87, NOTHING, 0, push_tuple, 3 },
    { 'a', NOTHING, 0, add_one, false },
    { 's', NOTHING, 0, add_one, true },
    { 'e', NOTHING, 0, add_marked, false },
    { 'u', NOTHING, 0, add_marked, true },
    { 0x90, NOTHING, 0, add_marked, false },
    { '(', NOTHING, 0, push_mark, 0 },
    { '0', NOTHING, 0, drop, 0 },
    { '1', NOTHING, 0, drop_marked, 0 },
    { '2', NOTHING, 0, duplicate, 0 },
    { 'h', NUMBER, 1, memo_get, 0 },
    { 'j', NUMBER, 4, memo_get, 0 },
    { 'q', NUMBER, 1, memo_put, 0 },
    { 'r', NUMBER, 4, memo_put, 0 },
    { 0x94, NOTHING, 0, memoize, 0 },
    { 'c', LINES, 0, push_global, 0 },
    { 0x93, NOTHING, 0, push_stack_global, 0 },
    { 'R', NOTHING, 0, push_call, false },
    { 0x81, NOTHING, 0, push_call, false },
    { 0x92, NOTHING, 0, push_call, true },
    { 'b', NOTHING, 0, set_state, 0 },
    { 'Q', NOTHING, 0, push_persistent, 0 },
};

/* ---- the stream of opcodes ---- */

static bool take_pickled(Reader *reader, uint64_t bytes, const unsigned char **p, GError **error)
{
    *p = reader->at;
    if (bytes > (uint64_t)(reader->end - reader->at))
        return fail_user(error, "it ends in the middle of a value");
    reader->at += bytes;
    return true;
}

static bool take_number(Reader *reader, int width, uint64_t *number, GError **error)
{
    const unsigned char *p;
    if (!take_pickled(reader, (uint64_t)width, &p, error))
        return false;
    *number = 0;
    for (int i = width; i-- > 0;)
        *number = *number << 8 | p[i];
    return true;
}

static bool take_real(Reader *reader, double *real, GError **error)
{
    const unsigned char *p;
    uint64_t bits = 0;
    if (!take_pickled(reader, sizeof bits, &p, error))
        return false;
    for (size_t i = 0; i < sizeof bits; i++)
        bits = bits << 8 | p[i];
    memcpy(real, &bits, sizeof bits);
    return true;
}

static bool take_lines(Reader *reader, Argument *argument, GError **error)
{
    const unsigned char *first = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
    const unsigned char *second = first ? memchr(first + 1, '\n', (size_t)(reader->end - first - 1)) : NULL;
    if (second == NULL)
        return fail_user(error, "it ends in the middle of a value");
    argument->text = (const char *)reader->at;
    argument->bytes = (size_t)(second + 1 - reader->at);
    reader->at = second + 1;
    return true;
}

static bool take_argument(Reader *reader, const Opcode *opcode, Argument *argument, GError **error)
{
    const unsigned char *p;
    switch (opcode->argument) {
    case NOTHING:
        return true;
    case NUMBER:
        return take_number(reader, opcode->width, &argument->number, error);
    case REAL:
        return take_real(reader, &argument->real, error);
    case LINES:
        return take_lines(reader, argument, error);
    case SIZED:
        break;
    }
    if (!take_number(reader, opcode->width, &argument->number, error) ||
        !take_pickled(reader, argument->number, &p, error))
        return false;
    argument->text = (const char *)p;
    argument->bytes = argument->number;
    return true;
}

static bool run_opcode(Reader *reader, GError **error)
{
    const unsigned char *code;
    if (!take_pickled(reader, 1, &code, error))
        return false;
    const Opcode *opcode = reader->opcodes[*code];
    Argument argument = { 0 };
    if (opcode == NULL)
        return fail_user(error, "0x%02x is no opcode that torch.save writes", *code);
    return take_argument(reader, opcode, &argument, error) && opcode->run(reader, &argument, opcode->constant, error);
}

static bool read_all(Reader *reader, GError **error)
{
    while (!reader->stopped) {
        size_t offset = (size_t)(reader->at - reader->start);
        if (!run_opcode(reader, error))
            return fail_context(error, "byte %zu of its pickle", offset);
        if (reader->pickle->values->len > MAX_VALUES)
            return fail_user(error, "its pickle has more than %d values", MAX_VALUES);
    }
    return true;
}

Pickle *pickle_read(const char *data, size_t bytes, size_t *used, GError **error)
{
    g_autoptr(Pickle) pickle = g_new0(Pickle, 1);
    pickle->values = g_ptr_array_new_with_free_func(value_free);
    pickle->names = g_string_chunk_new(1024);
    Reader reader = { .pickle = pickle,
                      .start = (const unsigned char *)data,
                      .at = (const unsigned char *)data,
                      .end = (const unsigned char *)data + bytes,
                      .stack = g_ptr_array_new(),
                      .marks = g_array_new(FALSE, FALSE, sizeof(guint)),
                      .memo = g_hash_table_new(NULL, NULL) };
    for (size_t i = 0; i < G_N_ELEMENTS(opcodes); i++)
        reader.opcodes[opcodes[i].code] = &opcodes[i];
    bool ok = read_all(&reader, error);
    *used = (size_t)(reader.at - reader.start);
    g_ptr_array_unref(reader.stack);
    g_array_unref(reader.marks);
    g_hash_table_unref(reader.memo);
    return ok ? g_steal_pointer(&pickle) : NULL;
}

const PickleValue *pickle_root(const Pickle *pickle)
{
    return pickle->root;
}

guint pickle_count(const Pickle *pickle)
{
    return pickle->values->len;
}

const PickleValue *pickle_value(const Pickle *pickle, guint index)
{
    return g_ptr_array_index(pickle->values, index);
}
