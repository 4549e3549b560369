#!/usr/bin/env python3
"""webhook.py SECRET_FILE [PORT]: receives outcomes of the relay, and prints each once."""

import base64
import hashlib
import hmac
import http.server
import json
import pathlib
import sys
import time

SECRET = base64.b64decode(pathlib.Path(sys.argv[1]).read_text().split()[0].removeprefix("whsec_"))
seen = set()  # a real receiver keeps it in the transaction that stores the outcomes


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        identifier, at = self.headers["webhook-id"], self.headers["webhook-timestamp"]
        digest = hmac.digest(SECRET, f"{identifier}.{at}.".encode() + body, hashlib.sha256)
        signature = "v1," + base64.b64encode(digest).decode()
        known = any(hmac.compare_digest(signature, one) for one in self.headers["webhook-signature"].split())
        if not known or abs(time.time() - int(at)) > 300:
            return self.send_error(401)
        if identifier not in seen:
            for outcome in json.loads(body)["data"]["outcomes"]:
                print(outcome["id"], outcome["outcome"], outcome["reason"], outcome["token"], flush=True)
            seen.add(identifier)
        self.send_response(204)
        self.end_headers()


http.server.HTTPServer(("127.0.0.1", int(sys.argv[2]) if len(sys.argv) > 2 else 8300), Receiver).serve_forever()
