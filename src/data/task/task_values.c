/* task_values.c: the range of the values that a regression is trained on. */
#include "base/log.h"
#include "data/task/special.h"

#include <math.h>

#define LARGE 20 /* larger values are warned of: an update changes an answer by some hundredths */

void task_values_add(TaskValues *values, const char *text)
{
    float read;
    if (!label_parse_value("", text, &read, NULL))
        return;
    const double value = (double)read;
    values->least = values->n ? fmin(values->least, value) : value;
    values->most = values->n ? fmax(values->most, value) : value;
    values->sum += value;
    values->squares += value * value;
    values->n++;
}

void task_values_report(const TaskValues *values, const char *path)
{
    if (values->n == 0)
        return;
    const double n = (double)values->n, mean = values->sum / n,
                 deviation = sqrt(fmax(values->squares / n - mean * mean, 0));
    log_info("%s: values from %.6g to %.6g, mean %.6g, standard deviation %.6g", path, values->least, values->most,
             mean, deviation);
    if (fmax(-values->least, values->most) > LARGE)
        log_warning("%s: a model's values begin near 0 and change little in an update, so that it takes many to reach "
                    "these: a column (value - %.6g) / %.6g is learnt faster",
                    path, mean, deviation > 0 ? deviation : 1);
}
