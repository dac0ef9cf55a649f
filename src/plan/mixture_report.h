/* mixture_report.h: describes how much of each dataset a run reads. */
#pragma once

#include "data/loader.h"

/* One line per dataset: its share of the samples, its tokens, and its epochs within `samples` samples (-1 means
 * unknown: epochs are omitted). Elements are char *, owned by the array, which is empty for a single dataset. */
GPtrArray *mixture_report(const Loader *loader, int64_t samples);
/* Warns about each dataset that is read for more than 40 epochs within `samples` samples. */
void mixture_advise(const Loader *loader, int64_t samples);
