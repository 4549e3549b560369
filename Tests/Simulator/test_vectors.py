"""Every frame of the vectors gets the required reply, however it is split."""

import collections
import json
import random

import pytest
from simulator import CLEAN, ROOT, error, read_to_end

VECTORS = json.loads((ROOT / "Tests/Vectors/frames.json").read_text())["tests"]
SEED = 20261121
# The options that a frame needs besides its own limits.
OPTIONS = {
    None: [],
    '{"legacyPayload": 256}': ["--legacy-payload-max", "256"],
    '{"framedPayload": 256}': ["--framed-payload-max", "256"],
}

# The outcome of the bytes after the frame, if it differs.
BEHIND = {
    "framed-then-framed": ("accepted", None),
    "simple-then-enhanced": ("accepted", None),
    "enhanced-then-simple": ("accepted", None),
    "framed-then-noise": (128, error(128, 0)),
    "simple-then-sentinel": (2, error(2, 9)),
}


def limits(vector):
    return json.dumps(vector["limits"]) if "limits" in vector else None


def cut_whole(frame):
    return [frame]


def cut_in_bytes(frame):
    return [frame[at : at + 1] for at in range(len(frame))]


def cut_at_random(frame):
    dice = random.Random(SEED + len(frame))
    ends = sorted(dice.randrange(len(frame) + 1) for _ in range(6))
    return [frame[a:b] for a, b in zip([0, *ends], [*ends, len(frame)]) if a < b]


@pytest.mark.parametrize("cut", [cut_whole, cut_in_bytes, cut_at_random])
def test_frames(start, cut):
    groups = collections.defaultdict(list)
    for vector in VECTORS:
        groups[limits(vector)].append(vector)
    for key, vectors in groups.items():
        simulator = start(*OPTIONS[key], faults={"close_delay_ms": 0})
        wanted = collections.Counter()
        for vector in vectors:
            reply(simulator, vector, cut, wanted)
        totals = simulator.stop()
        assert totals["accepted"] == wanted["accepted"]
        assert totals["statuses"] == {
            str(status): count for status, count in wanted.items() if status != "accepted"
        }


def reply(simulator, vector, cut, wanted):
    frame = bytes.fromhex(vector["hex"])
    packet = None
    if vector["result"] == "invalid":
        fault = vector["error"]
        wanted[fault["status"]] += 1
        packet = b"" if frame[0] == 0 else error(fault["status"], fault.get("identifier", 0))
    elif vector["result"] == "valid":
        wanted["accepted"] += 1
        status, packet = BEHIND.get(vector["name"], (None, None))
        if status:
            wanted[status] += 1
    with simulator.connect() as sock:
        for piece in cut(frame):
            sock.sendall(piece)
        if packet is None:
            # The gateway closes too, without sending anything.
            sock.unwrap().close()
        else:
            came, _, end = read_to_end(sock)
            assert (b"".join(came), end) == (packet, CLEAN), vector["name"]
