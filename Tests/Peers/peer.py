"""An adversarial peer in a separate process: `peer.py DIRECTORY PROTOCOL name=value...`

DIRECTORY has the certificates (identity.py). The peer prints its port as a JSON line, and a line "felt" after its
harm. It plays until its standard input ends. Then it prints how often each notification arrived (`deliveries`),
which ones it accepted by the protocol, the number of connections, and how often it did its harm (`felt`). It uses
no code of the library or the simulator.

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
    # Threads that still misbehave end with the process.
    os._exit(0)


if __name__ == "__main__":
    main()
