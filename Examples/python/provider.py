"""Reads notifications from a file, pushes them, and prints each outcome except accepted.

    provider.py HOST PORT CERTIFICATE CA FILE
    provider.py HOST PORT FEEDBACK_PORT CERTIFICATE CA FILE

Pushes to today's APNs, or with a FEEDBACK_PORT to a gateway with the binary interface.
FILE: a device token in hex, a tab, a payload, on each line.
"""

from __future__ import annotations

import sys

import libapns


def main(host: str, port: str, certificate: str, ca: str, file: str, *, feedback_port: str | None = None) -> int:
    who = libapns.Credentials(certificate_file=certificate, ca_file=ca)
    refused = lines = 0
    # The default topic is the certificate's.
    protocol = libapns.Protocol.HTTP2 if feedback_port is None else libapns.Protocol.BINARY
    with libapns.Session(who, host=host, port=int(port), protocol=protocol, outcomes="failures") as session:
        with open(file, encoding="utf-8") as notifications:
            for lines, text in enumerate(notifications, 1):
                token, _, payload = text.rstrip("\n").partition("\t")
                try:
                    session.send(token, payload, user_data=lines, more=True)
                except libapns.ArgumentError as error:
                    refused += 1
                    print(f"line {lines}: refused: {error}")
    for event in session:
        # event.why has a longer explanation.
        print(f"line {event.user_data}: {event.kind}: {event.reason_text or event.reject}")
    stats = session.stats()
    print(
        f"lines {lines} = accepted {stats.accepted} + rejected {stats.rejected}"
        f" + refused {refused} + unknown {stats.unknown + stats.expired}"
    )
    if feedback_port is None:  # today's APNs has no feedback service: the session has the list
        gone = session.gone()
    else:
        with libapns.Feedback(who, host=host, port=int(feedback_port)) as feedback:
            gone = list(feedback)
    for device in gone:
        print(f"gone since {device.timestamp}: {libapns.token_to_hex(device.token)}")
    return 0


if __name__ == "__main__":
    arguments = sys.argv[1:]
    binary = arguments.pop(2) if len(arguments) == 6 else None
    sys.exit(main(*arguments, feedback_port=binary))
