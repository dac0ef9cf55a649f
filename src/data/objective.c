#include "data/objective.h"

#include "data/span_corruption.h"

const Objective objectives[] = {
    { "span_corruption", span_corruption_plan, span_corruption_example },
    { NULL, NULL, NULL },
};

/* The same names in the same order, for the option table. */
const char *const objective_names[] = { "span_corruption", NULL };
