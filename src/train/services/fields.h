/* fields.h: a record as a list of numbers with names, which metrics.jsonl, TensorBoard and MLflow write. Losses are in
 * nats (natural logarithm), rates in SI units. */
#pragma once

#include "train/services/records.h"

typedef struct Field {
    const char *name;  /* "loss" in metrics.jsonl */
    const char *group; /* "train", if the series is called "train/loss"; NULL means that only metrics.jsonl has it */
    double value;      /* NaN if it is not known */
    bool whole;        /* an integer */
} Field;

typedef struct Fields {
    GArray *list; /* Field */
    char *group;  /* of a held-out set or a task */
} Fields;

/* The fields of a record; an empty list if its kind has none. */
Fields fields_of(const LogRecord *record);
void fields_clear(Fields *fields);
