/* trace_names.cc: names of the kernels and lines that trace.cc tells of, by addr2line. */
#include "shim/trace_names.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* The first line that addr2line and what follows it print of an address less `before` bytes; empty if there is none. */
static std::string addr2line(const void *address, size_t before, const char *options, const char *after)
{
    Dl_info info;
    char text[512];
    if (!dladdr(address, &info) || !info.dli_fname)
        return "";
    snprintf(text, sizeof text, "addr2line %s -e '%s' %#zx 2>/dev/null%s", options, info.dli_fname,
             (size_t)((const char *)address - (const char *)info.dli_fbase) - before, after);
    FILE *pipe = popen(text, "r");
    std::string line = pipe && fgets(text, sizeof text, pipe) ? std::string(text, strcspn(text, "\n")) : "";
    if (pipe)
        pclose(pipe);
    return line;
}

void name_place(char *text, size_t bytes, const void *place)
{
    std::string line = addr2line(place, 1, "-s", "");
    if (line.empty())
        snprintf(text, bytes, "%p", place);
    else
        snprintf(text, bytes, "%.100s", line.c_str());
}

std::string function_name(const void *function)
{
    std::string name = addr2line(function, 0, "-f", " | head -n 1 | c++filt -p");
    for (const char *prefix : { "void ", "(anonymous namespace)::" })
        if (name.rfind(prefix, 0) == 0)
            name = name.substr(strlen(prefix));
    return name.substr(0, name.find_first_of("<("));
}
