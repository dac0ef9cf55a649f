/* page.h: the files page.css and page.js beside this one, as strings (cmake/floors.cmake). */
#pragma once

extern const char report_page_css[], report_page_js[];
