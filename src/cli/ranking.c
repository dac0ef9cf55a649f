#include "cli/ranking.h"

bool ranking_check_options(const char *by, bool no_eos, int64_t beams, GError **error)
{
    if (by && rank_find(by) < 0)
        return fail_user(error, "--rank %s: sum, bytes or tokens", by);
    if (by && beams > 1)
        return fail_user(error, "--beams searches for a text, --rank chooses a label: give one of them");
    return by || !no_eos || fail_user(error, "--no-eos is for --rank");
}

json_t *ranking_logprobs(const Ranking *ranking, const Answer *answer)
{
    json_t *object = answer->label_logprobs ? json_object() : NULL;
    for (guint i = 0; object && ranking_labels(ranking)[i]; i++)
        json_object_set_new(object, ranking_labels(ranking)[i], json_real(answer->label_logprobs[i]));
    return object;
}
