/* fake_driver.c: a libcuda.so.1 that has a version, LOAM_FAKE_DRIVER, and nothing else. In a folder `compat` its
 * version is LOAM_FAKE_COMPAT. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int cuDriverGetVersion(int *version);

static const char folder = 0; /* an address of this library */

int cuDriverGetVersion(int *version)
{
    Dl_info here;
    const bool is_compat = dladdr(&folder, &here) != 0 && strstr(here.dli_fname, "/compat/") != NULL;
    const char *text = getenv(is_compat ? "LOAM_FAKE_COMPAT" : "LOAM_FAKE_DRIVER");
    *version = text ? atoi(text) : 13000;
    return 0;
}
