#include "base/file.h"
#include "format/bytes.h"
#include "format/safetensors.h"
#include "format/tensor_file.h"
#include "golden.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

static char *folder; /* of this run's files */

static char *path_of(const char *name)
{
    return g_build_filename(folder, name, NULL);
}

static char *put(const char *name, const void *data, size_t bytes)
{
    char *path = path_of(name);
    g_assert_true(g_file_set_contents(path, data, (gssize)bytes, NULL));
    return path;
}

/* A file of this header, padded with nothing, and `data_bytes` zero bytes. */
static char *put_header(const char *header, size_t data_bytes)
{
    uint64_t n = strlen(header);
    g_autoptr(GByteArray) file = g_byte_array_new();
    g_byte_array_append(file, (const guint8 *)&n, 8);
    g_byte_array_append(file, (const guint8 *)header, (guint)n);
    guint at = file->len;
    g_byte_array_set_size(file, at + (guint)data_bytes);
    memset(file->data + at, 0, data_bytes);
    return put("case.safetensors", file->data, file->len);
}

static void expect_refused(const char *path, const char *words)
{
    g_autoptr(GError) error = NULL;
    TensorFile *file = safetensors_open(path, &error);
    g_assert_null(file);
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    if (strstr(error->message, words) == NULL)
        g_error("\"%s\" does not say \"%s\"", error->message, words);
    g_assert_nonnull(strstr(error->message, path));
}

static void refuses_every_malformed_header(void)
{
    static const struct {
        const char *header;
        size_t data_bytes;
        const char *words;
    } cases[] = {
        { "", 0, "does not begin with {" },
        { " \n", 0, "does not begin with {" },
        { "[]", 0, "does not begin with {" },
        { "{\"a\":", 0, "not valid JSON" },
        { "{}x", 0, "not valid JSON" },
        { "{\"\xff\":1}", 0, "not valid JSON" },
        { "{\"a\\u0000\":1}", 0, "not valid JSON" },
        { "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
          "\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
          2, "duplicate" },
        { "{\"__metadata__\":[]}", 0, "__metadata__ is not an object" },
        { "{\"__metadata__\":{\"step\":3}}", 0, "__metadata__.step is not a string" },
        { "{\"a\":3}", 0, "tensor a: its entry is not an object" },
        { "{\"a\":{\"shape\":[1],\"data_offsets\":[0,1]}}", 1, "dtype (missing)" },
        { "{\"a\":{\"dtype\":\"F31\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "dtype F31 is unknown" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":1,\"data_offsets\":[0,4]}}", 4, "not a list of whole numbers" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1.0],\"data_offsets\":[0,4]}}", 4, "not a list of whole numbers" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 4, "not a list of whole numbers" },
        { "{\"a\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,1]}}", 1, "9 dimensions" },
        { "{\"a\":{\"dtype\":\"U8\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}", 0, "64 bits" },
        { "{\"a\":{\"dtype\":\"F64\",\"shape\":[4611686018427387904],\"data_offsets\":[0,0]}}", 0, "64 bits" },
        { "{\"a\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,2]}}", 2, "do not fill whole bytes" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,5]}}", 5, "need 4 bytes, data_offsets span 5" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", 4, "not a pair" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0.0,4.0]}}", 4, "not a pair" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[-4,0]}}", 4, "not a pair" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", 4, "end before they begin" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 3, "truncated" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 5, "1 bytes follow the last tensor" },
        { "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}", 2, "leaving a hole after 0" },
        { "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
          "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]}}",
          3, "overlapping" },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *path = put_header(cases[i].header, cases[i].data_bytes);
        expect_refused(path, cases[i].words);
    }
}

