/* submission.h: the files that leaderboards take, made of the predictions of `loam eval --task --out`. */
#pragma once

#include "base/error.h"

#include <stdint.h>

/* The file of a task: its name and form. */
typedef struct Submission Submission;
/* NULL means that no leaderboard takes predictions of this task. */
const Submission *submission_find(const char *task);
/* Name of the leaderboard's file. */
const char *submission_file(const Submission *form);

typedef struct SubmissionText {
    GString *text;         /* of the whole file */
    int64_t n, unknown;    /* predictions; those that are no label */
    const char *stands_as; /* what the latter stand as, for messages */
} SubmissionText;

/* Turns the JSON lines at `path` into the file. An error names the line. submission_text_clear, also after an error. */
bool submission_read(const Submission *form, const char *path, SubmissionText *out, GError **error);
void submission_text_clear(SubmissionText *text);
