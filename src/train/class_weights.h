/* class_weights.h: computes one factor on the loss per class of a classifier, as train.class_weights says. */
#pragma once

#include "data/loader.h"
#include "run/config/config.h"

/* *weights (classes) becomes the numbers of train.class_weights, or NULL for 1 everywhere. "balanced" gives
 * scikit-learn's weights: n / (number of classes that occur · labels of this class), with n labels in the training set;
 * a class that does not occur has 1, which is logged. g_free. */
bool class_weights_find(float **weights, const Config *config, const Loader *train, GError **error);
