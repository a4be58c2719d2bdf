"""A backend of docker-compose.yaml: an HTTP server on port 8000 that answers with its name (`backend.py NAME`)."""

from __future__ import annotations

import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Answer(BaseHTTPRequestHandler):
    """Answers every GET with the name of the server."""

    protocol_version = "HTTP/1.1"  # Connections stay open: they are Envoy's to close.

    def do_GET(self) -> None:
        """Answer."""
        body = f"{sys.argv[1]}\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing: there is a line of it in each answer."""


if __name__ == "__main__":
    # As process 1 of its container it would not be ended by a signal that it does not handle.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    ThreadingHTTPServer(("", 8000), Answer).serve_forever()
