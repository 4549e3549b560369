"""A peer that means harm, as a process of its own: `peer.py DIRECTORY PROTOCOL name=value...`

DIRECTORY has the certificates (identity.py). It prints a line of JSON with its port, a line "felt" once
its harm is done, plays until its standard input ends, and prints what it saw and did: how often each notification arrived
(`deliveries`), which ones it accepted by the protocol's own words, how many connections were made,
and `felt`: how often the harm was done. Nothing here is the library's or the simulator's.

The protocols are http2, binary, tls, proxy, feedback and tcp, one file each.
"""

import importlib
import json
import os
import sys


def main():
    directory, protocol, *given = sys.argv[1:]
    options = dict(each.split("=", 1) for each in given)
    peer = importlib.import_module(f"{protocol}_peer").Hostile(directory, options)
    print(json.dumps({"port": peer.port}), flush=True)
    peer.start()
    sys.stdin.read()
    with peer.ledger.lock:
        print(peer.ledger.as_json(), flush=True)
    # Threads that still do harm end with the process.
    os._exit(0)


if __name__ == "__main__":
    main()
