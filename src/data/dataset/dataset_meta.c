/* dataset_meta.c: reads and writes PREFIX.json, which says how a dataset was made. */
#include "data/dataset/dataset.h"

#include "base/file.h"
#include "base/json_line.h"
#include "base/log.h"
#include "base/text.h"

#include <string.h>

#define MAX_BYTES ((size_t)1 << 20)
#define LAYOUT    "{s:i, s:{s:s, s:s, s:I}, s:b, s:I, s:I, s:o*, s:o*, s:o*, s:o*, s:s*}"
#define STRICT_LAYOUT                                                                                                  \
    "{s:i, s:{s:s, s:s, s:I !}, s:b, s:I, s:I, s?{s:i, s:I, s?s !}, s?b, s?{s:s, s?s !}, s?{s:s, s:I !}, s?s !}"

DatasetMeta dataset_meta_of(const Tokenizer *tok, bool append_eod)
{
    return (DatasetMeta){ .tokenizer_hash = (char *)tokenizer_hash(tok),
                          .tokenizer_kind = (char *)tokenizer_kind(tok),
                          .vocab = tokenizer_size(tok),
                          .append_eod = append_eod,
                          .has_unknown = true,
                          .unknown_id = tokenizer_unk(tok) };
}

static json_t *unknown_json(const DatasetMeta *meta)
{
    return json_pack("{s:i, s:I, s:s*}", "id", meta->unknown_id, "tokens", (json_int_t)meta->counts.unknown,
                     "commonest", *meta->commonest ? meta->commonest : NULL);
}

bool dataset_meta_write(const DatasetMeta *meta, const char *path, GError **error)
{
    json_auto_t *root = json_pack(
        LAYOUT, "version", 1, "tokenizer", "hash", meta->tokenizer_hash, "kind", meta->tokenizer_kind, "size",
        (json_int_t)meta->vocab, "append_eod", meta->append_eod, "documents", (json_int_t)meta->counts.documents,
        "tokens", (json_int_t)meta->counts.tokens, "unknown", meta->has_unknown ? unknown_json(meta) : NULL, "held_out",
        meta->held_out ? json_true() : NULL, "labels",
        meta->label_kind ? json_pack("{s:s, s:s*}", "kind", label_kind_names[meta->label_kind], "names", meta->labels)
                         : NULL,
        "tree",
        meta->tree_bytes > 0 ? json_pack("{s:s, s:I}", "hash", meta->tree_hash, "bytes", (json_int_t)meta->tree_bytes)
                             : NULL,
        "source", *meta->source_hash ? meta->source_hash : NULL);
    return json_write_file(path, root, JSON_INDENT(2) | JSON_PRESERVE_ORDER, "\n", error);
}

/* Reads the kind of labels; fails unless exactly the kinds with named classes have names. */
static bool read_labels(const char *kind, const char *names, const char *path, LabelKind *learns, GError **error)
{
    for (*learns = LABELS_NONE; *learns <= LABELS_CHOICE; (*learns)++)
        if (strcmp(label_kind_names[*learns], kind) == 0)
            break;
    if (*learns > LABELS_CHOICE)
        return fail_user(error, "%s: labels: the kind \"%s\" is unknown to this program", path, kind);
    if (labels_have_names(*learns) != (names && *names))
        return fail_user(error, "%s: labels: the kind %s and %s", path, kind, names ? "names of classes" : "no names");
    return labels_check(names, path, error);
}

/* Copies the characters of a text that fit, with a NUL after them. */
static void copy_characters(char *out, const char *text, size_t capacity)
{
    const char *end;
    g_utf8_validate(text, (gssize)MIN(strlen(text), capacity - 1), &end);
    g_strlcpy(out, text, (gsize)(end - text) + 1);
}

/* The names of classes as options write them: earlier versions kept white space around them. g_free. */
static char *plain_names(const char *labels)
{
    g_auto(GStrv) names = text_list(labels);
    return labels && *labels ? text_list_join((const char *const *)names) : NULL;
}

