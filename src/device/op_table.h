/* op_table.h: what a backend is: one function per operation of ops.h, with the same arguments, already checked. Every
 * entry is filled: a missing operation is found when the device is opened, never in the middle of a run. */
#pragma once

#include "device/device.h"

struct OpTable {
    void (*close)(Device *dev); /* frees dev->impl; device_close frees dev itself */

    void (*gemm)(Device *dev, Tensor y, Tensor a, Tensor b, bool ta, bool tb, float alpha, float beta);
    void (*embedding_fwd)(Device *dev, Tensor y, Tensor table, Tensor ids);
    void (*embedding_bwd)(Device *dev, Tensor dtable, Tensor dy, Tensor ids, float beta);
    void (*rmsnorm_fwd)(Device *dev, Tensor y, Tensor rstd, Tensor x, Tensor w, float eps);
    void (*rmsnorm_bwd)(Device *dev, Tensor dx, Tensor dw, Tensor dy, Tensor x, Tensor w, Tensor rstd, Tensor residual,
                        float beta);
    void (*layernorm_fwd)(Device *dev, Tensor y, Tensor mean, Tensor rstd, Tensor x, Tensor w, Tensor b, float eps);
    void (*layernorm_bwd)(Device *dev, Tensor dx, Tensor dw, Tensor db, Tensor dy, Tensor x, Tensor w, Tensor mean,
                          Tensor rstd, Tensor residual, float beta);
    void (*bias_add)(Device *dev, Tensor y, Tensor x, Tensor b);
    void (*bias_bwd)(Device *dev, Tensor db, Tensor dy, float beta);
    void (*scale)(Device *dev, Tensor y, Tensor x, float factor);
    void (*dropout_fwd)(Device *dev, Tensor y, Tensor x, Tensor residual, const Dropout *drop);
    void (*dropout_bwd)(Device *dev, Tensor dx, Tensor dy, const Dropout *drop);
    void (*act_fwd)(Device *dev, Tensor a, Tensor h, Tensor gate, Activation act, const Dropout *drop);
    void (*act_bwd)(Device *dev, Tensor dh, Tensor dgate, Tensor da, Tensor h, Tensor gate, Activation act,
                    const Dropout *drop);
    void (*relpos_fwd)(Device *dev, Tensor bias, Tensor table, const RelposSpec *spec);
    void (*relpos_bwd)(Device *dev, Tensor dtable, Tensor dbias, const RelposSpec *spec, float beta);
    void (*alibi)(Device *dev, Tensor bias, int32_t first);
    void (*sinusoid_table)(Device *dev, Tensor table, int32_t first);
    void (*rotary_table)(Device *dev, Tensor table, double base);
    void (*rotary)(Device *dev, Tensor x, Tensor table, Tensor place, int32_t head_dim, bool inverse);
    void (*attn_fwd)(Device *dev, Tensor o, Tensor lse, Tensor q, Tensor k, Tensor v, Tensor bias, const AttnSpec *spec,
                     const Dropout *drop);
    void (*attn_bwd)(Device *dev, Tensor dq, Tensor dk, Tensor dv, Tensor dbias, float beta_bias, Tensor dout, Tensor o,
                     Tensor lse, Tensor q, Tensor k, Tensor v, Tensor bias, const AttnSpec *spec, const Dropout *drop);
    void (*xent)(Device *dev, Tensor logits, Tensor stats, Tensor targets, Tensor weights, const XentSpec *spec);
    void (*sum_rows)(Device *dev, Tensor out, Tensor x, float beta);
    void (*sumsq)(Device *dev, Tensor out, Tensor x, float beta);
    void (*fill)(Device *dev, Tensor x, double value);
    void (*copy)(Device *dev, Tensor y, Tensor x);
    void (*argmax)(Device *dev, Tensor ids, Tensor logits);
    void (*adamw)(Device *dev, Tensor w, Tensor m, Tensor v, Tensor g, const AdamwSpec *spec,
                  const StepScalars *scalars);
    void (*adafactor)(Device *dev, Tensor w, Tensor row, Tensor col, Tensor v, Tensor m, Tensor g, Tensor u,
                      const AdafactorSpec *spec, const StepScalars *scalars);
};

/* A new device of `ops`, every entry of which must be filled. */
Device *device_new(const char *name, const OpTable *ops, DType real, bool computes, int threads, const char *isa,
                   void *impl);
