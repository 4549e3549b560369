#!/usr/bin/env python3
"""Writes the test vectors next to this file.

    generate.py           writes the .json files next to it
    generate.py --check   writes nothing; fails if a file is out of date

The bytes are assembled with struct alone, next to literals of the expected results. Nothing here parses, so no parser
error can hide in the expectations. The exception is JSON, where Python's json must also agree with the literal
verdict.
"""

import json
import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).parent

# The device and payload in the listings of that time (Provider Communication).
TOKEN = bytes.fromhex("5f79cfda4d01aa3a11c833f97b52df2a7a210252e21b01faa73d34639ee0e412")
PAYLOAD = b'{"aps":{"alert":"Message from javacom","badge":9}}'
NOW = 0x4A3924A9
TOMORROW = 0x4A3A7629


def u8(value):
    return struct.pack(">B", value)


def u16(value):
    return struct.pack(">H", value)


def u32(value):
    return struct.pack(">I", value)


def token_of(size):
    return bytes((7 * i + 1) % 256 for i in range(size))


def payload_of(size):
    """JSON of that size, although it leaves little room for JSON."""
    head, tail = b'{"aps":{"alert":"', b'"}}'
    if size < len(head) + len(tail):
        return b"1" * size
    return head + b"x" * (size - len(head) - len(tail)) + tail


def simple(token=TOKEN, payload=PAYLOAD):
    return u8(0) + u16(len(token)) + token + u16(len(payload)) + payload


def enhanced(identifier, expiry, token=TOKEN, payload=PAYLOAD):
    return (
        u8(1) + u32(identifier) + u32(expiry)
        + u16(len(token)) + token + u16(len(payload)) + payload
    )


def item(number, data):
    return u8(number) + u16(len(data)) + data


def framed(*items):
    """Command 2 with the items in the order given."""
    return u8(2) + u32(len(b"".join(items))) + b"".join(items)


# The five items of a valid frame.
ITEM_TOKEN = item(1, TOKEN)
ITEM_PAYLOAD = item(2, PAYLOAD)
ITEM_IDENTIFIER = item(3, u32(7))
ITEM_EXPIRY = item(4, u32(TOMORROW))
ITEM_PRIORITY = item(5, u8(10))

# Offsets in a frame that begins with a 32-byte token.
AFTER_TOKEN = 5 + 3 + 32
AFTER_PAYLOAD = AFTER_TOKEN + 3 + len(PAYLOAD)


def vector(name, data, result, comment=None, **more):
    vector = {"name": name}
    if comment:
        vector["comment"] = comment
    vector["hex"] = data.hex()
    vector["result"] = result
    vector.update(more)
    return vector


# ---- frames.json -----------------------------------------------------------


def frame(name, data, command, token=TOKEN, payload=PAYLOAD, identifier=None, expiry=None,
          priority=None, length=None, canonical=True, comment=None, limits=None):
    expected = {"command": command, "token": token.hex(), "payload": payload.hex()}
    for key, value in (("identifier", identifier), ("expiry", expiry), ("priority", priority)):
        if value is not None:
            expected[key] = value
    expected["length"] = len(data) if length is None else length
    more = {"limits": limits} if limits else {}
    return vector(name, data, "valid", comment, canonical=canonical, frame=expected, **more)


def fault(name, data, reason, offset, status, after=None, identifier=None, comment=None,
          limits=None):
    """`after`: how many bytes decide; the whole of a command 2 frame."""
    error = {"reason": reason, "offset": offset}
    if identifier is not None:
        error["identifier"] = identifier
    error["status"] = status
    error["after"] = len(data) if after is None else after
    more = {"limits": limits} if limits else {}
    return vector(name, data, "invalid", comment, error=error, **more)


def incomplete(name, data, comment=None):
    return vector(name, data, "incomplete", comment)


def simple_frames():
    yield frame(
        "simple-listing",
        bytes.fromhex(
            "00"
            "0020 5f79cfda4d01aa3a11c833f97b52df2a7a210252e21b01faa73d34639ee0e412"
            "0032 7b22617073223a7b22616c657274223a224d6573736167652066726f6d206a617661636f6d222c"
            "226261646765223a397d7d"
        ),
        0,
        comment="What the simple listing's sendPayload writes, typed out.",
    )
    for size in (1, 31, 33, 100):
        token = token_of(size)
        yield frame(f"simple-token-{size}", simple(token), 0, token=token)
    for size in (1, 256, 257, 2048):
        payload = payload_of(size)
        yield frame(f"simple-payload-{size}", simple(payload=payload), 0, payload=payload)
    yield frame(
        "simple-payload-256-of-256",
        simple(payload=payload_of(256)),
        0,
        payload=payload_of(256),
        limits={"legacyPayload": 256},
        comment="A gateway as strict as at the time of the listings.",
    )
    yield fault(
        "simple-payload-257-of-256", simple(payload=payload_of(257)),
        "payloadSize", offset=35, status=7, after=37, limits={"legacyPayload": 256},
    )
    yield fault(
        "simple-payload-2049", simple(payload=payload_of(2049)),
        "payloadSize", offset=35, status=7, after=37,
    )
    yield fault(
        "simple-payload-65535", u8(0) + u16(32) + TOKEN + u16(0xFFFF),
        "payloadSize", offset=35, status=7, after=37,
        comment="The length decides; the payload may never arrive.",
    )
    yield fault(
        "simple-payload-0", simple(payload=b""), "missingPayload", offset=35, status=4, after=37
    )
    yield fault(
        "simple-token-0", simple(token=b""), "missingToken", offset=1, status=2, after=3,
        comment="The sentinel; after command 0 the gateway closes without an error packet.",
    )
    yield fault(
        "simple-token-101", simple(token_of(101)), "tokenSize", offset=1, status=5, after=3
    )
    yield fault("simple-token-65535", u8(0) + u16(0xFFFF), "tokenSize", offset=1, status=5, after=3)
    yield fault(
        "simple-token-little-endian",
        u8(0) + struct.pack("<H", 32) + TOKEN + struct.pack("<H", len(PAYLOAD)) + PAYLOAD,
        "tokenSize", offset=1, status=5, after=3,
        comment="A provider that forgot htons: 32 reads as 8,192.",
    )
    yield fault(
        "simple-nothing", simple(token=b"", payload=b""),
        "missingToken", offset=1, status=2, after=3,
        comment="The first of two errors counts.",
    )


def enhanced_frames():
    yield frame(
        "enhanced-listing",
        bytes.fromhex(
            "01"
            "d2040000"
            "4a3a7629"
            "0020 5f79cfda4d01aa3a11c833f97b52df2a7a210252e21b01faa73d34639ee0e412"
            "0032 7b22617073223a7b22616c657274223a224d6573736167652066726f6d206a617661636f6d222c"
            "226261646765223a397d7d"
        ),
        1,
        identifier=0xD2040000,
        expiry=TOMORROW,
        comment="What the enhanced listing writes on x86, typed out: it leaves the identifier, "
        "1234, in the host's order, so the wire has 0xd2040000.",
    )
    for identifier in (0, 1, 0x01020304, 0xFFFFFFFF):
        yield frame(
            f"enhanced-identifier-{identifier:#x}", enhanced(identifier, TOMORROW), 1,
            identifier=identifier, expiry=TOMORROW,
        )
    for expiry in (0, 0x01020304, 0xFFFFFFFF):
        yield frame(
            f"enhanced-expiry-{expiry:#x}", enhanced(7, expiry), 1, identifier=7, expiry=expiry
        )
    for size in (1, 31, 33, 100):
        token = token_of(size)
        yield frame(
            f"enhanced-token-{size}", enhanced(7, TOMORROW, token), 1,
            token=token, identifier=7, expiry=TOMORROW,
        )
    for size in (1, 256, 257, 2048):
        payload = payload_of(size)
        yield frame(
            f"enhanced-payload-{size}", enhanced(7, TOMORROW, payload=payload), 1,
            payload=payload, identifier=7, expiry=TOMORROW,
        )
    yield fault(
        "enhanced-payload-257-of-256", enhanced(7, TOMORROW, payload=payload_of(257)),
        "payloadSize", offset=43, status=7, after=45, identifier=7, limits={"legacyPayload": 256},
    )
    yield fault(
        "enhanced-payload-2049", enhanced(7, TOMORROW, payload=payload_of(2049)),
        "payloadSize", offset=43, status=7, after=45, identifier=7,
    )
    yield fault(
        "enhanced-payload-0", enhanced(0xFFFFFFFF, 0, payload=b""),
        "missingPayload", offset=43, status=4, after=45, identifier=0xFFFFFFFF,
    )
    yield fault(
        "enhanced-token-0", enhanced(1234, TOMORROW, token=b""),
        "missingToken", offset=9, status=2, after=11, identifier=1234,
        comment="The sentinel: its error packet proves all before it.",
    )
    yield fault(
        "enhanced-token-0-alone", u8(1) + u32(1234) + u32(0) + u16(0),
        "missingToken", offset=9, status=2, after=11, identifier=1234,
        comment="A sentinel without even a payload length.",
    )
    yield fault(
        "enhanced-token-0-identifier-0", enhanced(0, 0, token=b""),
        "missingToken", offset=9, status=2, after=11, identifier=0,
    )
    yield fault(
        "enhanced-token-101", enhanced(7, TOMORROW, token_of(101)),
        "tokenSize", offset=9, status=5, after=11, identifier=7,
    )
    yield fault(
        "enhanced-token-little-endian",
        u8(1) + u32(7) + u32(TOMORROW) + struct.pack("<H", 32) + TOKEN + u16(50) + PAYLOAD,
        "tokenSize", offset=9, status=5, after=11, identifier=7,
    )


