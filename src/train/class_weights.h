/* class_weights.h: the factor on the loss of each class of a classifier, by train.class_weights. */
#pragma once

#include "data/loader.h"
#include "train/config/config.h"

/* (classes) The numbers of train.class_weights; for "balanced" those of scikit-learn, n / (K count): n labels in the
 * training set, K classes that occur in it, `count` of them of this class. A class that does not occur has 1, and a
 * line says so. *weights NULL means 1 for every class. g_free. */
bool class_weights_find(float **weights, const Config *config, const Loader *train, GError **error);
