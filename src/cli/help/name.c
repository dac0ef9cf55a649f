/* name.c: the name of a page of help. */
#include "cli/help/help.h"

#include <string.h>

char *help_name(const HelpPage *page)
{
    size_t n = 0;
    for (;;) {
        size_t word = strspn(page->usage + n, "abcdefghijklmnopqrstuvwxyz");
        char behind = page->usage[n + word];
        if (word == 0 || (behind != ' ' && behind != '\0'))
            break;
        n += word;
        if (behind == '\0' || page->usage[n + 1] == ' ')
            break;
        n++;
    }
    while (n > 0 && page->usage[n - 1] == ' ')
        n--;
    return g_strndup(page->usage, n);
}
