/* machine.h: what this machine and this process are, for reports. */
#pragma once

/* The name of the processor; "unknown" if the system does not tell. g_free. */
char *machine_processor(void);
/* The boot id of the machine, by which processes know that they share it, in containers too; "" if the system does not
 * tell. Unused bytes are 0. */
enum { MACHINE_BOOT_ID = 40 };
void machine_boot_id(char id[MACHINE_BOOT_ID]);
/* The first of these paths, relative to the folder of the running program, that can be read; NULL if there is none. The
 * list ends with NULL. g_free. */
char *machine_beside_program(const char *const *paths);
/* Bytes of main memory of the machine; 0 if the system does not tell. */
double machine_memory(void);
/* Bytes of main memory that this process occupies (its resident set size); 0 if the system does not tell. */
double machine_resident(void);

/* Processor time so far, in ticks of the kernel: of all cores (busy, and busy or idle), and of this process. */
typedef struct MachineLoad {
    double busy, all, own;
    int cores; /* 0 means that the system does not tell */
} MachineLoad;
MachineLoad machine_load(void);
/* The same from the text of /proc/stat. */
MachineLoad machine_load_of(const char *stat, double own);
/* Number of cores that other processes kept busy between two readings; 0 if the system does not tell. */
double machine_busy_cores(MachineLoad before, MachineLoad after);
