/* corpus_lines.c: the lines of text files, one after another. */
#include "data/corpus/corpus.h"
#include "data/corpus/corpus_files.h"
#include "data/corpus/line_reader.h"

static bool each_line_of(const char *path, const volatile sig_atomic_t *interrupted, CorpusLineFn use, void *context,
                         GError **error)
{
    g_autoptr(GError) problem = NULL;
    LineReader *reader = line_reader_open(path, error);
    if (!reader)
        return false;
    size_t bytes;
    char *line;
    while (!problem && (line = line_reader_next(reader, &bytes, &problem)) && use(context, line, bytes, &problem))
        if (interrupted && *interrupted)
            fail_user(&problem, "interrupted; nothing was written");
    line_reader_close(reader);
    if (!problem)
        return true;
    g_propagate_error(error, g_steal_pointer(&problem));
    return false;
}

bool corpus_each_line(char *const *paths, int n_paths, const volatile sig_atomic_t *interrupted, CorpusLineFn use,
                      void *context, GError **error)
{
    g_autoptr(GPtrArray) files = corpus_files_list(paths, n_paths, error);
    for (guint i = 0; files && i < files->len; i++)
        if (!each_line_of(((CorpusFile *)files->pdata[i])->path, interrupted, use, context, error))
            return false;
    return files != NULL;
}
