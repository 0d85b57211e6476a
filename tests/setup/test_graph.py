"""hack/demo.d/graph.py: curves of a Prometheus that says what the test wants, in the terminal and as an SVG."""

import http.server
import importlib.util
import json
import pathlib
import subprocess
import threading
import urllib.parse
import xml.etree.ElementTree

import pytest

PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "hack/demo.d/graph.py"
SVG = "{http://www.w3.org/2000/svg}"
START = 1_800_000_000
LATENCY = [0.2] * 20 + [0.5] * 20 + [0.2] * 21
QUOTA = [80] * 30 + [40] * 31


@pytest.fixture(scope="module", name="graph")
def loaded():
    spec = importlib.util.spec_from_file_location("graph", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def answer_for(query):
    """The values of each second: of the four queries of the night's two panels, and of the counter."""
    if "value" in query:
        return LATENCY
    if "threshold" in query:
        return [0.4] * 61
    if "evictions" in query:
        return [0] * 25 + [1] * 36
    return [80] * 61 if "limit" in query else QUOTA


@pytest.fixture(scope="module", name="prometheus")
def served():
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):  # pylint: disable=invalid-name
            asked = {key: value[0] for key, value in urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query).items()}
            assert (float(asked["start"]), float(asked["end"])) == (START, START + 60)
            values = [[START + i, str(value)] for i, value in enumerate(answer_for(asked["query"]))]
            body = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": [{"metric": {}, "values": values}]}})
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_):
            pass
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def draw(prometheus, svg, *flags):
    return subprocess.run([PROGRAM, *flags, prometheus, str(START), str(START + 60), svg], check=True, stdout=subprocess.PIPE,
                          env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"}).stdout.decode()


def plotted(lines, mark):
    """{row: columns with the mark}, row 0 at the bottom."""
    rows = [line.partition("|")[2] for line in lines if "|" in line]
    return {row: [i for i, char in enumerate(text) if char == mark] for row, text in enumerate(reversed(rows))}


def test_the_terminal_shows_curve_threshold_and_eviction_where_they_were(graph, prometheus, tmp_path):
    first, second, _ = draw(prometheus, tmp_path / "night.svg", "--ascii").split("\n\n")
    points = plotted(first.splitlines(), "*")
    low, high = (row for row, columns in points.items() if columns)
    assert high > low and points[high] == list(range(points[high][0], points[high][-1] + 1))
    # The bad third of the minute is the middle third of the width.
    assert abs(points[high][0] - graph.WIDTH / 3) < 3 and abs(points[high][-1] - 2 * graph.WIDTH / 3) < 3
    between = [row for row, columns in plotted(first.splitlines(), "-").items() if len(columns) > 20]
    assert len(between) == 1 and low < between[0] < high
    # A label is of its row's lower edge, so what is promised is drawn where the title says.
    labels = {row: line.partition("|")[0].strip() for row, line in enumerate(reversed([line for line in first.splitlines() if "|" in line]))}
    assert first.startswith("Time to first token, 95th percentile, seconds (dashed: promised, at most 0.4)\n") and labels[0] == "0"
    assert float(labels[between[0] // 2 * 2]) <= 0.4 < float(labels[between[0] // 2 * 2 + 2])
    assert {columns[0] for row, columns in plotted(first.splitlines(), ":").items() if columns} == {int(25 / 60 * graph.WIDTH)}
    assert first.endswith(": eviction at 25 s") and "eviction" not in second
    assert len([row for row, columns in plotted(second.splitlines(), "*").items() if columns]) == 2


def test_it_is_ascii_or_utf8_as_asked_and_coloured_only_where_asked(prometheus, tmp_path):
    plain, nice = (draw(prometheus, tmp_path / "night.svg", *flags) for flags in (["--ascii"], []))
    assert plain.isascii() and not nice.isascii()
    assert "\x1b" not in plain + nice
    coloured = draw(prometheus, tmp_path / "night.svg", "--color", "--ascii")
    for code in ("\x1b[1;36m", "\x1b[31m", "\x1b[33m", "\x1b[0m"):
        assert code in coloured
        coloured = coloured.replace(code, "")
    assert coloured == plain


def test_the_picture_is_well_formed_and_has_both_curves(prometheus, tmp_path):
    draw(prometheus, tmp_path / "deep" / "night.svg")
    picture = xml.etree.ElementTree.parse(tmp_path / "deep" / "night.svg")
    curves = [line.get("points").split() for line in picture.iter(f"{SVG}polyline")]
    assert [len(points) for points in curves] == [61, 61]
    heights = [[float(point.split(",")[1]) for point in points] for points in curves]
    limits = [float(line.get("y1")) for line in picture.iter(f"{SVG}line") if line.get("class") == "limit"]
    assert heights[0][30] < limits[0] < heights[0][0] == heights[0][60]
    assert heights[1][0] == limits[1] < heights[1][60]
    event, = [line for line in picture.iter(f"{SVG}line") if line.get("class") == "event"]
    assert event.get("x1") == curves[0][25].split(",")[0]
    size = picture.getroot().get("viewBox").split()[2:]
    for points in curves:
        for point in points:
            assert all(0 < float(value) < float(most) for value, most in zip(point.split(","), size))


def test_what_prometheus_does_not_know_is_left_out(graph):
    panel = graph.Panel("a < b & c", [(0.0, 1.0), (1.0, 1.0), (50.0, 2.0)], None, [])
    drawn = plotted(graph.text_panel(panel, 60, graph.ASCII), "*")
    columns = sorted(column for row in drawn.values() for column in row)
    assert columns[-1] < graph.WIDTH - 1 and not set(range(10, 55)) & set(columns)
    empty = graph.Panel("nothing", [], None, [])
    assert not any(plotted(graph.text_panel(empty, 60, graph.ASCII), "*").values())
    xml.etree.ElementTree.fromstring(graph.svg([panel, empty], 60))


def test_an_eviction_is_where_the_counter_rose(graph):
    assert graph.rises([(0, 0.0), (1, 0.0), (2, 1.0), (3, 1.0), (4, 3.0)]) == [2, 4]
    assert graph.rises([]) == graph.rises([(0, 5.0)]) == graph.rises([(0, 5.0), (1, 0.0)]) == []
