/* plan.h: shared by the files of `loam plan`. */
#pragma once

#include "cli/outline.h"

/* Appends a line of a plan: `what` in the first column, then the text. */
void plan_line(GString *lines, const char *what, const char *format, ...) G_GNUC_PRINTF(3, 4);

/* The command-line options that describe a cluster; 0 or NULL means not given. */
typedef struct PlanCluster {
    const Machine *machine;
    double days, tflops; /* days: in which the run shall end; tflops: TFLOP/s that each GPU reaches */
    int gpus, rows;      /* for the list of layouts: number of GPUs; number of layouts to print, 0 means all */
} PlanCluster;

/* Appends lines about training on a cluster. If cluster->days is set: the TFLOP/s that each GPU must reach. If
 * cluster->tflops is set: the days that the run takes. If cluster->machine is set: whether the memory suffices, the
 * traffic, the time of a step with its parts, the time of the run. */
bool plan_cluster(GString *lines, const Outline *outline, const PlanCluster *cluster, GError **error);

/* Appends which presets of the model's family this machine trains in an evening and in a day, by its measured rate. */
void plan_presets(GString *lines, const Outline *outline);

enum { UNFIT_ROWS = 3 }; /* number of layouts that do not fit which are printed after those that fit */
/* Prints the layouts of cluster->gpus GPUs of the machine, by the predicted time of a step. */
bool plan_layouts(const Outline *outline, const PlanCluster *cluster, GError **error);
