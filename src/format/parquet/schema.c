#include "format/parquet/schema.h"

#include <string.h>

#define MOST_DEPTH 64       /* of the tree */
#define MOST_NODES 0x100000 /* of the tree */

/* Converted types, by their numbers in the format. */
enum {
    CONVERTED_MAP = 1,
    CONVERTED_MAP_KEY_VALUE = 2,
    CONVERTED_LIST = 3,
    CONVERTED_DECIMAL = 5,
    CONVERTED_DATE = 6,
    CONVERTED_TIME_MILLIS = 7,
    CONVERTED_TIME_MICROS = 8,
    CONVERTED_TIMESTAMP_MILLIS = 9,
    CONVERTED_TIMESTAMP_MICROS = 10,
    CONVERTED_UINT_8 = 11,
    CONVERTED_UINT_64 = 14
};
/* Logical types: fields of a union, by their numbers. */
enum {
    LOGICAL_MAP = 2,
    LOGICAL_LIST = 3,
    LOGICAL_DECIMAL = 5,
    LOGICAL_DATE = 6,
    LOGICAL_TIME = 7,
    LOGICAL_TIMESTAMP = 8,
    LOGICAL_INTEGER = 10,
    LOGICAL_UUID = 14,
    LOGICAL_FLOAT16 = 15
};

/* A node as the file has it. */
typedef struct Element {
    int type, repetition, children;
    bool list, map;
} Element;

static const int32_t widths[N_PHYSICAL] = {
    [PHYSICAL_INT32] = 4, [PHYSICAL_INT64] = 8, [PHYSICAL_INT96] = 12, [PHYSICAL_FLOAT] = 4, [PHYSICAL_DOUBLE] = 8
};

/* ---- logical types ---- */

static void take_converted(int converted, Element *element, LeafType *type)
{
    element->list |= converted == CONVERTED_LIST;
    element->map |= converted == CONVERTED_MAP || converted == CONVERTED_MAP_KEY_VALUE;
    if (type->meaning != MEANS_ITSELF) /* the logical type says more */
        return;
    if (converted == CONVERTED_DECIMAL)
        type->meaning = MEANS_DECIMAL;
    else if (converted == CONVERTED_DATE)
        type->meaning = MEANS_DATE;
    else if (converted >= CONVERTED_UINT_8 && converted <= CONVERTED_UINT_64)
        type->meaning = MEANS_UNSIGNED;
    else if (converted >= CONVERTED_TIME_MILLIS && converted <= CONVERTED_TIMESTAMP_MICROS) {
        const bool day = converted <= CONVERTED_TIME_MICROS;
        const bool millis = converted == CONVERTED_TIME_MILLIS || converted == CONVERTED_TIMESTAMP_MILLIS;
        type->meaning = day ? MEANS_TIME : MEANS_TIMESTAMP;
        type->digits = millis ? 3 : 6;
        type->utc = !day;
    }
}

/* The unit of a time, a union: 1 milliseconds, 2 microseconds, 3 nanoseconds. */
static void take_unit(Thrift *in, LeafType *type)
{
    for (ThriftField field = { 0 }; thrift_next(in, &field);) {
        type->digits = 3 * CLAMP(field.id, 1, 3);
        thrift_skip(in, &field);
    }
}

/* The fields of one logical type. */
static void take_parameters(Thrift *in, int logical, LeafType *type)
{
    for (ThriftField field = { 0 }; thrift_next(in, &field);)
        if ((logical == LOGICAL_TIME || logical == LOGICAL_TIMESTAMP) && field.id == 1)
            type->utc = thrift_bool(in, &field);
        else if ((logical == LOGICAL_TIME || logical == LOGICAL_TIMESTAMP) && field.id == 2 &&
                 thrift_struct(in, &field))
            take_unit(in, type);
        else if (logical == LOGICAL_INTEGER && field.id == 2)
            type->meaning = thrift_bool(in, &field) ? MEANS_ITSELF : MEANS_UNSIGNED;
        else
            thrift_skip(in, &field);
}

static void take_logical(Thrift *in, Element *element, LeafType *type)
{
    static const Meaning meanings[] = {
        [LOGICAL_DECIMAL] = MEANS_DECIMAL,     [LOGICAL_DATE] = MEANS_DATE, [LOGICAL_TIME] = MEANS_TIME,
        [LOGICAL_TIMESTAMP] = MEANS_TIMESTAMP, [LOGICAL_UUID] = MEANS_UUID, [LOGICAL_FLOAT16] = MEANS_FLOAT16
    };
    for (ThriftField field = { 0 }; thrift_next(in, &field);) {
        element->list |= field.id == LOGICAL_LIST;
        element->map |= field.id == LOGICAL_MAP;
        type->meaning = (size_t)field.id < G_N_ELEMENTS(meanings) ? meanings[field.id] : MEANS_ITSELF;
        if (thrift_struct(in, &field))
            take_parameters(in, field.id, type);
    }
}

/* ---- nodes ---- */

