/* objective_test.h: what the tests of objectives share. */
#pragma once

#include "data/data_test.h"
#include "data/objectives/objectives.h"

/* ObjectiveConfig.own or Choice.own with a struct of these values. */
#define OWN(type, ...) objective_own(&(const type){ __VA_ARGS__ }, sizeof(type))

/* The index of a name in the list. */
static inline int objective_index(const char *name)
{
    int i = 0;
    while (strcmp(objective_names[i], name) != 0)
        i++;
    return i;
}

static inline const Objective *objective_named(const char *name)
{
    return objective_for(objective_index(name), false);
}
