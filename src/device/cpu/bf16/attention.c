/* attention.c: packs the operands of one attention head into panels (bf16/panel.h). */
#include "device/cpu/bf16/attention.h"

#include <string.h>

KeyPanels bf16_key_panels(const AttnSpec *spec, int64_t panels)
{
    int64_t unit = spec->layout ? spec->layout->size : PANEL, each = steps_of(unit);
    int64_t units = max_i64((panels + each - 1) / each, 1);
    return (KeyPanels){ unit, each, units * unit, units * each };
}

/* The number of keys packed as one sequence of panels: all or, if panels may not cross units of keys, one unit. */
static int64_t packed_together(KeyPanels kp, int64_t keys)
{
    return kp.unit % PANEL == 0 ? keys : kp.unit;
}

void bf16_pack_rows(uint16_t *to, Tensor t, KeyPanels kp)
{
    int64_t keys = t.d[0], size = t.d[1], together = packed_together(kp, keys), panel = steps_of(size) * PANEL_STEP;
    for (int64_t key = 0; key < keys; key += together) {
        int64_t n = min_i64(together, keys - key);
        Source rows = { (const uint16_t *)t.p + key * t.ld, t.ld, n, size, false, false };
        bf16_pack(to + panel_of_key(kp, key) * panel, rows, 0, steps_of(n), RIGHT);
    }
}

void bf16_pack_columns(uint16_t *to, Tensor t, KeyPanels kp)
{
    int64_t keys = t.d[0], size = t.d[1], together = packed_together(kp, keys);
    int64_t panel = panels_of_keys(kp, keys) * PANEL_STEP, cols = steps_of(size);
    for (int64_t key = 0; key < keys; key += together) {
        Source columns = { (const uint16_t *)t.p + key * t.ld, t.ld, size, min_i64(together, keys - key), true, false };
        uint16_t *first = to + panel_of_key(kp, key) * PANEL_STEP;
        if (steps_of(columns.depth) * PANEL_STEP == panel)
            bf16_pack(first, columns, 0, cols, RIGHT);
        else
            for (int64_t c = 0; c < cols; c++)
                bf16_pack(first + c * panel, columns, c * PANEL, 1, RIGHT);
    }
}

Left bf16_left_rows(uint16_t *buffer, Tensor t, int64_t row, int64_t n)
{
    const uint16_t *first = (const uint16_t *)t.p + row * t.ld;
    if (n == PANEL && t.d[1] % STEP == 0)
        return (Left){ first, t.ld, SIDE * t.ld, STEP };
    bf16_pack(buffer, (Source){ first, t.ld, n, t.d[1], false, false }, 0, 1, LEFT);
    return left_panel(buffer);
}

const float *bf16_bias(float *to, const Head *head)
{
    int64_t before = head->tq - 1 + PANEL;
    if (!head->bias)
        return NULL;
    memset(to, 0, numbers_of_f32(PANEL));
    for (int64_t i = PANEL; i < before + head->tk; i++)
        to[i] = head->bias[i - before] * LOG2_E;
    memset(to + before + head->tk, 0, numbers_of_f32(PANEL));
    return to + before;
}
