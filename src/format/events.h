/* events.h: writes TensorBoard event files (scalars and texts). A file is a sequence of records; a record is a u64
 * length, the masked CRC-32C of the length, a protobuf message Event, and the masked CRC-32C of the message. */
#pragma once

#include "base/error.h"
#include "base/file.h"

#include <stdint.h>

/* Creates the file FOLDER/events.out.tfevents.TIME.HOST.PID.N for writing; a folder has one writer at a time. Events
 * are buffered until io_flush. A failed flush loses the buffered events, but the file stays readable, and later events
 * can be written. */
IoFile *events_open(const char *folder, GError **error);
/* io_append_again for a file of events, whose new file gets its header. */
char *events_again(IoFile *file, GError **error);
/* Appends one value of a series. tag: name of the series ("train/loss"); step: position on the x-axis. */
bool events_scalar(IoFile *file, const char *tag, int64_t step, double value, GError **error);
/* Appends a text, which TensorBoard shows as Markdown. tag, step: as in events_scalar. */
bool events_text(IoFile *file, const char *tag, int64_t step, const char *markdown, GError **error);
void events_close(IoFile *file); /* flushes and closes the file; an error is only logged */
/* Suffix of the tags of series whose x-axis is the samples read so far instead of steps, as in Megatron-LM. */
#define EVENTS_BY_SAMPLES " vs samples"
/* Removes all events of steps after `step`, or after `samples` if their tag ends in EVENTS_BY_SAMPLES, and truncated or
 * corrupt records at the end, from all event files of a folder. Each file is replaced atomically. No writer may be
 * open. A missing folder is no error. */
bool events_cut(const char *folder, int64_t step, int64_t samples, GError **error);
/* The CRC-32C (Castagnoli) of `bytes` bytes, not masked. */
uint32_t crc32c(const void *data, size_t bytes);
