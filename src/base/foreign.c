#include "base/foreign.h"

#include "base/byte_stream.h"
#include "base/file.h"
#include "base/text.h"

#include <string.h>

/* A form of files. In `command`, {file} is the path, {stem} the path without suffix, {suffix} its suffix, and {name}
 * the path without a suffix, unless that is .txt or .jsonl, so that a command does not write what it reads. */
typedef struct Form {
    const char *suffix; /* end of the file's name; NULL means any */
    const char *start;  /* first bytes of the file; NULL means that only the name tells */
    size_t n_start, at; /* length of `start`, and the byte of the file at which it is */
    bool by_name;       /* either the suffix or the start must fit; false: both must */
    const char *what, *command;
} Form;

#define START(bytes) .start = (bytes), .n_start = sizeof(bytes) - 1
#define PANDAS(read)                                                                                                   \
    "python3 -c \"import pandas; pandas." read "('{file}').to_json('{name}.jsonl', orient='records', lines=True)\""
#define DATASETS(load) "python3 -c \"import datasets; datasets." load ".to_json('{name}.jsonl')\""
#define ICONV(from)    "iconv -f " from " -t UTF-8 '{file}' >'{stem}-utf8{suffix}'"
#define FOLDER         "a folder of `datasets`, whose texts are in .arrow files"
#define UNTAR          "tar xf '{file}' -C FOLDER, then give the folder"
#define PANDOC         "pandoc -t plain --wrap=none '{file}' -o '{name}.txt'"

/* The first row that fits counts. */
static const Form forms[] = {
    { START("\xff\xfe\0\0"), .what = "UTF-32, as its byte order mark says", .command = ICONV("UTF-32") },
    { START("\xff\xfe"), .what = "UTF-16, as its byte order mark says", .command = ICONV("UTF-16") },
    { START("\xfe\xff"), .what = "UTF-16, as its byte order mark says", .command = ICONV("UTF-16") },
    { ".parquet", START("PAR1\x15"), .what = "a table in Parquet", .command = PANDAS("read_parquet") },
    { START("PAR1\x15"), .what = "a table in Parquet",
      .command = "mv '{file}' '{name}.parquet', or for JSON lines " PANDAS("read_parquet") },
    { ".feather", START("ARROW1\0\0"), .by_name = true, .what = "a table in Feather",
      .command = PANDAS("read_feather") },
    { ".arrow", START("\xff\xff\xff\xff"), .by_name = true, .what = "a table of `datasets`",
      .command = DATASETS("Dataset.from_file('{file}')") },
    { ".xlsx", .by_name = true, .what = "a table of Excel", .command = PANDAS("read_excel") },
    { ".docx", START("PK\3\4"), .what = "a document of Word", .command = PANDOC },
    { ".ods", START("PK\3\4"), .what = "a table of LibreOffice", .command = PANDAS("read_excel") },
    { ".odt", START("PK\3\4"), .what = "a document of LibreOffice", .command = PANDOC },
    { ".epub", START("PK\3\4"), .what = "an e-book", .command = PANDOC },
    { START("PK\3\4"), .what = "a zip archive", .command = "unzip '{file}' -d '{stem}', then give the folder" },
    { START("%PDF-"), .what = "a PDF", .command = "pdftotext '{file}' '{name}.txt'" },
    { START("{\\rtf"), .what = "a document in RTF", .command = PANDOC },
    { START("\xd0\xcf\x11\xe0"), .what = "a file of an old Word or Excel", .command = "save it as text or CSV there" },
    { START("\x1f\x8b"), .what = "compressed by gzip", .command = "mv '{file}' '{file}.gz', or zcat before a pipe" },
    { START("\x28\xb5\x2f\xfd"), .what = "compressed by zstd",
      .command = "mv '{file}' '{file}.zst', or zstdcat before a pipe" },
    { START("1AY&SY"), .at = 4, .what = "compressed by bzip2",
      .command = "mv '{file}' '{file}.bz2', or bzcat before a pipe" },
    { START("\xfd\x37zXZ"), .what = "compressed by xz", .command = "mv '{file}' '{file}.xz', or xzcat before a pipe" },
    { START("ustar\0"), .at = 257, .what = "a tar archive", .command = UNTAR },
    { START("ustar  "), .at = 257, .what = "a tar archive", .command = UNTAR },
};

/* Folders that `datasets` wrote: the first row of which all files exist counts. */
static const struct {
    const char *files[2];
    Form form;
} folders[] = {
    { { "dataset_dict.json" }, { .what = FOLDER, .command = DATASETS("load_from_disk('{file}')['train']") } },
    { { "dataset_info.json", "state.json" }, { .what = FOLDER, .command = DATASETS("load_from_disk('{file}')") } },
    { { "dataset_info.json" }, { .what = FOLDER, .command = DATASETS("load_dataset('NAME', split='train')") } },
};

