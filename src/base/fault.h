/* fault.h: how the program ends where the system takes away what it works with, in the middle of a library that cannot
 * return an error: memory or a thread that it is refused, a mapped file that was cut or whose disk fails (SIGBUS). It
 * says so in one line on standard error and ends with status 2 (quick_exit: at_quick_exit() cleans up). */
#pragma once

/* Once, at the start. `name` heads the line and is kept: "prepare" gives "loam prepare: …". */
void fault_install(const char *name);
