/* wrap.h: the help of a verb in lines as long as the terminal is wide. */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* usage, about: as in cli_parse; options: the list of options as GLib prints it, a line per option, with two blanks
 * before each description; "" means none. columns: of the terminal; 0 means that no line is broken. g_free. */
char *wrap_help(const char *usage, const char *about, const char *options, int columns);