static void refuses_a_bad_length(void)
{
    g_autofree char *empty = put("empty", "", 0);
    expect_refused(empty, "0 bytes are too few");
    g_autofree char *seven = put("seven", "\1\0\0\0\0\0\0", 7);
    expect_refused(seven, "7 bytes are too few");
    uint64_t n = 100000001;
    g_autofree char *huge = put("huge", &n, 8);
    expect_refused(huge, "at most 100000000");
    n = 100000000;
    g_autofree char *cut = put("cut", &n, 8);
    expect_refused(cut, "truncated");
    g_autofree char *absent = path_of("absent.safetensors");
    expect_refused(absent, "No such file");
    expect_refused(folder, "not a regular file");
}

static void accepts_scalars_empty_tensors_and_trailing_spaces(void)
{
    g_autofree char *path = put_header("{\"s\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]},"
                                       "\"e\":{\"dtype\":\"F32\",\"shape\":[0,5],\"data_offsets\":[0,0]}}   ",
                                       4);
    g_autoptr(GError) error = NULL;
    TensorFile *file = safetensors_open(path, &error);
    g_assert_no_error(error);
    g_assert_cmpint(tensor_file_count(file), ==, 2);
    g_assert_cmpstr(tensor_file_get(file, 0)->name, ==, "e");
    g_assert_cmpint(tensor_file_find(file, "s")->rank, ==, 0);
    g_assert_cmpuint(tensor_file_find(file, "e")->bytes, ==, 0);
    g_assert_null(tensor_file_find(file, "x"));
    g_assert_null(tensor_file_metadata(file, "format"));
    tensor_file_close(file);
}

static char *write_three(const char *name, bool reversed)
{
    static const float f32[2] = { 1, 2 };
    static const uint16_t bf16[3] = { 0x3f80, 0x4000, 0x4040 };
    static const char bytes[3] = { 1, 2, 3 };
    SafeWriter *writer = safetensors_writer_new();
    safetensors_writer_metadata(writer, reversed ? "format" : "zebra", reversed ? "pt" : "1");
    safetensors_writer_metadata(writer, reversed ? "zebra" : "format", reversed ? "1" : "pt");
    for (int i = 0; i < 4; i++)
        switch (reversed ? 3 - i : i) {
        case 0:
            safetensors_writer_add(writer, "b", "BF16", 1, (int64_t[]){ 3 }, bf16);
            break;
        case 1:
            safetensors_writer_add(writer, "z\"\xc3\xa9", "F32", 2, (int64_t[]){ 1, 2 }, f32);
            break;
        case 2:
            safetensors_writer_add(writer, "a", "U8", 1, (int64_t[]){ 3 }, bytes);
            break;
        default:
            safetensors_writer_add(writer, "c", "F32", 1, (int64_t[]){ 2 }, f32);
        }
    char *path = path_of(name);
    g_autoptr(GError) error = NULL;
    g_assert_true(safetensors_writer_write(writer, path, &error));
    g_assert_no_error(error);
    safetensors_writer_free(writer);
    return path;
}

static void same_tensors_give_the_same_bytes(void)
{
    g_autofree char *a = write_three("a.safetensors", false), *b = write_three("b.safetensors", true);
    g_autofree char *x = NULL, *y = NULL;
    size_t n = 0, m = 0;
    g_assert_true(g_file_get_contents(a, &x, &n, NULL));
    g_assert_true(g_file_get_contents(b, &y, &m, NULL));
    expect_bytes(x, n, y, m);
    uint64_t header;
    memcpy(&header, x, 8);
    g_assert_cmpuint(header % 8, ==, 0);
    static const char start[] = "{\"__metadata__\":{\"format\":\"pt\",\"zebra\":\"1\"},\"c\":{\"dtype\":\"F32\",";
    expect_bytes(x + 8, sizeof start - 1, start, sizeof start - 1);
}