static const Form utf16_le = { .what = "UTF-16 without byte order mark: every second byte is 0",
                               .command = ICONV("UTF-16LE") },
                  utf16_be = { .what = "UTF-16 without byte order mark: every second byte is 0",
                               .command = ICONV("UTF-16BE") };

/* ---- messages ---- */

/* Whether a path may be quoted in a command and names the bytes that were read: no pipe, nothing compressed. */
static bool is_plain(const char *path)
{
    g_autofree char *stem = byte_stream_stem(path);
    return !strpbrk(path, "'\"\\$`!") && strcmp(stem, path) == 0 && !g_str_has_prefix(path, "/dev/") &&
           strcmp(path, "-") != 0 && strcmp(path, "standard input") != 0;
}

static bool fail_form(const Form *form, const char *path, GError **error)
{
    g_autofree char *file = g_strdup(is_plain(path) ? path : "FILE");
    while (strlen(file) > 1 && g_str_has_suffix(file, "/"))
        file[strlen(file) - 1] = '\0';
    const char *name = strrchr(file, '/') ? strrchr(file, '/') + 1 : file, *dot = strrchr(name, '.');
    g_autofree char *stem = dot && dot > name ? g_strndup(file, (gsize)(dot - file)) : g_strdup(file);
    const char *suffix = file + strlen(stem);
    const bool keeps = strcmp(suffix, ".txt") == 0 || strcmp(suffix, ".jsonl") == 0;
    g_autoptr(GString) command = g_string_new(form->command);
    g_string_replace(command, "{suffix}", suffix, 0);
    g_string_replace(command, "{name}", keeps ? file : stem, 0);
    g_string_replace(command, "{stem}", stem, 0);
    g_string_replace(command, "{file}", file, 0);
    return fail_user(error, "%s: %s; first: %s", path, form->what, command->str);
}

/* ---- what a file is ---- */

/* Whether the path, without that of a compression, ends with the suffix in lower or upper case. */
static bool has_suffix(const char *path, const char *suffix)
{
    g_autofree char *stem = byte_stream_stem(path);
    return strlen(stem) > strlen(suffix) && text_has_suffix(stem, suffix);
}

/* Text of Latin letters in UTF-16 has NULs at every second byte, and nowhere else. */
static const Form *find_utf16(const char *start, size_t n)
{
    size_t nuls[2] = { 0, 0 };
    n = MIN(n, 512) & ~(size_t)1;
    for (size_t i = 0; i < n; i++)
        nuls[i % 2] += start[i] == 0;
    if (n < 4 || (nuls[0] > 0) == (nuls[1] > 0) || nuls[0] + nuls[1] < n * 2 / 5)
        return NULL;
    return nuls[1] > 0 ? &utf16_le : &utf16_be;
}

bool foreign_check_start(const char *path, const char *start, size_t n, GError **error)
{
    for (size_t i = 0; i < G_N_ELEMENTS(forms); i++) {
        const Form *form = &forms[i];
        if (form->start && form->at + form->n_start <= n && memcmp(start + form->at, form->start, form->n_start) == 0 &&
            (form->by_name || !form->suffix || has_suffix(path, form->suffix)))
            return fail_form(form, path, error);
    }
    const Form *utf16 = find_utf16(start, n);
    return !utf16 || fail_form(utf16, path, error);
}

bool foreign_check_name(const char *path, GError **error)
{
    for (size_t i = 0; i < G_N_ELEMENTS(forms); i++)
        if (forms[i].by_name && has_suffix(path, forms[i].suffix))
            return fail_form(&forms[i], path, error);
    return true;
}

bool foreign_check_folder(const char *path, GError **error)
{
    for (size_t i = 0; i < G_N_ELEMENTS(folders); i++) {
        const char *const *files = folders[i].files;
        if (io_exists(path, files[0]) && (!files[1] || io_exists(path, files[1])))
            return fail_form(&folders[i].form, path, error);
    }
    return true;
}

bool foreign_fail_byte(const char *where, char byte, GError **error)
{
    if (byte == 0)
        return fail_user(error, "%s: a NUL byte: not a text file", where);
    return fail_user(error,
                     "%s: not UTF-8 (byte 0x%02x); convert the file: iconv -t UTF-8 -f LATIN1, or WINDOWS-1252, "
                     "SHIFT-JIS (Japanese), WINDOWS-1251 (Russian): bytes do not tell which",
                     where, (unsigned char)byte);
}
