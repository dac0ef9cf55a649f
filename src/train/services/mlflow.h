/* mlflow.h: writes a run into a store of MLflow in files (mlruns/EXPERIMENT/RUN/{meta.yaml,metrics,params,tags}), where
 * MLflow's web page and client read it. Nothing of MLflow is needed to write it. */
#pragma once

#include "base/error.h"

#include <stdint.h>

typedef enum MlflowStatus {
    MLFLOW_RUNNING = 1,
    MLFLOW_FINISHED = 3,
    MLFLOW_FAILED = 4,
    MLFLOW_KILLED = 5
} MlflowStatus;

typedef struct Mlflow Mlflow;
/* Opens the run of the run directory DIR in the store `root` (a folder, made if missing), in the experiment of this
 * name, made if missing. DIR/mlflow.txt keeps the run's id and folder there. If the store has the run already, it is
 * moved to this experiment, and metrics of steps after `step` are removed. A copy of a run directory is another run,
 * which begins with the metrics of its original. */
Mlflow *mlflow_open(const char *root, const char *experiment, const char *dir, int64_t step, GError **error);
/* Writes the final status and the time. */
void mlflow_close(Mlflow *mlflow, MlflowStatus status);
/* Appends a value of a metric. name: as TensorBoard's tag, "train/loss". */
bool mlflow_metric(Mlflow *mlflow, const char *name, int64_t step, double value, GError **error);
/* Writes a parameter of the run, in place of its last value. */
bool mlflow_param(Mlflow *mlflow, const char *name, const char *value, GError **error);
/* Copies the metrics and parameters that the run in DIR has in a store to the folder `to`; nothing if it has none. */
bool mlflow_keep(const char *dir, const char *to, GError **error);
/* Replaces the metrics and parameters that the run in DIR has in its store by those that mlflow_keep copied to `from`.
 * */
bool mlflow_put_back(const char *dir, const char *from, GError **error);
