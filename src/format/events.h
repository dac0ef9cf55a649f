/* events.h: TensorBoard event files (scalars and texts). Records: u64 length, masked CRC-32C of it, payload, masked
 * CRC-32C of that. */
#pragma once

#include "base/error.h"

#include <stdint.h>

typedef struct EventsWriter EventsWriter;
/* Opens FOLDER/events.out.tfevents.TIME.HOST.PID.N for appending; a run has one writer. */
EventsWriter *events_open(const char *folder, GError **error);
bool events_scalar(EventsWriter *writer, const char *tag, int64_t step, double value, GError **error);
/* A text, which TensorBoard shows as Markdown. */
bool events_text(EventsWriter *writer, const char *tag, int64_t step, const char *markdown, GError **error);
/* After a failure what was written since the last flush is gone; the file stays readable and writing may go on. */
bool events_flush(EventsWriter *writer, GError **error);
void events_close(EventsWriter *writer);
/* Drops every event after `step` from the event files of the folder, and what is torn or damaged at their ends; each
 * file is replaced in one step. No writer may be open. Fine if there is no such folder. */
bool events_cut(const char *folder, int64_t step, GError **error);
uint32_t crc32c(const void *data, size_t bytes);
