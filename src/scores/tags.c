/* tags.c: F1 of the entities (such as names) that sequences of tags mark, as seqeval computes it. */
#include "base/python_text.h"
#include "scores/kind.h"

#include <string.h>

/* "B-PER" is the prefix B and the type PER. */
typedef struct Tag {
    char prefix; /* B, I, E or S within an entity; O outside */
    const char *type;
    size_t bytes; /* of type */
} Tag;

typedef struct Entity {
    int64_t first, end; /* indices of its tags: [first, end) */
    const char *type;
    size_t bytes;
} Entity;

static bool is_type(const Tag *tag, const char *type, size_t bytes)
{
    return tag->bytes == bytes && memcmp(tag->type, type, bytes) == 0;
}

/* ---- reading ---- */

/* Splits a tag. The type is the text after the first hyphen that follows the prefix, or without a hyphen all text after
 * the prefix; "_" if there is none. */
static bool parse_tag(Tag *tag, const char *word, size_t bytes, const char *prefixes)
{
    *tag = (Tag){ 'O', "_", 1 };
    if (strchr(prefixes, word[0]) == NULL)
        return false;
    const char *hyphen = memchr(word + 1, '-', bytes - 1), *type = hyphen ? hyphen + 1 : word + 1;
    tag->prefix = word[0];
    if (type < word + bytes) {
        tag->type = type;
        tag->bytes = (size_t)(word + bytes - type);
    }
    return true;
}

/* The tags (Tag) of a text. A word that is not a tag is read as O and counted in *n_invalid. */
static GArray *read_tags(const char *text, int variant, int64_t *n_invalid)
{
    GArray *tags = g_array_new(FALSE, FALSE, sizeof(Tag));
    const char *at = text, *word;
    size_t bytes;
    while (python_next_word(&at, &word, &bytes)) {
        Tag tag;
        *n_invalid += !parse_tag(&tag, word, bytes, variant == TAGS_IOB2 ? "BIO" : "BIESO");
        g_array_append_val(tags, tag);
    }
    return tags;
}

/* ---- entities ---- */

/* Whether an entity ends between two tags, and whether one begins at the second, by the rules of the script conlleval:
 * a change of type ends one entity and begins another, even without B. */
static bool ends_entity(const Tag *before, const Tag *tag)
{
    if (before->prefix == 'E' || before->prefix == 'S')
        return true;
    return before->prefix != 'O' && (strchr("BSO", tag->prefix) != NULL || !is_type(tag, before->type, before->bytes));
}

static bool begins_entity(const Tag *before, const Tag *tag)
{
    if (tag->prefix == 'B' || tag->prefix == 'S')
        return true;
    return tag->prefix != 'O' && (strchr("ESO", before->prefix) != NULL || !is_type(tag, before->type, before->bytes));
}

/* Strict IOB2: only B begins an entity; I of the same type continues it. */
static bool entity_goes_on(const Entity *entity, const Tag *tag)
{
    return tag->prefix == 'I' && is_type(tag, entity->type, entity->bytes);
}

/* The entities (Entity) of tags, in order. */
static GArray *find_entities(const GArray *tags, int variant)
{
    GArray *entities = g_array_new(FALSE, FALSE, sizeof(Entity));
    Tag outside = { 'O', "_", 1 }, before = outside;
    Entity entity = { 0 };
    bool within = false;
    for (guint i = 0; i <= tags->len; i++) {
        Tag tag = i < tags->len ? g_array_index(tags, Tag, i) : outside;
        if (within && (variant == TAGS_IOB2 ? !entity_goes_on(&entity, &tag) : ends_entity(&before, &tag))) {
            entity.end = i;
            g_array_append_val(entities, entity);
            within = false;
        }
        if (variant == TAGS_IOB2 ? tag.prefix == 'B' : begins_entity(&before, &tag)) {
            entity = (Entity){ i, 0, tag.type, tag.bytes };
            within = true;
        }
        before = tag;
    }
    return entities;
}

/* Number of entities that both lists have, with the same tags and the same type. */
static int64_t count_common(const GArray *a, const GArray *b)
{
    int64_t common = 0;
    for (guint i = 0, k = 0; i < a->len && k < b->len;) {
        const Entity *p = &g_array_index(a, Entity, i), *q = &g_array_index(b, Entity, k);
        common +=
            p->first == q->first && p->end == q->end && p->bytes == q->bytes && memcmp(p->type, q->type, p->bytes) == 0;
        i += p->first <= q->first;
        k += q->first <= p->first;
    }
    return common;
}

/* ---- the score ---- */

static int64_t count_equal_words(const char *a, const char *b)
{
    const char *p, *q;
    size_t n_p, n_q;
    int64_t equal = 0;
    while (python_next_word(&a, &p, &n_p) && python_next_word(&b, &q, &n_q))
        equal += n_p == n_q && memcmp(p, q, n_p) == 0;
    return equal;
}

/* A row has the number of right, predicted and reference entities, of right tags, and of all tags. */
static bool measure_one(double *row, ScoreStats *stats, const ScoreInput *in, int64_t i, GError **error)
{
    int variant = stats->kind->variant;
    int64_t n_wrong = 0;
    g_autoptr(GArray) predicted = read_tags(in->predictions[i], variant, &stats->n_invalid),
                      actual = read_tags(in->references[i][0], variant, &n_wrong);
    if (n_wrong > 0)
        return fail_user(error,
                         "the reference of example %" G_GINT64_FORMAT " has %" G_GINT64_FORMAT
                         " tags that do not begin with %s, as those of entities do; the score accuracy takes any tags",
                         i + 1, n_wrong, variant == TAGS_IOB2 ? "B, I or O" : "B, I, E, S or O");
    if (predicted->len != actual->len)
        return fail_user(error, "example %" G_GINT64_FORMAT " has %u predicted tags, its reference %u", i + 1,
                         predicted->len, actual->len);
    g_autoptr(GArray) found = find_entities(predicted, variant), wanted = find_entities(actual, variant);
    row[0] = (double)count_common(found, wanted);
    row[1] = found->len;
    row[2] = wanted->len;
    row[3] = (double)count_equal_words(in->predictions[i], in->references[i][0]);
    row[4] = actual->len;
    return true;
}

bool tags_measure(ScoreStats *stats, const ScoreInput *in, GError **error)
{
    bool good = true;
    for (int64_t i = 0; good && i < in->n; i++)
        good = measure_one(stats_row(stats, i), stats, in, i, error);
    return good;
}

void tags_finish(double *values, const ScoreStats *stats, const int64_t *pick, int64_t n)
{
    double sums[MOST_WIDTH];
    stats_sum(sums, stats, pick, n);
    finish_f1(values, stats, pick, n);
    values[3] = 100 * ratio(sums[3], sums[4]);
}
