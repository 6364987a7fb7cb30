"""A receiver of Bursar's webhooks, with the standard library alone: verifies, takes each event once, prints it.

    BURSAR_WEBHOOK_SECRET=whsec_... python3 examples/receiver.py 9000

While a secret is rotated, BURSAR_WEBHOOK_SECRET has both, with a space between them.
"""

import base64, hashlib, hmac, time
import json, os, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


# As in docs/webhooks.md.
def verify(headers, body, secrets, now=None):
    """The event's id, or ValueError. Headers in lower case; body: bytes as they came; secrets: two while rotating."""
    id, sent, claims = (headers.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature"))
    if not (sent.isascii() and sent.isdigit()) or abs((now or time.time()) - int(sent)) > 300:
        raise ValueError("too old, or from the future")
    for secret in secrets:
        key = base64.b64decode(secret.removeprefix("whsec_"))
        mac = hmac.new(key, f"{id}.{sent}.".encode() + body, hashlib.sha256).digest()
        good = b"v1," + base64.b64encode(mac)
        if any(hmac.compare_digest(good, claim.encode()) for claim in claims.split(" ")):
            return id
    raise ValueError("no signature fits")


SECRETS = os.environ.get("BURSAR_WEBHOOK_SECRET", "").split()
# In production: a unique key in the database, written in one transaction with the work.
SEEN, LOCK = set(), threading.Lock()


class Receiver(BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer(200, b"ready\n")

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            id = verify(headers, body, SECRETS)
        except ValueError as error:
            print(f"refused: {error}", flush=True)
            return self.answer(401)
        event = json.loads(body)
        with LOCK:
            if id not in SEEN:
                print(f"verified: {event['type']} {event['subject']} {id}", flush=True)
                SEEN.add(id)
        self.answer(204)

    def answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if not SECRETS or len(sys.argv) != 2:
    sys.exit(__doc__)
server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver)
print(f"receiving on http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
