#include "text/long_words.h"

#include "base/log.h"
#include "base/text.h"

bool long_words_report(int64_t left_out, const char *longest, bool any, GError **error)
{
    g_autofree char *n = text_grouped(left_out);
    if (!any && left_out > 0)
        return fail_user(error, "there is no text to train on: every word is longer than %s", longest);
    if (left_out > 0)
        log_info("words longer than %s are left out of training: %s", longest, n);
    return any || fail_user(error, "there is no text to train on");
}
