#include "data/prepare/fairseq_identity.h"

#include "base/log.h"
#include "format/fairseq_dict.h"

#include <string.h>

bool fairseq_identity_write(const Tokenizer *tok, const char *folder, const int64_t *counts, GError **error)
{
    g_autofree char *path = g_build_filename(folder, "dict.txt", NULL);
    FairseqDict *dict = fairseq_dict_new();
    for (int id = FAIRSEQ_SPECIALS; id < tokenizer_size(tok); id++) {
        const char *piece = tokenizer_piece(tok, id);
        g_autofree char *unprintable = g_strdup_printf("madeupword%04d", id);
        bool plain = piece && *piece && !strpbrk(piece, "\r\n") && g_utf8_validate(piece, -1, NULL);
        fairseq_dict_add(dict, plain ? piece : unprintable, counts[id]);
    }
    if (tokenizer_pad(tok) != 1 || tokenizer_eos(tok) != 2)
        log_warning(
            "fairseq takes id 1 for padding and id 2 for the end of a line; this tokenizer's are %d and %d, and "
            "the files hold its own",
            tokenizer_pad(tok), tokenizer_eos(tok));
    bool done = fairseq_dict_write(dict, path, error);
    fairseq_dict_free(dict);
    return done;
}
