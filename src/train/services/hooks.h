/* hooks.h: commands of the user that run beside training when something happens (hooks.*). A thread of rank 0 runs them
 * one after another, so training never waits for one. A command that takes too long is killed; one that failed or was
 * killed is tried again (hooks.retries). RUN/hooks.log has the output and the result of every attempt. A failed command
 * never ends the run. */
#pragma once

#include "run/config/config.h"

typedef enum HookKind { HOOK_SAVE, HOOK_BEST, HOOK_STOP, HOOK_ALERT, HOOKS } HookKind;

typedef struct Hooks Hooks;

/* NULL if no hook is set. dir: the run directory. */
Hooks *hooks_open(const HooksConfig *config, const char *dir);
/* Queues the command of `kind`, if there is one, to run after those before it. path: the checkpoint, or NULL for the
 * run directory. message: what happened. If the last call of this kind has not begun yet, it is replaced. */
void hooks_call(Hooks *hooks, HookKind kind, int64_t step, const char *path, const char *message);
enum { HOOK_STEPS = 3 };
/* steps becomes the steps whose checkpoints a running or queued command needs, so that they are not removed; -1 means
 * none. */
void hooks_steps(Hooks *hooks, int64_t steps[HOOK_STEPS]);
/* A message about a call that failed or was left out, the oldest one that was not returned before; g_free. NULL means
 * none. */
char *hooks_problem(Hooks *hooks);
/* Waits until all queued commands have ended: those before on_stop for at most hooks.timeout in total, then on_stop
 * with its retries for at most hooks.timeout. Afterwards nothing may be queued. NULL is ignored. */
void hooks_wait(Hooks *hooks);
/* Waits as hooks_wait does and frees everything. NULL is ignored. */
void hooks_close(Hooks *hooks);
