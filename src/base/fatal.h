/* fatal.h: ends the program with a one-line message and exit status 2 where no function can return an error: when there
 * is not enough memory, or when a memory-mapped file has been truncated. Functions registered with at_quick_exit() run
 * first. No GLib in this header, so that device code may include it. */
#pragma once

/* Installs handlers: for GLib, which aborts if it gets no memory or no thread, and for faults in memory-mapped files.
 * Ignores the signal SIGXFSZ, so that exceeding the limit on file sizes is an ordinary error of write(). */
void fatal_install(void);
/* Ends the program with "loam: no memory for WHAT …". */
_Noreturn void fatal_memory(const char *what);
