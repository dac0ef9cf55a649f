/* hooks.h: commands of the user that run beside training when something happens (hooks.*). A thread of rank 0 runs
 * them one after another, so training never waits for one. A command that fails or takes too long is ended and tried
 * again; what becomes of it is in RUN/hooks.log, and no failure of a command ends the run. */
#pragma once

#include "train/config/config.h"

typedef enum HookKind { HOOK_SAVE, HOOK_BEST, HOOK_STOP, HOOK_ALERT, HOOKS } HookKind;

typedef struct Hooks Hooks;

/* NULL if no hook is set. dir: the run directory. */
Hooks *hooks_open(const HooksConfig *config, const char *dir);
/* Runs the command of `kind`, if there is one, as soon as those before it are done. path: the checkpoint, or NULL for
 * the run directory. message: what happened. If the last call of this kind has not begun yet, it is replaced. */
void hooks_call(Hooks *hooks, HookKind kind, int64_t step, const char *path, const char *message);
enum { HOOK_STEPS = 3 };
/* The steps whose checkpoints commands use or wait for; -1 means none. */
void hooks_steps(Hooks *hooks, int64_t steps[HOOK_STEPS]);
/* Waits for the commands, hooks.timeout in all and no longer, and frees everything. NULL is ignored. */
void hooks_close(Hooks *hooks);
