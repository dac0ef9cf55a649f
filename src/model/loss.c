#include "model/loss.h"

void loss_sums_add(LossSums *sums, const LossSums *more)
{
    for (int h = 0; h < HEAD_COUNT; h++) {
        sums->head[h].loss += more->head[h].loss;
        sums->head[h].nll += more->head[h].nll;
        sums->head[h].correct += more->head[h].correct;
        sums->head[h].weight += more->head[h].weight;
        sums->head[h].rows += more->head[h].rows;
    }
}

int loss_sums_heads(const LossSums *sums)
{
    int n = 0;
    for (int h = 0; h < HEAD_COUNT; h++)
        n += sums->head[h].weight > 0;
    return n;
}

HeadId loss_sums_main(const LossSums *sums)
{
    for (HeadId h = 0; h < HEAD_COUNT; h++)
        if (sums->head[h].weight > 0)
            return h;
    return HEAD_TOKENS;
}

double loss_sums_mean(const LossSums *sums, HeadId head)
{
    const double mean = sums->head[head].loss / sums->head[head].weight;
    return isnan(mean) ? (double)NAN : mean; /* NaN without a sign, which printf would show */
}

double loss_sums_accuracy(const LossSums *sums, HeadId head)
{
    const HeadSums *own = &sums->head[head];
    return own->correct / (own->rows > 0 ? own->rows : own->weight);
}

double loss_sums_total(const LossSums *sums)
{
    double total = 0;
    for (int h = 0; h < HEAD_COUNT; h++)
        if (sums->head[h].weight > 0)
            total += loss_sums_mean(sums, (HeadId)h);
    return loss_sums_heads(sums) > 0 ? total : NAN;
}

bool loss_sums_finite(const LossSums *sums)
{
    for (int h = 0; h < HEAD_COUNT; h++)
        if (!isfinite(sums->head[h].loss))
            return false;
    return true;
}