def framed_frames():
    whole = {"identifier": 7, "expiry": TOMORROW, "priority": 10}

    yield frame(
        "framed-typed-out",
        bytes.fromhex(
            "02 0000006a"
            "01 0020 5f79cfda4d01aa3a11c833f97b52df2a7a210252e21b01faa73d34639ee0e412"
            "02 0032 7b22617073223a7b22616c657274223a224d6573736167652066726f6d206a617661636f6d22"
            "2c226261646765223a397d7d"
            "03 0004 00000007"
            "04 0004 4a3a7629"
            "05 0001 0a"
        ),
        2,
        **whole,
        comment="All five items in the table's order, typed out.",
    )
    yield frame("framed-token-and-payload", framed(ITEM_TOKEN, ITEM_PAYLOAD), 2,
                comment="The required items only.")
    yield frame(
        "framed-without-identifier",
        framed(ITEM_TOKEN, ITEM_PAYLOAD, ITEM_EXPIRY, ITEM_PRIORITY), 2,
        expiry=TOMORROW, priority=10,
    )
    yield frame(
        "framed-without-expiry",
        framed(ITEM_TOKEN, ITEM_PAYLOAD, ITEM_IDENTIFIER, ITEM_PRIORITY), 2,
        identifier=7, priority=10,
    )
    yield frame(
        "framed-without-priority",
        framed(ITEM_TOKEN, ITEM_PAYLOAD, ITEM_IDENTIFIER, ITEM_EXPIRY), 2,
        identifier=7, expiry=TOMORROW,
    )
    yield frame(
        "framed-identifier-only", framed(ITEM_TOKEN, ITEM_PAYLOAD, ITEM_IDENTIFIER), 2, identifier=7
    )
    yield frame(
        "framed-expiry-only", framed(ITEM_TOKEN, ITEM_PAYLOAD, ITEM_EXPIRY), 2, expiry=TOMORROW
    )
    yield frame(
        "framed-priority-only", framed(ITEM_TOKEN, ITEM_PAYLOAD, ITEM_PRIORITY), 2, priority=10
    )

    orders = {
        "identifier-first": (ITEM_IDENTIFIER, ITEM_TOKEN, ITEM_PAYLOAD, ITEM_EXPIRY, ITEM_PRIORITY),
        "payload-first": (ITEM_PAYLOAD, ITEM_TOKEN, ITEM_IDENTIFIER, ITEM_EXPIRY, ITEM_PRIORITY),
        "backwards": (ITEM_PRIORITY, ITEM_EXPIRY, ITEM_IDENTIFIER, ITEM_PAYLOAD, ITEM_TOKEN),
        "priority-first": (ITEM_PRIORITY, ITEM_TOKEN, ITEM_PAYLOAD, ITEM_IDENTIFIER, ITEM_EXPIRY),
        "mixed": (ITEM_EXPIRY, ITEM_PAYLOAD, ITEM_PRIORITY, ITEM_TOKEN, ITEM_IDENTIFIER),
    }
    for name, items in orders.items():
        yield frame(f"framed-{name}", framed(*items), 2, **whole, canonical=False)
    yield frame(
        "framed-identifier-then-token-and-payload",
        framed(ITEM_IDENTIFIER, ITEM_TOKEN, ITEM_PAYLOAD), 2, identifier=7, canonical=False,
    )

    for identifier in (0, 0x01020304, 0xFFFFFFFF):
        yield frame(
            f"framed-identifier-{identifier:#x}",
            framed(ITEM_TOKEN, ITEM_PAYLOAD, item(3, u32(identifier))), 2, identifier=identifier,
        )
    for expiry in (0, 0xFFFFFFFF):
        yield frame(
            f"framed-expiry-{expiry:#x}",
            framed(ITEM_TOKEN, ITEM_PAYLOAD, item(4, u32(expiry))), 2, expiry=expiry,
            comment="Tried once, never stored: not the same as no expiry." if not expiry else None,
        )
    yield frame(
        "framed-priority-5", framed(ITEM_TOKEN, ITEM_PAYLOAD, item(5, u8(5))), 2, priority=5
    )
    for priority in (0, 1, 4, 255):
        yield fault(
            f"framed-priority-{priority}",
            framed(ITEM_TOKEN, ITEM_PAYLOAD, ITEM_IDENTIFIER, item(5, u8(priority))),
            "priority", offset=AFTER_PAYLOAD + 7 + 3, status=1, identifier=7,
            comment="HTTP/2 has it; the binary table has 10 and 5." if priority == 1 else None,
        )

    for size in (1, 31, 33, 64, 100):
        token = token_of(size)
        yield frame(
            f"framed-token-{size}", framed(item(1, token), ITEM_PAYLOAD, ITEM_IDENTIFIER), 2,
            token=token, identifier=7,
        )
    for size in (1, 256, 257, 2048):
        payload = payload_of(size)
        yield frame(
            f"framed-payload-{size}", framed(ITEM_TOKEN, item(2, payload), ITEM_IDENTIFIER), 2,
            payload=payload, identifier=7,
        )
    yield fault(
        "framed-token-101", framed(item(1, token_of(101)), ITEM_PAYLOAD, ITEM_IDENTIFIER),
        "tokenSize", offset=6, status=5, identifier=7,
        comment="The identifier comes after the error and is reported anyway.",
    )
    yield fault(
        "framed-token-101-identifier-first",
        framed(ITEM_IDENTIFIER, item(1, token_of(101)), ITEM_PAYLOAD),
        "tokenSize", offset=13, status=5, identifier=7,
    )
    yield fault(
        "framed-payload-2049", framed(ITEM_TOKEN, item(2, payload_of(2049)), ITEM_IDENTIFIER),
        "payloadSize", offset=AFTER_TOKEN + 1, status=7, identifier=7,
    )
    yield fault(
        "framed-payload-257-of-256", framed(ITEM_TOKEN, item(2, payload_of(257)), ITEM_IDENTIFIER),
        "payloadSize", offset=AFTER_TOKEN + 1, status=7, identifier=7,
        limits={"framedPayload": 256},
    )
    yield frame(
        "framed-payload-257-of-legacy-256", framed(ITEM_TOKEN, item(2, payload_of(257))), 2,
        payload=payload_of(257), limits={"legacyPayload": 256},
        comment="The limit of commands 0 and 1 does not apply to command 2.",
    )
    yield fault(
        "framed-payload-0", framed(ITEM_TOKEN, item(2, b""), ITEM_IDENTIFIER),
        "missingPayload", offset=AFTER_TOKEN + 1, status=4, identifier=7,
    )
    yield fault(
        "framed-token-0", framed(item(1, b""), ITEM_PAYLOAD, ITEM_IDENTIFIER),
        "missingToken", offset=6, status=2, identifier=7, comment="The sentinel.",
    )
    yield fault(
        "framed-token-0-without-identifier", framed(item(1, b""), ITEM_PAYLOAD),
        "missingToken", offset=6, status=2,
    )
    yield fault(
        "framed-token-0-identifier-0", framed(item(1, b""), ITEM_PAYLOAD, item(3, u32(0))),
        "missingToken", offset=6, status=2, identifier=0,
        comment="An identifier of 0 was given, which differs from no identifier.",
    )
    yield fault(
        "framed-token-missing", framed(ITEM_PAYLOAD, ITEM_IDENTIFIER),
        "missingToken", offset=5 + 3 + 50 + 7, status=2, identifier=7,
    )
    yield fault(
        "framed-payload-missing", framed(ITEM_TOKEN, ITEM_IDENTIFIER),
        "missingPayload", offset=AFTER_TOKEN + 7, status=4, identifier=7,
    )
    yield fault(
        "framed-length-0", framed(), "missingToken", offset=5, status=2, comment="No items at all."
    )
    yield fault(
        "framed-identifier-alone", framed(item(3, u32(0xFFFFFFFF))),
        "missingToken", offset=12, status=2, identifier=0xFFFFFFFF,
    )
    yield fault(
        "framed-token-and-payload-size", framed(item(1, token_of(101)), item(2, payload_of(2049))),
        "tokenSize", offset=6, status=5, comment="The token is checked before the payload.",
    )
    yield fault(
        "framed-payload-size-and-priority",
        framed(item(5, u8(1)), item(2, payload_of(2049)), ITEM_TOKEN),
        "payloadSize", offset=5 + 4 + 1, status=7,
        comment="The payload is checked before the priority, in any order of items.",
    )
    yield fault(
        "framed-token-size-behind-payload-size",
        framed(item(2, payload_of(2049)), item(1, token_of(101))),
        "tokenSize", offset=5 + 3 + 2049 + 1, status=5,
    )
    yield fault(
        "framed-priority-without-payload", framed(item(5, u8(1)), ITEM_TOKEN),
        "missingPayload", offset=5 + 4 + 35, status=4,
    )

    everything = (ITEM_TOKEN, ITEM_PAYLOAD, ITEM_IDENTIFIER, ITEM_EXPIRY, ITEM_PRIORITY)
    end = AFTER_PAYLOAD + 7 + 7 + 4
    for number, again in enumerate(everything, start=1):
        names = ("token", "payload", "identifier", "expiry", "priority")
        yield fault(
            f"framed-duplicate-{names[number - 1]}", framed(*everything, again),
            "duplicateItem", offset=end, status=128, identifier=7,
        )
    yield fault(
        "framed-two-identifiers",
        framed(ITEM_TOKEN, ITEM_PAYLOAD, item(3, u32(7)), item(3, u32(8))),
        "duplicateItem", offset=AFTER_PAYLOAD + 7, status=128, identifier=7,
        comment="The first of two identifiers is reported.",
    )
    yield fault(
        "framed-duplicate-empty-token", framed(item(1, b""), ITEM_TOKEN, ITEM_PAYLOAD),
        "duplicateItem", offset=8, status=128,
    )

    for number in (0, 6, 255):
        yield fault(
            f"framed-item-{number}", framed(ITEM_TOKEN, item(number, b"?"), ITEM_PAYLOAD),
            "unknownItem", offset=AFTER_TOKEN, status=128,
        )
    yield fault(
        "framed-unknown-item-empty", framed(item(9, b""), *everything),
        "unknownItem", offset=5, status=128, identifier=7,
    )
    yield fault(
        "framed-unknown-item-and-bad-token",
        framed(item(1, token_of(101)), ITEM_PAYLOAD, item(9, b"?"), ITEM_IDENTIFIER),
        "unknownItem", offset=5 + 3 + 101 + 3 + 50, status=128, identifier=7,
        comment="An invalid frame stays invalid with any contents.",
    )
    yield fault(
        "framed-two-faults", framed(ITEM_TOKEN, item(9, b"?"), ITEM_TOKEN, ITEM_PAYLOAD),
        "unknownItem", offset=AFTER_TOKEN, status=128, comment="The first of two errors counts.",
    )
    wrong = item(5, u16(10))
    for name, item_again in (
        ("item-cut", ITEM_PRIORITY[:2]),
        ("unknown-item", item(9, b"?")),
        ("token", ITEM_TOKEN),
        ("payload", ITEM_PAYLOAD),
        ("identifier", ITEM_IDENTIFIER),
        ("expiry", ITEM_EXPIRY),
    ):
        yield fault(
            f"framed-wrong-priority-then-{name}",
            framed(ITEM_TOKEN, ITEM_PAYLOAD, ITEM_IDENTIFIER, ITEM_EXPIRY, wrong, item_again),
            "itemSize", offset=AFTER_PAYLOAD + 7 + 7 + 1, status=128, identifier=7,
        )
    for name, items in (
        ("identifier-of-3", (item(3, bytes(3)),)),
        ("expiry-of-3", (item(4, bytes(3)),)),
        ("priority-of-2", (wrong,)),
        ("priority-twice", (ITEM_PRIORITY, ITEM_PRIORITY)),
    ):
        yield fault(
            f"framed-unknown-item-then-{name}",
            framed(ITEM_TOKEN, item(9, b"?"), ITEM_PAYLOAD, *items),
            "unknownItem", offset=AFTER_TOKEN, status=128,
        )

    for size in (1, 2):
        yield fault(
            f"framed-item-header-of-{size}",
            framed(ITEM_TOKEN, ITEM_PAYLOAD, ITEM_IDENTIFIER, ITEM_EXPIRY[:size]),
            "itemCut", offset=AFTER_PAYLOAD + 7, status=128, identifier=7,
        )
    yield fault(
        "framed-item-without-data", framed(ITEM_TOKEN, ITEM_PAYLOAD, u8(3) + u16(4)),
        "itemCut", offset=AFTER_PAYLOAD, status=128,
    )
    yield fault(
        "framed-identifier-cut", framed(ITEM_TOKEN, ITEM_PAYLOAD, ITEM_IDENTIFIER[:6]),
        "itemCut", offset=AFTER_PAYLOAD, status=128,
        comment="Three bytes are not an identifier.",
    )
    yield fault(
        "framed-item-length-65535", framed(ITEM_IDENTIFIER, u8(1) + u16(0xFFFF) + TOKEN),
        "itemCut", offset=12, status=128, identifier=7,
    )
    yield fault(
        "framed-length-one-short",
        u8(2) + u32(3 + 32 + 3 + 50 - 1) + ITEM_TOKEN + ITEM_PAYLOAD,
        "itemCut", offset=AFTER_TOKEN, status=128, after=AFTER_PAYLOAD - 1,
    )
    yield fault(
        "framed-length-one-over",
        u8(2) + u32(3 + 32 + 3 + 50 + 1) + ITEM_TOKEN + ITEM_PAYLOAD + framed(ITEM_TOKEN),
        "itemCut", offset=AFTER_PAYLOAD, status=128, after=AFTER_PAYLOAD + 1,
        comment="The next frame's first byte is read as an item.",
    )
    yield fault(
        "framed-length-of-5-bytes",
        u8(2) + u32(5) + ITEM_TOKEN + ITEM_PAYLOAD,
        "itemCut", offset=5, status=128, after=10,
        comment="Bytes after the frame are not part of it.",
    )

    for size in (0, 3, 5):
        yield fault(
            f"framed-identifier-of-{size}", framed(ITEM_TOKEN, ITEM_PAYLOAD, item(3, bytes(size))),
            "itemSize", offset=AFTER_PAYLOAD + 1, status=128,
        )
    for size in (0, 3, 8):
        yield fault(
            f"framed-expiry-of-{size}",
            framed(ITEM_TOKEN, ITEM_PAYLOAD, ITEM_IDENTIFIER, item(4, bytes(size))),
            "itemSize", offset=AFTER_PAYLOAD + 7 + 1, status=128, identifier=7,
        )
    for size in (0, 2, 4):
        yield fault(
            f"framed-priority-of-{size}",
            framed(ITEM_TOKEN, ITEM_PAYLOAD, item(5, u32(10)[4 - size :]), ITEM_IDENTIFIER),
            "itemSize", offset=AFTER_PAYLOAD + 1, status=128, identifier=7,
        )

    for length in (0xFFFFFFFF, 0x80000000, 0x7FFFFFFF, 327691):
        yield fault(
            f"framed-length-{length:#x}", u8(2) + u32(length) + ITEM_TOKEN + ITEM_PAYLOAD,
            "frameTooLong", offset=1, status=128, after=5,
            comment="One byte more than five items can have." if length == 327691 else None,
        )
    yield fault(
        "framed-length-little-endian",
        u8(2) + struct.pack("<I", 3 + 32 + 3 + 50) + ITEM_TOKEN + ITEM_PAYLOAD,
        "frameTooLong", offset=1, status=128, after=5,
    )
    yield incomplete(
        "framed-length-327690", u8(2) + u32(327690) + ITEM_TOKEN,
        comment="The maximum of five items: may still arrive.",
    )


