/* mixed.c: the reference backend for tensors of any floating dtype: each operation works on f64 copies of its operands,
 * whose numbers are rounded to their dtypes when they are written back. */
#include "arguments.h"
#include "base/check.h"
#include "device/op_table.h"
#include "reference/reference.h"

#include <stdlib.h>

enum { MOST_OPERANDS = 16 };

/* What a call works on in place of its operands. */
typedef struct Call {
    Tensor own[MOST_OPERANDS], wide[MOST_OPERANDS];
    int n;
    AttnSpec attn;
    AttnDistance distance;
} Call;

static bool is_narrow(Tensor t)
{
    return t.dtype == DT_F32 || t.dtype == DT_BF16 || t.dtype == DT_F16 || t.dtype == DT_E4M3 || t.dtype == DT_E5M2;
}

/* Operands in one place, as an update in place has, share their copy. */
static void widen_tensor(Call *call, void *argument)
{
    Tensor *t = argument;
    if (!tensor_present(*t) || !is_narrow(*t))
        return;
    for (int i = 0; i < call->n; i++)
        if (call->own[i].p == t->p && tensor_same_shape(call->own[i], *t)) {
            *t = call->wide[i];
            return;
        }
    CHECK(call->n < MOST_OPERANDS, "more than %d operands", MOST_OPERANDS);
    int64_t rows = tensor_rows(*t), cols = tensor_cols(*t);
    Tensor wide = *t;
    wide.dtype = DT_F64;
    wide.ld = cols;
    wide.p = malloc((size_t)(rows * cols + 1) * sizeof(double));
    CHECK(wide.p != NULL, "no memory for a copy");
    reference_copy(NULL, wide, *t);
    call->own[call->n] = *t;
    call->wide[call->n++] = wide;
    *t = wide;
}

static void widen_attn(Call *call, void *argument)
{
    const AttnSpec **spec = argument;
    if ((*spec)->distance == NULL)
        return;
    call->attn = **spec;
    call->distance = *(*spec)->distance;
    widen_tensor(call, &call->distance.table);
    widen_tensor(call, &call->distance.dtable);
    call->attn.distance = &call->distance;
    *spec = &call->attn;
}

static void keep(Call *call, void *argument)
{
    (void)call;
    (void)argument;
}

static void write_back(Call *call)
{
    for (int i = 0; i < call->n; i++) {
        reference_copy(NULL, call->own[i], call->wide[i]);
        free(call->wide[i].p);
    }
}

/* The call that the thread makes. */
static _Thread_local Call *current;

void reference_round(Tensor wide)
{
    for (int i = 0; current && i < current->n; i++)
        if (current->wide[i].p == wide.p) {
            reference_copy(NULL, current->own[i], wide);
            reference_copy(NULL, wide, current->own[i]);
        }
}

#define WIDEN(x)                                                                                                       \
    _Generic((x), Tensor : widen_tensor, const AttnSpec * : widen_attn, default : keep)(&call, (void *)&(x));
#define OP(name, parameters, arguments, operands, rules, flops)                                                        \
    static void mixed_##name parameters                                                                                \
    {                                                                                                                  \
        Call call = { 0 };                                                                                             \
        EACH_OF(WIDEN, AFTER_DEVICE arguments)                                                                         \
        current = &call;                                                                                               \
        reference_##name arguments;                                                                                    \
        current = NULL;                                                                                                \
        write_back(&call);                                                                                             \
    }
#include "device/op_list.inc"
#undef OP

static void close_nothing(Device *dev)
{
    (void)dev;
}

static const OpTable mixed_ops = {
    MEMORY_OF_HOST,
    .group = host_group,
#define KERNEL(name) .name = mixed_##name,
    OPERATIONS(KERNEL)
#undef KERNEL
        .close = close_nothing,
};

Device *device_open_mixed(Precision precision)
{
    return device_new("mixed", &mixed_ops, precision, true, 1, "f64", NULL);
}