static void what_is_written_is_read_back(void)
{
    g_autofree char *path = write_three("c.safetensors", false);
    g_autoptr(GError) error = NULL;
    TensorFile *file = safetensors_open(path, &error);
    g_assert_no_error(error);
    static const char *const order[] = { "c", "z\"\xc3\xa9", "b", "a" };
    for (int i = 0; i < 4; i++)
        g_assert_cmpstr(tensor_file_get(file, i)->name, ==, order[i]);
    g_assert_cmpstr(tensor_file_metadata(file, "format"), ==, "pt");
    const FileTensor *z = tensor_file_find(file, "z\"\xc3\xa9"), *b = tensor_file_find(file, "b");
    g_assert_cmpint(z->rank, ==, 2);
    g_assert_cmpint(z->shape[0], ==, 1);
    g_assert_cmpint(z->shape[1], ==, 2);
    float out[2];
    g_assert_true(file_tensor_read_f32(z, 1, 1, out, &error));
    g_assert_cmpfloat(out[0], ==, 2);
    g_assert_true(file_tensor_read_f32(b, 1, 2, out, &error));
    g_assert_cmpfloat(out[0], ==, 2);
    g_assert_cmpfloat(out[1], ==, 3);
    g_assert_false(file_tensor_read_f32(tensor_file_find(file, "a"), 0, 1, out, &error));
    g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
    g_assert_nonnull(strstr(error->message, "tensor a has dtype U8"));
    tensor_file_close(file);
}

static float read_half(const char *dtype, uint16_t bits)
{
    FileTensor tensor = { .name = "h", .dtype = dtype, .rank = 0, .data = &bits, .bytes = 2 };
    float out;
    g_assert_true(file_tensor_read_f32(&tensor, 0, 1, &out, NULL));
    return out;
}

/* Every pattern of both, against the definition: (-1)^s 2^(e - bias) (1 + m / 2^p), in double. */
static void halves_widen_exactly(void)
{
    for (uint32_t bits = 0; bits < 65536; bits++)
        for (int brain = 0; brain < 2; brain++) {
            int p = brain ? 7 : 10, top = brain ? 255 : 31, bias = brain ? 127 : 15;
            int e = (int)(bits >> p) & top, m = (int)bits & ((1 << p) - 1);
            float got = read_half(brain ? "BF16" : "F16", (uint16_t)bits);
            double want = e ? ldexp(1 + ldexp(m, -p), e - bias) : ldexp(m, 1 - bias - p);
            if (e == top)
                want = m ? NAN : INFINITY;
            g_assert_true(m && e == top ? isnan(got) : fabs((double)got) == want);
            g_assert_cmpint(signbit(got) != 0, ==, bits >> 15);
        }
}

static char *put_index(const char *sub, const char *json)
{
    char *dir = path_of(sub);
    g_mkdir_with_parents(dir, 0755);
    g_autofree char *index = g_build_filename(dir, "model.safetensors.index.json", NULL);
    g_assert_true(g_file_set_contents(index, json, -1, NULL));
    return dir;
}

static void put_shard(const char *dir, const char *file, const char *tensor, float value)
{
    g_autofree char *path = g_build_filename(dir, file, NULL);
    SafeWriter *writer = safetensors_writer_new();
    safetensors_writer_add(writer, tensor, "F32", 1, (int64_t[]){ 1 }, &value);
    safetensors_writer_add(writer, "stray", "F32", 1, (int64_t[]){ 1 }, &value);
    g_assert_true(safetensors_writer_write(writer, path, NULL));
    safetensors_writer_free(writer);
}

static void reads_a_sharded_folder(void)
{
    g_autofree char *dir =
        put_index("sharded", "{\"metadata\":{\"total_size\":8},\"weight_map\":{\"b\":\"2.safetensors\""
                             ",\"a\":\"1.safetensors\"}}");
    put_shard(dir, "1.safetensors", "a", 1);
    put_shard(dir, "2.safetensors", "b", 2);
    g_autoptr(GError) error = NULL;
    TensorFile *file = weights_open(dir, &error);
    g_assert_no_error(error);
    g_assert_cmpint(tensor_file_count(file), ==, 2);
    float out;
    g_assert_true(file_tensor_read_f32(tensor_file_find(file, "b"), 0, 1, &out, &error));
    g_assert_cmpfloat(out, ==, 2);
    tensor_file_close(file);
}

