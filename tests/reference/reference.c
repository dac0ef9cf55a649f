#include "reference/reference.h"

#include "device/cast.h"
#include "device/op_table.h"

#include <math.h>

static double mask_value(const Dropout *drop, uint16_t bits)
{
    return bits >= philox_threshold(drop->rate) ? (double)philox_kept(drop->rate) : 0;
}

double reference_hidden_mask(const Dropout *drop, int64_t row, int64_t channel)
{
    if (drop->rate == 0)
        return 1;
    channel += drop->first_channel;
    uint32_t position = (uint32_t)drop->position[row];
    PhiloxWords words = philox_hidden(drop->key, drop->sample[row], position, (uint32_t)(channel / PHILOX_ELEMENTS));
    return mask_value(drop, philox_element(words, channel));
}

double reference_attention_mask(const Dropout *drop, int64_t row, int head, int64_t key)
{
    if (drop->rate == 0)
        return 1;
    uint32_t position = (uint32_t)drop->position[row];
    PhiloxWords words =
        philox_attention(drop->key, drop->sample[row], (uint32_t)head, position, (uint32_t)(key / PHILOX_ELEMENTS));
    return mask_value(drop, philox_element(words, key));
}

/* beta · t, where beta 0 does not read t. */
static void multiply(Tensor t, float beta)
{
    for (int64_t i = 0; i < tensor_rows(t); i++)
        for (int64_t j = 0; j < tensor_cols(t); j++)
            *at(t, i, j) = beta == 0 ? 0 : (double)beta * *at(t, i, j);
}

void reference_gemm(Device *dev, Tensor y, Tensor a, Tensor b, bool ta, bool tb, float alpha, float beta)
{
    (void)dev;
    int64_t depth = ta ? tensor_rows(a) : tensor_cols(a);
    multiply(y, beta);
    for (int64_t i = 0; i < tensor_rows(y); i++) {
        for (int64_t j = 0; j < tensor_cols(y); j++) {
            double sum = 0;
            for (int64_t k = 0; k < depth; k++)
                sum += (ta ? *at(a, k, i) : *at(a, i, k)) * (tb ? *at(b, j, k) : *at(b, k, j));
            *at(y, i, j) += (double)alpha * sum;
        }
    }
}

void reference_linear(Device *dev, Tensor y, Tensor x, Tensor w, Tensor b, float scale)
{
    reference_gemm(dev, y, x, w, false, true, scale, 0);
    if (tensor_present(b))
        reference_bias_add(dev, y, y, b);
}

void reference_gather(Device *dev, Tensor y, Tensor table, Tensor ids)
{
    (void)dev;
    for (int64_t i = 0; i < tensor_rows(y); i++)
        for (int64_t c = 0; c < tensor_cols(y); c++)
            *at(y, i, c) = *at(table, ((const int32_t *)ids.p)[i], c);
}

void reference_scatter_add(Device *dev, Tensor dtable, Tensor dy, Tensor ids, float beta)
{
    (void)dev;
    multiply(dtable, beta);
    for (int64_t i = 0; i < tensor_rows(dy); i++)
        for (int64_t c = 0; c < tensor_cols(dy); c++)
            *at(dtable, ((const int32_t *)ids.p)[i], c) += *at(dy, i, c);
}

void reference_scatter(Device *dev, Tensor y, Tensor x, Tensor rows)
{
    (void)dev;
    for (int64_t i = 0; i < tensor_rows(x); i++)
        for (int64_t c = 0; c < tensor_cols(x); c++)
            *at(y, ((const int32_t *)rows.p)[i], c) = *at(x, i, c);
}

void reference_total_add(Device *dev, Tensor out, Tensor x)
{
    (void)dev;
    for (int64_t c = 0; c < tensor_cols(x); c++)
        *at(out, 0, c) += *at(x, 0, c);
}

