#!/usr/bin/env python3
"""An HTTP/1.1 server that does to a client what the path says. Usage: server.py [CERT KEY [CLIENT_CA]]

Prints its port on 127.0.0.1 as the first line, then serves until it is killed.
"""

import http.server
import socket
import ssl
import sys
import threading

seen = 0
lock = threading.Lock()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    disable_nagle_algorithm = True

    def log_message(self, *args):
        pass

    def reply(self, body, status=200, headers=()):
        self.send_response(status)
        self.send_header('Content-Length', str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def chunk(self, data):
        self.wfile.write(b'%x\r\n%s\r\n' % (len(data), data))
        self.wfile.flush()

    def chunked(self):
        self.send_response(200)
        self.send_header('Transfer-Encoding', 'chunked')
        self.end_headers()

    def hold(self):
        """Until the client goes away."""
        self.wfile.flush()
        while self.rfile.read(1):
            pass
        self.close_connection = True

    def cut(self):
        self.wfile.flush()
        self.close_connection = True

    # one method for each first word of the path

    def on_ok(self, _):
        self.reply(b'hello', headers=[('Content-Type', 'Application/JSON; charset=utf-8')])

    def on_status(self, status):
        self.reply(b'no', int(status), [('Retry-After', '7')])

    def on_redirect(self, _):
        self.reply(b'', 302, [('Location', '/ok')])

    def on_empty(self, _):
        self.send_response(204)
        self.end_headers()

    def on_interim(self, _):
        self.wfile.write(b'HTTP/1.1 103 Early Hints\r\nRetry-After: 9\r\nContent-Type: x/y\r\n\r\n')
        self.reply(b'late')

    def on_big(self, size):
        self.reply(b'x' * int(size))

    def on_stream(self, count):
        self.chunked()
        for _ in range(int(count)):
            self.chunk(b'tick\n')
        self.chunk(b'')

    def on_silent(self, _):
        self.chunked()
        self.chunk(b'one')
        self.hold()

    def on_never(self, _):
        self.hold()

    def on_cut(self, _):
        self.send_response(200)
        self.send_header('Content-Length', '1000')
        self.end_headers()
        self.wfile.write(b'0123456789')
        self.cut()

    def on_cutchunk(self, _):
        self.chunked()
        self.chunk(b'one')
        self.cut()

    def on_nothing(self, _):
        self.cut()

    def on_headers(self, size):
        lines = [('X-%d' % i, 'v' * 1000) for i in range(int(size) // 1000)]
        self.reply(b'', headers=lines)

    def on_line(self, size):
        self.reply(b'', headers=[('X', 'v' * int(size))])

    def on_longtype(self, _):
        self.reply(b'', headers=[('Content-Type', 'a' * 500)])

    def on_garbage(self, _):
        self.wfile.write(b'\x00\x01\x02 this is not HTTP\r\n\r\n')
        self.cut()

    def on_close(self, _):
        self.reply(b'bye')
        self.cut()

    def on_echo(self, _):
        length = self.headers.get('Content-Length')
        body = self.rfile.read(int(length)) if length else b''
        head = '%s %s\n%s' % (self.command, self.path, self.headers)
        self.reply(head.encode() + body)

    def on_seen(self, _):
        self.reply(b'%d' % (seen - 1))

    def serve(self):
        global seen
        with lock:
            seen += 1
        word, _, rest = self.path.split('?')[0][1:].partition('/')
        getattr(self, 'on_' + word)(rest)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = serve


def drain(sock):
    """Closing with bytes unread would reset the connection, and the alert might be lost with it."""
    sock.settimeout(20)
    sock.shutdown(socket.SHUT_WR)
    while sock.recv(4096):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    context = None

    def finish_request(self, request, client_address):
        """The handshake is done here, in the connection's own thread."""
        if self.context:
            raw = request.dup()
            request.settimeout(20)
            try:
                request = self.context.wrap_socket(request, server_side=True)
            except OSError:
                drain(raw)
                raise
        super().finish_request(request, client_address)

    def shutdown_request(self, request):
        self.close_request(request)

    def handle_error(self, request, client_address):
        pass


def main(argv):
    server = Server(('127.0.0.1', 0), Handler)
    if argv:
        server.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.context.load_cert_chain(argv[0], argv[1])
        server.context.set_alpn_protocols(['http/1.1'])
        if len(argv) > 2:
            server.context.load_verify_locations(argv[2])
            server.context.verify_mode = ssl.CERT_REQUIRED
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == '__main__':
    main(sys.argv[1:])