static Element take_element(Thrift *in, Node *node)
{
    Element element = { .type = -1 };
    LeafType *type = &node->type;
    int scale = 0, converted = -1;
    size_t n = 0;
    const char *name = NULL;
    for (ThriftField field = { 0 }; thrift_next(in, &field);)
        if (field.id == 1)
            element.type = thrift_int32(in, &field);
        else if (field.id == 2)
            type->width = thrift_int32(in, &field);
        else if (field.id == 3)
            element.repetition = thrift_int32(in, &field);
        else if (field.id == 4)
            name = thrift_text(in, &field, &n);
        else if (field.id == 5)
            element.children = thrift_int32(in, &field);
        else if (field.id == 6)
            converted = thrift_int32(in, &field);
        else if (field.id == 7)
            scale = thrift_int32(in, &field);
        else if (field.id == 10 && thrift_struct(in, &field))
            take_logical(in, &element, type);
        else
            thrift_skip(in, &field);
    node->name = name && g_utf8_validate(name, (gssize)n, NULL) ? g_strndup(name, n) : NULL;
    take_converted(converted, &element, type);
    if (type->meaning == MEANS_DECIMAL)
        type->digits = scale;
    return element;
}

/* Whether the physical type can have this meaning; an impossible one is ignored, as an unknown one is. */
static bool can_mean(const LeafType *type)
{
    const bool integer = type->physical == PHYSICAL_INT32 || type->physical == PHYSICAL_INT64;
    switch (type->meaning) {
    case MEANS_ITSELF:
        return true;
    case MEANS_DATE:
        return type->physical == PHYSICAL_INT32;
    case MEANS_TIMESTAMP:
        return type->physical == PHYSICAL_INT64;
    case MEANS_UNSIGNED:
    case MEANS_TIME:
        return integer;
    case MEANS_DECIMAL:
        return (integer || type->physical == PHYSICAL_BYTES || type->physical == PHYSICAL_FIXED) && type->digits >= 0 &&
               type->digits <= 1000;
    case MEANS_FLOAT16:
        return type->physical == PHYSICAL_FIXED && type->width == 2;
    default:
        return type->physical == PHYSICAL_FIXED && type->width == 16;
    }
}

static bool set_leaf(const Element *element, Node *node)
{
    LeafType *type = &node->type;
    if (element->type < 0 || element->type >= N_PHYSICAL)
        return false;
    type->physical = (Physical)element->type;
    if (type->physical == PHYSICAL_FIXED)
        return type->width > 0;
    type->width = widths[type->physical];
    return true;
}

/* Sets the shape of a group, whose children have been read. A list is a group with a repeated child, which is its
 * element in files of older writers, else a group around the element: the rules of "Backward-compatibility rules". */
static void set_shape(GArray *nodes, guint index, const Element *element)
{
    Node *node = &g_array_index(nodes, Node, index), *child = node + 1;
    node->shape = SHAPE_OBJECT;
    if (node->n_children != 1 || child->repetition != REPEATED)
        return;
    g_autofree char *tuple = g_strconcat(node->name, "_tuple", NULL);
    if (element->map && child->n_children == 2 && child[1].shape == SHAPE_LEAF && child[1].repetition != REPEATED) {
        node->shape = SHAPE_MAP;
    } else if (element->list || element->map) {
        node->shape = SHAPE_CHILD;
        if (child->n_children == 1 && child->shape == SHAPE_OBJECT && strcmp(child->name, "array") != 0 &&
            strcmp(child->name, tuple) != 0 && child[1].repetition != REPEATED)
            child->shape = SHAPE_CHILD;
    }
}

typedef struct Reading {
    Thrift *in;
    ThriftList list;
    GArray *nodes, *leaves;
} Reading;

/* Reads a node and those below it. above: the node that it is a child of; NULL means that it is the root. */
static bool read_node(Reading *r, const Node *above, int depth, GError **error)
{
    const guint index = r->nodes->len;
    Node node = { .first_leaf = r->leaves->len };
    if (depth == MOST_DEPTH || index == MOST_NODES)
        return fail_user(error, "its columns are nested more than %d deep, or more than a million", MOST_DEPTH);
    if (!thrift_item(r->in, &r->list))
        return fail_user(error, "the list of its columns is damaged");
    const Element element = take_element(r->in, &node);
    node.repetition = above ? (Repetition)element.repetition : REQUIRED;
    node.n_children = (guint)element.children;
    node.repetition_level = (above ? above->repetition_level : 0) + (node.repetition == REPEATED);
    node.definition_level = (above ? above->definition_level : 0) + (node.repetition != REQUIRED);
    g_array_append_val(r->nodes, node);
    if (r->in->bad || !node.name || element.children < 0 || element.repetition < 0 || element.repetition > REPEATED ||
        (element.children == 0 && above && !set_leaf(&element, &g_array_index(r->nodes, Node, index))))
        return fail_user(error, "column %u of its metadata is damaged", index);
    if (element.children == 0 && above)
        g_array_append_val(r->leaves, index);
    for (int i = 0; i < element.children; i++) {
        const Node self = g_array_index(r->nodes, Node, index);
        if (!read_node(r, &self, depth + 1, error))
            return false;
    }
    Node *done = &g_array_index(r->nodes, Node, index);
    done->next = r->nodes->len;
    done->end_leaf = r->leaves->len;
    if (!can_mean(&done->type))
        done->type.meaning = MEANS_ITSELF;
    if (element.children > 0)
        set_shape(r->nodes, index, &element);
    return true;
}

bool schema_read(Thrift *in, const ThriftField *field, GArray *nodes, GArray *leaves, GError **error)
{
    Reading reading = { .in = in, .list = thrift_structs(in, field), .nodes = nodes, .leaves = leaves };
    if (nodes->len > 0)
        return fail_user(error, "the list of its columns comes twice");
    return read_node(&reading, NULL, 0, error);
}
