#!/usr/bin/env python3
"""Draws what a Prometheus has seen over time: in the terminal, and as an SVG.

    graph.py PROMETHEUS START END SVG [--ascii] [--color]      from and to: seconds since 1970

What is drawn is asked for by query_range alone (PANELS). Seconds on the axis count from START.
"""

import argparse
import collections
import json
import math
import pathlib
import urllib.parse
import urllib.request
from xml.sax.saxutils import escape

# title: with the unit. query: the curve. limit: what it is held against, a query as well, and called: what that is. events: a counter
# whose rises are marked.
Plan = collections.namedtuple("Plan", "title query limit called events")
# curve: [(seconds, value)], in order; limit: a number, None; events: [seconds].
Panel = collections.namedtuple("Panel", "title curve limit events")

PANELS = (
    Plan("Time to first token, 95th percentile, seconds",
         'max(gpuqos_objective_value{tenant="gpuqos-demo-web"})', 'max(gpuqos_objective_threshold{tenant="gpuqos-demo-web"})', "promised, at most",
         'sum(gpuqos_evictions_total{namespace="gpuqos-demo-train",result="issued"}) or vector(0)'),
    Plan("What the abnormal tenant may have, GiB",
         'sum(gpuqos_quota_effective_bytes{namespace="gpuqos-demo-noisy"}) / 2^30',
         'sum(gpuqos_quota_limit_bytes{namespace="gpuqos-demo-noisy"}) / 2^30', "its quota of", None),
)

# --- from Prometheus


def query_range(prometheus, query, start, end):
    """[(seconds since start, value)] of the one series that the query has; none where it has none. A value each second."""
    words = urllib.parse.urlencode({"query": query, "start": start, "end": end, "step": 1})
    with urllib.request.urlopen(f"{prometheus}/api/v1/query_range?{words}", timeout=30) as answer:
        series = json.load(answer)["data"]["result"]
    points = [(at - start, float(value)) for at, value in series[0]["values"]] if series else []
    return [(at, value) for at, value in points if math.isfinite(value)]


def rises(curve):
    """When a counter was seen to have grown."""
    return [at for (_, before), (at, value) in zip(curve, curve[1:]) if value > before]


def ask(prometheus, plan, start, end):
    limit = query_range(prometheus, plan.limit, start, end)
    events = query_range(prometheus, plan.events, start, end) if plan.events else []
    title = f"{plan.title} (dashed: {plan.called} {number(limit[-1][1])})" if limit else plan.title
    return Panel(title, query_range(prometheus, plan.query, start, end), limit[-1][1] if limit else None, rises(events))


# --- what both drawings need


def top_of(panel):
    """A round number that everything lies below."""
    most = max([value for _, value in panel.curve] + [panel.limit or 0, 1e-9]) * 1.05
    step = 10 ** math.floor(math.log10(most))
    return next(step * factor for factor in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if step * factor >= most)


def number(value):
    return f"{value:.3g}"


# --- in the terminal

WIDTH, HEIGHT = 72, 8
MARGIN = 6
STALE = 5
Marks = collections.namedtuple("Marks", "point limit event wall corner floor")
UTF8 = Marks("●", "┄", "┊", "│", "└", "─")
ASCII = Marks("*", "-", ":", "|", "+", "-")
COLORS = {"point": "\033[1;36m", "limit": "\033[31m", "event": "\033[33m"}
PLAIN = "\033[0m"


def column_of(at, seconds):
    return min(int(at / seconds * WIDTH), WIDTH - 1)


def in_columns(curve, seconds):
    """The last value up to the end of each column, where one is known that is not STALE seconds old."""
    columns = {}
    for column in range(WIDTH):
        end = (column + 1) * seconds / WIDTH
        columns.update({column: value for at, value in curve if end - STALE < at <= end})
    return columns


def fill(panel, seconds):
    """{(row, column): name of a mark}; row 0 is at the bottom. The curve goes over all else."""
    top = top_of(panel)

    def row_of(value):
        return min(int(value / top * HEIGHT), HEIGHT - 1)
    cells = {}
    if panel.limit is not None:
        cells.update({(row_of(panel.limit), column): "limit" for column in range(0, WIDTH, 2)})
    cells.update({(row, column_of(at, seconds)): "event" for at in panel.events for row in range(HEIGHT)})
    cells.update({(row_of(value), column): "point" for column, value in in_columns(panel.curve, seconds).items()})
    return cells


