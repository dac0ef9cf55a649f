#!/usr/bin/env python3
"""Draws training speeds as bars: reads the table that bench/peers/step.py prints (tokens/s, columns `eager`, `compiled` and
`loam`), writes an SVG.

    bench/peers/step.py --dtypes bf16 | bench/peers/plot.py >speed.svg
"""

import html
import re
import sys

COLUMNS = {"eager": "PyTorch, eager", "compiled": "PyTorch, compiled", "loam": "loam"}
COLOURS = {"eager": "#b8b8b8", "compiled": "#8a8a8a", "loam": "#2f7d4f"}
BAR, GAP, LEFT, WIDTH = 18, 26, 190, 640


def cells_of(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def read_table(lines):
    """The rows: the name of the model, and tokens/s by column. A cell may say a range behind its number."""
    names, rows = None, []
    for line in lines:
        if not line.lstrip().startswith("|"):
            continue
        cells = cells_of(line)
        if set(COLUMNS) <= set(cells):
            names = cells
        elif names and re.match(r"[\d,.]+", cells[1]):
            numbers = {name: float(re.match(r"[\d,.]+", cell)[0].replace(",", ""))
                       for name, cell in zip(names, cells) if name in COLUMNS}
            rows.append((cells[0], numbers))
    if not rows:
        sys.exit("plot.py: no table with the columns eager, compiled and loam on standard input")
    return rows


def draw(rows):
    longest = max(max(numbers.values()) for _, numbers in rows)
    parts, y = [], 8
    for model, numbers in rows:
        parts.append(f'<text x="{LEFT - 150}" y="{y + 13}" text-anchor="start" font-weight="bold" '
                     f'transform="translate(-32 0)">{html.escape(model)}</text>')
        y += BAR + 2
        for column, label in COLUMNS.items():
            width = (WIDTH - LEFT - 130) * numbers[column] / longest
            parts.append(f'<text x="{LEFT - 8}" y="{y + 13}" text-anchor="end">{label}</text>'
                         f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="{BAR - 3}" fill="{COLOURS[column]}"/>'
                         f'<text x="{LEFT + width + 6:.1f}" y="{y + 13}">{numbers[column]:,.0f} tokens/s</text>')
            y += BAR
        y += GAP - BAR
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" font-family="sans-serif" font-size="13">'
            f'<rect width="{WIDTH}" height="{y}" fill="white"/>' + "".join(parts) + "</svg>\n")


sys.stdout.write(draw(read_table(sys.stdin)))
