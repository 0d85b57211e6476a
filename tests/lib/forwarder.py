"""A wire to the API server that can be cut.

    with Forwarder(cluster) as wire:
        wire.redirect(controller.kubeconfig)
        wire.cut()
        wire.mend()
"""

import contextlib
import json
import socket
import threading
import urllib.parse


class Forwarder:
    def __init__(self, cluster):
        config = json.loads(cluster.kubectl("config", "view", "--raw", "--minify", "-o", "json"))
        server = urllib.parse.urlsplit(config["clusters"][0]["cluster"]["server"])
        self.target = server.hostname, server.port
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        self.whole, self.lock, self.open = True, threading.Lock(), set()

    def redirect(self, kubeconfig):
        """Makes a kubeconfig go through here: the API server's certificate is good for 127.0.0.1."""
        config = json.loads(kubeconfig.read_text())
        config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{self.port}"
        kubeconfig.write_text(json.dumps(config))

    def cut(self):
        """All connections end, and new ones too, at once."""
        with self.lock:
            self.whole = False
            for side in self.open:
                with contextlib.suppress(OSError):
                    side.shutdown(socket.SHUT_RDWR)

    def mend(self):
        self.whole = True

    def _carry(self, near):
        with near, contextlib.suppress(OSError):
            if not self.whole:
                return
            with socket.create_connection(self.target, timeout=10) as far:
                far.settimeout(None)
                with self.lock:
                    self.open |= {near, far}
                back = threading.Thread(target=self._pump, args=(far, near), daemon=True)
                back.start()
                self._pump(near, far)
                back.join()
                with self.lock:
                    self.open -= {near, far}

    @staticmethod
    def _pump(source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                sink.sendall(data)
        for side in (source, sink):
            with contextlib.suppress(OSError):
                side.shutdown(socket.SHUT_RDWR)

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                threading.Thread(target=self._carry, args=(near,), daemon=True).start()

    def __enter__(self):
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.cut()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()
