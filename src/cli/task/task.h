/* task.h: the actions of `loam task`. */
#pragma once

#include <glib.h>
#include <stdbool.h>

bool task_verb_list(int argc, char **argv, GError **error);
bool task_verb_show(int argc, char **argv, GError **error);
bool task_verb_prepare(int argc, char **argv, GError **error);
bool task_verb_submit(int argc, char **argv, GError **error);