static bool unpack(DatasetMeta *meta, json_t *root, const char *path, GError **error)
{
    json_error_t reason;
    json_int_t size, documents, tokens, unknown = -1, tree_bytes = 0;
    const char *hash, *kind, *tree_hash = "", *label_kind = label_kind_names[LABELS_NONE], *labels = NULL;
    LabelKind learns;
    const char *commonest = "", *source_hash = "";
    int version, append_eod, unknown_id = -1, held_out = 0;
    if (json_unpack_ex(root, &reason, 0, STRICT_LAYOUT, "version", &version, "tokenizer", "hash", &hash, "kind", &kind,
                       "size", &size, "append_eod", &append_eod, "documents", &documents, "tokens", &tokens, "unknown",
                       "id", &unknown_id, "tokens", &unknown, "commonest", &commonest, "held_out", &held_out, "labels",
                       "kind", &label_kind, "names", &labels, "tree", "hash", &tree_hash, "bytes", &tree_bytes,
                       "source", &source_hash) != 0)
        return fail_user(error, "%s: not as loam prepare writes it: %s", path, reason.text);
    if (version != 1)
        return fail_user(error, "%s: version %d, this program reads version 1", path, version);
    const bool counts_unknown = json_object_get(root, "unknown") != NULL;
    if (size <= 0 || documents < 0 || tokens < 0 || unknown > tokens || unknown_id < -1 || unknown_id >= size ||
        (counts_unknown && unknown < 0) || (json_object_get(root, "tree") && tree_bytes <= 0))
        return fail_user(error, "%s: a size or count is out of range", path);
    if (!read_labels(label_kind, labels, path, &learns, error))
        return false;
    *meta = (DatasetMeta){ .tokenizer_hash = g_strdup(hash),
                           .tokenizer_kind = g_strdup(kind),
                           .vocab = size,
                           .append_eod = append_eod,
                           .counts = { documents, tokens, MAX(unknown, 0) },
                           .has_unknown = counts_unknown,
                           .unknown_id = unknown_id,
                           .held_out = held_out,
                           .label_kind = learns,
                           .labels = plain_names(labels),
                           .tree_bytes = tree_bytes };
    copy_characters(meta->commonest, commonest, sizeof meta->commonest);
    g_strlcpy(meta->tree_hash, tree_hash, sizeof meta->tree_hash);
    g_strlcpy(meta->source_hash, source_hash, sizeof meta->source_hash);
    return true;
}

bool dataset_meta_read(DatasetMeta *meta, const char *path, GError **error)
{
    size_t bytes;
    json_error_t reason;
    g_autofree char *text = io_read_file(path, MAX_BYTES, &bytes, error);
    if (!text)
        return false;
    json_auto_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &reason);
    if (!root)
        return fail_user(error, "%s:%d: not JSON: %s", path, reason.line, reason.text);
    return unpack(meta, root, path, error);
}

void dataset_meta_clear(DatasetMeta *meta)
{
    g_free(meta->tokenizer_hash);
    g_free(meta->tokenizer_kind);
    g_free(meta->labels);
    *meta = (DatasetMeta){ 0 };
}

char *dataset_unknown_share(const DatasetCounts *counts)
{
    return text_percent((double)counts->unknown / (double)MAX(counts->tokens, 1));
}

void dataset_report_unknown(const DatasetMeta *meta, const char *name)
{
    const DatasetCounts *counts = &meta->counts;
    g_autofree char *share = dataset_unknown_share(counts);
    if (!meta->has_unknown || counts->unknown == 0)
        return;
    if ((double)counts->unknown <= DATASET_UNKNOWN_SHARE * (double)counts->tokens) {
        log_info("%s: %s of the tokens are the unknown token", name, share);
        return;
    }
    log_warning(
        "%s: %s of the tokens are the unknown token, whose text is lost%s%s: losses look better than they are; "
        "loam tokenizer train --byte-fallback, or --kind byte-bpe, makes a tokenizer that knows every character",
        name, share, *meta->commonest ? "; the commonest characters that the tokenizer does not know: " : "",
        meta->commonest);
}

char *dataset_meta_labels(const DatasetMeta *meta)
{
    if (meta->label_kind == LABELS_NONE)
        return g_strdup("no labels of a classifier");
    return g_strdup_printf("labels of a classifier (%s%s%s)", label_kind_names[meta->label_kind],
                           meta->labels ? ": " : "", meta->labels ? meta->labels : "");
}
