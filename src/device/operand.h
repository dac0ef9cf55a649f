/* operand.h: declares and checks the tensors of an operation in op_list.inc; for ops.c and the null device.
 *
 * A dimension is a number or a letter. A letter stands for the same number in all operands of one operation; the first
 * operand with the letter defines it. ANY stands for a whole shape, of a vector or a matrix: all operands with ANY have
 * the same shape. */
#pragma once

#include "device/device.h"

typedef enum Access {
    ACCESS_IN,      /* read */
    ACCESS_OUT,     /* written; its old content is read only if the operation has a beta that is not 0 */
    ACCESS_UPDATED, /* read and written */
} Access;

/* One tensor of an operation. */
typedef struct Operand {
    const char *name;
    Tensor t;
    unsigned roles; /* set of Role: the device must allow the tensor's dtype for one of them */
    Access access;
    bool optional;    /* may be NO_TENSOR */
    const char *over; /* names of the operands that it may share memory with, "dy residual"; NULL means none */
    double share;     /* fraction of the tensor that is read or written: 1, or less if only some rows are looked up */
    int rank;         /* number of dimensions */
    int64_t d[2];     /* its dimensions: a number, or a letter of the enum below */
} Operand;

/* Sets of roles, as op_list.inc names them. */
enum {
    COMPUTE = 1 << ROLE_COMPUTE,
    ACCUMULATE = 1 << ROLE_ACCUMULATE,
    STATISTIC = 1 << ROLE_STATISTIC,
    MASTER = 1 << ROLE_MASTER,
    STATE = 1 << ROLE_STATE,
    INDEX = 1 << ROLE_INDEX,
    TOTAL = 1 << ROLE_TOTAL,
    FP8 = 1 << ROLE_E4M3 | 1 << ROLE_E5M2,
    ACTIVATION = COMPUTE | ACCUMULATE,
    OUTPUT = ACTIVATION | STATISTIC, /* outputs of heads, which may be f32 beside activations of other dtypes */
    FLOATING = COMPUTE | ACCUMULATE | STATISTIC | MASTER | STATE,
    EVERY_ROLE = (1 << ROLE_COUNT) - 1 /* any dtype */
};

/* The letters that stand for dimensions in op_list.inc. */
enum { N = -1, M = -2, K = -3, C = -4, V = -5, H = -6, T = -7, R = -8, ANY = -9, LETTERS = 10 };

#define OPERAND_RANK(...) (int)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t))
#define OPERAND(access, optional, over, share, t, roles, ...)                                                          \
    {                                                                                                                  \
#t, t, roles, access, optional, over, share, OPERAND_RANK(__VA_ARGS__),                                        \
        {                                                                                                              \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }

#define IN(t, roles, ...)                   OPERAND(ACCESS_IN, false, NULL, 1, t, roles, __VA_ARGS__)
#define OUT(t, roles, ...)                  OPERAND(ACCESS_OUT, false, NULL, 1, t, roles, __VA_ARGS__)
#define OVER(names, t, roles, ...)          OPERAND(ACCESS_OUT, false, names, 1, t, roles, __VA_ARGS__)
#define UPDATED(t, roles, ...)              OPERAND(ACCESS_UPDATED, false, NULL, 1, t, roles, __VA_ARGS__)
#define OPTIONAL(t, roles, ...)             OPERAND(ACCESS_IN, true, NULL, 1, t, roles, __VA_ARGS__)
#define OPTIONAL_OUT(t, roles, ...)         OPERAND(ACCESS_OUT, true, NULL, 1, t, roles, __VA_ARGS__)
#define OPTIONAL_OVER(names, t, roles, ...) OPERAND(ACCESS_OUT, true, names, 1, t, roles, __VA_ARGS__)
#define OPTIONAL_UPDATED(t, roles, ...)     OPERAND(ACCESS_UPDATED, true, NULL, 1, t, roles, __VA_ARGS__)
/* An operand that is updated if `condition` holds, and otherwise only read. */
#define UPDATED_IF(condition, t, roles, ...)                                                                           \
    OPERAND((condition) ? ACCESS_UPDATED : ACCESS_IN, false, NULL, 1, t, roles, __VA_ARGS__)
/* An output of which only n rows are written, one per index. */
#define SOME_ROWS(t, roles, n, ...)                                                                                    \
    OPERAND(ACCESS_OUT, false, NULL, (double)(n) / (double)((t).d[0] ? (t).d[0] : 1), t, roles, __VA_ARGS__)
/* An input of which only `rows` rows are read, one per index. */
#define LOOKED_UP(t, roles, rows, ...)                                                                                 \
    OPERAND(ACCESS_IN, false, NULL, (double)(rows) / (double)((t).d[0] ? (t).d[0] : 1), t, roles, __VA_ARGS__)
/* The list of operands of an entry of op_list.inc, and its length. */
#define OPERANDS(...)   ((const Operand[]){ __VA_ARGS__ })
#define N_OPERANDS(...) (int)(sizeof OPERANDS(__VA_ARGS__) / sizeof(Operand))

/* CHECKs that each operand has memory (if it has elements), the right rank and shape and a dtype that the device allows
 * for its roles, and that operands of the same single role have the same dtype. An optional operand may be NO_TENSOR.
 * On a device that computes it also CHECKs that an output overlaps another operand only if the `over` of one of the two
 * names the other, and both are then the same memory in the same layout. */
void operands_check(const Device *dev, const char *op, const Operand *operands, int n);
/* Number of bytes that the operation reads and writes: each operand once, an updated operand twice. */
double operands_bytes(const Operand *operands, int n);
