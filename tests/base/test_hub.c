#include "base/hub.h"

#include <glib/gstdio.h>
#include <string.h>

static void names_of_models_get_the_way_to_them(void)
{
    static const char *const names[] = { "google/t5-v1_1-small", "gpt2", "meta-llama/Llama-3.2-1B",
                                         "bert-base-uncased" };
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *hint = hub_hint(names[i]), *url = g_strconcat("huggingface.co/", names[i], " ", NULL);
        g_assert_nonnull(strstr(hint, url));
        g_assert_nonnull(strstr(hint, "loam opens no connection"));
    }
    g_autofree char *hint = hub_hint("google/t5-v1_1-small");
    g_assert_true(g_str_has_suffix(hint, "hf download google/t5-v1_1-small --local-dir t5-v1_1-small"));
}

static void paths_get_nothing(void)
{
    static const char *const paths[] = { "",          "/models/t5",  "./t5",       "../t5/a",  "a/b/c",
                                         "tok.model", "runs/a@best", "runs/a",     "data/gpt", "a/",
                                         "/tmp",      "x y",         "data/c.json" };
    for (gsize i = 0; i < G_N_ELEMENTS(paths); i++) {
        g_autofree char *hint = hub_hint(paths[i]);
        g_assert_cmpstr(hint, ==, "");
    }
}

static void a_folder_that_is_here_owns_its_names(void)
{
    g_autofree char *dir = g_dir_make_tmp("loam-hub-XXXXXX", NULL), *before = g_get_current_dir();
    g_autofree char *runs = g_build_filename(dir, "runs", NULL);
    g_assert_cmpint(g_mkdir_with_parents(runs, 0777), ==, 0);
    g_assert_cmpint(g_chdir(dir), ==, 0);
    g_autofree char *hint = hub_hint("runs/absent");
    g_assert_cmpstr(hint, ==, "");
    g_assert_cmpint(g_chdir(before), ==, 0);
    g_rmdir(runs);
    g_rmdir(dir);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/hub/names_of_models_get_the_way_to_them", names_of_models_get_the_way_to_them);
    g_test_add_func("/hub/paths_get_nothing", paths_get_nothing);
    g_test_add_func("/hub/a_folder_that_is_here_owns_its_names", a_folder_that_is_here_owns_its_names);
    return g_test_run();
}
