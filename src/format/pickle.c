#include "format/pickle.h"

#include <string.h>

#define MAX_VALUES     (1 << 20) /* bounds memory at some 100 MB, whatever the file */
#define MAX_NAME_BYTES 256       /* longest name of a module or a class */
#define MAX_PROTOCOL   5

/* The argument that follows the code of an opcode. */
typedef struct Argument {
    uint64_t number;
    double real;
    const char *text;
    size_t bytes;
} Argument;

typedef struct Reader {
    Pickle *pickle;
    const unsigned char *start, *at, *end;
    GPtrArray *stack;                  /* PickleValue * */
    GArray *marks;                     /* guint: heights of the stack */
    GHashTable *memo;                  /* number -> PickleValue * */
    const struct Opcode *opcodes[256]; /* by code; NULL if the code is not used */
    Argument argument;                 /* of the opcode that runs */
    int constant;                      /* of its row */
    bool stopped;
    GError **error;
} Reader;

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

static PickleValue *value_new(Reader *reader, PickleType type)
{
    PickleValue *value = g_new0(PickleValue, 1);
    value->type = type;
    g_ptr_array_add(reader->pickle->values, value);
    return value;
}

static PickleValue *push_new(Reader *reader, PickleType type)
{
    PickleValue *value = value_new(reader, type);
    g_ptr_array_add(reader->stack, value);
    return value;
}

/* The stack height where the values of the innermost mark (or the whole stack) start; no value below is popped. */
static guint floor_of(const Reader *reader)
{
    return reader->marks->len ? g_array_index(reader->marks, guint, reader->marks->len - 1) : 0;
}

static bool fail_empty(Reader *reader)
{
    return fail_user(reader->error, "an opcode finds too few values before it");
}

/* The value on top of the stack; NULL with an error if there is none. */
static PickleValue *peek(Reader *reader)
{
    if (reader->stack->len > floor_of(reader))
        return g_ptr_array_index(reader->stack, reader->stack->len - 1);
    fail_empty(reader);
    return NULL;
}

