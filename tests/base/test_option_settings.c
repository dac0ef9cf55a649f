#include "base/error.h"
#include "base/file.h"
#include "base/options/options.h"
#include "yaml_text.h"

#include <errno.h>
#include <string.h>

static GPtrArray *read_text(const char *yaml, size_t bytes, GError **error)
{
    GPtrArray *settings = option_settings_new();
    if (read_yaml(settings, yaml, bytes, error))
        return settings;
    g_ptr_array_unref(settings);
    return NULL;
}

/* "name=value@origin" of every setting, separated by semicolons. */
static char *listed(const GPtrArray *settings)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < settings->len; i++) {
        const OptionSetting *setting = g_ptr_array_index(settings, i);
        g_string_append_printf(text, "%s%s=%s", i ? ";" : "", setting->name, setting->value);
        for (guint k = 0; setting->items && k < setting->items->len; k++) {
            g_autofree char *item = g_strjoinv(" ", setting->items->pdata[k]);
            g_string_append_printf(text, "[%s]", item);
        }
        g_string_append_printf(text, "@%s", setting->origin);
    }
    return g_string_free(text, FALSE);
}

static void expect(const char *yaml, const char *wanted)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) settings = read_text(yaml, strlen(yaml), &error);
    g_assert_no_error(error);
    g_autofree char *got = listed(settings);
    g_assert_cmpstr(got, ==, wanted);
}

static void expect_error(const char *yaml, const char *wanted)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(read_text(yaml, strlen(yaml), &error));
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    g_assert_cmpstr(error->message, ==, wanted);
}

static void maps_of_maps(void)
{
    expect("a:\n  b: 1\n  c: x y # comment\nd: { e: 2, f: 'it''s' }\n",
           "a.b=1@run.yaml:2;a.c=x y@run.yaml:3;d.e=2@run.yaml:4;d.f=it's@run.yaml:4");
    expect("a.b: 1\nfoo: bar\n", "a.b=1@run.yaml:1;foo=bar@run.yaml:2");
    expect("a:\n  b: \"x\\ty\"\n  c: |\n    two\n    lines\n", "a.b=x\ty@run.yaml:2;a.c=two\nlines\n@run.yaml:3");
    expect("a: {b: true, c: ~, d: 1e-3, e: '0x10', f: , g: \"\"}\n",
           "a.b=true@run.yaml:1;a.c=~@run.yaml:1;a.d=1e-3@run.yaml:1;a.e=0x10@run.yaml:1;a.f=@run.yaml:1;a.g=@"
           "run.yaml:1");
}

static void empty_files_are_fine(void)
{
    expect("", "");
    expect("\n# nothing\n", "");
    expect("---\n", "");
    expect("---\n...\n", "");
    expect("{}\n", "");
    expect("a:\nb: {}\n", ""); /* groups with nothing in them */
}

static void lists_keep_their_items(void)
{
    expect("a:\n  b: [1, x y]\n", "a.b=[ 1][ x y]@run.yaml:2");
    expect("a:\n  b:\n  - {c: 1, d: 2}\n  - c: 3\n  e: 4\n", "a.b=[c 1 d 2][c 3]@run.yaml:3;a.e=4@run.yaml:5");
    expect("a.b: []\n", "a.b=@run.yaml:1");
}

#define QUOTE "; a text that begins with { stands in quotes: \"{text}\""

