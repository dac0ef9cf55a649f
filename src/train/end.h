/* end.h: how a process of a run ends: complete, stopped, or with an error. */
#pragma once

#include "train/trainer.h"

/* Says that the run has no step left, and what would let it go on. */
void end_note_finished(const Trainer *t);
/* The event of a run that has ended by itself. */
void end_note(const Trainer *t);
/* A request to stop becomes a checkpoint, or else the error of one rank that of all; *problem then says what is saved,
 * and where a lost rank was last seen. */
void end_early(Trainer *t, GError **problem);
