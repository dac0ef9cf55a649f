/* banks.h: counts the conflicts of banks of kernels that are built with SHIM_TRACED; trace.h has the rest. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif
void trace_count_banks(void); /* from here on, from 0 */
/* Prints a row of a table for each kernel with accesses to shared memory since trace_count_banks, by their names:
 * accesses of whole warps, wavefronts (cycles of shared memory) that conflicts add, and their share of all wavefronts.
 */
void trace_print_banks(void);
#ifdef __cplusplus
}
#endif