/* Computes the optional output of a norm's backward from its dx, rounded as it lies in memory. */
static void drop_rounded(Device *dev, Tensor dropped, Tensor dx, const Dropout *drop)
{
    if (!tensor_present(dropped))
        return;
    reference_round(dx);
    reference_dropout_bwd(dev, dropped, dx, drop);
}

void reference_norm_fwd(Device *dev, Tensor y, Tensor mean, Tensor rstd, Tensor x, Tensor w, Tensor b, float eps)
{
    (void)dev;
    int64_t width = tensor_cols(x);
    for (int64_t i = 0; i < tensor_rows(x); i++) {
        double m = 0, variance = 0;
        for (int64_t c = 0; tensor_present(mean) && c < width; c++)
            m += *at(x, i, c) / (double)width;
        for (int64_t c = 0; c < width; c++)
            variance += (*at(x, i, c) - m) * (*at(x, i, c) - m) / (double)width;
        double r = 1 / sqrt(variance + (double)eps);
        if (tensor_present(mean))
            *at(mean, 0, i) = m;
        *at(rstd, 0, i) = r;
        for (int64_t c = 0; c < width; c++)
            *at(y, i, c) = (*at(x, i, c) - m) * r * *at(w, 0, c) + (tensor_present(b) ? *at(b, 0, c) : 0);
    }
}

/* With n = (x − mean) r and g = w dy: dx = r (g − mean(g) − n mean(g n)); dw = Σ over rows of dy n, db of dy.
 * RMSNorm, without a mean, has no term mean(g). */
void reference_norm_bwd(Device *dev, Tensor dx, Tensor dropped, Tensor dw, Tensor db, Tensor dy, Tensor x, Tensor w,
                        Tensor mean, Tensor rstd, Tensor residual, float beta, const Dropout *drop)
{
    int64_t width = tensor_cols(x);
    multiply(dw, beta);
    if (tensor_present(db))
        multiply(db, beta);
    for (int64_t i = 0; i < tensor_rows(x); i++) {
        const bool layer = tensor_present(mean);
        double m = layer ? *at(mean, 0, i) : 0, r = *at(rstd, 0, i), mean_g = 0, mean_gn = 0;
        for (int64_t c = 0; c < width; c++) {
            double g = *at(w, 0, c) * *at(dy, i, c);
            mean_g += layer ? g / (double)width : 0;
            mean_gn += g * (*at(x, i, c) - m) * r / (double)width;
        }
        for (int64_t c = 0; c < width; c++) {
            double gradient = *at(dy, i, c), n = (*at(x, i, c) - m) * r;
            *at(dw, 0, c) += gradient * n;
            if (tensor_present(db))
                *at(db, 0, c) += gradient;
            *at(dx, i, c) = (tensor_present(residual) ? *at(residual, i, c) : 0) +
                            r * (*at(w, 0, c) * gradient - mean_g - n * mean_gn);
        }
    }
    drop_rounded(dev, dropped, dx, drop);
}

void reference_bias_add(Device *dev, Tensor y, Tensor x, Tensor b)
{
    (void)dev;
    for (int64_t i = 0; i < tensor_rows(x); i++)
        for (int64_t c = 0; c < tensor_cols(x); c++)
            *at(y, i, c) = *at(x, i, c) + *at(b, 0, c);
}

void reference_column_sums(Device *dev, Tensor db, Tensor dy, float beta)
{
    (void)dev;
    multiply(db, beta);
    for (int64_t i = 0; i < tensor_rows(dy); i++)
        for (int64_t c = 0; c < tensor_cols(dy); c++)
            *at(db, 0, c) += *at(dy, i, c);
}

void reference_scale(Device *dev, Tensor y, Tensor x, float factor)
{
    (void)dev;
    for (int64_t i = 0; i < tensor_rows(x); i++)
        for (int64_t c = 0; c < tensor_cols(x); c++)
            *at(y, i, c) = (double)factor * *at(x, i, c);
}

