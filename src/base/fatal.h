/* fatal.h: ends the program with a one-line message and exit status 2 when no function can return an error: memory was
 * refused, or a memory-mapped file was truncated. Functions registered with at_quick_exit() run first. No GLib in this
 * header, so that device code may include it. */
#pragma once

/* Installs handlers for GLib's aborts for lack of memory or threads, and for faults in memory-mapped files. Ignores
 * SIGXFSZ, so that writing beyond the limit of a file's size is an ordinary error. */
void fatal_install(void);
/* Ends the program with "loam: no memory for WHAT …". */
_Noreturn void fatal_memory(const char *what);