def other_frames():
    for command, comment in (
        (3, None),
        (8, "An error packet sent the wrong way."),
        (22, "A TLS record inside TLS."),
        (71, "The G of GET."),
        (255, None),
    ):
        yield fault(
            f"command-{command}", u8(command) + simple()[1:],
            "unknownCommand", offset=0, status=128, after=1, comment=comment,
        )

    first = framed(ITEM_TOKEN, ITEM_PAYLOAD, ITEM_IDENTIFIER)
    length = AFTER_PAYLOAD + 7
    yield frame(
        "framed-then-framed", first + framed(ITEM_TOKEN, ITEM_PAYLOAD), 2, identifier=7,
        length=length, comment="Two frames in one read: the length shows where the second begins.",
    )
    yield frame("simple-then-enhanced", simple() + enhanced(8, 0), 0, length=87)
    yield frame(
        "enhanced-then-simple", enhanced(8, 0) + simple(), 1, identifier=8, expiry=0, length=95
    )
    yield frame(
        "framed-then-noise", first + b"\xff" * 9, 2, identifier=7, length=length,
        comment="An error after the frame is for the next call.",
    )
    yield frame("framed-then-one-byte", first + u8(2), 2, identifier=7, length=length)
    yield frame("simple-then-sentinel", simple() + enhanced(9, 0, b""), 0, length=87)

    yield incomplete("nothing", b"")
    yield incomplete("simple-command-alone", simple()[:1])
    yield incomplete("simple-cut-in-token-length", simple()[:2])
    yield incomplete("simple-cut-after-token-length", simple()[:3])
    yield incomplete("simple-cut-in-token", simple()[:34])
    yield incomplete("simple-cut-after-token", simple()[:35])
    yield incomplete("simple-cut-in-payload-length", simple()[:36])
    yield incomplete("simple-cut-after-payload-length", simple()[:37])
    yield incomplete("simple-cut-in-payload", simple()[:86])
    yield incomplete("enhanced-command-alone", enhanced(7, TOMORROW)[:1])
    yield incomplete("enhanced-cut-in-identifier", enhanced(7, TOMORROW)[:4])
    yield incomplete("enhanced-cut-in-expiry", enhanced(7, TOMORROW)[:8])
    yield incomplete("enhanced-cut-in-token-length", enhanced(7, TOMORROW)[:10])
    yield incomplete("enhanced-cut-in-payload", enhanced(7, TOMORROW)[:94])
    yield incomplete("framed-command-alone", first[:1])
    yield incomplete("framed-cut-in-length", first[:4])
    yield incomplete("framed-cut-after-length", first[:5])
    yield incomplete("framed-cut-between-items", first[:AFTER_TOKEN])
    yield incomplete("framed-cut-in-last-byte", first[:-1])
    yield incomplete(
        "framed-sentinel-cut", framed(item(1, b""), ITEM_PAYLOAD, ITEM_IDENTIFIER)[:-1],
        comment="Checked only when complete: the identifier comes last.",
    )


def frames():
    return {
        "comment": [
            "Notification frames as a gateway reads them: Binary Provider API, commands 0, 1, 2.",
            "result: valid, invalid, or incomplete (more bytes are needed to decide).",
            "frame.length is the frame's number of bytes; more may follow.",
            "canonical: an encoder writes exactly these bytes for these values.",
            "error.offset counts from the frame's first byte; error.identifier is missing if "
            "none could be read; error.status is for the error packet (an error in a command 0 "
            "frame closes without one); error.after bytes decide.",
            "limits: if the gateway's differ from tokens of 1 to 100 bytes and payloads of "
            "2,048.",
        ],
        "tests": [*simple_frames(), *enhanced_frames(), *framed_frames(), *other_frames()],
    }


# ---- error-packets.json ----------------------------------------------------


def error_packets():
    def packet(name, data, status, identifier, comment=None):
        return vector(name, data, "valid", comment,
                      packet={"status": status, "identifier": identifier})

    tests = []
    table = {
        0: "no errors encountered",
        1: "processing error",
        2: "missing device token",
        3: "missing topic",
        4: "missing payload",
        5: "invalid token size",
        6: "invalid topic size",
        7: "invalid payload size",
        8: "invalid token",
        10: "shutdown: the identifier is the last one accepted",
        128: "protocol error",
        255: "none (unknown)",
    }
    for status, comment in table.items():
        tests.append(
            packet(f"status-{status}", u8(8) + u8(status) + u32(1234), status, 1234, comment)
        )
    for status in (9, 11, 127, 254):
        tests.append(
            packet(f"status-{status}-unlisted", u8(8) + u8(status) + u32(1234), status, 1234)
        )
    typed_out = bytes.fromhex("08 08 01020304")
    tests += [
        packet("typed-out", typed_out, 8, 0x01020304),
        packet("identifier-0", u8(8) + u8(8) + u32(0), 8, 0,
               "The gateway does not know which notification failed."),
        packet("identifier-1", u8(8) + u8(8) + u32(1), 8, 1),
        packet("identifier-max", u8(8) + u8(8) + u32(0xFFFFFFFF), 8, 0xFFFFFFFF),
        packet("identifier-of-listing", bytes.fromhex("08 07 d2040000"), 7, 0xD2040000,
               "1234 as the enhanced listing writes it on x86."),
        packet("all-eights", bytes.fromhex("080808080808"), 8, 0x08080808),
        packet("followed-by-a-byte", typed_out + b"\x00", 8, 0x01020304,
               "Bytes after the packet are ignored."),
        packet("followed-by-a-packet", typed_out + u8(8) + u8(1) + u32(9), 8, 0x01020304),
        packet("followed-by-noise", typed_out + b"\xff" * 32, 8, 0x01020304),
    ]
    for count in range(6):
        tests.append(vector(f"cut-at-{count}", typed_out[:count], "incomplete"))
    for command, comment in (
        (0, None),
        (1, None),
        (2, None),
        (7, None),
        (9, None),
        (0x15, "A TLS alert inside TLS."),
        (0x48, "The H of HTTP/1.1 400."),
        (0x80, "The start of an SSL 2 record."),
        (255, None),
    ):
        tests.append(
            vector(
                f"command-{command}", u8(command) + u8(8) + u32(1234), "invalid", comment,
                error={"reason": "unknownCommand", "offset": 0},
            )
        )
    tests.append(
        vector("command-alone", u8(2), "invalid", error={"reason": "unknownCommand", "offset": 0})
    )
    return {
        "comment": [
            "Error packets as a provider reads them: Binary Provider API, error response.",
            "result: valid, invalid, or incomplete (more bytes are needed to decide).",
            "A status that no table lists is reported unchanged.",
        ],
        "tests": tests,
    }


# ---- feedback.json ---------------------------------------------------------


def feedback():
    def gone(timestamp, token):
        return u32(timestamp) + u16(len(token)) + token

    def stream(name, data, tuples, result="valid", rest=0, comment=None, **more):
        listed = [{"timestamp": timestamp, "token": token.hex()} for timestamp, token in tuples]
        if result == "incomplete":
            more["rest"] = rest
        return vector(name, data, result, comment, tuples=listed, **more)

    def list_of(name, *tuples, comment=None):
        return stream(name, b"".join(gone(*each) for each in tuples), tuples, comment=comment)

    one = (NOW, TOKEN)
    other = (NOW + 1, token_of(32))
    missing = {"reason": "missingToken", "offset": 4}
    tests = [
        list_of("empty", comment="No device is gone: the service closes immediately."),
        stream(
            "typed-out",
            bytes.fromhex(
                "4a3924a9 0020 5f79cfda4d01aa3a11c833f97b52df2a7a210252e21b01faa73d34639ee0e412"
            ),
            [one],
        ),
        list_of("two", one, other),
        list_of("many", *((NOW + i, token_of(32)[i:] + TOKEN[:i]) for i in range(25))),
        list_of("same-device-twice", one, (NOW + 60, TOKEN)),
        list_of("timestamp-0", (0, TOKEN)),
        list_of("timestamp-max", (0xFFFFFFFF, TOKEN), comment="Not a time before 1970."),
        list_of("timestamp-byte-order", (0x01020304, TOKEN)),
        list_of("token-1", (NOW, token_of(1))),
        list_of("token-31", (NOW, token_of(31))),
        list_of("token-33", (NOW, token_of(33))),
        list_of("token-100", (NOW, token_of(100))),
        list_of("token-101", (NOW, token_of(101)),
                comment="Tuples are reported unchanged; only its field limits a token."),
        list_of("token-256", (NOW, token_of(256))),
        list_of("token-300", (NOW, token_of(300))),
        list_of("lengths-mixed", *((NOW, token_of(size)) for size in (100, 1, 32, 64, 2))),
        stream("token-0", gone(NOW, b""), [], "invalid", error=missing),
        stream("token-0-alone", u32(NOW) + u16(0), [], "invalid", error=missing),
        stream("token-0-second", gone(*one) + gone(NOW, b"") + gone(*other), [one], "invalid",
               error=missing, comment="The offset counts from the invalid tuple's first byte."),
        stream("zeros", bytes(32), [], "invalid", error=missing),
        stream("token-0-third", gone(*one) + gone(*other) + bytes(6), [one, other], "invalid",
               error=missing),
        stream("token-0-after-token-1", gone(NOW, b"\x00") + bytes(6), [(NOW, b"\x00")], "invalid",
               error=missing),
    ]
    whole = gone(*one)
    for name, count in (
        ("timestamp", 3),
        ("timestamp-first-byte", 1),
        ("between-timestamp-and-length", 4),
        ("length", 5),
        ("between-length-and-token", 6),
        ("token", 21),
        ("token-last-byte", 37),
    ):
        tests.append(stream(f"cut-in-{name}", whole[:count], [], "incomplete", rest=count))
    tests += [
        stream("second-cut-in-timestamp", whole + gone(*other)[:2], [one], "incomplete", rest=2),
        stream("second-cut-in-length", whole + gone(*other)[:5], [one], "incomplete", rest=5),
        stream("second-cut-in-token", whole + gone(*other)[:20], [one], "incomplete", rest=20),
        stream("token-65535-cut", u32(NOW) + u16(0xFFFF) + TOKEN, [], "incomplete", rest=38),
    ]
    return {
        "comment": [
            "What the feedback service sends: a run of tuples, until it closes.",
            "result: valid, invalid, or incomplete (it was truncated within a tuple; its first "
            "`rest` bytes arrived).",
            "tuples: the complete ones before the end or the error.",
            "error.offset counts from the invalid tuple's first byte.",
        ],
        "tests": tests,
    }


