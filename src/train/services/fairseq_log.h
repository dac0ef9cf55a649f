/* fairseq_log.h: log lines in the format of fairseq's log_format json, for scripts that read that format: in
 * RUN/train_inner.jsonl, and printed. Losses are in bits. */
#pragma once

#include "train/services/records.h"

typedef struct FairseqLog FairseqLog;
/* Opens DIR/train_inner.jsonl, unless dir is NULL. Lines with num_updates above `updates` are removed, since a resumed
 * run writes them again. printed: lines are also printed, as "2026-01-31 07:30:00 | INFO | train_inner | {…}". */
FairseqLog *fairseq_log_open(const char *dir, int64_t updates, bool printed, GError **error);
void fairseq_log_close(FairseqLog *log);
/* To be called after each update of this process, which read this number of tokens. */
void fairseq_log_step(FairseqLog *log, int64_t tokens);
/* Writes a line {"epoch": 1, "update": 0.003, "loss": "15.686", …}, with fields ordered, rounded and formatted as
 * fairseq does, and, if record->begins, begins a new window; nothing if the record or this process has no update. */
void fairseq_log_line(FairseqLog *log, const TrainRecord *record);
/* The object {"epoch": 1, "valid_loss": "9.081", …} that fairseq prints after an evaluation. The first held-out set is
 * "valid" there, the next "valid1". g_free. */
char *fairseq_valid_line(const ValidRecord *record);
