/* plan.h: shared by the files of `loam plan`. */
#pragma once

#include "cli/outline.h"
#include "train/cluster/cluster.h"

/* Appends a line of a plan: `what` in the first column, then the text. */
void plan_line(GString *lines, const char *what, const char *format, ...) G_GNUC_PRINTF(3, 4);

/* The command-line options that describe a cluster; 0 or NULL means not given. */
typedef struct PlanCluster {
    const Machine *machine;
    double days, tflops;
    int gpus, rows; /* of the list of layouts; rows 0 means all */
} PlanCluster;

/* Adds what training on the machine takes: a step's time and its parts, traffic by link, days, energy, and whether the
 * memory fits; without a machine only the work per GPU that ends the run in so many days, or the days at so many
 * TFLOP/s. */
bool plan_cluster(GString *lines, const Outline *outline, const PlanCluster *cluster, GError **error);

enum { UNFIT_ROWS = 3 }; /* layouts of the list that do not fit */
/* Prints the layouts of cluster->gpus GPUs of the machine, by the predicted time of a step. */
bool plan_layouts(const Outline *outline, const PlanCluster *cluster, GError **error);
