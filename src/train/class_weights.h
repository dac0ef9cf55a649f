/* class_weights.h: factors on the loss of each class of a classifier, from train.class_weights. */
#pragma once

#include "data/loader.h"
#include "train/config/config.h"

/* *weights (classes) becomes the numbers of train.class_weights, or NULL for 1 everywhere. "balanced" gives
 * scikit-learn's weights: n / (number of classes that occur · labels of this class), with n labels in the training set;
 * a class that does not occur has 1, which is logged. g_free. */
bool class_weights_find(float **weights, const Config *config, const Loader *train, GError **error);
