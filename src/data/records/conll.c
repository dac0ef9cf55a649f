/* conll.c: CoNLL, one word per line; a record is a sentence. */
#include "base/text.h"
#include "data/records/reader.h"

#include <inttypes.h>
#include <string.h>

#define DOCUMENT_START "-DOCSTART-" /* CoNLL-2003: a line of its own before each document */

static bool open_sentences(RecordReader *reader, GError **error)
{
    const char *columns = reader->source.columns;
    return (!columns || !*columns || reader_set_columns(reader, text_list(columns), error)) &&
           reader_open_lines(reader, error);
}

/* The columns of the current line, without empty ones. g_strfreev. */
static GStrv split_word(const RecordReader *reader)
{
    GStrvBuilder *builder = g_strv_builder_new();
    g_auto(GStrv) cells = g_strsplit_set(reader->lines[0]->line->str, " \t\r", -1);
    for (char **cell = cells; *cell; cell++)
        if (**cell)
            g_strv_builder_add(builder, *cell);
    GStrv columns = g_strv_builder_end(builder);
    g_strv_builder_unref(builder);
    return columns;
}

/* Without task.columns, the columns are named 1, 2, 3, … up to the number of columns of the first word. */
static bool number_columns(RecordReader *reader, GStrv word, GError **error)
{
    if (reader->columns)
        return true;
    GStrv names = g_strdupv(word);
    for (guint i = 0; names[i]; i++) {
        g_free(names[i]);
        names[i] = g_strdup_printf("%u", i + 1);
    }
    return reader_set_columns(reader, names, error);
}

/* Whether a line of CoNLL-U is no word of its own: a comment before a sentence ("# text = …"), a token of several words
 * ("1-2") or one that the text lacks ("1.1"). In other files a line that begins with # is a word, unless it says NAME
 * =. */
static bool is_beside_words(const RecordReader *reader, const json_t *sentence, GStrv word)
{
    g_autofree char *stem = byte_stream_stem(reader->path);
    const bool first = json_object_size(sentence) == 0 && word[0] && *word[0] == '#';
    if (!text_has_suffix(stem, ".conllu"))
        return first && word[1] && word[2] && strcmp(word[0], "#") == 0 && strcmp(word[2], "=") == 0;
    return first || (word[0] && g_ascii_isdigit(*word[0]) && strpbrk(word[0], "-.") != NULL);
}

static bool add_conll_word(RecordReader *reader, json_t *sentence, GError **error)
{
    g_auto(GStrv) word = split_word(reader);
    if (is_beside_words(reader, sentence, word))
        return true;
    if (!number_columns(reader, word, error))
        return false;
    guint n = g_strv_length(word), wanted = g_strv_length(reader->columns);
    if (n != wanted)
        return fail_user(error, "%s:%" PRId64 ": %u columns where %u are wanted (%s)", reader->path,
                         reader->lines[0]->number, n, wanted, reader->columns_text);
    for (guint i = 0; i < n; i++) {
        json_t *column = json_object_get(sentence, reader->columns[i]);
        if (column == NULL)
            json_object_set_new(sentence, reader->columns[i], column = json_array());
        json_array_append_new(column, json_string(word[i]));
    }
    return true;
}

/* Whether the current line ends a sentence. */
static bool is_end(const RecordReader *reader)
{
    const char *line = reader->lines[0]->line->str;
    return reader_is_blank(line) || g_str_has_prefix(line, DOCUMENT_START);
}

/* Reads the next line. *bad becomes its error, unless that is set to one after which the file goes on as well. */
static Found next_word_line(RecordReader *reader, GError **bad)
{
    g_autoptr(GError) problem = NULL;
    const Found found = reader_next_line(reader, reader->lines[0], &problem);
    if (problem && (*bad == NULL || !record_reader_goes_on(reader))) {
        g_clear_error(bad);
        *bad = g_steal_pointer(&problem);
    }
    return found;
}

/* After an invalid word, or a line that is not text, the rest of its sentence is skipped. */
static Found next_sentence(RecordReader *reader, GError **error)
{
    json_t *sentence = json_object();
    g_autoptr(GError) bad = NULL;
    g_autofree char *start = NULL; /* position of the first word */
    Found found;
    while ((found = next_word_line(reader, &bad)) != FOUND_END && record_reader_goes_on(reader)) {
        const bool any = bad || json_object_size(sentence) > 0, ends = found == FOUND_RECORD && is_end(reader);
        if (ends && any)
            break;
        if (ends || bad)
            continue;
        if (!any) {
            g_free(start);
            start = g_strdup(reader->where->str);
        }
        add_conll_word(reader, sentence, &bad);
    }
    if (!bad && json_object_size(sentence) > 0) {
        g_string_assign(reader->where, start);
        return reader_take_root(reader, sentence, error);
    }
    json_decref(sentence);
    if (!bad)
        return FOUND_END;
    g_propagate_error(error, g_steal_pointer(&bad));
    return FOUND_ERROR;
}

const RecordKind conll_records = { .suffixes = { ".conll", ".bio" },
                                   .traits = { .values = true, .columns = true, .names_read = true },
                                   RECORD_READ(RETURNS_DROPPED, open_sentences, next_sentence) };
