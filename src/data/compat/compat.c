#include "data/compat/compat.h"

#include "data/compat/fairseq_blocks.h"
#include "data/compat/megatron_bert.h"
#include "data/compat/megatron_gpt.h"

#include <string.h>

const char *const compat_names[] = { "none", "megatron", "fairseq", "t5_experiments", NULL };
const char *const break_mode_names[] = { "none", "complete", "complete_doc", "eos", NULL };

static const CompatKind compat_kinds[] = {
    { COMPAT_MEGATRON, "clm", megatron_gpt_open, megatron_gpt_close, megatron_gpt_count, megatron_gpt_fill },
    { COMPAT_FAIRSEQ, "clm", fairseq_open, fairseq_close, fairseq_count, fairseq_fill },
    { COMPAT_MEGATRON, "mlm", megatron_bert_open, megatron_bert_close, megatron_bert_count, megatron_bert_fill },
    { COMPAT_T5_EXPERIMENTS, "mlm", t5_experiments_bert_open, megatron_bert_close, megatron_bert_count,
      megatron_bert_fill },
    { COMPAT_NONE, NULL, NULL, NULL, NULL, NULL },
};

const CompatKind *compat_find(Compat compat, const char *objective, GError **error)
{
    g_autoptr(GString) known = g_string_new(NULL);
    for (const CompatKind *kind = compat_kinds; kind->objective; kind++) {
        if (kind->compat == compat && strcmp(kind->objective, objective) == 0)
            return kind;
        if (kind->compat == compat)
            g_string_append_printf(known, "%s%s", known->len > 0 ? ", " : "", kind->objective);
    }
    fail_user(error, "data.compat=%s knows no data.objective=%s, only %s", compat_names[compat], objective, known->str);
    return NULL;
}
