/* submission.h: turns the predictions of `loam eval --task --out` into the files that leaderboards accept. */
#pragma once

#include "base/error.h"

#include <stdint.h>

/* The leaderboard's file for a task: its name and format. */
typedef struct Submission Submission;
/* Finds the Submission of a task; NULL if no leaderboard accepts predictions for this task. */
const Submission *submission_find(const char *task);
/* Name of the file, as the leaderboard requires it. */
const char *submission_file(const Submission *form);

typedef struct SubmissionText {
    GString *text;         /* the whole file */
    int64_t n, unknown;    /* number of predictions; number of predictions that are not a label */
    const char *stands_as; /* for messages: the label of unknown predictions in the file, "0" or "its first one" */
} SubmissionText;

/* Converts the JSON lines at `path` into the leaderboard's file. An error names the line. Free with
 * submission_text_clear, also after an error. */
bool submission_read(const Submission *form, const char *path, SubmissionText *out, GError **error);
void submission_text_clear(SubmissionText *text);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(SubmissionText, submission_text_clear)
