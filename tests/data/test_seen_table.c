#include "data/prepare/repeats.h"

#include "base/philox.h"
#include "data/data_test.h"

static void a_hash_is_fresh_once(void)
{
    enum { N = 200000 }; /* the table grows from 2^16 slots */
    char *folder = folder_new();
    SeenTable *table = seen_table_open(folder, NULL);
    PhiloxKey key = philox_key(1, PHILOX_SAMPLING, 0);
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < N; i++) {
            PhiloxWords words = philox4x32(key, i, 0, 0, 0);
            bool fresh;
            uint64_t low = words.w[0] | (uint64_t)words.w[1] << 32, high = words.w[2];
            g_assert_true(seen_table_add(table, low, high, &fresh, NULL));
            g_assert_true(fresh == (pass == 0));
        }
    seen_table_close(table);
    folder_remove(folder);
}

static void hashes_that_share_a_slot_are_told_apart(void)
{
    char *folder = folder_new();
    SeenTable *table = seen_table_open(folder, NULL);
    bool fresh;
    for (uint64_t high = 0; high < 100; high++) {
        g_assert_true(seen_table_add(table, 0, high, &fresh, NULL));
        g_assert_true(high == 1 ? !fresh : fresh); /* 0:0 marks a free slot and is kept as 0:1 */
    }
    seen_table_close(table);
    folder_remove(folder);
}

static void nothing_is_left_in_the_folder(void)
{
    char *folder = folder_new();
    SeenTable *table = seen_table_open(folder, NULL);
    GDir *dir = g_dir_open(folder, 0, NULL);
    g_assert_null(g_dir_read_name(dir));
    g_dir_close(dir);
    seen_table_close(table);
    folder_remove(folder);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/seen_table/a_hash_is_fresh_once", a_hash_is_fresh_once);
    g_test_add_func("/seen_table/hashes_that_share_a_slot_are_told_apart", hashes_that_share_a_slot_are_told_apart);
    g_test_add_func("/seen_table/nothing_is_left_in_the_folder", nothing_is_left_in_the_folder);
    return g_test_run();
}