static void refuses_a_broken_index(void)
{
    static const struct {
        const char *json, *words;
    } cases[] = {
        { "{", "model.safetensors.index.json: " },
        { "{}", "weight_map is missing" },
        { "{\"weight_map\":{\"a\":1}}", "place of tensor a is not a file name" },
        { "{\"weight_map\":{\"a\":\"../1.safetensors\"}}", "not a plain file name" },
        { "{\"weight_map\":{\"a\":\"x/1.safetensors\"}}", "not a plain file name" },
        { "{\"weight_map\":{\"a\":\"3.safetensors\"}}", "3.safetensors: No such file" },
        { "{\"weight_map\":{\"c\":\"1.safetensors\"}}", "tensor c is not in 1.safetensors" },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *dir = put_index("broken", cases[i].json);
        put_shard(dir, "1.safetensors", "a", 1);
        g_autoptr(GError) error = NULL;
        g_assert_null(weights_open(dir, &error));
        g_assert_error(error, LOAM_ERROR, LOAM_ERROR_USER);
        if (strstr(error->message, cases[i].words) == NULL)
            g_error("\"%s\" does not say \"%s\"", error->message, cases[i].words);
    }
    g_autoptr(GError) error = NULL;
    g_assert_null(weights_open("/nonexistent", &error));
    g_assert_nonnull(strstr(error->message, "/nonexistent"));
}

static void every_failing_call_is_told(void)
{
    g_autofree char *path = path_of("failing.safetensors");
    float value = 1;
    for (int n = 1;; n++) {
        SafeWriter *writer = safetensors_writer_new();
        safetensors_writer_add(writer, "a", "F32", 1, (int64_t[]){ 1 }, &value);
        g_autoptr(GError) error = NULL;
        io_fail_at(n, ENOSPC);
        bool ok = safetensors_writer_write(writer, path, &error);
        bool reached = io_calls() >= n;
        io_fail_at(0, 0);
        safetensors_writer_free(writer);
        g_assert_true(ok != reached);
        if (ok) {
            g_assert_cmpint(n, >, 3); /* open, write, sync, close */
            break;
        }
        g_assert_error(error, LOAM_ERROR, LOAM_ERROR_MACHINE);
    }
}

static void reads_the_reference_library_s_file(void)
{
    static const char *const floating[] = { "f64", "f16", "bf16" };
    g_autoptr(GError) error = NULL;
    TensorFile *file = safetensors_open(GOLDEN "safetensors/dtypes.safetensors", &error);
    g_assert_no_error(error);
    g_assert_cmpint(tensor_file_count(file), ==, 12);
    float want[6], got[6];
    g_assert_true(file_tensor_read_f32(tensor_file_find(file, "f32"), 0, 6, want, NULL));
    g_assert_cmpfloat(want[2], ==, -2);
    g_assert_cmpfloat(want[5], ==, 100);
    for (size_t i = 0; i < G_N_ELEMENTS(floating); i++) {
        g_assert_true(file_tensor_read_f32(tensor_file_find(file, floating[i]), 0, 6, got, NULL));
        expect_bytes(got, sizeof got, want, sizeof want);
    }
    g_assert_cmpint(tensor_file_find(file, "scalar")->rank, ==, 0);
    g_assert_cmpuint(tensor_file_find(file, "empty")->bytes, ==, 0);
    g_assert_cmpstr(tensor_file_metadata(file, "second"), ==, "b\"c");
    tensor_file_close(file);
}

