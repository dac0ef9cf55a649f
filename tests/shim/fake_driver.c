/* fake_driver.c: a libcuda.so.1 that has a version, LOAM_FAKE_DRIVER, and nothing else. */
#include <stdlib.h>

int cuDriverGetVersion(int *version);

int cuDriverGetVersion(int *version)
{
    const char *text = getenv("LOAM_FAKE_DRIVER");
    *version = text ? atoi(text) : 13000;
    return 0;
}
