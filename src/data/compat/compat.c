#include "data/compat/compat.h"

#include <string.h>

const char *const compat_names[] = { "none", "megatron", "fairseq", "t5_experiments", NULL };
const char *const break_mode_names[] = { "none", "complete", "complete_doc", "eos", NULL };

static const CompatKind *const kinds[] = { &compat_megatron_gpt, &compat_fairseq, &compat_megatron_bert,
                                           &compat_t5_experiments_bert };

const CompatKind *compat_find(Compat compat, const char *objective, GError **error)
{
    g_autoptr(GString) known = g_string_new(NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        if (kinds[i]->compat != compat)
            continue;
        if (strcmp(kinds[i]->objective, objective) == 0)
            return kinds[i];
        g_string_append_printf(known, "%s%s", known->len > 0 ? ", " : "", kinds[i]->objective);
    }
    return fail_user(error, "data.compat=%s does not support data.objective=%s, only %s", compat_names[compat],
                     objective, known->str);
}
