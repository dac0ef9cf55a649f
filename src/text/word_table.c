#include "text/word_table.h"

#include "base/check.h"
#include "base/log.h"
#include "base/text.h"

#include <string.h>
#include <xxhash.h>

#define FIRST_SLOTS 1024
#define FIRST_TEXT  8192

/* Fills the slots from the entries. */
static void place_slots(WordTable *table)
{
    memset(table->slots, 0, table->n_slots * sizeof *table->slots);
    for (size_t i = 0; i < table->n; i++) {
        size_t slot = table->entries[i].hash & (table->n_slots - 1);
        while (table->slots[slot])
            slot = (slot + 1) & (table->n_slots - 1);
        table->slots[slot] = (uint32_t)i + 1;
    }
}

/* Allocates for n_slots / 2 entries: at most half of the slots are used. */
static void set_room(WordTable *table, size_t n_slots)
{
    table->n_slots = n_slots;
    table->room = n_slots / 2;
    table->slots = g_renew(uint32_t, table->slots, n_slots);
    table->entries = g_renew(WordEntry, table->entries, table->room);
    place_slots(table);
}

void word_table_init(WordTable *table)
{
    *table = (WordTable){ .text_room = FIRST_TEXT };
    table->text = g_malloc(FIRST_TEXT);
    set_room(table, FIRST_SLOTS);
}

void word_table_clear(WordTable *table)
{
    g_free(table->slots);
    g_free(table->entries);
    g_free(table->text);
    *table = (WordTable){ 0 };
}

void word_table_empty(WordTable *table)
{
    table->n = table->text_bytes = 0;
    table->left_out = 0;
    place_slots(table);
}

const char *word_table_word(const WordTable *table, size_t entry)
{
    return table->text + table->entries[entry].begin;
}

static void append_entry(WordTable *table, uint64_t hash, const char *word, size_t bytes, int64_t count)
{
    while (table->text_bytes + bytes > table->text_room)
        table->text = g_realloc(table->text, table->text_room *= 2);
    memcpy(table->text + table->text_bytes, word, bytes);
    table->entries[table->n++] = (WordEntry){ hash, count, table->text_bytes, (uint32_t)bytes };
    table->text_bytes += bytes;
}

static void add_hashed(WordTable *table, uint64_t hash, const char *word, size_t bytes, int64_t count)
{
    size_t slot = hash & (table->n_slots - 1);
    for (; table->slots[slot]; slot = (slot + 1) & (table->n_slots - 1)) {
        WordEntry *entry = &table->entries[table->slots[slot] - 1];
        if (entry->hash == hash && entry->bytes == bytes && memcmp(table->text + entry->begin, word, bytes) == 0) {
            entry->count += count;
            return;
        }
    }
    append_entry(table, hash, word, bytes, count);
    table->slots[slot] = (uint32_t)table->n;
    if (table->n == table->room)
        set_room(table, 2 * table->n_slots);
}

void word_table_add(WordTable *table, const char *word, size_t bytes, int64_t count)
{
    CHECK(bytes < UINT32_MAX, "a word of %zu bytes", bytes);
    add_hashed(table, XXH3_64bits(word, bytes), word, bytes, count);
}

void word_table_add_all(WordTable *table, const WordTable *from)
{
    table->left_out += from->left_out;
    for (size_t i = 0; i < from->n; i++) {
        const WordEntry *entry = &from->entries[i];
        add_hashed(table, entry->hash, from->text + entry->begin, entry->bytes, entry->count);
    }
}

void word_table_prune(WordTable *table, int64_t count)
{
    size_t kept = 0, bytes = 0;
    for (size_t i = 0; i < table->n; i++) {
        WordEntry entry = table->entries[i];
        if (entry.count <= count)
            continue;
        memmove(table->text + bytes, table->text + entry.begin, entry.bytes);
        entry.begin = bytes;
        bytes += entry.bytes;
        table->entries[kept++] = entry;
    }
    table->n = kept;
    table->text_bytes = bytes;
    place_slots(table);
}

bool word_table_report_long(int64_t left_out, const char *longest, bool any, GError **error)
{
    g_autofree char *n = text_grouped(left_out);
    if (!any && left_out > 0)
        return fail_user(error, "there is no text to train on: every word is longer than %s", longest);
    if (left_out > 0)
        log_info("words longer than %s are left out of training: %s", longest, n);
    return any || fail_user(error, "there is no text to train on");
}
