/* mixture_report.h: what a run takes from each of its datasets. */
#pragma once

#include "data/loader.h"

/* A line a dataset: its share, its tokens and, where the run's samples are known (else -1), its epochs within them.
 * char *, owned by the array, which is empty where there is one dataset only. */
GPtrArray *mixture_report(const Loader *loader, int64_t samples);
