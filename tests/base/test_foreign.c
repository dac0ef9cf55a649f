#include "base/foreign.h"

#include <glib/gstdio.h>
#include <string.h>

static void expect(bool good, GError *error, const char *wanted)
{
    g_assert_cmpint(good, ==, wanted == NULL);
    g_assert_cmpstr(error ? error->message : NULL, ==, wanted);
    g_clear_error(&error);
}

/* What a file of this name and these first bytes is; wanted NULL means text. */
static void check(const char *path, const char *start, size_t n, const char *wanted)
{
    GError *error = NULL;
    bool good = foreign_check_start(path, start, n, &error);
    expect(good, error, wanted);
}

#define CHECK_START(path, start, wanted) check(path, start, sizeof(start) - 1, wanted)

static void first_bytes_tell_the_form(void)
{
    CHECK_START("d/a.txt", "\xff\xfeh\0",
                "d/a.txt: UTF-16, as its byte order mark says; first: iconv -f UTF-16 -t "
                "UTF-8 'd/a.txt' >'d/a-utf8.txt'");
    CHECK_START("a", "\xfe\xff\0h",
                "a: UTF-16, as its byte order mark says; first: iconv -f UTF-16 -t UTF-8 'a' >'a-utf8'");
    CHECK_START("a", "\xff\xfe\0\0h\0\0\0",
                "a: UTF-32, as its byte order mark says; first: iconv -f UTF-32 -t UTF-8 'a' >'a-utf8'");
    CHECK_START("a.csv", "h\0e\0y\0",
                "a.csv: UTF-16 without byte order mark: every second byte is 0; first: iconv -f "
                "UTF-16LE -t UTF-8 'a.csv' >'a-utf8.csv'");
    CHECK_START("a", "\0h\0e\0y",
                "a: UTF-16 without byte order mark: every second byte is 0; first: iconv -f UTF-16BE -t "
                "UTF-8 'a' >'a-utf8'");
    CHECK_START(
        "a.bin", "PAR1\x15\x04",
        "a.bin: a table in Parquet; first: mv 'a.bin' 'a.parquet', or for JSON lines python3 -c \"import pandas; "
        "pandas.read_parquet('a.bin').to_json('a.jsonl', orient='records', lines=True)\"");
    CHECK_START("a.parquet", "PAR1\x15\x04",
                "a.parquet: a table in Parquet; first: python3 -c \"import pandas; pandas.read_parquet('a.parquet')"
                ".to_json('a.jsonl', orient='records', lines=True)\"");
    CHECK_START("a.txt", "%PDF-1.4\n", "a.txt: a PDF; first: pdftotext 'a.txt' 'a.txt.txt'");
    CHECK_START("a.docx", "PK\3\4\x14",
                "a.docx: a document of Word; first: pandoc -t plain --wrap=none 'a.docx' -o 'a.txt'");
    CHECK_START("a.ods", "PK\3\4\x14",
                "a.ods: a table of LibreOffice; first: python3 -c \"import pandas; pandas.read_excel('a.ods')"
                ".to_json('a.jsonl', orient='records', lines=True)\"");
    CHECK_START("a.txt", "PK\3\4\x14", "a.txt: a zip archive; first: unzip 'a.txt' -d 'a', then give the folder");
    CHECK_START("a.txt", "\x1f\x8b\x08",
                "a.txt: compressed by gzip; first: mv 'a.txt' 'a.txt.gz', or zcat before a pipe");
    CHECK_START("a", "BZh91AY&SY", "a: compressed by bzip2; first: mv 'a' 'a.bz2', or bzcat before a pipe");
    CHECK_START("a", "\xfd\x37zXZ\0", "a: compressed by xz; first: mv 'a' 'a.xz', or xzcat before a pipe");
    char tar[512] = "a.txt";
    strcpy(tar + 257, "ustar  ");
    check("a.tar", tar, sizeof tar, "a.tar: a tar archive; first: tar xf 'a.tar' -C FOLDER, then give the folder");
}

static void texts_are_texts(void)
{
    CHECK_START("a", "", NULL);
    CHECK_START("a", "h", NULL);
    CHECK_START("a", "PAR1, PK, ustar and BZh are words", NULL);
    CHECK_START("a", "caf\xe9 cr\xe8me", NULL); /* which the reader of the text refuses */
    CHECK_START("a", "two\0of three words\0", NULL);
}

/* Commands name neither pipes nor files whose bytes were decompressed, and nothing that ends a quotation. */
static void commands_name_files_that_they_can_read(void)
{
    const char *const odd[] = { "/dev/stdin", "standard input", "a.txt.gz", "a.txt.xz", "it's.txt", "a$b.txt" };
    for (size_t i = 0; i < G_N_ELEMENTS(odd); i++) {
        g_autofree char *wanted = g_strconcat(odd[i], ": a PDF; first: pdftotext 'FILE' 'FILE.txt'", NULL);
        CHECK_START(odd[i], "%PDF-1.4\n", wanted);
    }
}

static void names_tell_tables(void)
{
    GError *error = NULL;
    g_assert_true(foreign_check_name("a.csv", NULL));
    g_assert_true(foreign_check_name("a.parquet", NULL));
    g_assert_true(foreign_check_name(".feather", NULL));
    g_assert_false(foreign_check_name("a.FEATHER.zst", NULL));
    g_assert_false(foreign_check_name("a.feather.bz2", NULL));
    bool good = foreign_check_name("d.e/a.xlsx", &error);
    expect(good, error,
           "d.e/a.xlsx: a table of Excel; first: python3 -c \"import pandas; pandas.read_excel('d.e/a.xlsx')"
           ".to_json('d.e/a.jsonl', orient='records', lines=True)\"");
}

static void folders_of_datasets_are_told(void)
{
    g_autofree char *folder = g_dir_make_tmp("foreign-XXXXXX", NULL),
                    *info = g_build_filename(folder, "dataset_info.json", NULL),
                    *wanted = g_strdup_printf("%s/: a folder of `datasets`, whose texts are in .arrow files; first: "
                                              "python3 -c \"import datasets; datasets.load_dataset('NAME', "
                                              "split='train').to_json('%s.jsonl')\"",
                                              folder, folder),
                    *path = g_strconcat(folder, "/", NULL);
    GError *error = NULL;
    g_assert_true(foreign_check_folder(path, NULL));
    g_assert_true(g_file_set_contents(info, "{}", -1, NULL));
    bool good = foreign_check_folder(path, &error);
    g_unlink(info);
    g_rmdir(folder);
    expect(good, error, wanted);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/foreign/first_bytes_tell_the_form", first_bytes_tell_the_form);
    g_test_add_func("/foreign/texts_are_texts", texts_are_texts);
    g_test_add_func("/foreign/commands_name_files_that_they_can_read", commands_name_files_that_they_can_read);
    g_test_add_func("/foreign/names_tell_tables", names_tell_tables);
    g_test_add_func("/foreign/folders_of_datasets_are_told", folders_of_datasets_are_told);
    return g_test_run();
}