void reference_add(Device *dev, Tensor y, Tensor a, Tensor b)
{
    (void)dev;
    for (int64_t i = 0; i < tensor_rows(y); i++)
        for (int64_t c = 0; c < tensor_cols(y); c++)
            *at(y, i, c) = *at(a, i, c) + *at(b, i, c);
}

void reference_dropout_fwd(Device *dev, Tensor y, Tensor x, Tensor residual, const Dropout *drop)
{
    (void)dev;
    for (int64_t i = 0; i < tensor_rows(y); i++)
        for (int64_t c = 0; c < tensor_cols(y); c++)
            *at(y, i, c) =
                (tensor_present(residual) ? *at(residual, i, c) : 0) + reference_hidden_mask(drop, i, c) * *at(x, i, c);
}

void reference_dropout_bwd(Device *dev, Tensor dx, Tensor dy, const Dropout *drop)
{
    reference_dropout_fwd(dev, dx, dy, NO_TENSOR, drop);
}

void reference_sum_norm_fwd(Device *dev, Tensor y, Tensor mean, Tensor rstd, Tensor sum, Tensor x, Tensor residual,
                            Tensor w, Tensor b, float eps, const Dropout *drop)
{
    reference_dropout_fwd(dev, sum, x, residual, drop);
    reference_round(sum);
    reference_norm_fwd(dev, y, mean, rstd, sum, w, b, eps);
}

/* The activation and its slope; gelu_tanh is x/2 (1 + tanh(√(2/π) (x + 0.044715 x³))), gelu_erf x Φ(x), silu x σ(x),
 * relu2 max(x, 0)². */
static double activate(Activation act, double x, double *slope)
{
    if (act == ACT_RELU) {
        *slope = x > 0;
        return fmax(x, 0);
    }
    if (act == ACT_RELU2) {
        *slope = 2 * fmax(x, 0);
        return fmax(x, 0) * fmax(x, 0);
    }
    if (act == ACT_GELU_ERF) {
        double cdf = 0.5 * erfc(-x / sqrt(2));
        *slope = cdf + x * exp(-x * x / 2) / sqrt(2 * M_PI);
        return x * cdf;
    }
    if (act == ACT_SILU) {
        double sigmoid = 1 / (1 + exp(-x));
        *slope = sigmoid * (1 + x * (1 - sigmoid));
        return x * sigmoid;
    }
    if (act == ACT_TANH) {
        *slope = 1 - tanh(x) * tanh(x);
        return tanh(x);
    }
    double root = sqrt(2 / M_PI), t = tanh(root * (x + 0.044715 * x * x * x));
    *slope = 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * root * (1 + 3 * 0.044715 * x * x);
    return 0.5 * x * (1 + t);
}

void reference_act_fwd(Device *dev, Tensor a, Tensor h, Tensor gate, Activation act, const Dropout *drop)
{
    (void)dev;
    for (int64_t i = 0; i < tensor_rows(a); i++) {
        for (int64_t c = 0; c < tensor_cols(a); c++) {
            double slope, value = activate(act, *at(h, i, c), &slope);
            *at(a, i, c) = reference_hidden_mask(drop, i, c) * value * (tensor_present(gate) ? *at(gate, i, c) : 1);
        }
    }
}

void reference_act_bwd(Device *dev, Tensor dh, Tensor dgate, Tensor da, Tensor h, Tensor gate, Activation act,
                       const Dropout *drop)
{
    (void)dev;
    for (int64_t i = 0; i < tensor_rows(dh); i++) {
        for (int64_t c = 0; c < tensor_cols(dh); c++) {
            double slope, value = activate(act, *at(h, i, c), &slope);
            double gradient = reference_hidden_mask(drop, i, c) * *at(da, i, c);
            double open = tensor_present(gate) ? *at(gate, i, c) : 1;
            *at(dh, i, c) = gradient * slope * open;
            if (tensor_present(dgate))
                *at(dgate, i, c) = gradient * value;
        }
    }
}