# ---- tokens.json -----------------------------------------------------------


def tokens():
    def valid(name, text, token=TOKEN, comment=None):
        return entry(name, text, "valid", comment, token=token.hex())

    def bad_character(name, text, position, byte, comment=None):
        return entry(name, text, "invalid", comment,
                     error={"reason": "character", "position": position, "byte": byte})

    def bad(name, text, reason, comment=None):
        return entry(name, text, "invalid", comment, error={"reason": reason})

    def entry(name, text, result, comment, **more):
        if isinstance(text, bytes):
            return vector(name, text, result, comment, **more)
        return {"name": name, "text": text, **vector(name, text.encode(), result, comment, **more)}

    hexed = "5f79cfda4d01aa3a11c833f97b52df2a7a210252e21b01faa73d34639ee0e412"
    spaced = "5f79cfda 4d01aa3a 11c833f9 7b52df2a 7a210252 e21b01fa a73d3463 9ee0e412"
    hundred = token_of(100)
    tests = [
        valid("lower-case", hexed),
        valid("upper-case", hexed.upper()),
        valid("mixed-case", "5F79cfda4D01aA3a11c833f97b52df2A7a210252e21b01faa73d34639Ee0E412"),
        valid("nsdata", f"<{spaced}>", comment="As printed by NSData."),
        valid("nsdata-upper-case", f"<{spaced.upper()}>"),
        valid("spaces-without-brackets", spaced),
        valid("brackets-without-spaces", f"<{hexed}>"),
        valid("spaces-around", f"  {hexed} "),
        valid("space-within-a-byte", "5 f79cfda 4d01aa3 a11c833f97b52df2a7a210252e21b01faa73d34639"
              "ee0e412", comment="Spaces are ignored everywhere."),
        valid("bracket-lost", f"<{spaced}", comment="Copied without the last character."),
        valid("digits-all", "0123456789abcdefABCDEF", bytes.fromhex("0123456789abcdefabcdef")),
        valid("one-byte", "0a", b"\x0a"),
        valid("zeros", "00" * 32, bytes(32)),
        valid("ones", "ff" * 32, b"\xff" * 32),
        valid("31-bytes", token_of(31).hex(), token_of(31)),
        valid("33-bytes", token_of(33).hex(), token_of(33)),
        valid("100-bytes", hundred.hex(), hundred),
        valid("100-bytes-spaced", hundred.hex(" ", 4), hundred,
              comment="The limit counts bytes, not characters."),
        bad("empty", "", "noDigits"),
        bad("only-spaces", "    ", "noDigits"),
        bad("only-brackets", "<>", "noDigits"),
        bad("brackets-and-spaces", "< >", "noDigits"),
        bad("odd-1", "5", "oddDigits"),
        bad("odd-63", hexed[:-1], "oddDigits"),
        bad("odd-spaced", f"<{spaced[:-1]}>", "oddDigits"),
        bad("101-bytes", token_of(101).hex(), "tooLong"),
        bad("1000-bytes", token_of(1000).hex(), "tooLong"),
        bad("101-bytes-spaced", token_of(101).hex(" ", 4), "tooLong"),
        bad_character("forum-post", f"<5u79cfda 4d01ga3a 11c833f9 7b52df2a 7g210252 e21b01fa "
                      "a73d3463 9ge0e412>", 2, ord("u"),
                      comment="A disguised token, as posted in public; the first bad character is named."),
        bad_character("u-at-1", "5u79cfda", 1, ord("u")),
        bad_character("g-first", "g" + hexed[1:], 0, ord("g")),
        bad_character("g-last", hexed[:-1] + "g", 63, ord("g")),
        bad_character("capital-g", "0G", 1, ord("G")),
        bad_character("before-0", "0/", 1, ord("/"), comment="The neighbours of the digits."),
        bad_character("after-9", "0:", 1, ord(":")),
        bad_character("before-A", "0@", 1, ord("@")),
        bad_character("before-a", "0`", 1, ord("`")),
        bad_character("odd-and-character", "5fx", 2, ord("x")),
        bad_character("0x", f"0x{hexed}", 1, ord("x")),
        bad("nsdata-ios-13", "{length = 32, bytes = 0x5f79cfda 4d01aa3a 11c833f9 7b52df2a ... a73d3463 9ee0e412 }",
            "description", "What iOS 13 and later print, without the middle."),
        bad("nsdata-ios-13-whole", "{length = 32, bytes = 0x5f79cfda 4d01aa3a 11c833f9 7b52df2a"
            " 7a210252 e21b01fa a73d3463 9ee0e412}", "description"),
        bad("nsdata-ios-13-compact", " {length=32,bytes=0x5f79cfda4d01}", "description"),
        bad("data-of-swift", "32 bytes", "description"),
        bad("data-of-swift-in-brackets", "<32 bytes: 5f79>", "description"),
        bad_character("bytes-of-something", "bytes", 1, 0x79),
        bad_character("dashes", "5f79cfda-4d01aa3a", 8, ord("-")),
        bad_character("quoted", f'"{hexed}"', 0, ord('"')),
        bad_character("comma", f"{hexed},", 64, ord(",")),
        bad_character("newline-at-end", f"{hexed}\n", 64, 10,
                      comment="A line read with its newline: only <, > and space are ignored."),
        bad_character("carriage-return-at-end", f"{hexed}\r\n", 64, 13),
        bad_character("tab", "5f79cfda\t4d01aa3a", 8, 9),
        bad_character("nul-inside", "5f79\x00cfda", 4, 0, comment="The caller gives the length."),
        bad_character("nul-at-end", f"{hexed}\x00", 64, 0),
        bad_character("nul-alone", "\x00", 0, 0),
        bad_character("base64", "X3nP2k0BqjoRyDP5e1LfKnohAlLiGwH6pz00Y57g5BI=", 0, ord("X")),
        bad_character("umlaut", "5f79\u00fccfda", 4, 0xC3,
                      comment="The first of its two bytes; positions count bytes."),
        bad_character("no-break-space", "5f79cfda\u00a04d01aa3a", 8, 0xC2),
        bad_character("full-width-digit", "5f\uff11\uff12", 2, 0xEF),
        bad_character("byte-order-mark", f"\ufeff{hexed}", 0, 0xEF),
        bad_character("not-utf-8", b"5f79\xff\xfe", 4, 0xFF),
        bad_character("raw-bytes", TOKEN, 0, 0x5F, comment="The token itself, not its hex."),
    ]
    return {
        "comment": [
            "Device tokens as text, for apns_token_from_hex(): hex in either case, with <, > and "
            "space ignored everywhere. Anything else, tab and newline too, is an "
            "error.",
            "hex: the text's bytes, which may include NUL; text: the same for the reader, if it "
            "is UTF-8.",
            "error.reason: character (the first invalid one, its position in bytes from "
            "0 and its byte), oddDigits, noDigits, tooLong (more than 100 bytes).",
        ],
        "tests": tests,
    }


# ---- tokens as base64 ------------------------------------------------------


def tokens_base64():
    def valid(name, text, token=TOKEN, comment=None):
        return entry(name, text, "valid", comment, token=token.hex())

    def bad(name, text, reason, position=None, byte=None, comment=None):
        error = {"reason": reason}
        if position is not None:
            error["position"] = position
        if byte is not None:
            error["byte"] = byte
        return entry(name, text, "invalid", comment, error=error)

    def entry(name, text, result, comment, **more):
        return {"name": name, "text": text, **vector(name, text.encode(), result, comment, **more)}

    padded = "X3nP2k0BqjoRyDP5e1LfKnohAlLiGwH6pz00Y57g5BI="
    tests = [
        valid("padded", padded),
        valid("without-padding", padded[:-1]),
        # RFC 4648, section 10.
        valid("f", "Zg==", b"f"),
        valid("f-without-padding", "Zg", b"f"),
        valid("fo", "Zm8=", b"fo"),
        valid("fo-without-padding", "Zm8", b"fo"),
        valid("foo", "Zm9v", b"foo"),
        valid("foob", "Zm9vYg==", b"foob"),
        valid("fooba", "Zm9vYmE=", b"fooba"),
        valid("foobar", "Zm9vYmFy", b"foobar"),
        valid("whole-alphabet",
              "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
              bytes.fromhex("00108310518720928b30d38f41149351559761969b71d79f8218a39259a7a29a"
                            "abb2dbafc31cb3d35db7e39ebbf3dfbf")),
        valid("zeros", "A" * 43 + "=", bytes(32)),
        valid("ones", "/" * 42 + "8=", b"\xff" * 32),
        valid("100-bytes", "AAAA" * 33 + "AA==", bytes(100)),
        valid("100-bytes-without-padding", "AAAA" * 33 + "AA", bytes(100)),
        bad("empty", "", "noDigits"),
        bad("one-digit", "Z", "cutShort"),
        bad("five-digits", "Zm9vY", "cutShort"),
        bad("last-two-lost", padded[:-3], "cutShort"),
        bad("half-padding", "Zg=", "halfPadding"),
        bad("padding-alone", "=", "padding", 0, ord("=")),
        bad("padding-after-one", "Z===", "padding", 1, ord("=")),
        bad("padding-after-four", "Zm9v=", "padding", 4, ord("=")),
        bad("padding-too-much", "Zg===", "padding", 4, ord("=")),
        bad("padding-too-much-after-three", "Zm8==", "padding", 4, ord("=")),
        bad("behind-padding", "Zg==Zg==", "behindPadding", 4, ord("Z")),
        bad("between-padding", "Zg=a", "behindPadding", 3, ord("a")),
        bad("loose-bits-two", "Zh==", "looseBits", 1, ord("h"),
            comment="The digit before the padding has bits that belong to no byte."),
        bad("loose-bits-three", "Zm9=", "looseBits", 2, ord("9")),
        bad("loose-bits-without-padding", "Zh", "looseBits", 1, ord("h")),
        bad("last-lost", padded[:-2], "looseBits", 41, ord("5"),
            comment="Copied without the last digit: 31 bytes would be another token."),
        bad("101-bytes", "AAAA" * 33 + "AAA=", "tooLong"),
        bad("1000-bytes", "AAAA" * 333 + "AA==", "tooLong"),
        bad("minus", "Zm9-", "character", 3, ord("-"), comment="URL-safe base64 has another alphabet."),
        bad("underscore", "Zm_v", "character", 2, ord("_")),
        bad("before-plus", "Zm9*", "character", 3, ord("*"), comment="The neighbours of the digits."),
        bad("after-plus", "Zm9,", "character", 3, ord(",")),
        bad("before-slash", "Zm9.", "character", 3, ord(".")),
        bad("after-9", "Zm9:", "character", 3, ord(":")),
        bad("before-A", "Zm9@", "character", 3, ord("@")),
        bad("after-Z", "Zm9[", "character", 3, ord("[")),
        bad("before-a", "Zm9`", "character", 3, ord("`")),
        bad("after-z", "Zm9{", "character", 3, ord("{")),
        bad("space", "Zm9v YmFy", "character", 4, 32),
        bad("newline-at-end", padded + "\n", "character", 44, 10),
        bad("nul-at-end", "Zm9v\x00", "character", 4, 0, comment="The caller gives the length."),
        bad("umlaut", "Zm9\u00fc", "character", 3, 0xC3),
        bad("nsdata", "<5f79cfda 4d01aa3a>", "character", 0, ord("<"), comment="This is hex."),
    ]
    return {
        "comment": [
            "Device tokens as base64, for apns_token_from_base64(): the standard alphabet (RFC "
            "4648, section 4), with complete padding or none, and nothing else.",
            "hex: the text's bytes, which may include NUL; text: the same for the reader.",
            "error.reason: character (the first invalid one, its position in bytes from "
            "0 and its byte), padding (a = out of place), behindPadding, halfPadding, looseBits "
            "(the last digit has bits that belong to no byte), cutShort (a digit left over), "
            "noDigits, tooLong (more than 100 bytes).",
        ],
        "tests": tests,
    }


