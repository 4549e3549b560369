"""A relay of many apps."""

import os

from relaying import token


def test_the_usual_limit_of_open_files_does_not_bound_the_apps(start, relay, shared, tmp_path, monkeypatch):
    limited = tmp_path / "limited"
    limited.write_text(f'#!/bin/sh\nulimit -S -n 100\nexec {os.environ["APNS_RELAY_TOOL"]} "$@"\n')
    limited.chmod(0o700)
    monkeypatch.setenv("APNS_RELAY_TOOL", str(limited))
    one = relay(start(), queue=shared)
    one.write({f"app-{n}": {} for n in range(60)} | {"shop": {}})
    one.start().wait_ready()
    shared.add({"id": "a", "token": token(1)})
    one.wait_done()
    assert shared.counts() == {"accepted": 1}