void reference_relpos_fwd(Device *dev, Tensor bias, Tensor table, const RelposSpec *spec)
{
    (void)dev;
    for (int64_t h = 0; h < tensor_rows(bias); h++)
        for (int64_t t = 0; t < tensor_cols(bias); t++)
            *at(bias, h, t) = *at(table, relpos_bucket(spec->first + (int32_t)t, spec), h);
}

void reference_relpos_bwd(Device *dev, Tensor dtable, Tensor dbias, const RelposSpec *spec, float beta)
{
    (void)dev;
    multiply(dtable, beta);
    for (int64_t h = 0; h < tensor_rows(dbias); h++)
        for (int64_t t = 0; t < tensor_cols(dbias); t++)
            *at(dtable, relpos_bucket(spec->first + (int32_t)t, spec), h) += *at(dbias, h, t);
}

void reference_alibi(Device *dev, Tensor bias, int32_t first, int32_t first_head, int32_t heads)
{
    (void)dev;
    for (int64_t h = 0; h < tensor_rows(bias); h++)
        for (int64_t t = 0; t < tensor_cols(bias); t++)
            *at(bias, h, t) = -alibi_slope(first_head + (int32_t)h, heads) * fabs((double)(first + t));
}

void reference_sinusoid_table(Device *dev, Tensor table, int32_t first)
{
    (void)dev;
    int64_t half = tensor_cols(table) / 2;
    for (int64_t t = 0; t < tensor_rows(table); t++) {
        for (int64_t c = 0; c < half; c++) {
            double angle = (double)(first + t) * exp(-log(10000) * (double)c / (double)(half - 1));
            *at(table, t, c) = sin(angle);
            *at(table, t, half + c) = cos(angle);
        }
    }
}

void reference_rotary_table(Device *dev, Tensor table, double base)
{
    (void)dev;
    int64_t half = tensor_cols(table) / 2;
    for (int64_t t = 0; t < tensor_rows(table); t++) {
        for (int64_t c = 0; c < half; c++) {
            double angle = (double)t * pow(base, -(double)c / (double)half);
            *at(table, t, c) = cos(angle);
            *at(table, t, half + c) = sin(angle);
        }
    }
}

void reference_rotary(Device *dev, Tensor x, Tensor table, Tensor position_ids, int32_t head_dim, bool inverse)
{
    (void)dev;
    int64_t half = tensor_cols(table) / 2;
    for (int64_t i = 0; i < tensor_rows(x); i++) {
        int64_t row = ((const int32_t *)position_ids.p)[i];
        for (int64_t channel = 0; channel < tensor_cols(x); channel++) {
            int64_t c = channel % head_dim;
            if (c >= half)
                continue;
            double a = *at(x, i, channel), b = *at(x, i, channel + half);
            double cosine = *at(table, row, c), sine = (inverse ? -1 : 1) * *at(table, row, half + c);
            *at(x, i, channel) = a * cosine - b * sine;
            *at(x, i, channel + half) = b * cosine + a * sine;
        }
    }
}

static int64_t largest(Tensor logits, int64_t row)
{
    int64_t best = 0;
    for (int64_t v = 1; v < tensor_cols(logits); v++)
        if (*at(logits, row, v) > *at(logits, row, best))
            best = v;
    return best;
}

static double log_sum_exp(Tensor logits, int64_t row)
{
    double max = *at(logits, row, largest(logits, row)), sum = 0;
    for (int64_t v = 0; v < tensor_cols(logits); v++)
        sum += exp(*at(logits, row, v) - max);
    return max + log(sum);
}

/* q: 1 - s + s / V on the target, s / V elsewhere. loss = −Σ q log p + z log²Z; d loss/d logit = (1 + 2 z log Z) p − q.
 */