# ---- strings files ---------------------------------------------------------


def text_vector(name, text, result, comment, **more):
    if isinstance(text, bytes):
        return vector(name, text, result, comment, **more)
    return {"name": name, "text": text, **vector(name, text.encode(), result, comment, **more)}


def strings():
    def valid(name, text, *pairs, comment=None):
        return text_vector(name, text, "valid", comment, pairs=[list(pair) for pair in pairs])

    def bad(name, text, reason, line, column, comment=None):
        return text_vector(name, text, "invalid", comment,
                           error={"reason": reason, "line": line, "column": column})

    apple = (
        "/* An invitation to play Monopoly. */\n"
        '"GAME_PLAY_REQUEST_FORMAT" = "%@ and %@ have invited you to play Monopoly";\n'
    )
    game = ("GAME_PLAY_REQUEST_FORMAT", "%@ and %@ have invited you to play Monopoly")
    many = "\n".join(f'"key {n}" = "value {n}";' for n in range(200, 0, -1))
    wide = '"gr\u00fc\u00df" = "\u4f60\u597d \U0001f600";'
    wide_pair = ("gr\u00fc\u00df", "\u4f60\u597d \U0001f600")
    little, big = b"\xff\xfe", b"\xfe\xff"
    tests = [
        valid("guide", apple, game),
        valid("utf-8-mark", b"\xef\xbb\xbf" + apple.encode(), game),
        valid("utf-16-little", little + apple.encode("utf-16-le"), game),
        valid("utf-16-big", big + apple.encode("utf-16-be"), game),
        valid("wide-utf-8", wide, wide_pair),
        valid("wide-utf-16-little", little + wide.encode("utf-16-le"), wide_pair),
        valid("wide-utf-16-big", big + wide.encode("utf-16-be"), wide_pair),
        valid("empty-utf-16", little),
        valid("blank", " \t\n\x0b\x0c\r\n"),
        valid("comments-only", "/* one */ // two\n/* three\n * four **/"),
        valid("comment-at-end", '"a" = "b"; // no line break', ("a", "b")),
        valid("comments-everywhere", '/*1*/"a"/*2*/=/*3*/"b"/*4*/;/*5*/', ("a", "b")),
        valid("comment-with-quotes", '/* "x" = "y"; */ "a" = "b"; // "c" = "d";', ("a", "b")),
        valid("comment-in-string", '"a" = "b /* c */ // d";', ("a", "b /* c */ // d")),
        valid("comment-slash-star-slash", '/*/ "x" = "y"; /*/ "a" = "b";', ("a", "b"),
              comment="Its second slash does not end a comment."),
        valid("no-blanks", '"a"="b";"c"="d";', ("a", "b"), ("c", "d")),
        valid("blanks-everywhere", ' "a" \t = \r\n "b" \n ; ', ("a", "b")),
        valid("line-separators", "\u2028'a' = 'b';\u2029", ("a", "b")),
        valid("line-break-in-string", '"a" = "b\nc";', ("a", "b\nc")),
        valid("empty-strings", '"" = "";', ("", "")),
        valid("single-quotes", "'a' = 'it is \"so\"';", ("a", 'it is "so"')),
        valid("other-quote-inside", "\"a\" = \"it's\";", ("a", "it's")),
        valid("without-quotes", "key.one = value-2;", ("key.one", "value-2")),
        valid("without-quotes-all", "aZ09_$/:.- = x;", ("aZ09_$/:.-", "x")),
        valid("slash-begins-a-string", "/path = /a/b;", ("/path", "/a/b")),
        valid("key-alone", '"a"; b;', ("a", "a"), ("b", "b")),
        valid("braces", ' { "a" = "b"; c = d; } // end\n', ("a", "b"), ("c", "d")),
        valid("empty-braces", "{}"),
        valid("last-of-equals", '"a" = "1"; "b" = "2"; "a" = "3"; a = 4;', ("a", "4"), ("b", "2")),
        valid("keys-with-one-beginning", '"ab" = "2"; "a" = "1"; "abc" = "3"; "" = "0";',
              ("", "0"), ("a", "1"), ("ab", "2"), ("abc", "3")),
        valid("many", many, *((f"key {n}", f"value {n}") for n in range(1, 201))),
        valid("escapes", r'''"a" = "\"\'\\\a\b\f\n\r\t\v";''', ("a", "\"'\\\a\b\f\n\r\t\v")),
        valid("escape-in-key", r'"a\n\"b" = "c";', ('a\n"b', "c")),
        valid("escaped-line-break", '"a" = "b\\\nc";', ("a", "b\nc")),
        valid("unicode-escape", r'"a" = "\U00e9\U4F60x\U0041";', ("a", "\u00e9\u4f60xA")),
        valid("unicode-escape-pair", r'"a" = "\Ud83d\UDE00!";', ("a", "\U0001f600!")),
        valid("unicode-escape-last-pair", r'"a" = "\Udbff\Udfff";', ("a", "\U0010ffff")),
        valid("unicode-escape-nul", r'"a" = "b\U0000c";', ("a", "b\0c")),
        valid("octal-escape", r'"a" = "\101\12\7\0018";', ("a", "A\n\x07\x018")),
        valid("octal-escape-next-step", r'"a" = "\200\341\351\373\375";',
              ("a", "\u00a0\u00c6\u00d8\u00df\u00ff"),
              comment="Not Latin-1: NeXTSTEP had its own encoding."),
        valid("octal-escape-three-bytes", r'"a" = "\256\257\244";', ("a", "\ufb01\ufb02\u2044")),
        valid("octal-escape-one-digit", r'"a" = "\08\78";', ("a", "\x008\x078")),
        valid("percent", r'"a" = "100%";', ("a", "100%"), comment="Formatting happens later."),
        valid("utf-8-edges", '"a" = "\x7f\u0080\u07ff\u0800\ud7ff\ue000\uffff\U00010000";',
              ("a", "\x7f\u0080\u07ff\u0800\ud7ff\ue000\uffff\U00010000")),
        bad("no-semicolon", '"a" = "b"', "noSemicolon", 1, 10),
        bad("no-semicolon-between", '"a" = "b"\n"c" = "d";', "noSemicolon", 2, 1),
        bad("two-semicolons", '"a" = "b";;', "noKey", 1, 11,
            comment="The device omits everything after it."),
        bad("no-equal-sign", '"a" "b";', "noEqualSign", 1, 5),
        bad("only-a-key", '"a"', "noEqualSign", 1, 4),
        bad("colon", '"a": "b";', "noEqualSign", 1, 4, comment="JSON."),
        bad("comma", '"a" = "b", "c" = "d";', "noSemicolon", 1, 10),
        bad("no-value", '"a" = ;', "noValue", 1, 7),
        bad("no-value-at-end", '"a" =', "noValue", 1, 6),
        bad("array", '"a" = (b, c);', "noText", 1, 7),
        bad("dictionary", '"a" = {b = c;};', "noText", 1, 7),
        bad("data", '"a" = <0a>;', "noText", 1, 7),
        bad("array-as-key", '(a) = b;', "noKey", 1, 1),
        bad("rubbish", '"a" = "b";\n  ?', "noKey", 2, 3),
        bad("open-string", '"a" = "b;\n"c" = "d";', "noSemicolon", 2, 2,
            comment="The string ends at the next quote; what follows it is out of place."),
        bad("open-string-at-end", '"a" = "b;\n', "openString", 1, 7),
        bad("open-key", '\n "a', "openString", 2, 2),
        bad("open-after-backslash", '"a" = "b\\', "openString", 1, 7),
        bad("open-comment", '"a" = "b";\n /* c', "openComment", 2, 2),
        bad("open-comment-star", "/* *", "openComment", 1, 1),
        bad("open-comment-slash", "/*/", "openComment", 1, 1),
        bad("lone-slash-at-end", "/", "noEqualSign", 1, 2),
        bad("open-brace", '{ "a" = "b";', "openBrace", 1, 1),
        bad("behind-brace", '{ "a" = "b"; } "c" = "d";', "behindEnd", 1, 16),
        bad("closing-brace", '"a" = "b"; }', "noKey", 1, 12),
        bad("unknown-escape", r'"a" = "b\q";', "unknownEscape", 1, 9),
        bad("unknown-escape-u", r'"a" = "\u00e9";', "unknownEscape", 1, 8,
            comment="The device reads u00e9."),
        bad("unknown-escape-8", r'"a" = "\8";', "unknownEscape", 1, 8),
        bad("unknown-escape-slash", r'"a" = "\/";', "unknownEscape", 1, 8),
        bad("unicode-escape-short", r'"a" = "\U41";', "unicodeEscape", 1, 8),
        bad("unicode-escape-none", r'"a" = "\U";', "unicodeEscape", 1, 8),
        bad("unicode-escape-digit", r'"a" = "\U00g9";', "unicodeEscape", 1, 8),
        bad("unicode-escape-end", '"a" = "\\U00', "unicodeEscape", 1, 8),
        bad("unicode-escape-high-alone", r'"a" = "x\Ud83d!";', "unpairedSurrogate", 1, 9),
        bad("unicode-escape-high-at-end", r'"a" = "\Ud83d";', "unpairedSurrogate", 1, 8),
        bad("unicode-escape-two-high", r'"a" = "\Ud83d\Ud83d";', "unpairedSurrogate", 1, 8),
        bad("unicode-escape-low-alone", r'"a" = "\Ude00";', "unpairedSurrogate", 1, 8),
        bad("unicode-escape-high-and-escape", r'"a" = "\Ud83d\n";', "unpairedSurrogate", 1, 8),
        bad("unicode-escape-high-and-half", r'"a" = "\Ud83d\Ude0";', "unicodeEscape", 1, 8),
        bad("octal-escape-too-large", r'"a" = "\400";', "octalEscape", 1, 8),
        bad("octal-escape-not-in-set", r'"a" = "\376";', "octalEscape", 1, 8),
        bad("place-counts-characters", '"\u4f60" = "\U0001f600\\q";', "unknownEscape", 1, 9),
        bad("place-after-crlf", '"a" = "b";\r\n"c" = \\;', "noValue", 2, 7),
        bad("place-after-cr", '"a" = "b";\r"c" = \\;', "noValue", 2, 7),
        bad("place-after-lf-cr", '"a" = "b";\n\r"c" = \\;', "noValue", 3, 7),
        bad("place-after-line-separator", '"a" = "b";\u2028"c" = \\;', "noValue", 2, 7),
        bad("place-utf-16-crlf", little + '"a";\r\n\r\n  ?'.encode("utf-16-le"), "noKey", 3, 3),
        bad("place-in-comment", "/*\n\n*/ ?", "noKey", 3, 4),
        bad("not-utf-8", b'"a" = "\xe9";', "notUTF8", 1, 8, comment="Latin-1."),
        bad("not-utf-8-later", b'"a" = "b";\n"\xff" = "d";', "notUTF8", 2, 2),
        bad("utf-8-continuation", b'"a" = "\x80";', "notUTF8", 1, 8),
        bad("utf-8-overlong-2", b'"a" = "\xc0\xaf";', "notUTF8", 1, 8),
        bad("utf-8-overlong-3", b'"a" = "\xe0\x9f\xbf";', "notUTF8", 1, 8),
        bad("utf-8-overlong-4", b'"a" = "\xf0\x8f\xbf\xbf";', "notUTF8", 1, 8),
        bad("utf-8-surrogate", b'"a" = "\xed\xa0\x80";', "notUTF8", 1, 8),
        bad("utf-8-too-large", b'"a" = "\xf4\x90\x80\x80";', "notUTF8", 1, 8),
        bad("utf-8-cut", b'"a" = "\xe4\xbd', "notUTF8", 1, 8),
        bad("utf-8-cut-by-quote", b'"a" = "\xe4\xbd";', "notUTF8", 1, 8),
        bad("utf-16-cut", little + '"a" = "b";'.encode("utf-16-le") + b"x", "notUTF16", 1, 11),
        bad("utf-16-high-alone", little + '"a'.encode("utf-16-le") + b"\x3d\xd8x\0",
            "unpairedSurrogate", 1, 3),
        bad("utf-16-high-at-end", big + '"a'.encode("utf-16-be") + b"\xd8\x3d",
            "unpairedSurrogate", 1, 3),
        bad("utf-16-low-alone", big + '"a'.encode("utf-16-be") + b"\xde\x00\0x",
            "unpairedSurrogate", 1, 3),
        bad("utf-16-without-mark", apple.encode("utf-16-le"), "nulCharacter", 1, 2),
        bad("utf-16-without-mark-big", apple.encode("utf-16-be"), "nulCharacter", 1, 1),
        bad("nul", b'"a" = "b\0c";', "nulCharacter", 1, 9),
        bad("binary", b"bplist00\xd1\x01\x02", "binaryList", 1, 1),
        bad("xml", '<?xml version="1.0" encoding="UTF-8"?>\n<plist><dict/></plist>', "xmlList", 1, 1),
        bad("xml-with-mark", '\ufeff<?xml version="1.0"?>\n<plist/>', "xmlList", 1, 1),
        bad("xml-without-declaration", "<plist version='1.0'><dict/></plist>", "xmlList", 1, 1),
        bad("catalog", '{\n  "sourceLanguage" : "en",\n  "strings" : { "k" : {} },\n  "version" : "1.0"\n}', "catalog", 1, 1),
        bad("catalog-compact", '{"sourceLanguage":"en"}', "catalog", 1, 1),
        bad("colon-in-strings", '"a" : "b";', "noEqualSign", 1, 5),
    ]
    return {
        "comment": [
            "Localizable.strings files, for apns_strings_new(). hex: the file; text: the same for "
            "the reader, if it is UTF-8.",
            "pairs: the keys in the order of their bytes, each with its value. Apple's own parser "
            "(PropertyListSerialization) agrees; Tests/APNSTests compares.",
            "error: the reason, and the line and column, counted in characters from 1, of the "
            "mistake or of what is never closed. The device accepts most of these and leaves something out.",
        ],
        "tests": tests,
    }


