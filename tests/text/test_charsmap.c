#include "text/charsmap.h"

#include <string.h>

#define N_UNITS 256

/* A map of 256 units and two texts, "a" and "xy". */
typedef struct Map {
    uint32_t bytes, units[N_UNITS];
    char texts[5];
} Map;

#define MAP_BYTES (offsetof(Map, texts) + 5)

/* A becomes "a", é (0xc3 0xa9) becomes "xy". A unit is its byte, 256 where a text lies beneath it, and 1024 times the
 * distance to its children. */
static Map simple_map(void)
{
    Map map = { .bytes = sizeof map.units, .texts = "a\0xy" };
    map.units[0x41] = 0x41 | 256 | 0x80 << 10;
    map.units[0x41 ^ 0x80] = 0x80000000U | 0;
    map.units[0xc3] = 0xc3 | 0x10 << 10;
    map.units[0xc3 ^ 0x10 ^ 0xa9] = 0xa9 | 256 | 0x01 << 10;
    map.units[0xc3 ^ 0x10 ^ 0xa9 ^ 0x01] = 0x80000000U | 2;
    return map;
}

static void the_longest_key_is_replaced(void)
{
    Map bytes = simple_map();
    CharsMap map;
    g_autoptr(GString) out = g_string_new(NULL);
    g_assert_true(charsmap_is_valid((const char *)&bytes, MAP_BYTES));
    charsmap_init(&map, (const char *)&bytes, MAP_BYTES);
    charsmap_apply(&map, "BAé è A", strlen("BAé è A"), out);
    g_assert_cmpstr(out->str, ==, "Baxy è a");
    charsmap_clear(&map);
}

static void no_map_changes_nothing(void)
{
    CharsMap map;
    g_autoptr(GString) out = g_string_new(NULL);
    g_assert_true(charsmap_is_valid(NULL, 0));
    charsmap_init(&map, NULL, 0);
    charsmap_apply(&map, "Aé", strlen("Aé"), out);
    g_assert_cmpstr(out->str, ==, "Aé");
    charsmap_clear(&map);
}

static void a_walk_that_would_leave_the_map_is_refused(void)
{
    static const struct {
        size_t at;
        uint32_t unit;
    } bad[] = { { 0, 0xffffffff }, /* the root is stepped from, though it looks like the place of a text */
                { 0, 0x7fffffff },
                { 0, 0x80000000U | 0x40000 },
                { 0x41, 0x41 | 0x100 << 10 },       /* to unit 0x141 */
                { 0x41 ^ 0x80, 0x80000000U | 5 } }; /* a text behind the last */
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        Map bytes = simple_map();
        bytes.units[bad[i].at] = bad[i].unit;
        g_assert_false(charsmap_is_valid((const char *)&bytes, MAP_BYTES));
    }
}

static void a_map_of_the_wrong_size_is_refused(void)
{
    Map bytes = simple_map();
    g_assert_false(charsmap_is_valid((const char *)&bytes, MAP_BYTES - 1)); /* the last text does not end */
    g_assert_false(charsmap_is_valid((const char *)&bytes, offsetof(Map, texts)));
    g_assert_false(charsmap_is_valid((const char *)&bytes, 3));
    for (size_t i = 0; i < 3; i++) {
        bytes.bytes = ((uint32_t[]){ 0, 1020, UINT32_MAX - 1023 })[i];
        g_assert_false(charsmap_is_valid((const char *)&bytes, MAP_BYTES));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/charsmap/the_longest_key_is_replaced", the_longest_key_is_replaced);
    g_test_add_func("/charsmap/no_map_changes_nothing", no_map_changes_nothing);
    g_test_add_func("/charsmap/a_walk_that_would_leave_the_map_is_refused", a_walk_that_would_leave_the_map_is_refused);
    g_test_add_func("/charsmap/a_map_of_the_wrong_size_is_refused", a_map_of_the_wrong_size_is_refused);
    return g_test_run();
}
