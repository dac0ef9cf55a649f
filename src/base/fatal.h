/* fatal.h: ends the program with one line and status 2 where no function can return an error: memory was refused, or a
 * mapped file was truncated. Functions registered with at_quick_exit() run first. No GLib in this header, so that
 * device code may include it. */
#pragma once

/* Installs handlers for GLib's aborts for lack of memory or threads, and for faults in mapped files. Makes writing
 * beyond the limit of a file's size an ordinary error instead of a signal. */
void fatal_install(void);
/* Ends the program with "loam: no memory for WHAT …". */
_Noreturn void fatal_memory(const char *what);