def strings_formats():
    def valid(name, value, args, text, comment=None):
        return text_vector(name, f'"KEY" = "{value}";', "valid", comment, args=args, formatted=text)

    def bad(name, value, args, reason, column, line=1, comment=None, **more):
        return text_vector(name, f'"KEY" = "{value}";', "invalid", comment, args=args,
                           error={"reason": reason, "line": line, "column": column, **more})

    people = ["Jenna", "Frank"]
    tests = [
        valid("guide", "%@ and %@ have invited you to play Monopoly", people,
              "Jenna and Frank have invited you to play Monopoly"),
        valid("guide-numbered", "%2$@ and %1$@ have invited you to play Monopoly", people,
              "Frank and Jenna have invited you to play Monopoly"),
        valid("nothing-to-fill-in", "Hello", [], "Hello"),
        valid("empty", "", [], ""),
        valid("arguments-left-over", "%@", people, "Jenna"),
        valid("percent", "100%%", [], "100%"),
        valid("percent-alone", "%%", [], "%"),
        valid("percent-between", "%@%%%@", people, "Jenna%Frank"),
        valid("percents", "%%%%%%", [], "%%%"),
        valid("percent-then-at", "%%@", people, "%@"),
        valid("twice-the-same", "%1$@%1$@", people, "JennaJenna"),
        valid("numbered-does-not-count", "%2$@ %@ %@", people, "Frank Jenna Frank"),
        valid("numbered-between", "%@ %1$@ %@", people, "Jenna Jenna Frank"),
        valid("tenth", "".join(f"%{n}$@" for n in range(10, 0, -1)),
              [str(n) for n in range(1, 11)], "10987654321"),
        valid("number-left-out", "%2$@", people, "Frank",
              comment="Foundation's String(format:) cannot skip an argument."),
        valid("leading-zero", "%01$@", people, "Jenna"),
        valid("argument-with-percent", "%@", ["%@ %% %2$@"], "%@ %% %2$@"),
        valid("empty-argument", "<%@>", [""], "<>"),
        valid("wide", "\u4f60\u597d %@ \U0001f600", ["\u00fc\U0001f468"],
              "\u4f60\u597d \u00fc\U0001f468 \U0001f600"),
        valid("escaped", r"\U0025\100 \"%@\"\n", people, 'Jenna "Frank"\n',
              comment="Escapes are undone first."),
        bad("too-few", "%@ and %@", ["Jenna"], "tooFewArguments", 17, wanted=2),
        bad("none", "%@", [], "tooFewArguments", 10, wanted=1),
        bad("numbered-too-high", "%1$@ %3$@", people, "tooFewArguments", 15, wanted=3),
        bad("number-beyond-all", "%99999999999999999999$@", people, "tooFewArguments", 10),
        bad("number-0", "%0$@", people, "directive", 10),
        bad("number-without-dollar", "%1@", people, "directive", 10),
        bad("number-at-end", "%1", people, "directive", 10),
        bad("dollar-at-end", "%1$", people, "directive", 10),
        bad("dollar-without-number", "%$@", people, "directive", 10),
        bad("integer", "%d", people, "directive", 10, comment="loc-args are strings."),
        bad("numbered-string", "%1$s", people, "directive", 10),
        bad("numbered-percent", "%1$%", people, "directive", 10),
        bad("width", "%5@", people, "directive", 10),
        bad("at-end", "100%", [], "directive", 13, comment="The device drops it."),
        bad("percent-blank", "100% sure", [], "directive", 13),
        bad("place-behind-wide", "\u4f60\U0001f600%d", [], "directive", 12),
        bad("place-behind-escapes", r"\U4f60\n\\%d", [], "directive", 20),
        bad("place-on-third-line", "a\nb\n c%d", [], "directive", 3, line=3),
    ]
    return {
        "comment": [
            "Localized formatted strings, for apns_strings_format() with the key KEY. hex: the "
            "strings file; text: the same for the reader.",
            "formatted: the value with args filled in. error: the reason, and the line and "
            "column of the file; tooFewArguments with the required number.",
        ],
        "tests": tests,
    }


# ---- JSON ------------------------------------------------------------------

def refuse_constant(_):
    raise ValueError("NaN and Infinity are not JSON")


def python_says(data):
    """The value that json parses in strict mode; None if it refuses."""
    try:
        return [json.loads(data.decode("utf-8"), parse_constant=refuse_constant)]
    except (ValueError, RecursionError):
        return None


# The cases where the library and Python's json differ, and the reason.
JSON_DIFFERENCES = {
    "half a surrogate pair, for which UTF-8 has no bytes",
    "nested deeper than 512",
    "begins with a byte order mark",
}


