/* hook_output.h: passes the output of a hook's command to hooks.log: all of it up to two limits, one for its start and
 * one for its end; of a command that prints more, the middle is left out. */
#pragma once

typedef struct HookOutput HookOutput;

enum { HOOK_OUTPUT_BYTES = 2 << 20 }; /* of the start, and of the end */

/* log: descriptor of hooks.log; -1 means that the output is lost. *write_end: of a pipe, for the command; the caller
 * closes it. It is -1 if there are no descriptors left. */
HookOutput *hook_output_new(int log, int *write_end);
/* Takes what the command has printed, waiting for it at most wait_ms milliseconds. */
void hook_output_take(HookOutput *output, int wait_ms);
/* Takes what is left, and writes the end of the output into the log. */
void hook_output_free(HookOutput *output);