static void xent_row(Tensor logits, int64_t row, double *stats, int32_t target, double weight, const XentSpec *spec)
{
    int64_t vocabulary = tensor_cols(logits);
    double smoothing = (double)spec->label_smoothing, z = (double)spec->z_loss;
    double off = smoothing / (double)vocabulary, on = 1 - smoothing + off;
    double log_z = log_sum_exp(logits, row), cross = 0;
    for (int64_t v = 0; v < vocabulary; v++)
        cross -= (v == target ? on : off) * (*at(logits, row, v) - log_z);
    stats[XENT_LOSS] = weight * (cross + z * log_z * log_z);
    stats[XENT_NLL] = weight * (log_z - *at(logits, row, target));
    stats[XENT_CORRECT] = weight * (largest(logits, row) == target);
    stats[XENT_WEIGHT] = weight;
    if (!spec->grad)
        return;
    for (int64_t v = 0; v < vocabulary; v++) {
        double p = exp(*at(logits, row, v) - log_z), q = v == target ? on : off;
        *at(logits, row, v) = weight * (double)spec->scale * ((1 + 2 * z * log_z) * p - q);
    }
}

void reference_xent(Device *dev, Tensor logits, Tensor stats, Tensor targets, Tensor weights, const XentSpec *spec)
{
    (void)dev;
    for (int64_t i = 0; i < tensor_rows(logits); i++) {
        double weight = *at(weights, 0, i);
        if (weight != 0) {
            xent_row(logits, i, at(stats, i, 0), ((const int32_t *)targets.p)[i], weight, spec);
            continue;
        }
        for (int column = 0; column < XENT_STATS; column++)
            *at(stats, i, column) = 0;
        for (int64_t v = 0; spec->grad && v < tensor_cols(logits); v++)
            *at(logits, i, v) = 0;
    }
}

void reference_xent_part(Device *dev, Tensor parts, Tensor logits, Tensor targets)
{
    (void)dev;
    for (int64_t i = 0; i < tensor_rows(logits); i++) {
        int32_t target = ((const int32_t *)targets.p)[i];
        int64_t first = largest(logits, i);
        double max = *at(logits, i, first), plain = 0;
        for (int64_t v = 0; v < tensor_cols(logits); v++)
            plain += *at(logits, i, v);
        *at(parts, i, XENT_PART_MAX) = max;
        *at(parts, i, XENT_PART_EXP) = exp(log_sum_exp(logits, i) - max);
        *at(parts, i, XENT_PART_SUM) = plain;
        *at(parts, i, XENT_PART_TARGET) = target < 0 ? 0 : *at(logits, i, target);
        *at(parts, i, XENT_PART_FIRST) = first == target;
    }
}

/* The statistics of row i by its parts; returns log Z. */
static double join_row(Tensor parts, int64_t i, int64_t n, double *stats, double weight, int32_t classes,
                       const XentSpec *spec)
{
    double z = 0, plain = 0, at_target = 0, max = -INFINITY, smoothing = (double)spec->label_smoothing;
    bool correct = false;
    for (int64_t part = i; part < tensor_rows(parts); part += n) {
        z += *at(parts, part, XENT_PART_EXP) * exp(*at(parts, part, XENT_PART_MAX));
        plain += *at(parts, part, XENT_PART_SUM);
        at_target += *at(parts, part, XENT_PART_TARGET);
        if (*at(parts, part, XENT_PART_MAX) > max) {
            max = *at(parts, part, XENT_PART_MAX);
            correct = *at(parts, part, XENT_PART_FIRST) != 0;
        }
    }
    double log_z = log(z);
    stats[XENT_LOSS] = weight * (log_z - (1 - smoothing) * at_target - smoothing / (double)classes * plain +
                                 (double)spec->z_loss * log_z * log_z);
    stats[XENT_NLL] = weight * (log_z - at_target);
    stats[XENT_CORRECT] = weight * correct;
    stats[XENT_WEIGHT] = weight;
    return log_z;
}

