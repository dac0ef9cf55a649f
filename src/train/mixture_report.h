/* mixture_report.h: describes how much of each dataset a run reads. */
#pragma once

#include "data/loader.h"

/* One line per dataset: its share of the samples, its tokens, and its epochs within `samples` samples (-1 means
 * unknown, and leaves the epochs out). char *, owned by the array; no line where there is only one dataset. */
GPtrArray *mixture_report(const Loader *loader, int64_t samples);
/* Warns of each dataset that the run reads more than some 40 times within `samples` samples. */
void mixture_advise(const Loader *loader, int64_t samples);
