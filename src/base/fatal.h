/* fatal.h: ends that no caller can answer, in one line and with status 2, the machine's: memory that was refused, a
 * mapped file that was cut short. What at_quick_exit() was given is done first. Knows no GLib, so that every floor may
 * use it. */
#pragma once

/* Makes GLib's aborts for want of memory or threads, and faults in mapped files, such ends. A file that reached the
 * limit of its size is an error like any other from then on. */
void fatal_install(void);
/* "loam: no memory for WHAT …" */
_Noreturn void fatal_memory(const char *what);
