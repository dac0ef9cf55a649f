/* page_header.h: the header of a page. */
#pragma once

#include "format/parquet/pages.h"
#include "format/parquet/thrift.h"

/* Reads the header into *page. False if it is malformed. */
bool page_header_read(Thrift *in, Page *page);
