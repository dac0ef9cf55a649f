#include "data/task/delimiter.h"

#include <string.h>

/* Characters that separate cells, and how task.delimiter writes them. */
static const struct {
    char delimiter;
    const char *plural, *setting;
} delimiters[] = {
    { ',', "commas", "," },
    { ';', "semicolons", ";" },
    { '\t', "tabs", "\\t" },
    { '|', "vertical bars", "|" },
};

bool delimiter_find(char *delimiter, const char *name)
{
    const char tab[] = "\t", *wanted = strcmp(name, tab) == 0 ? "\\t" : name;
    *delimiter = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(delimiters); i++)
        if (strcmp(wanted, delimiters[i].setting) == 0)
            *delimiter = delimiters[i].delimiter;
    return *delimiter || *name == '\0';
}

/* Number of times that a character is in the first line of a table, outside of quoted cells. */
static int count_in_line(const char *text, size_t n, char delimiter, bool quotes)
{
    int count = 0;
    bool quoted = false;
    for (size_t i = 0; i < n && (text[i] != '\n' || quoted); i++) {
        quoted ^= quotes && text[i] == '"';
        count += text[i] == delimiter && !quoted;
    }
    return count;
}

bool delimiter_check(CellReader *cells, const char *path, CellFormat format, GError **error)
{
    size_t n, other = 0, own = 0;
    int most = 0;
    const char *text = cell_reader_peek(cells, &n, error);
    if (!text)
        return false;
    for (size_t i = 0; i < G_N_ELEMENTS(delimiters); i++) {
        const int count = count_in_line(text, n, delimiters[i].delimiter, format.quotes);
        if (delimiters[i].delimiter == format.delimiter && count > 0)
            return true;
        own = delimiters[i].delimiter == format.delimiter ? i : own;
        other = count > most ? i : other;
        most = MAX(most, count);
    }
    return most == 0 ||
           fail_user(error, "%s: a table separated by %s, not %s: give task.delimiter='%s' ('%s' if it has one column)",
                     path, delimiters[other].plural, delimiters[own].plural, delimiters[other].setting,
                     delimiters[own].setting);
}
