"""Between the controller and a real Prometheus, for a test: it passes questions on, or answers in its stead.

    with Between(prometheus.url) as between:
        between.url                                       # what the controller is told
        between.lies["my-namespace"] = a_page             # of questions with this text
        between.asked("my-namespace")                     # how often it was asked

A lie is a function: lie(ask) -> (status, content type, bytes), where ask(**form) puts the question to the real one, with
changes of the form, and returns the same. None drops the connection.
"""

import collections
import contextlib
import http.server
import json
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

JSON = "application/json"


def truth(ask):
    return ask()


class Between:
    def __init__(self, url):
        self.target, self.lies, self.counts = url, {}, collections.Counter()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                form = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
                answer = outer.answer(self.path, form)
                if answer is None:
                    self.close_connection = True
                    return
                status, kind, data = answer
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                with contextlib.suppress(OSError):  # who has read enough hangs up
                    self.wfile.write(data)

            def log_message(self, *args):
                pass
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def answer(self, path, form):
        def ask(**changes):
            data = urllib.parse.urlencode(form | changes).encode()
            try:
                with urllib.request.urlopen(self.target + path, data, timeout=30) as answer:
                    return answer.status, answer.headers["Content-Type"], answer.read()
            except urllib.error.HTTPError as error:
                return error.code, error.headers["Content-Type"], error.read()
            except OSError:
                return None
        lie = truth
        for needle in list(self.lies):
            if needle in form["query"]:
                lie = self.lies[needle]
        answer = lie(ask)
        # Counted when it is answered, and not before: what was asked is then known to the controller.
        self.counts[form["query"]] += 1
        return answer

    def asked(self, needle):
        return sum(count for query, count in list(self.counts.items()) if needle in query)

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


# --- lies

def says(status, kind, text):
    return lambda ask: (status, kind, text.encode() if isinstance(text, str) else text)


def changed(change):
    """The truth, with its JSON changed."""
    def lie(ask):
        status, kind, data = ask()
        body = json.loads(data)
        return status, kind, json.dumps(change(body) or body).encode()
    return lie


def clock(seconds):
    """A Prometheus whose clock is ahead by so much."""
    return lambda ask: ask(time=f"{time.time() + seconds:.3f}")


def warns(text):
    return changed(lambda body: body.update(warnings=[text]))


def storm(series):
    one = {"metric": {"namespace": "n", "pod": "p"}, "value": [time.time(), "0.5"]}
    data = json.dumps({"status": "success", "data": {"resultType": "vector", "result": [one] * series}})
    return says(200, JSON, data)


def every(n):
    """Of n answers the last has no series."""
    count = 0

    def change(body):
        nonlocal count
        count += 1
        if count % n == 0:
            body["data"]["result"] = []
    return changed(change)


def the_first():
    """What was answered once, if it had any series, again and again."""
    kept = []

    def lie(ask):
        answer = ask()
        if not kept and json.loads(answer[2])["data"]["result"]:
            kept.append(answer)
        return kept[0] if kept else answer
    return lie


def in_part(ask):
    """Half of what is answered, and no word that it is half."""
    status, kind, data = ask()
    return status, kind, data[:len(data) // 2]
