"""Reads notifications from a file, pushes them, and says what became of each that failed.

    provider.py HOST PORT FEEDBACK_PORT CERTIFICATE CA FILE

FILE: a device token in hex, a tab, a payload, on each line.
"""

from __future__ import annotations

import sys

import apns


def main(host: str, port: str, feedback_port: str, certificate: str, ca: str, file: str) -> int:
    who = apns.Credentials(certificate_file=certificate, ca_file=ca)
    refused = lines = 0
    with apns.Session(who, host=host, port=int(port)) as session:
        with open(file, encoding="utf-8") as notifications:
            for lines, text in enumerate(notifications, 1):
                token, _, payload = text.rstrip("\n").partition("\t")
                try:
                    session.send(token, payload, user_data=lines, more=True)
                except apns.ArgumentError as error:
                    refused += 1
                    print(f"line {lines}: refused: {error}")
    for event in session:
        print(f"line {event.user_data}: {event.kind.name.lower()}: {event.reject.text}")
    stats = session.stats()
    print(
        f"lines {lines} = accepted {stats.accepted} + rejected {stats.rejected}"
        f" + refused {refused} + unknown {stats.unknown}"
    )
    with apns.Feedback(who, host=host, port=int(feedback_port)) as feedback:
        for device in feedback:
            print(f"gone since {device.timestamp}: {apns.token_to_hex(device.token)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
