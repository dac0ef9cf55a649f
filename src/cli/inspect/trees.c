#include "cli/inspect/trees.h"

#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SHOWN_BYTES 60 /* largest number of bytes of a node's text that is shown */

/* The text of the tokens on one line, cut at SHOWN_BYTES bytes between characters. NULL on error. g_free. */
static char *node_text(const Tokenizer *tok, const int32_t *ids, int64_t n, GError **error)
{
    g_autofree char *text = tokenizer_decode(tok, ids, n, error), *line = text ? one_line(text) : NULL;
    if (!line)
        return NULL;
    bool replaced = false, cut = strlen(line) > SHOWN_BYTES;
    char *end = line + MIN(strlen(line), SHOWN_BYTES);
    while (cut && ((unsigned char)*end & 0xC0) == 0x80)
        end--;
    *end = 0;
    g_autofree char *valid = valid_text(line, &replaced);
    return g_strconcat(valid, cut ? "…" : "", NULL);
}

static bool print_node(const Dataset *data, int language, const TreeNode *node, guint depth, const Tokenizer *tok,
                       const int32_t *ids, GError **error)
{
    g_autofree char *text = tok ? node_text(tok, ids + node->begin, node->end - node->begin, error) : NULL;
    if (tok && !text)
        return false;
    printf("%*s%s %" PRId32 "-%" PRId32 "%s%s\n", (int)(2 * depth), "", trees_type(data->trees, language, node->type),
           node->begin, node->end, text ? "  " : "", text ? text : "");
    return true;
}

bool print_tree(const Dataset *data, int64_t document, const Tokenizer *tok, GError **error)
{
    /* open: ends (token indices) of the nodes that contain the present one. */
    g_autoptr(GArray) nodes = g_array_new(false, false, sizeof(TreeNode)),
                      open = g_array_new(false, false, sizeof(int32_t));
    int64_t first, last, n = 0;
    int language;
    indexed_document(data->set, document, &first, &last);
    for (int64_t sequence = first; sequence < last; sequence++)
        n += indexed_length(data->set, sequence);
    g_autofree int32_t *ids = g_new(int32_t, n);
    if (!trees_read(data->trees, indexed_locate(data->set, first), n, &language, nodes, error) ||
        (tok && !dataset_read(data, first, 0, n, tokenizer_size(tok), ids, error)))
        return false;
    printf("tree  %s\n", language < 0 ? "none" : trees_language(data->trees, language));
    for (guint i = 0; i < nodes->len; i++) {
        const TreeNode *node = &g_array_index(nodes, TreeNode, i);
        while (open->len > 0 && g_array_index(open, int32_t, open->len - 1) <= node->begin)
            g_array_set_size(open, open->len - 1);
        g_array_append_val(open, node->end);
        if (!print_node(data, language, node, open->len, tok, ids, error))
            return false;
    }
    return true;
}
