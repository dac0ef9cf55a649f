#!/usr/bin/env python3
"""Draws what `curve.py --bf16 --keep FILE` kept, a column for each FILE, as SVG on standard output: the losses above,
and below how far each bf16 curve is from its program's f32 curve, both as means over 5 steps.

    bench/peers/curve_picture.py FILE.json... >picture.svg
"""

import json
import math
import pathlib
import sys
from html import escape

LEFT, TOP, WIDTH, GAP, LOSS_HEIGHT, AWAY_TOP, AWAY_HEIGHT = 50, 30, 250, 50, 170, 250, 170
LOW, HIGH = -6, -1  # powers of ten of the lower axis
WINDOW = 5
STYLES = {"loam f32": ("#2060c0", 5, 0.25), "PyTorch f32": ("#c03020", 3, 0.35), "loam bf16": ("#2060c0", 1, 1),
          "PyTorch bf16": ("#c03020", 1, 1)}


def line(x1, y1, x2, y2):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#ddd"/>'


def text(x, y, anchor, words):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def curve(points, style):
    colour, width, opacity = style
    along = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline fill="none" stroke="{colour}" stroke-width="{width}" stroke-opacity="{opacity}" points="{along}"/>'


def means(values):
    return [sum(values[i:i + WINDOW]) / WINDOW for i in range(0, len(values) - WINDOW + 1, WINDOW)]


def x_of(x, i, n):
    """The middle of window i of n steps."""
    return x + WIDTH * (i + 0.5) * WINDOW / n


def draw_losses(x, curves):
    n = len(curves["loam f32"])
    low, high = math.floor(min(map(min, curves.values()))), math.ceil(max(map(max, curves.values())))
    y_of = lambda loss: TOP + LOSS_HEIGHT * (high - loss) / (high - low)
    for loss in range(low, high + 1):
        yield line(x, y_of(loss), x + WIDTH, y_of(loss))
        yield text(x - 6, y_of(loss) + 4, "end", str(loss))
    for name, style in STYLES.items():
        yield curve([(x_of(x, i, n), y_of(loss)) for i, loss in enumerate(means(curves[name]))], style)


def draw_deviations(x, curves):
    n = len(curves["loam f32"])
    y_of = lambda power: AWAY_TOP + AWAY_HEIGHT * (HIGH - min(max(power, LOW), HIGH)) / (HIGH - LOW)
    for power in range(LOW, HIGH + 1):
        yield line(x, y_of(power), x + WIDTH, y_of(power))
        yield text(x - 6, y_of(power) + 4, "end", f"1e{power}")
    for program in "loam", "PyTorch":
        away = means([abs(a / b - 1) for a, b in zip(curves[program + " bf16"], curves[program + " f32"], strict=True)])
        points = [(x_of(x, i, n), y_of(math.log10(max(value, 1e-9)))) for i, value in enumerate(away)]
        yield curve(points, (STYLES[program + " bf16"][0], 2, 1))
    for i in range(5):
        yield text(x + WIDTH * i / 4, AWAY_TOP + AWAY_HEIGHT + 18, "middle", str(n * i // 4))


def main():
    files = [pathlib.Path(name) for name in sys.argv[1:]]
    if not files:
        sys.exit(__doc__)
    width, height = LEFT + len(files) * (WIDTH + GAP), AWAY_TOP + AWAY_HEIGHT + 70
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">')
    print(f'<rect width="{width}" height="{height}" fill="white"/>')
    for column, file in enumerate(files):
        x, curves = LEFT + column * (WIDTH + GAP), json.loads(file.read_text())
        print(text(x, TOP - 12, "start", f"{file.stem}: loss, nats a target"))
        print(text(x, AWAY_TOP - 12, "start", "bf16 from f32, share of the loss"))
        print("\n".join([*draw_losses(x, curves), *draw_deviations(x, curves)]))
    for i, (name, (colour, width, opacity)) in enumerate(STYLES.items()):
        x, y = LEFT + i * 160, AWAY_TOP + AWAY_HEIGHT + 50
        print(f'<rect x="{x}" y="{y - 4 - width / 2}" width="24" height="{width}" fill="{colour}" fill-opacity="{opacity}"/>')
        print(text(x + 32, y, "start", name))
    print("</svg>")


if __name__ == "__main__":
    main()
