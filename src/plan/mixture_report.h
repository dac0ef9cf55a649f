/* mixture_report.h: describes how much of each dataset a run reads. */
#pragma once

#include "data/loader.h"

#define MANY_EPOCHS 40 /* Muennighoff et al. 2023: further passes over the same text teach next to nothing */

/* One line per dataset: its share of the samples, its tokens, and its epochs within `samples` samples (-1 means
 * unknown: epochs are omitted). Elements are char *, owned by the array, which is empty for a single dataset. */
GPtrArray *mixture_report(const Loader *loader, int64_t samples);
/* Warns about each dataset that is read for more than MANY_EPOCHS epochs within `samples` samples. */
void mixture_advise(const Loader *loader, int64_t samples);