static void reads_hand_made_files(void)
{
    const char *golden = SHARED "golden/safetensors";
    g_autoptr(GDir) dir = g_dir_open(golden, 0, NULL);
    const char *name;
    while ((name = g_dir_read_name(dir))) {
        g_autofree char *path = g_build_filename(golden, name, NULL);
        g_autoptr(GError) error = NULL;
        TensorFile *file = safetensors_open(path, &error);
        g_assert_no_error(error);
        g_assert_cmpint(tensor_file_count(file), ==, strcmp(name, "overall.safetensors") == 0 ? 9 : 1);
        tensor_file_close(file);
    }
}

/* What f32 values become, read back, and as which bits. */
static void rounding_is_to_nearest_even(void)
{
    const float values[] = { 1.0f,       1.00390625f, 1.01171875f, -0.0f,   0x1.002p0f,
                             0x1.006p0f, 0x1p-24f,    0x1.8p-25f,  65503.9f };
    static const uint16_t bf16[] = { 0x3f80, 0x3f80, 0x3f82, 0x8000, 0x3f80, 0x3f80, 0x3380, 0x3340, 0x4780 };
    static const uint16_t f16[] = { 0x3c00, 0x3c04, 0x3c0c, 0x8000, 0x3c00, 0x3c02, 0x0001, 0x0001, 0x7bff };
    static const uint16_t *const wanted[] = { bf16, f16 };
    const int64_t n = G_N_ELEMENTS(values);
    for (int half = 0; half < 2; half++) {
        g_autoptr(GError) error = NULL;
        g_autofree char *path = g_build_filename(folder, "half.safetensors", NULL);
        SafeWriter *writer = safetensors_writer_new();
        safetensors_writer_store_as(writer, half ? "F16" : "BF16");
        safetensors_writer_add(writer, "w", "F32", 1, &n, values);
        g_assert_true(safetensors_writer_write(writer, path, &error));
        safetensors_writer_free(writer);
        TensorFile *file = safetensors_open(path, &error);
        g_assert_no_error(error);
        const FileTensor *w = tensor_file_find(file, "w");
        g_assert_cmpstr(w->dtype, ==, half ? "F16" : "BF16");
        for (int64_t i = 0; i < n; i++) {
            uint16_t bits;
            memcpy(&bits, (const char *)w->data + 2 * i, 2);
            g_assert_cmphex(bits, ==, wanted[half][i]);
        }
        tensor_file_close(file);
    }
}

/* Every half there is, widened and rounded again. */
static void every_half_survives(void)
{
    static const char *const names[] = { "BF16", "F16" };
    for (size_t t = 0; t < G_N_ELEMENTS(names); t++) {
        const FileDType *dtype = file_dtype(names[t]);
        for (uint32_t bits = 0; bits < 1 << 16; bits++) {
            uint16_t half = (uint16_t)bits, again;
            float value;
            dtype->to_f32(&value, (const char *)&half, 1);
            dtype->from_f32(&again, &value, 1);
            g_assert_true(again == half || isnan(value));
            float back;
            dtype->to_f32(&back, (const char *)&again, 1);
            g_assert_true(!isnan(value) || isnan(back));
        }
    }
}

static void what_a_half_cannot_hold_is_named(void)
{
    static const struct {
        const char *dtype, *message;
        float fits, big;
    } cases[] = {
        { "F16", "tensor big holds -65520, beyond f16's 65504: store it as bf16 or f32", 65519, -65520 },
        { "F16", "tensor big holds 3.4e+38, beyond f16's 65504: store it as f32", 1, 3.4e38F },
        { "BF16", "tensor big holds -3.4e+38, beyond bf16's 3.3895e38: store it as f32", 3.39e38F, -3.4e38F },
    };
    g_autofree char *path = g_build_filename(folder, "large.safetensors", NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        for (int64_t n = 1; n <= 2; n++) {
            g_autoptr(GError) error = NULL;
            const float values[] = { cases[i].fits, cases[i].big };
            SafeWriter *writer = safetensors_writer_new();
            safetensors_writer_store_as(writer, cases[i].dtype);
            safetensors_writer_add(writer, "big", "F32", 1, &n, values);
            g_assert_cmpint(safetensors_writer_write(writer, path, &error), ==, n == 1);
            g_assert_cmpstr(error ? error->message : "", ==, n == 1 ? "" : cases[i].message);
            safetensors_writer_free(writer);
        }
    }
}

