"""Reads notifications from a file, pushes them, and says what became of each that failed.

    provider.py [--protocol http2] HOST PORT FEEDBACK_PORT CERTIFICATE CA FILE

FILE: a device token in hex, a tab, a payload, on each line.
"""

from __future__ import annotations

import sys

import apns


def main(
    host: str, port: str, feedback_port: str, certificate: str, ca: str, file: str, *, is_http2: bool = False
) -> int:
    who = apns.Credentials(certificate_file=certificate, ca_file=ca)
    refused = lines = 0
    # By HTTP/2 the topic is the certificate's, where none is given.
    protocol = apns.Protocol.HTTP2 if is_http2 else apns.Protocol.BINARY
    with apns.Session(who, host=host, port=int(port), protocol=protocol) as session:
        with open(file, encoding="utf-8") as notifications:
            for lines, text in enumerate(notifications, 1):
                token, _, payload = text.rstrip("\n").partition("\t")
                try:
                    session.send(token, payload, user_data=lines, more=True)
                except apns.ArgumentError as error:
                    refused += 1
                    print(f"line {lines}: refused: {error}")
    for event in session:
        print(f"line {event.user_data}: {event.kind.name.lower()}: {event.reason_text or event.reject.text}")
    stats = session.stats()
    print(
        f"lines {lines} = accepted {stats.accepted} + rejected {stats.rejected}"
        f" + refused {refused} + unknown {stats.unknown}"
    )
    if is_http2:  # which has no feedback service: the session was told
        gone = session.gone()
    else:
        with apns.Feedback(who, host=host, port=int(feedback_port)) as feedback:
            gone = list(feedback)
    for device in gone:
        print(f"gone since {device.timestamp}: {apns.token_to_hex(device.token)}")
    return 0


if __name__ == "__main__":
    if sys.argv[1:3] == ["--protocol", "http2"]:
        sys.exit(main(*sys.argv[3:], is_http2=True))
    sys.exit(main(*sys.argv[1:]))
