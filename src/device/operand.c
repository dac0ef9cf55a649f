#include "device/operand.h"

#include "base/check.h"

#include <string.h>

/* The number that a letter stands for; rank 0 means that no operand has defined it yet. */
typedef struct Meaning {
    int rank; /* 2 if ANY is a matrix */
    int64_t d[2];
} Meaning;

static void check_letter(const char *op, const Operand *x, int i, int64_t found, Meaning *letters)
{
    int64_t wanted = x->d[i];
    if (wanted < 0) {
        Meaning *letter = &letters[-wanted];
        if (letter->rank == 0)
            *letter = (Meaning){ .rank = 1, .d = { found } };
        wanted = letter->d[0];
    }
    CHECK(found == wanted, "%s: %s is (%lld, %lld), with %lld %s, not %lld", op, x->name, (long long)tensor_rows(x->t),
          (long long)tensor_cols(x->t), (long long)found, i == x->rank - 1 ? "columns" : "rows", (long long)wanted);
}

static void check_operand_shape(const char *op, const Operand *x, Meaning *letters)
{
    Tensor t = x->t;
    if (x->d[0] == ANY) {
        Meaning *any = &letters[-ANY];
        if (any->rank == 0)
            *any = (Meaning){ .rank = t.rank, .d = { tensor_rows(t), tensor_cols(t) } };
        CHECK(t.rank == any->rank && tensor_rows(t) == any->d[0] && tensor_cols(t) == any->d[1],
              "%s: %s is (%lld, %lld), not (%lld, %lld)", op, x->name, (long long)tensor_rows(t),
              (long long)tensor_cols(t), (long long)any->d[0], (long long)any->d[1]);
        return;
    }
    CHECK(t.rank == x->rank, "%s: %s has rank %d, not %d", op, x->name, t.rank, x->rank);
    for (int i = 0; i < x->rank; i++)
        check_letter(op, x, i, t.d[i], letters);
}

static const char *dtypes_of(unsigned set)
{
    for (DType dtype = 0; dtype < DT_COUNT; dtype++)
        if (set == 1u << dtype)
            return dtype_name(dtype);
    return "one of the dtypes of its role";
}

/* A role's dtypes are the device's; two operands of the same single role have the same dtype. */
static void check_dtype(const Device *dev, const char *op, const Operand *x, const Operand *operands, int n)
{
    unsigned allowed = 0;
    for (int role = 0; role < ROLE_COUNT; role++)
        if (x->roles & 1u << role)
            allowed |= dev->dtypes[role];
    CHECK(x->roles == EVERY_ROLE || allowed & 1u << x->t.dtype, "%s on %s: %s is %s, not %s", op, dev->name, x->name,
          dtype_name(x->t.dtype), dtypes_of(allowed));
    bool single = (x->roles & (x->roles - 1)) == 0;
    for (int i = 0; single && i < n; i++)
        CHECK(operands[i].roles != x->roles || !tensor_present(operands[i].t) || operands[i].t.dtype == x->t.dtype,
              "%s: %s is %s, %s is %s", op, x->name, dtype_name(x->t.dtype), operands[i].name,
              dtype_name(operands[i].t.dtype));
}

static size_t extent(Tensor t)
{
    int64_t rows = tensor_rows(t), cols = tensor_cols(t);
    return rows == 0 || cols == 0 ? 0 : (size_t)((rows - 1) * t.ld + cols) * dtype_bytes(t.dtype);
}

/* Two views of different columns of one matrix do not overlap, although their ranges of addresses do. */
static bool overlap(Tensor a, Tensor b)
{
    uintptr_t p = (uintptr_t)a.p, q = (uintptr_t)b.p;
    if (p >= q + extent(b) || q >= p + extent(a))
        return false;
    if (a.rank != 2 || b.rank != 2 || a.ld != b.ld || a.dtype != b.dtype)
        return true;
    int64_t distance = ((int64_t)q - (int64_t)p) / (int64_t)dtype_bytes(a.dtype) % a.ld;
    int64_t column = distance < 0 ? distance + a.ld : distance; /* of b's first, counted from a's */
    return column < a.d[1] || column + b.d[1] > a.ld;
}

static bool names(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = list; at && (at = strstr(at, name)); at += n)
        if ((at == list || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
            return true;
    return false;
}

static void check_memory(const char *op, const Operand *x, const Operand *operands, int n)
{
    for (int i = 0; x->access != ACCESS_IN && i < n; i++) {
        const Operand *other = &operands[i];
        if (other == x || !tensor_present(other->t) || !overlap(x->t, other->t))
            continue;
        CHECK((names(x->over, other->name) || names(other->over, x->name)) && x->t.p == other->t.p &&
                  x->t.ld == other->t.ld && x->t.dtype == other->t.dtype,
              "%s: %s shares memory with %s", op, x->name, other->name);
    }
}

void operands_check(const Device *dev, const char *op, const Operand *operands, int n)
{
    Meaning letters[LETTERS] = { 0 };
    for (int i = 0; i < n; i++) {
        const Operand *x = &operands[i];
        if (x->optional && !tensor_present(x->t))
            continue;
        check_operand_shape(op, x, letters);
        check_dtype(dev, op, x, operands, n);
        CHECK(x->t.ld >= tensor_cols(x->t), "%s: %s has %lld columns but rows %lld apart", op, x->name,
              (long long)tensor_cols(x->t), (long long)x->t.ld);
        CHECK(x->t.p != NULL || tensor_count(x->t) == 0, "%s: %s has no memory", op, x->name);
        if (dev->computes)
            check_memory(op, x, operands, n);
    }
}

double operands_bytes(const Operand *operands, int n)
{
    double bytes = 0;
    for (int i = 0; i < n; i++) {
        const Operand *x = &operands[i];
        double once = x->share * (double)tensor_count(x->t) * (double)dtype_bytes(x->t.dtype);
        bytes += x->access == ACCESS_UPDATED ? 2 * once : once;
    }
    return bytes;
}