static void shards_hold_what_fits_and_are_read_as_one(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *out = g_build_filename(folder, "sharded", NULL);
    const float values[] = { 1, 2, 3, 4, 5, 6 };
    static const char *const names[] = { "a", "b", "c" };
    g_assert_true(io_make_directories(out, NULL));
    SafeWriter *writer = safetensors_writer_new();
    for (int i = 0; i < 3; i++)
        safetensors_writer_add(writer, names[i], "F32", 1, &(int64_t){ i == 1 ? 4 : 1 }, values + i);
    g_assert_true(safetensors_writer_write_folder(writer, out, 8, &error)); /* b has 16 bytes: a file of its own */
    safetensors_writer_free(writer);
    g_autofree char *index = g_build_filename(out, "model.safetensors.index.json", NULL), *text = NULL;
    g_assert_true(g_file_get_contents(index, &text, NULL, NULL));
    g_assert_cmpstr(text, ==,
                    "{\n  \"metadata\": {\n    \"total_size\": 24\n  },\n  \"weight_map\": {\n"
                    "    \"a\": \"model-00001-of-00003.safetensors\",\n"
                    "    \"b\": \"model-00002-of-00003.safetensors\",\n"
                    "    \"c\": \"model-00003-of-00003.safetensors\"\n  }\n}\n");
    TensorFile *file = weights_open(out, &error);
    g_assert_no_error(error);
    g_assert_cmpint(tensor_file_count(file), ==, 3);
    float got[4];
    g_assert_true(file_tensor_read_f32(tensor_file_find(file, "b"), 0, 4, got, &error));
    g_assert_cmpfloat(got[3], ==, 5);
    tensor_file_close(file);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = g_dir_make_tmp("loam-safetensors-XXXXXX", NULL);
    g_test_add_func("/safetensors/refuses_every_malformed_header", refuses_every_malformed_header);
    g_test_add_func("/safetensors/refuses_a_bad_length", refuses_a_bad_length);
    g_test_add_func("/safetensors/accepts_scalars_empty_tensors_and_trailing_spaces",
                    accepts_scalars_empty_tensors_and_trailing_spaces);
    g_test_add_func("/safetensors/same_tensors_give_the_same_bytes", same_tensors_give_the_same_bytes);
    g_test_add_func("/safetensors/what_is_written_is_read_back", what_is_written_is_read_back);
    g_test_add_func("/safetensors/halves_widen_exactly", halves_widen_exactly);
    g_test_add_func("/safetensors/reads_a_sharded_folder", reads_a_sharded_folder);
    g_test_add_func("/safetensors/refuses_a_broken_index", refuses_a_broken_index);
    g_test_add_func("/safetensors/every_failing_call_is_told", every_failing_call_is_told);
    g_test_add_func("/safetensors/reads_the_reference_library_s_file", reads_the_reference_library_s_file);
    add_where_present(SHARED "golden/safetensors/overall.safetensors", "/safetensors/reads_hand_made_files",
                      reads_hand_made_files);
    g_test_add_func("/safetensors/rounding_is_to_nearest_even", rounding_is_to_nearest_even);
    g_test_add_func("/safetensors/every_half_survives", every_half_survives);
    g_test_add_func("/safetensors/what_a_half_cannot_hold_is_named", what_a_half_cannot_hold_is_named);
    g_test_add_func("/safetensors/shards_hold_what_fits_and_are_read_as_one",
                    shards_hold_what_fits_and_are_read_as_one);
    int status = g_test_run();
    io_remove_tree(folder, NULL);
    g_free(folder);
    return status;
}