static void refusals_name_the_line(void)
{
    expect_error("a:\n  b: [[1]]\n", "run.yaml:2: a.b: a list is not accepted here, write one value");
    expect_error("a:\n  b: [{c: [1]}]\n", "run.yaml:2: a.b: a list is not accepted here, write one value");
    expect_error("a:\n  b: [{c: {d: 1}}]\n", "run.yaml:2: a.b: a map is not accepted here, write one value" QUOTE);
    expect_error("a:\n  b:\n  - {c: 1}\n  - {c: 1, c: 2}\n", "run.yaml:4: a.b: c is set twice");
    expect_error("a:\n  b: &x [1]\n", "run.yaml:2: a.b: anchors (&name) and tags (!name) are not accepted");
    expect_error("a:\n  b: [&x {c: 1}]\n", "run.yaml:2: a.b: anchors (&name) and tags (!name) are not accepted");
    expect_error("a:\n  b: [*x]\n", "run.yaml:2: a.b: an alias (*name) is not accepted here, write the value itself");
    expect_error("a: [1]\n", "run.yaml:1: a: a list is not accepted here, write one value");
    expect_error("a:\n  b: {c: 1}\n", "run.yaml:2: a.b: a map is not accepted here, write one value" QUOTE);
    expect_error("a:\n  b: &x 1\n", "run.yaml:2: a.b: an anchor (&name) is not accepted here, write only the value");
    expect_error("a:\n  b: *x\n", "run.yaml:2: a.b: an alias (*name) is not accepted here, write the value itself");
    expect_error("a:\n  b: !!int 1\n", "run.yaml:2: a.b: a tag (!name) is not accepted here, write only the value");
    expect_error("a: &x {b: 1}\n", "run.yaml:1: a: anchors (&name) and tags (!name) are not accepted");
    expect_error("&x {b: 1}\n", "run.yaml:1: anchors (&name) and tags (!name) are not accepted");
    expect_error("a: {<<: *x}\n", "run.yaml:1: a.<<: an alias (*name) is not accepted here, write the value itself");
    expect_error("? [a]\n: b\n", "run.yaml:1: a list is not accepted here, write one value");
    expect_error("a: {b: \"x\\0y\"}\n", "run.yaml:1: a.b: a NUL character is not accepted here");
    expect_error("- a\n", "run.yaml:1: a configuration is a map: write \"group:\" and \"  key: value\" lines");
    expect_error("\nword\n", "run.yaml:2: a configuration is a map: write \"group:\" and \"  key: value\" lines");
    expect_error("a: {b: 1}\n---\nc: {d: 1}\n", "run.yaml:2: a second document is not accepted");
    expect_error("extends: [x]\n", "run.yaml:1: extends: a list is not accepted here, write one value");
    expect_error("extends: {x: y}\n", "run.yaml:1: extends: a map is not accepted here, write one value" QUOTE);
    expect_error("extends:\n", "run.yaml:1: extends: write the name of a YAML file");
}

static void what_is_set_twice_is_refused(void)
{
    expect_error("a:\n  b: 1\n  c: 2\n  b: 3\n", "run.yaml:4: a.b is set twice, first in line 2");
    expect_error("a:\n  b: 1\nc:\na:\n  d: 1\n", "run.yaml:4: a is set twice, first in line 1");
    expect_error("a: {b: 1}\na.b: 2\n", "run.yaml:2: a.b is set twice, first in line 1");
}

static void broken_yaml_names_the_line(void)
{
    expect_error("a:\n  b: 'open\n", "run.yaml:3: not YAML: found unexpected end of stream");
    expect_error("a: {b: 1\n", "run.yaml:2: not YAML: did not find expected ',' or '}'");
    expect_error("a:\n\tb: 1\n", "run.yaml:2: the line is indented by a tab; YAML requires spaces");
    expect_error("a:\n  b: 1\n \tc: 1\n", "run.yaml:3: the line is indented by a tab; YAML requires spaces");
    expect_error("a:\n  b: @x\n", "run.yaml:2: not YAML: found character that cannot start any token");
    expect_error("a:\n  b: \xff\n", "run.yaml: not a text file in UTF-8: invalid leading UTF-8 octet at byte 8");
    g_autofree char *deep = g_strnfill(500000, '[');
    expect_error(deep, "run.yaml:1: a configuration is a map: write \"group:\" and \"  key: value\" lines");
}

static void assignments_split_at_the_first_equals(void)
{
    g_autoptr(GPtrArray) settings = option_settings_new();
    g_assert_true(option_settings_parse(settings, "a.b=c=d e", NULL));
    g_assert_true(option_settings_parse(settings, "a.c=", NULL));
    g_assert_true(option_settings_parse(settings, "a.b=2", NULL));
    g_autofree char *got = listed(settings);
    g_assert_cmpstr(got, ==, "a.b=c=d e@command line;a.c=@command line;a.b=2@command line");
    g_assert_cmpstr(option_settings_find(settings, "a.b"), ==, "2"); /* the later one */
    g_assert_cmpstr(option_settings_find(settings, "a.c"), ==, "");
    g_assert_null(option_settings_find(settings, "a"));
}

static void write_file(const char *folder, const char *name, const char *text)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    g_autofree char *parent = g_path_get_dirname(path);
    g_assert_true(io_make_directories(parent, NULL));
    g_assert_true(io_write_file(path, text, strlen(text), NULL));
}

/* Reads FOLDER/NAME; the result, or the error, with the folder's path taken out. */
static char *read_file(const char *folder, const char *name)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    g_autoptr(GPtrArray) settings = option_settings_new();
    g_autoptr(GError) error = NULL;
    bool ok = option_settings_read_yaml(settings, path, &error);
    GString *text = g_string_new(NULL);
    g_autofree char *list = listed(settings);
    g_string_assign(text, ok ? list : error->message);
    g_string_replace(text, folder, "", 0);
    return g_string_free(text, FALSE);
}

