#include "text/sentencepiece/model.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define UNKNOWN_PENALTY 10.0f     /* SentencePiece: unk_score = lowest score of a piece - this */
#define STRETCH         1024      /* bytes: a stretch ends at the next position after so many that no piece crosses */
#define FAR_DOWN        100000.0f /* SentencePiece subtracts an offset from all sums beyond this, to keep their precision */

/* The best split up to a position of a stretch: its sum, and the last piece. */
typedef struct Node {
    float score;
    int32_t id, start; /* id and start of the last piece; start < 0 means that no split ends at this position */
} Node;

typedef struct Path {
    const Viterbi *viterbi;
    const char *text;     /* start of the stretch */
    size_t at;            /* current position */
    size_t reach;         /* nodes up to here are initialised */
    Node *nodes, few[64]; /* by position; nodes is `few` while 64 are enough */
    size_t room;
    GArray *ids;
    bool after_unk; /* the last piece was unknown */
} Path;

static Node *node_at(Path *path, size_t position)
{
    if (position >= path->room) {
        Node *heap = path->nodes == path->few ? NULL : path->nodes;
        path->room = MAX(2 * path->room, position + 1);
        path->nodes = g_renew(Node, heap, path->room);
        if (heap == NULL)
            memcpy(path->nodes, path->few, sizeof path->few);
    }
    while (path->reach < position)
        path->nodes[++path->reach].start = -1;
    return &path->nodes[position];
}

/* Keeps a split that ends at a position if its sum is the largest so far. */
static void offer(Path *path, size_t end, float score, int32_t id)
{
    Node *node = node_at(path, end);
    if (node->start < 0 || score > node->score)
        *node = (Node){ score, id, (int32_t)path->at };
}

/* Extends the best split at the current position by every piece that starts there, or by an unknown character. */
static void extend(Path *path, size_t bytes)
{
    const Viterbi *viterbi = path->viterbi;
    const Trie *trie = &viterbi->trie;
    const char *text = path->text + path->at;
    const size_t char_bytes = MIN((size_t)g_utf8_skip[(unsigned char)*text], bytes);
    const float score = path->nodes[path->at].score;
    bool has_char = false;
    uint32_t unit = 0;
    for (size_t i = 0; i < bytes && (unit = trie_step(trie, unit, (unsigned char)text[i]));) {
        int32_t id = trie->units[unit].value;
        i++;
        if (id < 0)
            continue;
        offer(path, path->at + i, viterbi->scores[id] + score, id);
        has_char |= i == char_bytes;
    }
    if (!has_char)
        offer(path, path->at + char_bytes, viterbi->unk_score + score, viterbi->unk);
    path->at += char_bytes;
}

static void rebase(Path *path)
{
    const float offset = path->nodes[path->at].score;
    for (size_t i = path->at; i <= path->reach; i++)
        path->nodes[i].score -= offset;
}

static void append_piece(Path *path, size_t start, size_t end, int32_t id)
{
    const Viterbi *viterbi = path->viterbi;
    bool unk = id == viterbi->unk;
    for (size_t i = start; unk && viterbi->byte_fallback && i < end; i++)
        g_array_append_val(path->ids, viterbi->bytes[(unsigned char)path->text[i]]);
    if (!unk || !(viterbi->byte_fallback || path->after_unk))
        g_array_append_val(path->ids, id);
    path->after_unk = unk;
}

/* Appends the pieces of the best split up to `at`, which no piece crosses, and starts a new stretch there. */
static void settle_path(Path *path)
{
    Node *nodes = path->nodes;
    int32_t after = -1;
    for (int32_t end = (int32_t)path->at, before; end >= 0;
         end = before) { /* reverse the links: start becomes the end of the next piece */
        before = end > 0 ? nodes[end].start : -1;
        nodes[end].start = after;
        after = end;
    }
    for (int32_t start = 0, end; (end = nodes[start].start) >= 0; start = end)
        append_piece(path, (size_t)start, (size_t)end, nodes[end].id);
    nodes[0] = (Node){ .score = nodes[path->at].score };
    path->text += path->at;
    path->at = path->reach = 0;
}

void viterbi_init(Viterbi *viterbi, const GArray *pieces, bool byte_fallback, unsigned found, unsigned scored)
{
    g_autofree TrieKey *keys = g_new(TrieKey, pieces->len);
    size_t n_keys = 0;
    float least = FLT_MAX;
    *viterbi = (Viterbi){ .unk = -1, .byte_fallback = byte_fallback, .scores = g_new(float, pieces->len) };
    memset(viterbi->bytes, 0xff, sizeof viterbi->bytes);
    for (int id = 0; id < (int)pieces->len; id++) {
        const SpPiece *piece = &g_array_index(pieces, SpPiece, id);
        int byte = piece->type == SP_BYTE ? sp_byte_of(piece->text) : -1;
        if (byte >= 0)
            viterbi->bytes[byte] = id;
        if (piece->type == SP_UNKNOWN)
            viterbi->unk = id;
        if (scored >> piece->type & 1)
            least = MIN(least, piece->score);
        viterbi->scores[id] = sp_score(piece);
        if (*piece->text && (found >> piece->type & 1))
            keys[n_keys++] = (TrieKey){ piece->text, (uint32_t)strlen(piece->text), id };
    }
    viterbi->unk_score = least - UNKNOWN_PENALTY;
    trie_init(&viterbi->trie, keys, n_keys);
}

bool viterbi_check_bytes(const Viterbi *viterbi, GError **error)
{
    for (int i = 0; i < 256; i++)
        if (viterbi->bytes[i] < 0)
            return fail_user(error, "it falls back to bytes, but has no piece <0x%02X>", (unsigned)i);
    return true;
}

void viterbi_encode(const Viterbi *viterbi, const char *text, size_t bytes, float *score, GArray *ids)
{
    Path path; /* not initialised as a whole: clearing `few` would take as long as a short word */
    path.viterbi = viterbi;
    path.text = text;
    path.at = path.reach = 0;
    path.nodes = path.few;
    path.room = G_N_ELEMENTS(path.few);
    path.ids = ids;
    path.after_unk = false;
    const char *end = text + bytes;
    path.nodes[0] = (Node){ .score = *score };
    while (path.text + path.at < end) {
        if (fabsf(path.nodes[path.at].score) > FAR_DOWN)
            rebase(&path);
        extend(&path, (size_t)(end - path.text) - path.at);
        if (path.at >= STRETCH && path.reach == path.at)
            settle_path(&path);
    }
    settle_path(&path);
    *score = path.nodes[0].score;
    if (path.nodes != path.few)
        g_free(path.nodes);
}

void viterbi_clear(Viterbi *viterbi)
{
    trie_clear(&viterbi->trie);
    g_free(viterbi->scores);
    *viterbi = (Viterbi){ 0 };
}
