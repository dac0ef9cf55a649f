#include "model/loss.h"

void loss_sums_add(LossSums *sums, const LossSums *more)
{
    sums->loss += more->loss;
    sums->nll += more->nll;
    sums->correct += more->correct;
    sums->weight += more->weight;
    sums->label_nll += more->label_nll;
    sums->label_correct += more->label_correct;
    sums->label_weight += more->label_weight;
}

double loss_sums_label(const LossSums *sums)
{
    return sums->label_weight > 0 ? sums->label_nll / sums->label_weight : 0;
}

double loss_sums_label_accuracy(const LossSums *sums)
{
    return sums->label_weight > 0 ? sums->label_correct / sums->label_weight : 0;
}
