/* clock.h: the clock by which all durations are measured. No GLib here: device code includes this file. */
#pragma once

/* Seconds since an arbitrary moment. Changes of the system's time of day do not affect it. */
double clock_seconds(void);
