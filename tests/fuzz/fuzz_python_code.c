/* Any text as a program of Python: what CodeBLEU compares of it is no longer than it, and where anything was taken away
 * has no empty line. */
#include "base/check.h"
#include "base/python_text.h"
#include "scores/python_code.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    g_autofree char *code = g_utf8_make_valid((const char *)data, (gssize)bytes), *bare = python_code_bare(code),
                    *again = python_drop_empty_lines(bare);
    CHECK(strlen(bare) <= strlen(code), "%zu bytes of %zu", strlen(bare), strlen(code));
    CHECK(strcmp(bare, code) == 0 || strcmp(bare, again) == 0, "an empty line");
    return 0;
}
