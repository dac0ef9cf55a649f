#include "format/parquet/page_header.h"

/* Of a page of kind PAGE_DATA, or of a dictionary, whose first two fields are the same. */
static void take_data_header(Thrift *in, Page *page)
{
    for (ThriftField field = { 0 }; thrift_next(in, &field);)
        switch (field.id) {
        case 1:
            page->values = thrift_int32(in, &field);
            break;
        case 2:
            page->encoding = thrift_int32(in, &field);
            break;
        case 3:
            if (page->kind == PAGE_DATA)
                page->definition_encoding = thrift_int32(in, &field);
            else
                thrift_skip(in, &field);
            break;
        case 4:
            page->repetition_encoding = thrift_int32(in, &field);
            break;
        default:
            thrift_skip(in, &field);
        }
}

static void take_data_header_2(Thrift *in, Page *page)
{
    for (ThriftField field = { 0 }; thrift_next(in, &field);)
        switch (field.id) {
        case 1:
            page->values = thrift_int32(in, &field);
            break;
        case 4:
            page->encoding = thrift_int32(in, &field);
            break;
        case 5:
            page->definition_bytes = thrift_int32(in, &field);
            break;
        case 6:
            page->repetition_bytes = thrift_int32(in, &field);
            break;
        case 7:
            page->compressed = thrift_bool(in, &field);
            break;
        default:
            thrift_skip(in, &field);
        }
}

bool page_header_read(Thrift *in, Page *page)
{
    page->kind = -1;
    page->compressed = true;
    bool has_header = false;
    for (ThriftField field = { 0 }; thrift_next(in, &field);) {
        const bool own = (field.id == 5 && page->kind == PAGE_DATA) ||
                         (field.id == 7 && page->kind == PAGE_DICTIONARY) ||
                         (field.id == 8 && page->kind == PAGE_DATA_2);
        has_header |= own;
        if (field.id == 1)
            page->kind = thrift_int32(in, &field);
        else if (field.id == 2)
            page->bytes = thrift_int32(in, &field);
        else if (field.id == 3)
            page->compressed_bytes = thrift_int32(in, &field);
        else if (field.id == 4) {
            page->crc = (uint32_t)thrift_int32(in, &field);
            page->checked = true;
        } else if (!own || !thrift_struct(in, &field)) {
            thrift_skip(in, &field);
        } else if (page->kind == PAGE_DATA_2) {
            take_data_header_2(in, page);
        } else {
            take_data_header(in, page);
        }
    }
    return !in->bad && page->kind >= 0 && page->bytes >= 0 && page->compressed_bytes >= 0 && page->values >= 0 &&
           page->repetition_bytes >= 0 && page->definition_bytes >= 0 &&
           (int64_t)page->repetition_bytes + page->definition_bytes <= MIN(page->bytes, page->compressed_bytes) &&
           (has_header || (page->kind != PAGE_DATA && page->kind != PAGE_DICTIONARY && page->kind != PAGE_DATA_2));
}