void reference_xent_join(Device *dev, Tensor logits, Tensor stats, Tensor parts, Tensor targets, Tensor weights,
                         int32_t classes, const XentSpec *spec)
{
    (void)dev;
    double off = (double)spec->label_smoothing / (double)classes, on = 1 - (double)spec->label_smoothing + off;
    for (int64_t i = 0; i < tensor_rows(logits); i++) {
        double weight = *at(weights, 0, i);
        double log_z = join_row(parts, i, tensor_rows(logits), at(stats, i, 0), weight, classes, spec);
        for (int64_t v = 0; spec->grad && v < tensor_cols(logits); v++) {
            double q = v == ((const int32_t *)targets.p)[i] ? on : off, p = exp(*at(logits, i, v) - log_z);
            *at(logits, i, v) = weight * (double)spec->scale * ((1 + 2 * (double)spec->z_loss * log_z) * p - q);
        }
    }
}

/* Each time the largest of those that come after the one before it. */
void reference_top(Device *dev, Tensor values, Tensor ids, Tensor log_sum, Tensor x)
{
    (void)dev;
    for (int64_t i = 0; i < tensor_rows(x); i++) {
        int32_t *id = (int32_t *)ids.p + i * ids.ld;
        *at(log_sum, 0, i) = log_sum_exp(x, i);
        for (int64_t k = 0; k < tensor_cols(values); k++) {
            int64_t best = -1;
            for (int64_t v = 0; v < tensor_cols(x); v++) {
                double value = *at(x, i, v), last = k ? *at(values, i, k - 1) : INFINITY;
                bool after = value < last || (value == last && v > (k ? id[k - 1] : -1));
                if (after && (best < 0 || value > *at(x, i, best)))
                    best = v;
            }
            *at(values, i, k) = *at(x, i, best);
            id[k] = (int32_t)best;
        }
    }
}

void reference_sum_rows(Device *dev, Tensor out, Tensor x, float beta)
{
    (void)dev;
    multiply(out, beta);
    for (int64_t i = 0; i < tensor_rows(x); i++)
        for (int64_t c = 0; c < tensor_cols(x); c++)
            *at(out, 0, c) += *at(x, i, c);
}

void reference_sumsq(Device *dev, Tensor out, Tensor x, float beta)
{
    (void)dev;
    multiply(out, beta);
    for (int64_t i = 0; i < tensor_rows(x); i++)
        for (int64_t c = 0; c < tensor_cols(x); c++)
            *at(out, 0, 0) += *at(x, i, c) * *at(x, i, c);
}

static void *row_at(Tensor t, int64_t i)
{
    return (char *)t.p + (size_t)(i * t.ld) * dtype_bytes(t.dtype);
}

void reference_fill(Device *dev, Tensor x, double value)
{
    (void)dev;
    for (int64_t i = 0; i < tensor_rows(x); i++)
        for (int64_t j = 0; j < tensor_cols(x); j++)
            cast_store((char *)row_at(x, i) + (size_t)j * dtype_bytes(x.dtype), x.dtype, &value, 1);
}

void reference_copy(Device *dev, Tensor y, Tensor x)
{
    (void)dev;
    for (int64_t i = 0; i < tensor_rows(x); i++)
        cast_numbers(row_at(y, i), y.dtype, row_at(x, i), x.dtype, tensor_cols(x));
}

static void close_nothing(Device *dev)
{
    (void)dev;
}

static const OpTable reference_ops = {
    MEMORY_OF_HOST,
    .group = host_group,
#define KERNEL(name) .name = reference_##name,
    OPERATIONS(KERNEL)
#undef KERNEL
        .close = close_nothing,
};

Device *device_open_reference(void)
{
    return device_new("reference", &reference_ops, precision_uniform(DT_F64), true, 1, "f64", NULL);
}