def json_texts():
    tests = []

    def case(result, name, text, compact=None, differs=None):
        data = text if isinstance(text, bytes) else text.encode()
        python = python_says(data)
        assert differs is None or differs in JSON_DIFFERENCES
        agrees = (python is not None) == (result == "valid")
        assert agrees == (differs is None), f"{name}: Python says {python}"
        more = {}
        if result == "valid":
            if compact is None:
                compact = json.dumps(python[0], separators=(",", ":"), ensure_ascii=False)
            more["compact"] = (compact if isinstance(compact, bytes) else compact.encode()).hex()
        if differs:
            more["differs"] = differs
        tests.append({"name": name, "hex": data.hex(), "result": result, **more})

    def yes(name, text, compact=None, **more):
        case("valid", name, text, compact, **more)

    def no(name, text, **more):
        case("invalid", name, text, **more)

    # Structure
    yes("array-empty", "[]")
    yes("array-spaces-only", "[ \t\r\n]")
    yes("array-one", "[1]")
    yes("array-of-each", '[null,true,false,0,"",[],{}]')
    yes("array-nested", "[[[[[]]]],[[]]]")
    yes("array-ending-with-newline", "[1]\n")
    yes("array-leading-space", " [1]")
    yes("array-trailing-space", "[2] ")
    yes("array-several-null", "[1,null,null,null,2]")
    yes("object-empty", "{}")
    yes("object-spaces-only", "{\n}")
    yes("object-one", '{"a":1}')
    yes("object-empty-key", '{"":0}')
    yes("object-key-escaped", '{"\\u0061\\n":0}')
    yes("object-key-nul", '{"foo\\u0000bar":42}')
    yes("object-nested", '{"a":{"b":{"c":[{}]}}}')
    yes("object-newlines", '{\n"a": "b"\n}')
    yes("object-duplicate-key", '{"a":"b","a":"c"}', '{"a":"b","a":"c"}')
    yes("object-duplicate-key-and-value", '{"a":"b","a":"b"}', '{"a":"b","a":"b"}')
    yes("object-long-strings", '{"x":[{"id":"' + "x" * 40 + '"}],"id":"' + "x" * 40 + '"}')
    yes("object-space-everywhere", ' { "a" : [ 1 , 2 ] , "b" : { } } ')
    yes("lonely-string", '"asd"')
    yes("lonely-string-empty", '""')
    yes("lonely-number", "42")
    yes("lonely-negative", "-0.1")
    yes("lonely-true", "true")
    yes("lonely-false", "false")
    yes("lonely-null", "null")
    yes("lonely-null-spaces", " \n null\r\n")
    yes("depth-511", "[" * 511 + "]" * 511)
    no("depth-512-within-the-payload", "[" * 512 + "]" * 512, differs="nested deeper than 512")
    no("depth-objects", '{"a":' * 600 + "1" + "}" * 600, differs="nested deeper than 512")
    no("depth-unclosed", "[" * 2000)
    # Space
    yes("space-tab", "[\t1]")
    yes("space-carriage-return", "[\r1\r]")
    no("space-formfeed", "[\f1]")
    no("space-vertical-tab", "[\v1]")
    no("space-no-break", "[\u00a01]")
    no("space-line-separator", "[\u20281]")
    no("space-zero-width", "[\u200b1]")
    no("space-word-joiner", "[\u2060]")
    yes("byte-order-mark", "\ufeff{}", "{}", differs="begins with a byte order mark")
    no("byte-order-mark-alone", "\ufeff")
    no("utf-16", "[1]".encode("utf-16-le"))
    no("utf-16-with-mark", '["a"]'.encode("utf-16"))
    # Numbers
    for name, text, compact in [
            ("0", "0", None), ("minus-0", "-0", "-0"), ("1", "1", None), ("minus-1", "-1", None),
            ("123", "[123]", None), ("0e1", "0e1", "0e1"), ("0e-plus", "[0e+1]", "[0e+1]"),
            ("0.0", "0.0", None), ("0.5", "0.5", None), ("minus-0.5", "-0.5", None), ("1.000", "1.000", "1.000"),
            ("1e5", "1e5", "1e5"), ("1E5", "1E5", "1E5"), ("1e-plus-5", "1e+5", "1e+5"), ("1e-minus-5", "1e-5", "1e-5"),
            ("1.5E-22", "1.5E-22", "1.5E-22"), ("exponent-00", "1e00", "1e00"), ("exponent-05", "1E+05", "1E+05"),
            ("large-integer", "123456789012345678901234567890", None),
            ("int64-largest", "9223372036854775807", None), ("uint64-largest", "18446744073709551615", None),
            ("huge-exponent", "1e400", "1e400"), ("tiny-exponent", "1e-400", "1e-400"),
            ("many-digits", "0." + "1" * 60, "0." + "1" * 60), ("space-around", " 4 ", None)]:
        yes(f"number-{name}", text, compact)
    yes("number-400-digits", "1" * 400)
    for name, text in [
            ("plus", "+1"), ("plus-minus", "[+-1]"), ("leading-0", "012"), ("minus-leading-0", "-012"), ("two-0", "00"),
            ("point-first", ".5"), ("minus-point-first", "-.5"), ("point-last", "5."), ("point-minus", "2.-3"),
            ("point-e", "0.e1"), ("e-alone", "1e"), ("E-alone", "[1E]"), ("e-plus-alone", "1e+"), ("e-minus-alone", "0e-"),
            ("e-point", "1e1.5"), ("e-e", "1ee2"), ("e-plus-minus", "1e+-2"), ("two-points", "1.2.3"), ("minus-alone", "-"),
            ("minus-minus", "--1"), ("minus-space", "- 1"), ("minus-letter", "-x"), ("space-within", "1 000"), ("hex", "0x1F"),
            ("hex-digit", "[1a]"), ("underscore", "1_000"), ("comma", "1,5"), ("letter-behind", "123abc"), ("infinity", "Infinity"),
            ("minus-infinity", "-Infinity"), ("inf", "inf"), ("nan", "NaN"), ("minus-nan", "-NaN"), ("full-width", "\uff11"),
            ("arabic-digit", "\u0661"), ("dollar", "$1"), ("expression", "[1+2]"), ("nul-behind", "1\0")]:
        no(f"number-{name}", text)
    # Strings
    for name, text in [
            ("plain", '"hello"'), ("space", '" "'), ("quotation-mark", '"\\""'), ("backslash", '"\\\\"'),
            ("solidus-plain", '"a/b"'), ("solidus-escaped", '"a\\/b"'), ("b", '"\\b"'), ("f", '"\\f"'), ("n", '"\\n"'), ("r", '"\\r"'),
            ("t", '"\\t"'), ("all-escapes", '"\\"\\\\\\/\\b\\f\\n\\r\\t"'), ("u0000", '"\\u0000"'), ("u001f", '"\\u001f"'),
            ("u0022", '"\\u0022"'), ("u005c", '"\\u005C"'), ("u002f", '"\\u002f"'), ("u0041", '"\\u0041"'), ("u007f", '"\\u007f"'),
            ("delete-plain", '"\x7f"'), ("u0080", '"\\u0080"'), ("u00e9", '"\\u00e9"'), ("u00E9-upper", '"\\u00E9"'),
            ("u07ff", '"\\u07ff"'), ("u0800", '"\\u0800"'), ("u2028", '"\\u2028"'), ("ud7ff", '"\\ud7ff"'), ("ue000", '"\\ue000"'),
            ("ufeff", '"\\ufeff"'), ("ufffe", '"\\ufffe"'), ("uffff", '"\\uffff"'), ("pair", '"\\ud83d\\ude00"'), ("pair-upper", '"\\uD83D\\uDE00"'),
            ("pair-first", '"\\ud800\\udc00"'), ("pair-last", '"\\udbff\\udfff"'), ("two-pairs", '"\\ud83d\\ude00\\ud83d\\ude01"'),
            ("utf8-2", '"é"'), ("utf8-3", '"€"'), ("utf8-4", '"😀"'), ("utf8-last", '"\U0010ffff"'), ("utf8-noncharacter", '"\uffff"'),
            ("line-separators", '"\u2028\u2029"'), ("escaped-backslash-u", '"\\\\u0041"'), ("escaped-backslash-n", '"\\\\n"'),
            ("not-a-comment", '"/* a */ // b"'), ("backslashes", '"' + "\\\\" * 33 + '"'), ("long", '"' + "x" * 3000 + '"'),
            ("seven-then-escape", '"1234567\\n"'), ("eight-then-escape", '"12345678\\n"'), ("nine-then-utf8", '"123456789é"')]:
        yes(f"string-{name}", text)
    for name, text in [
            ("single-quotes", "'a'"), ("unclosed", '"a'), ("quotation-mark-alone", '"'), ("backslash-at-end", '"\\'), ("escaped-end", '"\\"'),
            ("escape-x", '"\\x41"'), ("escape-a", '"\\a"'), ("escape-v", '"\\v"'), ("escape-0", '"\\0"'), ("escape-quote", '"\\\'"'),
            ("escape-U", '"\\U0041"'), ("escape-space", '"\\ "'), ("escape-newline", '"\\\n"'), ("escape-emoji", '"\\😀"'),
            ("u-nothing", '"\\u"'), ("u-1", '"\\u1"'), ("u-3", '"\\u123"'), ("u-3-end", '"\\u123'), ("u-not-hex", '"\\u12g4"'),
            ("u-minus", '"\\u-123"'), ("u-space", '"\\u 123"'), ("u-braces", '"\\u{41}"'), ("pair-broken", '"\\ud83d\\u"'),
            ("pair-not-hex", '"\\ud83d\\ude0x"'), ("newline", '"a\nb"'), ("tab", '"a\tb"'), ("carriage-return", '"a\rb"'), ("nul", '"a\0b"'),
            ("control-01", '"\x01"'), ("control-1f", '"1234567\x1f"')]:
        no(f"string-{name}", text)
    for name, data in [
            ("byte-ff", b'"\xff"'), ("byte-80", b'"\x80"'), ("continuation-missing", b'"\xc3"'), ("cut-3", b'"\xe2\x82"'),
            ("cut-4", b'"\xf0\x9f\x98"'), ("overlong-2", b'"\xc0\xaf"'), ("overlong-3", b'"\xe0\x80\xaf"'), ("overlong-4", b'"\xf0\x80\x80\xaf"'),
            ("overlong-nul", b'"\xc0\x80"'), ("surrogate", b'"\xed\xa0\x80"'), ("surrogate-pair", b'"\xed\xa0\xbd\xed\xb8\x80"'),
            ("beyond", b'"\xf4\x90\x80\x80"'), ("f5", b'"\xf5\x80\x80\x80"'), ("latin-1", b'"\xe9"'), ("in-key", b'{"\xff":1}'),
            ("outside", b'[1]\xff'), ("cut-at-end", b'"\xe2')]:
        no(f"utf8-{name}", data)
    for name, text in [
            ("first", '"\\ud83d"'), ("second", '"\\ude00"'), ("reversed", '"\\ude00\\ud83d"'), ("then-text", '"\\ud83dabc"'), ("then-escape", '"\\ud83d\\n"'),
            ("then-u", '"\\ud83d\\u0041"'), ("two-firsts", '"\\ud83d\\ud83d"'), ("in-key", '{"\\udead":1}')]:
        no(f"half-pair-{name}", text, differs="half a surrogate pair, for which UTF-8 has no bytes")
    # Not JSON
    for name, text in [
            ("empty", ""), ("space", " "), ("comma", ","), ("colon", ":"), ("bracket", "["), ("bracket-closing", "]"), ("brace", "{"),
            ("brace-closing", "}"), ("array-comma-last", "[1,]"), ("array-comma-first", "[,1]"), ("array-comma-alone", "[,]"),
            ("array-two-commas", "[1,,2]"), ("array-no-comma", "[1 2]"), ("array-no-comma-strings", '["a" "b"]'), ("array-colon", '["a":1]'),
            ("array-unclosed", "[1"), ("array-unclosed-comma", "[1,"), ("array-closed-as-object", "[1}"), ("array-closed-twice", "[1]]"),
            ("array-star", "[*]"), ("array-then-text", "[1]x"), ("array-then-array", "[][]"), ("array-inner-unclosed", "[[1]"),
            ("object-comma-last", '{"a":1,}'), ("object-comma-first", '{,"a":1}'), ("object-comma-alone", "{,}"), ("object-two-commas", '{"a":1,,"b":2}'),
            ("object-no-comma", '{"a":1 "b":2}'), ("object-no-colon", '{"a" 1}'), ("object-two-colons", '{"a"::1}'), ("object-comma-for-colon", '{"a",1}'),
            ("object-equals", '{"a"=1}'), ("object-no-value", '{"a":}'), ("object-no-value-end", '{"a":'), ("object-key-only", '{"a"}'),
            ("object-key-only-end", '{"a"'), ("object-key-plain", "{a:1}"), ("object-key-number", "{1:1}"), ("object-key-null", "{null:1}"),
            ("object-key-array", "{[]:1}"), ("object-key-single-quotes", "{'a':1}"), ("object-unclosed", '{"a":1'), ("object-unclosed-comma", '{"a":1,'),
            ("object-closed-as-array", '{"a":1]'), ("object-closed-twice", '{"a":1}}'), ("object-then-text", '{"a":1}#'), ("object-then-object", "{}{}"),
            ("true-capital", "True"), ("true-cut", "tru"), ("true-long", "truer"), ("false-cut", "fals"), ("false-other", "falsy"), ("null-cut", "nul"),
            ("null-capital", "NULL"), ("none", "None"), ("undefined", "undefined"), ("word", "abc"), ("comment-block", "[1/* a */]"),
            ("comment-line", "[1] // a"), ("comment-hash", "# a\n1"), ("comment-first", "/**/{}"), ("two-values", "1 2"), ("two-words", "true false"),
            ("nul", "\0"), ("nul-behind", "[]\0"), ("nul-in-array", "[\0]"), ("angle", "<null>"), ("parentheses", "(1)"), ("backslash", "\\u0041"),
            ("regular-expression", "/a/"), ("python-tuple", "(1,2)"), ("python-bytes", 'b"a"'), ("two-tops-comma", "[1],[2]"), ("bracket-of-words", "[truefalse]"),
            ("unquoted-in-array", "[a]"), ("semicolon", "[1;2]")]:
        no(f"not-{name}", text)
    return {
        "comment": [
            "JSON values, for apns_payload_add_json() and apns_payload_check(): what RFC 8259 allows and does "
            "not. Each was given to Python's json too, in strict mode.",
            "hex: the text's bytes; compact: the output for a valid text.",
            "differs: the reason why the library and Python's json disagree.",
        ],
        "tests": tests,
    }


