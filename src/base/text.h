/* text.h: similar names for error messages, and numbers formatted for people. */
#pragma once

#include <glib.h>
#include <stdint.h>

/* Damerau-Levenshtein distance of two strings of bytes. */
int text_distance(const char *a, const char *b);
/* The name of a NULL-terminated list that is nearest to `name`: first one that differs only in case or punctuation,
 * then by distance, where names that start alike are preferred. NULL if every distance is half of the name's length or
 * more. */
const char *text_nearest(const char *name, const char *const *list);
/* The three nearest names of the list at any distance, nearest first: "a, b, c". Free with g_free. */
char *text_nearest_few(const char *name, const char *const *list);
/* Each of the following returns a string to g_free. */
char *text_count(double n);          /* 1234567 -> "1.23M" */
char *text_bytes(uint64_t bytes);    /* 1536 -> "1.5 KiB" */
char *text_duration(double seconds); /* 75 -> "1m15s", 3.2 -> "3.2s" */
char *text_grouped(int64_t n);       /* 76961152 -> "76,961,152" */
char *text_number(double n);         /* the shortest decimal that strtod reads back as n: 0.1 -> "0.1" */
