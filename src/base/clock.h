/* clock.h: the one clock by which durations are measured. No GLib here: device code includes this file. */
#pragma once

/* Seconds since an arbitrary moment; never goes backwards when the time of day is set. */
double clock_seconds(void);