def text_panel(panel, seconds, marks=UTF8, color=False):
    """Its lines: title, rows from the top down, axis, seconds, and what is marked."""
    cells = fill(panel, seconds)
    top = top_of(panel)

    def mark(cell):
        name = cells.get(cell)
        if name is None:
            return " "
        return f"{COLORS[name]}{getattr(marks, name)}{PLAIN}" if color else getattr(marks, name)
    yield panel.title
    for row in reversed(range(HEIGHT)):
        label = "" if row % 2 else number(top * row / HEIGHT)  # of its lower edge
        yield f"{label:>{MARGIN}} {marks.wall}" + "".join(mark((row, column)) for column in range(WIDTH)).rstrip()
    yield " " * (MARGIN + 1) + marks.corner + marks.floor * WIDTH
    yield " " * (MARGIN + 2) + f"{'0 s':<{WIDTH - 8}}{seconds:>6.0f} s"
    if panel.events:
        yield " " * (MARGIN + 2) + f"{marks.event} eviction at " + ", ".join(f"{at:.0f} s" for at in panel.events)


# --- as an SVG

FRAME = {"left": 60, "right": 20, "width": 720, "height": 160, "head": 40, "foot": 36}
STYLE = """
text { font: 13px sans-serif; fill: #333 } .title { font-weight: bold }
.axis { stroke: #999; fill: none } .grid { stroke: #eee } .curve { stroke: #1565c0; stroke-width: 2; fill: none }
.limit { stroke: #c62828; stroke-dasharray: 6 4 } .event { stroke: #ef6c00; stroke-width: 2; stroke-dasharray: 2 3 }
"""


def svg_panel(panel, seconds, offset):
    left, width, height = FRAME["left"], FRAME["width"], FRAME["height"]
    top, floor = top_of(panel), offset + FRAME["head"] + height

    def x(at):
        return left + at / seconds * width

    def y(value):
        return floor - value / top * height

    def line(kind, x1, y1, x2, y2):
        return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'

    def text(at_x, at_y, words, anchor, kind="label"):
        return f'<text class="{kind}" x="{at_x:.1f}" y="{at_y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'
    yield text(left, offset + FRAME["head"] - 14, panel.title, "start", "title")
    for part in range(5):
        yield line("grid", left, y(top * part / 4), left + width, y(top * part / 4))
        yield text(left - 8, y(top * part / 4) + 4, number(top * part / 4), "end")
    for at in range(0, int(seconds) + 1, 10):
        yield text(x(at), floor + 18, f"{at} s", "middle")
    yield f'<path class="axis" d="M{left} {floor - height}V{floor}H{left + width}"/>'
    if panel.limit is not None:
        yield line("limit", left, y(panel.limit), left + width, y(panel.limit))
    for at in panel.events:
        yield line("event", x(at), floor - height, x(at), floor)
        yield text(x(at) + 5, floor - height + 12, "eviction", "start")
    points = " ".join(f"{x(at):.1f},{y(value):.1f}" for at, value in panel.curve)
    yield f'<polyline class="curve" points="{points}"/>'


def svg(panels, seconds):
    """All of them, one below the other."""
    each = FRAME["head"] + FRAME["height"] + FRAME["foot"]
    width, height = FRAME["left"] + FRAME["width"] + FRAME["right"], each * len(panels)
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
             f"<style>{STYLE}</style>", f'<rect width="{width}" height="{height}" fill="white"/>']
    for index, panel in enumerate(panels):
        lines += svg_panel(panel, seconds, index * each)
    return "\n".join([*lines, "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prometheus")
    parser.add_argument("start", type=float)
    parser.add_argument("end", type=float)
    parser.add_argument("svg", type=pathlib.Path)
    parser.add_argument("--ascii", action="store_true")
    parser.add_argument("--color", action="store_true")
    args = parser.parse_args()
    panels = [ask(args.prometheus, plan, args.start, args.end) for plan in PANELS]
    seconds = args.end - args.start
    for panel in panels:
        print(*text_panel(panel, seconds, ASCII if args.ascii else UTF8, args.color), "", sep="\n")
    args.svg.parent.mkdir(parents=True, exist_ok=True)
    args.svg.write_text(svg(panels, seconds))


if __name__ == "__main__":
    main()