static void expect_file(const char *folder, const char *name, const char *wanted)
{
    g_autofree char *got = read_file(folder, name);
    g_assert_cmpstr(got, ==, wanted);
}

static void extended_files_come_first(void)
{
    g_autofree char *folder = g_dir_make_tmp("loam-yaml-XXXXXX", NULL);
    write_file(folder, "run.yaml", "a: {b: 1}\nextends: presets/base.yaml\n");
    write_file(folder, "presets/base.yaml", "extends: ../root.yaml\na: {b: 2, c: 3}\n");
    write_file(folder, "root.yaml", "a:\n  c: 4\n");
    expect_file(
        folder, "run.yaml",
        "a.c=4@/presets/../root.yaml:2;a.b=2@/presets/base.yaml:2;a.c=3@/presets/base.yaml:2;a.b=1@/run.yaml:1");
    g_assert_true(io_remove_tree(folder, NULL));
}

static void circles_and_depths_are_refused(void)
{
    g_autofree char *folder = g_dir_make_tmp("loam-yaml-XXXXXX", NULL);
    write_file(folder, "self.yaml", "\nextends: ./self.yaml\n");
    write_file(folder, "a.yaml", "extends: b.yaml\n");
    write_file(folder, "b.yaml", "extends: a.yaml\n");
    expect_file(folder, "self.yaml",
                "/self.yaml:2: extends: /./self.yaml is already being read, files extend each other in a circle");
    expect_file(folder, "a.yaml",
                "/b.yaml:1: extends: /a.yaml is already being read, files extend each other in a circle");
    for (int i = 0; i <= 17; i++) {
        g_autofree char *name = g_strdup_printf("deep-%d.yaml", i);
        g_autofree char *text = i ? g_strdup_printf("extends: deep-%d.yaml\n", i - 1) : g_strdup("a: {b: 1}\n");
        write_file(folder, name, text);
    }
    expect_file(folder, "deep-16.yaml", "a.b=1@/deep-0.yaml:1");
    expect_file(folder, "deep-17.yaml", "/deep-1.yaml:1: extends: more than 16 files deep");
    g_assert_true(io_remove_tree(folder, NULL));
}

static void unreadable_files_are_named(void)
{
    g_autofree char *folder = g_dir_make_tmp("loam-yaml-XXXXXX", NULL);
    expect_file(folder, "run.yaml", "opening /run.yaml: No such file or directory");
    write_file(folder, "run.yaml", "extends: absent.yaml\n");
    expect_file(folder, "run.yaml", "/run.yaml:1: extends: opening /absent.yaml: No such file or directory");
    write_file(folder, "bad.yaml", "extends: worse.yaml\n");
    write_file(folder, "worse.yaml", "\na: {b: [[1]]}\n");
    expect_file(folder, "bad.yaml", "/worse.yaml:2: a.b: a list is not accepted here, write one value");
    g_autofree char *huge = g_strnfill((1 << 20) + 1, '#');
    write_file(folder, "huge.yaml", huge);
    expect_file(folder, "huge.yaml", "reading /huge.yaml: more than the 1.0 MiB allowed here");
    io_fail_at(2, EIO);
    expect_file(folder, "run.yaml", "reading /run.yaml: Input/output error");
    io_fail_at(0, 0);
    g_assert_true(io_remove_tree(folder, NULL));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/option_settings/maps_of_maps_become_settings", maps_of_maps);
    g_test_add_func("/option_settings/empty_files_are_fine", empty_files_are_fine);
    g_test_add_func("/option_settings/lists_keep_their_items", lists_keep_their_items);
    g_test_add_func("/option_settings/refusals_name_the_line", refusals_name_the_line);
    g_test_add_func("/option_settings/what_is_set_twice_is_refused", what_is_set_twice_is_refused);
    g_test_add_func("/option_settings/broken_yaml_names_the_line", broken_yaml_names_the_line);
    g_test_add_func("/option_settings/assignments_split_at_the_first_equals", assignments_split_at_the_first_equals);
    g_test_add_func("/option_settings/extended_files_come_first", extended_files_come_first);
    g_test_add_func("/option_settings/circles_and_depths_are_refused", circles_and_depths_are_refused);
    g_test_add_func("/option_settings/unreadable_files_are_named", unreadable_files_are_named);
    return g_test_run();
}