# ---- reasons.json ----------------------------------------------------------


def reasons():
    """From Apple's tables of reasons. The binary status is the closest equivalent for legacy programs: only an error
    of the token is 8."""
    table = [
        # number, reason, HTTP status, binary status, remedy
        (1, "BadDeviceToken", 400, 8, "reject"),
        (2, "DeviceTokenNotForTopic", 400, 8, "reject"),
        (3, "MissingDeviceToken", 400, 2, "reject"),
        (4, "MissingTopic", 400, 3, "reject"),
        (5, "PayloadEmpty", 400, 4, "reject"),
        (6, "BadTopic", 400, 6, "reject"),
        (7, "PayloadTooLarge", 413, 7, "reject"),
        (8, "BadCollapseId", 400, 1, "reject"),
        (9, "BadExpirationDate", 400, 1, "reject"),
        (10, "BadMessageId", 400, 1, "reject"),
        (11, "BadPriority", 400, 1, "reject"),
        (12, "DuplicateHeaders", 400, 1, "reject"),
        (13, "InvalidPushType", 400, 1, "reject"),
        (14, "BadPath", 404, 1, "reject"),
        (15, "MethodNotAllowed", 405, 1, "reject"),
        (16, "IdleTimeout", 400, 10, "reconnect"),
        (17, "ExpiredProviderToken", 403, 10, "renewToken"),
        (18, "UnrelatedKeyIdInToken", 403, 10, "reconnectOnce"),
        (19, "TopicDisallowed", 400, 10, "reject"),
        (20, "BadCertificate", 403, 10, "reject"),
        (21, "BadCertificateEnvironment", 403, 10, "reject"),
        (22, "BadEnvironmentKeyIdInToken", 403, 10, "reject"),
        (23, "Forbidden", 403, 10, "reject"),
        (24, "InvalidProviderToken", 403, 10, "reject"),
        (25, "MissingProviderToken", 403, 10, "reject"),
        (26, "Unregistered", 410, 0, "unregistered"),
        (27, "ExpiredToken", 410, 0, "unregistered"),
        (28, "TooManyProviderTokenUpdates", 429, 10, "wait"),
        (29, "TooManyRequests", 429, 1, "wait"),
        (30, "InternalServerError", 500, 1, "wait"),
        (31, "ServiceUnavailable", 503, 10, "wait"),
        (32, "Shutdown", 503, 10, "reconnect"),
        (33, "MissingChannelId", 400, 2, "reject"),
        (34, "BadChannelId", 400, 1, "reject"),
        (35, "ChannelNotRegistered", 400, 1, "reject"),
        (36, "CannotCreateChannelConfig", 400, 1, "reject"),
        (37, "FeatureNotEnabled", 400, 10, "reject"),
        (38, "MissingPushType", 400, 1, "reject"),
        (39, "TopicMismatch", 400, 6, "reject"),
    ]
    tests = [
        {"name": text, "number": number, "status": status, "reject": reject, "remedy": remedy}
        for number, text, status, reject, remedy in table
    ]
    return {
        "comment": [
            "The reasons of APNs over HTTP/2, each with its number in apns_reason_t, its HTTP status, the "
            "binary status that means the same if it is finally rejected, and what the session does first.",
            "remedy: reject; wait: retry later; reconnect: resend on another connection; reconnectOnce, "
            "renewToken: only once; unregistered: for the feedback.",
        ],
        "tests": tests,
    }


def answer_bodies():
    tests = []

    def body(name, data, reason=None, text=None, timestamp=0, comment=None):
        """`reason` None: unlisted or missing; `text`: as stored."""
        data = data.encode() if isinstance(data, str) else data
        tests.append(vector(
            name, data, "invalid" if text is None and reason is None else "valid", comment,
            reason=reason or "other", text=text if text is not None else reason or "",
            timestamp=timestamp))

    body("plain", '{"reason":"BadDeviceToken"}', "BadDeviceToken")
    body("unregistered", '{"reason":"Unregistered","timestamp":1454402113000}', "Unregistered",
         timestamp=1454402113000)
    body("other-order", '{"timestamp":1454402113000,"reason":"Unregistered"}', "Unregistered",
         timestamp=1454402113000)
    body("spaces", ' {\r\n\t"reason" : "Shutdown" ,\n "timestamp" : 1 } \n', "Shutdown", timestamp=1)
    body("unknown-keys", '{"a":[{"reason":"Shutdown"},[]],"reason":"BadTopic","b":{"timestamp":5},"c":null}',
         "BadTopic")
    body("escaped-key", '{"\\u0072eason":"BadTopic"}', "BadTopic")
    body("escaped-reason", '{"reason":"Bad\\u0054opic"}', "BadTopic")
    body("last-wins", '{"reason":"BadTopic","reason":"BadPath"}', "BadPath")
    body("not-listed", '{"reason":"SomethingNew"}', text="SomethingNew")
    body("other-case", '{"reason":"badtopic"}', text="badtopic")
    body("a-beginning", '{"reason":"BadTopi"}', text="BadTopi")
    body("longer", '{"reason":"BadTopics"}', text="BadTopics")
    body("behind-a-nul", '{"reason":"BadTopic\\u0000"}', text="BadTopic?")
    body("two-rows", '{"reason":"BadTopic\\u0000413HAPayloadTooLarge"}',
         text="BadTopic?413HAPayloadTooLarge")
    body("a-row", '{"reason":"400IABadDeviceToken"}', text="400IABadDeviceToken")
    body("empty-reason", '{"reason":""}', text="")
    body("empty-object", "{}", text="")
    body("lines", '{"reason":"a\\nb\\r\\tc\\u007f\\u009bd"}', text="a?b??c??d")
    body("characters", '{"reason":"\u00e9\u20ac\\ud83d\\ude00"}', text="\u00e9\u20ac\U0001f600")
    body("63-bytes", '{"reason":"' + "x" * 63 + '"}', text="x" * 63)
    body("64-bytes", '{"reason":"' + "x" * 64 + '"}', text="x" * 63)
    body("a-character-too-many", '{"reason":"' + "x" * 62 + '\u00e9"}', text="x" * 62)
    body("endless", '{"reason":"' + "x" * 5000 + '"}', text="x" * 63)
    body("reason-number", '{"reason":5}', text="")
    body("reason-null", '{"reason":null,"timestamp":7}', text="", timestamp=7)
    body("reason-array", '{"reason":["BadTopic"]}', text="")
    body("reason-object", '{"reason":{"reason":"BadTopic"}}', text="")
    body("timestamp-text", '{"reason":"Unregistered","timestamp":"1454402113000"}', "Unregistered")
    body("timestamp-fraction", '{"reason":"Unregistered","timestamp":1.5e12}', "Unregistered")
    body("timestamp-negative", '{"reason":"Unregistered","timestamp":-1}', "Unregistered")
    body("timestamp-largest", '{"reason":"Unregistered","timestamp":9223372036854775807}', "Unregistered",
         timestamp=9223372036854775807)
    body("timestamp-too-large", '{"reason":"Unregistered","timestamp":9223372036854775808}', "Unregistered")
    body("timestamp-endless", '{"reason":"Unregistered","timestamp":' + "9" * 400 + "}", "Unregistered")
    body("array", '["reason","BadTopic"]', text="")
    body("string", '"BadTopic"', text="")
    body("nested-512", '{"reason":"BadTopic","a":' + "[" * 511 + "]" * 511 + "}", "BadTopic")
    for name, data in [
            ("empty", ""), ("space", " "), ("html", "<html><body>502 Bad Gateway</body></html>"),
            ("cut-key", '{"reas'), ("cut-text", '{"reason":"BadTopic'), ("cut-object", '{"reason":"BadTopic"'),
            ("cut-escape", '{"reason":"BadTopic\\u00'), ("more-behind", '{"reason":"BadTopic"}x'),
            ("twice", '{"reason":"BadTopic"}{"reason":"BadPath"}'), ("no-quotes", "{reason:BadTopic}"),
            ("nested-513", '{"reason":"BadTopic","a":' + "[" * 512 + "]" * 512 + "}"),
            ("unclosed-deep", "[" * 1000), ("nul", b"\0"), ("half-pair", '{"reason":"\\ud83d"}'),
            ("not-utf8", b'{"reason":"BadTopic\xff"}'), ("not-utf8-elsewhere", b'{"reason":"BadTopic","a":"\xc3"}'),
            ("comma", '{"reason":"BadTopic",}'), ("utf16", "{}".encode("utf-16"))]:
        body(f"not-{name}", data)
    return {
        "comment": [
            "Bodies of responses other than 200, as a hostile server may write them, in hex.",
            "reason: other, if it is not listed; text: as stored, at most 63 bytes, control characters as '?'.",
            "invalid: not JSON, and ignored.",
        ],
        "tests": tests,
    }


# ---- files -----------------------------------------------------------------

FILES = {
    "frames.json": frames,
    "error-packets.json": error_packets,
    "feedback.json": feedback,
    "tokens.json": tokens,
    "tokens-base64.json": tokens_base64,
    "strings.json": strings,
    "strings-formats.json": strings_formats,
    "json.json": json_texts,
    "reasons.json": reasons,
    "answer-bodies.json": answer_bodies,
}


def main():
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit(__doc__)
    stale = []
    for name, make in FILES.items():
        content = make()
        names = [test["name"] for test in content["tests"]]
        assert len(names) == len(set(names)), f"{name}: two vectors have this name"
        text = json.dumps(content, indent=2) + "\n"
        path = HERE / name
        if not check:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            stale.append(name)
    if stale:
        sys.exit(f"out of date: {', '.join(stale)}")


if __name__ == "__main__":
    main()
