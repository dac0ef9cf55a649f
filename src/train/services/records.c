#include "train/services/records.h"

#include <math.h>

double record_accuracy(const LossSums *sums)
{
    const HeadId main = loss_sums_main(sums);
    return loss_names(main)->accuracy ? loss_sums_accuracy(sums, main) : (double)NAN;
}

double record_perplexity(const LossSums *sums)
{
    return exp(loss_sums_mean(sums, HEAD_TOKENS));
}

double record_mfu(const TrainRecord *record)
{
    const double mfu = record->peak.median > 0 ? record->flops_per_s / record->peak.median : (double)NAN;
    return mfu <= 1 ? mfu : (double)NAN;
}