static PickleValue *pop(Reader *reader)
{
    PickleValue *value = peek(reader);
    if (value)
        g_ptr_array_set_size(reader->stack, (gint)reader->stack->len - 1);
    return value;
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

static bool pop_mark(Reader *reader, guint *from)
{
    if (reader->marks->len == 0)
        return fail_user(reader->error, "an opcode finds no mark before it");
    *from = floor_of(reader);
    g_array_set_size(reader->marks, reader->marks->len - 1);
    return true;
}

/* ---- opcodes: each reads reader->argument and reader->constant ---- */

/* A value without content. constant: its type. */
static bool push_empty(Reader *reader)
{
    push_new(reader, (PickleType)reader->constant);
    return true;
}

static bool push_bool(Reader *reader)
{
    push_new(reader, PICKLE_BOOL)->integer = reader->constant;
    return true;
}

/* constant: bits of a signed number; 0 means unsigned. */
static bool push_int(Reader *reader)
{
    const uint64_t number = reader->argument.number;
    push_new(reader, PICKLE_INT)->integer = reader->constant == 32 ? (int32_t)number : (int64_t)number;
    return true;
}

/* constant: the type of the value. */
static bool push_text(Reader *reader)
{
    PickleValue *value = push_new(reader, (PickleType)reader->constant);
    value->text = reader->argument.text;
    value->bytes = reader->argument.bytes;
    return true;
}

/* Two's complement, the lowest byte first. */
static bool push_long(Reader *reader)
{
    const Argument *argument = &reader->argument;
    reader->constant = argument->bytes <= 8 ? PICKLE_INT : PICKLE_BYTES;
    push_text(reader);
    if (argument->bytes == 0 || argument->bytes > 8)
        return true;
    uint64_t bits = argument->text[argument->bytes - 1] & 0x80 ? ~(uint64_t)0 : 0;
    for (size_t i = argument->bytes; i-- > 0;)
        bits = bits << 8 | (unsigned char)argument->text[i];
    peek(reader)->integer = (int64_t)bits;
    return true;
}

static bool push_real(Reader *reader)
{
    push_new(reader, PICKLE_REAL)->real = reader->argument.real;
    return true;
}

static bool check_pairs(Reader *reader, const PickleValue *value)
{
    return pickle_items(value) % 2 == 0 || fail_user(reader->error, "a key of a dict has no value");
}

/* A container of the values above stack height `from`. */
static bool push_items(Reader *reader, PickleType type, guint from)
{
    PickleValue *value = value_new(reader, type);
    take_items(reader, value, from);
    g_ptr_array_add(reader->stack, value);
    return type != PICKLE_DICT || check_pairs(reader, value);
}

/* A container, whose type is the constant, of the values since the mark. */
static bool push_marked(Reader *reader)
{
    guint from = 0;
    return pop_mark(reader, &from) && push_items(reader, (PickleType)reader->constant, from);
}

/* constant: the number of items. */
static bool push_tuple(Reader *reader)
{
    const guint n = (guint)reader->constant;
    if (reader->stack->len - floor_of(reader) < n)
        return fail_empty(reader);
    return push_items(reader, PICKLE_TUPLE, reader->stack->len - n);
}

/* Adds the values above stack height `from` to the container below them. An object takes pairs only: whatever else a
 * class would do with them, a placeholder forgets. constant: whether they are pairs. */
static bool add_from(Reader *reader, guint from)
{
    const bool pairs = reader->constant;
    if (from <= floor_of(reader))
        return fail_empty(reader);
    PickleValue *container = g_ptr_array_index(reader->stack, from - 1);
    bool is_dict = container->type == PICKLE_DICT || container->type == PICKLE_OBJECT;
    bool is_list = container->type == PICKLE_LIST || container->type == PICKLE_SET;
    if (!pairs && container->type == PICKLE_OBJECT) {
        g_ptr_array_set_size(reader->stack, (gint)from);
        return true;
    }
    if (pairs ? !is_dict : !is_list)
        return fail_user(reader->error, "items are added to a value that is no container");
    take_items(reader, container, from);
    return !pairs || check_pairs(reader, container);
}

static bool add_one(Reader *reader)
{
    guint n = reader->constant ? 2 : 1;
    return reader->stack->len < n ? fail_empty(reader) : add_from(reader, reader->stack->len - n);
}

static bool add_marked(Reader *reader)
{
    guint from = 0;
    return pop_mark(reader, &from) && add_from(reader, from);
}

static bool push_mark(Reader *reader)
{
    g_array_append_val(reader->marks, reader->stack->len);
    return true;
}

static bool drop(Reader *reader)
{
    return pop(reader) != NULL;
}

static bool drop_marked(Reader *reader)
{
    guint from = 0;
    if (!pop_mark(reader, &from))
        return false;
    g_ptr_array_set_size(reader->stack, (gint)from);
    return true;
}

static bool duplicate(Reader *reader)
{
    PickleValue *value = peek(reader);
    if (value)
        g_ptr_array_add(reader->stack, value);
    return value != NULL;
}

static bool memo_get(Reader *reader)
{
    PickleValue *value = g_hash_table_lookup(reader->memo, GSIZE_TO_POINTER(reader->argument.number));
    if (value == NULL)
        return fail_user(reader->error,
                         "an opcode needs value %" G_GUINT64_FORMAT " of the memo, which was never put there",
                         reader->argument.number);
    g_ptr_array_add(reader->stack, value);
    return true;
}

static bool memo_put(Reader *reader)
{
    PickleValue *value = peek(reader);
    if (value)
        g_hash_table_replace(reader->memo, GSIZE_TO_POINTER(reader->argument.number), value);
    return value != NULL;
}

static bool memoize(Reader *reader)
{
    reader->argument.number = g_hash_table_size(reader->memo);
    return memo_put(reader);
}

static bool push_name(Reader *reader, const char *module, size_t module_bytes, const char *name, size_t name_bytes)
{
    if (module_bytes > MAX_NAME_BYTES || name_bytes > MAX_NAME_BYTES)
        return fail_user(reader->error, "the name of a class is longer than %d bytes", MAX_NAME_BYTES);
    g_autofree char *whole = g_strdup_printf("%.*s.%.*s", (int)module_bytes, module, (int)name_bytes, name);
    PickleValue *value = push_new(reader, PICKLE_NAME);
    value->text = g_string_chunk_insert_const(reader->pickle->names, whole);
    value->bytes = strlen(value->text);
    return true;
}

/* "module\nname\n" */
static bool push_global(Reader *reader)
{
    const Argument *argument = &reader->argument;
    const char *name = memchr(argument->text, '\n', argument->bytes);
    size_t module_bytes = (size_t)(name - argument->text);
    return push_name(reader, argument->text, module_bytes, name + 1, argument->bytes - module_bytes - 2);
}

static bool push_stack_global(Reader *reader)
{
    const PickleValue *name = pop(reader), *module = name ? pop(reader) : NULL;
    if (module == NULL)
        return false;
    if (module->type != PICKLE_TEXT || name->type != PICKLE_TEXT)
        return fail_user(reader->error, "the name of a class is not a text");
    return push_name(reader, module->text, module->bytes, name->text, name->bytes);
}

/* constant: whether keyword arguments are on the stack above the others; they are dropped. */
static bool push_call(Reader *reader)
{
    const PickleValue *arguments = pop(reader);
    if (arguments && reader->constant)
        arguments = pop(reader);
    const PickleValue *callable = arguments ? pop(reader) : NULL;
    if (callable == NULL)
        return false;
    bool is_dict = pickle_is(callable, PICKLE_NAME, "collections.OrderedDict") && pickle_items(arguments) == 0;
    PickleValue *value = push_new(reader, is_dict ? PICKLE_DICT : PICKLE_OBJECT);
    value->callable = callable;
    value->arguments = arguments;
    return true;
}

static bool set_state(Reader *reader)
{
    const PickleValue *state = pop(reader);
    PickleValue *object = state ? peek(reader) : NULL;
    if (object)
        object->state = state;
    return object != NULL;
}

static bool push_persistent(Reader *reader)
{
    const PickleValue *id = pop(reader);
    if (id)
        push_new(reader, PICKLE_PERSISTENT)->arguments = id;
    return id != NULL;
}

static bool check_protocol(Reader *reader)
{
    const uint64_t protocol = reader->argument.number;
    return protocol <= MAX_PROTOCOL ||
           fail_user(reader->error, "it is of protocol %d; up to %d can be read", (int)protocol, MAX_PROTOCOL);
}

static bool skip(G_GNUC_UNUSED Reader *reader)
{
    return true;
}

static bool stop(Reader *reader)
{
    reader->pickle->root = pop(reader);
    reader->stopped = reader->pickle->root != NULL;
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
    bool (*run)(Reader *reader);
    int constant; /* its meaning depends on `run` */
} Opcode;

static const Opcode opcodes[] = {
    { 0x80, NUMBER, 1, check_protocol, 0 },
    { 0x95, NUMBER, 8, skip, 0 }, /* FRAME */
    { '.', NOTHING, 0, stop, 0 },
    { 'N', NOTHING, 0, push_empty, PICKLE_NONE },
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

/* The next bytes; NULL with an error if there are fewer. */
static const unsigned char *take_pickled(Reader *reader, uint64_t bytes)
{
    const unsigned char *p = reader->at;
    if (bytes > (uint64_t)(reader->end - p))
        return fail_user(reader->error, "it ends in the middle of a value");
    reader->at += bytes;
    return p;
}

static bool take_number(Reader *reader, int width)
{
    const unsigned char *p = take_pickled(reader, (uint64_t)width);
    reader->argument.number = 0;
    for (int i = width; p && i-- > 0;)
        reader->argument.number = reader->argument.number << 8 | p[i];
    return p != NULL;
}

static bool take_real(Reader *reader)
{
    uint64_t bits = 0;
    const unsigned char *p = take_pickled(reader, sizeof bits);
    for (size_t i = 0; p && i < sizeof bits; i++)
        bits = bits << 8 | p[i];
    memcpy(&reader->argument.real, &bits, sizeof bits);
    return p != NULL;
}

static bool take_pickled_text(Reader *reader, uint64_t bytes)
{
    reader->argument.text = (const char *)take_pickled(reader, bytes);
    reader->argument.bytes = bytes;
    return reader->argument.text != NULL;
}

/* Bytes of the next two lines, or more than there are if these end before. */
static uint64_t bytes_of_lines(const Reader *reader)
{
    const unsigned char *first = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
    const unsigned char *second = first ? memchr(first + 1, '\n', (size_t)(reader->end - first - 1)) : NULL;
    return second ? (uint64_t)(second + 1 - reader->at) : UINT64_MAX;
}

static bool take_argument(Reader *reader, const Opcode *opcode)
{
    switch (opcode->argument) {
    case NUMBER:
        return take_number(reader, opcode->width);
    case REAL:
        return take_real(reader);
    case LINES:
        return take_pickled_text(reader, bytes_of_lines(reader));
    case SIZED:
        return take_number(reader, opcode->width) && take_pickled_text(reader, reader->argument.number);
    default:
        return true;
    }
}

static bool run_opcode(Reader *reader)
{
    const unsigned char *code = take_pickled(reader, 1);
    if (code == NULL)
        return false;
    const Opcode *opcode = reader->opcodes[*code];
    if (opcode == NULL)
        return fail_user(reader->error, "0x%02x is no opcode that torch.save writes", *code);
    reader->constant = opcode->constant;
    return take_argument(reader, opcode) && opcode->run(reader);
}

static bool run_opcodes(Reader *reader)
{
    while (!reader->stopped) {
        size_t offset = (size_t)(reader->at - reader->start);
        if (!run_opcode(reader))
            return fail_context(reader->error, "byte %zu of its pickle", offset);
        if (reader->pickle->values->len > MAX_VALUES)
            return fail_user(reader->error, "its pickle has more than %d values", MAX_VALUES);
    }
    return true;
}

Pickle *pickle_read(const char *data, size_t bytes, size_t *used, GError **error)
{
    g_autoptr(Pickle) pickle = g_new0(Pickle, 1);
    pickle->values = g_ptr_array_new_with_free_func(value_free);
    pickle->names = g_string_chunk_new(1024);
    g_autoptr(GPtrArray) stack = g_ptr_array_new();
    g_autoptr(GArray) marks = g_array_new(FALSE, FALSE, sizeof(guint));
    g_autoptr(GHashTable) memo = g_hash_table_new(NULL, NULL);
    const unsigned char *start = (const unsigned char *)data;
    Reader reader = { .pickle = pickle,
                      .start = start,
                      .at = start,
                      .end = start + bytes,
                      .stack = stack,
                      .marks = marks,
                      .memo = memo,
                      .error = error };
    for (size_t i = 0; i < G_N_ELEMENTS(opcodes); i++)
        reader.opcodes[opcodes[i].code] = &opcodes[i];
    bool ok = run_opcodes(&reader);
    *used = (size_t)(reader.at - reader.start);
    return ok ? g_steal_pointer(&pickle) : NULL;
}

const PickleValue *pickle_find(const PickleValue *dict, const char *key)
{
    for (guint i = dict->type == PICKLE_DICT ? pickle_items(dict) / 2 : 0; i-- > 0;)
        if (pickle_is(pickle_item(dict, 2 * i), PICKLE_TEXT, key))
            return pickle_item(dict, 2 * i + 1);
    return NULL;
}

bool pickle_is(const PickleValue *value, PickleType type, const char *text)
{
    return value && value->type == type && value->bytes == strlen(text) && memcmp(value->text, text, value->bytes) == 0;
}
