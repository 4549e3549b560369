"""The page's server: access, and live events."""

import http.client
import json
import re
import socket
import time
import urllib.parse

import pytest
from simulator import DEADLINE, TOKEN, enhanced, finish, framed, item, simple


def fetch(simulator, method="GET", path="/", body=None, **headers):
    """Sends a raw request, so that the test chooses Host."""
    port = simulator.ready["dashboard_port"]
    headers.setdefault("Host", f"127.0.0.1:{port}")
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE)
    connection.putrequest(method, path, skip_host=True)
    for name, value in headers.items():
        connection.putheader(name.replace("_", "-"), value.format(port=port))
    data = json.dumps(body).encode() if body is not None else b""
    connection.putheader("Content-Length", str(len(data)))
    connection.endheaders(data)
    answer = connection.getresponse()
    return answer.status, dict((name.lower(), value) for name, value in answer.getheaders()), answer.read()


class Events:
    """The page's event stream."""

    def __init__(self, simulator, query=""):
        port = simulator.ready["dashboard_port"]
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE)
        self.connection.request("GET", "/events" + query)
        self.answer = self.connection.getresponse()
        assert self.answer.headers["content-type"] == "text/event-stream"

    def next(self, *kinds):
        """The next event of these kinds."""
        kind = None
        # The stream sends keep-alives when it has no events.
        deadline = time.monotonic() + DEADLINE
        while time.monotonic() < deadline:
            line = self.answer.readline().decode().rstrip("\n")
            if line.startswith("event: "):
                kind = line[7:]
            elif line.startswith("data: ") and kind in kinds:
                return json.loads(line[6:])
        raise AssertionError(f"none of {kinds} came")

    def pushes(self, count):
        found = []
        while len(found) < count:
            found += self.next("pushes")["pushes"]
        assert len(found) == count
        return found

    def close(self):
        self.connection.close()


def test_every_file_of_the_page_is_served_and_nothing_foreign_is_named_in_it(shared):
    simulator = shared()
    seen, waiting = set(), ["/"]
    while waiting:
        path = waiting.pop()
        seen.add(path)
        status, headers, body = fetch(simulator, path=path)
        assert status == 200, path
        text = body.decode()
        assert "http://www.w3.org/2000/svg" in text or "://" not in text.replace("http://localhost", "").replace("https://${", ""), path
        for name in re.findall(r'(?:href|src)="([\w.]+)"|from "\./([\w.]+)"', text):
            other = "/" + (name[0] or name[1])
            if other not in seen and other not in waiting:
                waiting.append(other)
    assert len(seen) == 26
    assert fetch(simulator, path="/nothing")[0] == 404


def test_text_of_pushes_can_be_nothing_but_text(shared):
    simulator = shared()
    for path in ("/", "/page.js", "/counters", "/nothing", "/control/counters"):
        _, headers, _ = fetch(simulator, path=path)
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "require-trusted-types-for 'script'" in policy, path
        assert "unsafe" not in policy and "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff" and headers["cache-control"] == "no-store"


@pytest.mark.parametrize("host", [
    "evil.example", "evil.example:{port}", "127.0.0.1.evil.example", "192.0.2.1", "localhost.evil.example:{port}",
    "", "127.0.0.1:", "127.0.0.1:99999", "127.0.0.1:{port}:1", "@127.0.0.1", "[::2]:{port}",
])
def test_foreign_hosts_are_refused(shared, host):
    simulator = shared()
    for path in ("/", "/events", "/control/counters", "/pushes/1"):
        assert fetch(simulator, path=path, Host=host)[0] in (400, 403), path


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:{port}", "localhost:{port}", "LOCALHOST", "[::1]:{port}"])
def test_local_hosts_are_accepted(shared, host):
    simulator = shared()
    assert fetch(simulator, Host=host)[0] == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1", "http://localhost:{port}"])
def test_foreign_origins_are_refused(shared, origin):
    simulator = shared()
    for method, path in (("GET", "/events"), ("PATCH", "/control/faults"), ("POST", "/control/unregistered"), ("DELETE", "/pushes/1"), ("POST", "/pushes/1/repeat"), ("GET", "/pushes/1/payload")):
        status, _, body = fetch(simulator, method, path, {"bad_every": 1}, Origin=origin)
        assert status == 403 and b"Origin" in body
    assert simulator.control("GET", "/faults")[1]["faults"] == {}


def test_a_foreign_page_may_link_but_not_fetch(shared):
    simulator = shared()
    assert fetch(simulator, path="/events", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors")[0] == 403
    assert fetch(simulator, path="/events", Sec_Fetch_Site="same-site", Sec_Fetch_Mode="no-cors")[0] == 403
    assert fetch(simulator, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")[0] == 200
    assert fetch(simulator, path="/page.js", Sec_Fetch_Site="same-origin", Sec_Fetch_Mode="cors")[0] == 200
    for method, path in (("POST", "/control/reset"), ("DELETE", "/pushes/1"), ("POST", "/pushes/1/repeat")):
        assert fetch(simulator, method, path, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")[0] == 403
        assert fetch(simulator, method, path, Sec_Fetch_Site="same-site", Sec_Fetch_Mode="cors")[0] == 403


def test_it_listens_on_loopback_only(shared):
    simulator = shared()
    port = simulator.ready["dashboard_port"]
    with open("/proc/net/tcp") as table:
        listening = {line.split()[1] for line in table if line.split()[3] == "0A"}
    assert f"0100007F:{port:04X}" in listening
    assert f"00000000:{port:04X}" not in listening


def test_it_listens_elsewhere_with_an_option(start):
    simulator = start("--dashboard-host", "0.0.0.0")
    assert fetch(simulator, Host="192.0.2.1:{port}")[0] == 200
    assert fetch(simulator, Host="evil.example:{port}")[0] == 403


def test_pushes_come_live_with_their_bytes_and_fields(simulator):
    events = Events(simulator)
    assert events.next("hello")["gateway"]["gateway_port"] == simulator.gateway[1]
    frame = framed(item(1, TOKEN), item(2, b'{"aps":{"alert":"Hello","badgee":1}}'), item(3, b"\0\0\0\7"), item(5, b"\5"))
    finish(simulator.connect(), frame)
    (push,) = events.pushes(1)
    assert push["outcome"] == "accepted" and push["token"] == TOKEN.hex() and push["banner"]["body"] == "Hello"
    assert (push["command"], push["identifier"], push["expiry"], push["priority"]) == (2, 7, None, 5)
    details = json.loads(fetch(simulator, path=f"/pushes/{push['number']}")[2])
    assert bytes.fromhex(details["bytes"]) == frame
    whole = b""
    for field in details["fields"]:
        assert field["offset"] == len(whole), "no byte without a field, none with two"
        whole += frame[field["offset"]:field["offset"] + field["length"]]
    assert whole == frame
    named = {field["name"]: field for field in details["fields"]}
    assert named["token"]["offset"] == 8 and named["token"]["length"] == 32
    assert named["identifier"]["value"] == "7" and named["priority"]["value"].startswith("5")
    assert "badge" in details["findings"][0]["message"] and details["findings"][0]["severity"] == "warning"
    events.close()


@pytest.mark.parametrize("frame", [
    b"\3hello", enhanced(7, token=b""), enhanced(7, payload=b"x" * 3000), framed(item(1, TOKEN)),
    framed(item(9, b"what"), item(1, TOKEN), item(2, b"{}")), framed(item(1, TOKEN), b"\2\xff\xff{"),
])
def test_an_invalid_frame_is_shown_as_far_as_it_can_be_read(simulator, frame):
    events = Events(simulator)
    with simulator.connect() as sock:
        sock.sendall(frame)
        (push,) = events.pushes(1)
    assert push["outcome"] == "rejected" and push["status"] is not None and push["reason"]
    details = json.loads(fetch(simulator, path=f"/pushes/{push['number']}")[2])
    assert frame.startswith(bytes.fromhex(details["bytes"])) and details["bytes"]
    assert sum(field["length"] for field in details["fields"]) == len(details["bytes"]) // 2
    events.close()


def test_frames_after_a_rejection_are_shown_as_discarded(simulator):
    events = Events(simulator)
    with simulator.connect() as sock:
        sock.sendall(simple() + enhanced(8, token=b"") + enhanced(9) + enhanced(10))
        assert [push["outcome"] for push in events.pushes(4)] == ["accepted", "rejected", "discarded", "discarded"]
    events.close()


def test_a_later_reader_gets_the_newest_pushes_until_a_reset(simulator):
    finish(simulator.connect(), b"".join(enhanced(number, payload=b'{"aps":{"badge":%d}}' % number) for number in range(700)))
    events = Events(simulator)
    news = events.next("pushes")
    assert [push["identifier"] for push in news["pushes"]] == list(range(300, 700)) and news["skipped"] == 300
    assert fetch(simulator, "POST", "/control/reset")[0] == 200
    events.next("reset")
    assert fetch(simulator, path="/pushes/700")[0] == 404
    finish(simulator.connect(), enhanced(9))
    assert events.pushes(1)[0]["number"] == 701
    events.close()


def test_pushes_are_read_in_pages_and_deleted_ones_leave_no_trace(simulator):
    finish(simulator.connect(), b"".join(enhanced(number) for number in range(1, 8)))

    def page(query):
        status, _, body = fetch(simulator, path="/pushes" + query)
        assert status == 200
        answer = json.loads(body)
        return [push["number"] for push in answer["pushes"]], answer["older"]

    assert page("") == ([1, 2, 3, 4, 5, 6, 7], False)
    assert page("?limit=3") == ([5, 6, 7], True)
    assert page("?before=5&limit=3") == ([2, 3, 4], True)
    assert page("?before=2&limit=3") == ([1], False)
    assert page("?before=1") == ([], False) and page("?before=0") == ([], False)
    assert page("?before=9223372036854775807&limit=2") == ([6, 7], True)
    for query in ("?before=x", "?limit=-1", "?before=9223372036854775808"):
        assert fetch(simulator, path="/pushes" + query)[0] == 400
    events = Events(simulator)
    events.pushes(7)
    assert fetch(simulator, "DELETE", "/pushes/4")[0] == 200
    assert events.next("deleted") == [4]
    assert fetch(simulator, "DELETE", "/pushes/4")[0] == 404 and fetch(simulator, path="/pushes/4")[0] == 404
    assert page("?before=6&limit=3") == ([2, 3, 5], True)
    # A later page does not count earlier pushes as skipped.
    late = Events(simulator)
    news = late.next("pushes")
    assert [push["number"] for push in news["pushes"]] == [1, 2, 3, 5, 6, 7] and news["skipped"] == 0
    for path in ("/pushes/0", "/pushes/-1", "/pushes/x", "/pushes/", "/pushes/1/x", "/pushes/1/frame/x", "/pushes/99999999999999999999"):
        assert fetch(simulator, path=path)[0] == 404, path
    for method, path in (("POST", "/pushes"), ("PUT", "/pushes/1"), ("GET", "/pushes/1/repeat"), ("DELETE", "/pushes/1/payload")):
        assert fetch(simulator, method, path)[0] == 405, path
    events.close()
    late.close()


def test_downloads_are_never_shown_by_a_browser(simulator):
    payload = b"<script>alert(1)</script>\xff"
    frame = framed(item(1, TOKEN), item(2, payload))
    finish(simulator.connect(), frame)
    for what, data in (("payload", payload), ("frame", frame)):
        status, headers, body = fetch(simulator, path=f"/pushes/1/{what}")
        assert status == 200 and body == data
        assert headers["content-type"] == "application/octet-stream" and headers["content-disposition"].startswith("attachment;")
        assert headers["x-content-type-options"] == "nosniff" and "content-security-policy" in headers


def test_an_invalid_push_cannot_be_sent_again(simulator):
    with simulator.connect() as sock:
        sock.sendall(enhanced(7, token=b""))
        events = Events(simulator)
        events.pushes(1)
    assert fetch(simulator, "POST", "/pushes/1/repeat")[0] == 409
    assert fetch(simulator, "POST", "/pushes/2/repeat")[0] == 404
    events.close()


def test_a_failed_repetition_is_reported(simulator):
    finish(simulator.connect(), simple())
    assert simulator.control("PATCH", "/faults", {"refuse_ms": 3_600_000})[0] == 200
    status, _, body = fetch(simulator, "POST", "/pushes/1/repeat")
    assert status == 502 and json.loads(body)["error"]


def test_connections_show_tls_and_subject(simulator):
    events = Events(simulator)
    with simulator.connect():
        while not (open_ := events.next("state")["connections"]["connections"]) or not open_[0]["tls"]:
            pass
    assert open_[0]["tls"] == "1.2" and "com.example" in open_[0]["subject"]
    events.close()


def test_a_run_ends_while_a_page_is_open(simulator):
    events = Events(simulator)
    events.next("hello")
    idle = socket.create_connection(("127.0.0.1", simulator.ready["dashboard_port"]), timeout=DEADLINE)
    simulator.stop()
    idle.close()
    events.close()


def test_a_search_is_the_simulator_s(simulator):
    texts = ["first word", "second", "caf\u00e9 na\u00efve", "ALL CAPITALS", "third word"]
    for number, text in enumerate(texts, 1):
        payload = {"aps": {"alert": {"title": "Chess", "body": text}, **({"badgee": 1} if number == 2 else {})}, "n": number}
        finish(simulator.connect(), enhanced(70 + number, bytes([number]) * 32, json.dumps(payload).encode()))
    with simulator.connect() as sock:
        sock.sendall(enhanced(7, token=b""))
        assert sock.recv(6)
    events = Events(simulator)
    events.pushes(6)
    events.close()

    def answered(path, **query):
        status, _, body = fetch(simulator, path=path + "?" + urllib.parse.urlencode(query, quote_via=urllib.parse.quote))
        return json.loads(body) if status == 200 else status

    def runs(search, **query):
        return answered("/pushes/matches", search=search, **query)["matches"]

    for search, expected in (
        ("", [[1, 6]]), ("word", [[1, 1], [5, 5]]), ('"word"', [[1, 1], [5, 5]]), ('"first word"', [[1, 1]]), ("word first", [[1, 1]]),
        ("-word", [[2, 4], [6, 6]]), ("CAF\u00c9", [[3, 3]]), ("capitals", [[4, 4]]), ("title", [[1, 5]]), ("chess -second", [[1, 1], [3, 5]]),
        ("token:0303", [[3, 3]]), ("token:" + "04" * 32, [[4, 4]]), ("outcome:rejected", [[6, 6]]), ("-outcome:rej status:2", []),
        ("findings:warning", [[2, 2]]), ("number:5", [[5, 5]]), ("protocol:binary -protocol:http/2", [[1, 6]]), ("is:nonsense", []),
        ("73", [[3, 3]]), ("reason:token", [[6, 6]]), ("nosuch:name", []), ("-", []), ('"', [[1, 6]]),
    ):
        assert runs(search) == expected, search
    assert runs("word", after=1) == [[5, 5]] and runs("", after=6) == []
    whole = answered("/pushes/matches", search="-is:unseen word")
    assert whole == {"first": 1, "last": 6, "kept": 6, "dropped": 0, "seen": True, "matches": [[1, 1], [5, 5]]}
    # The summaries of the matches, in pages.
    page = answered("/pushes", search="word", limit=1)
    assert [push["number"] for push in page["pushes"]] == [5] and page["older"]
    page = answered("/pushes", search="word", before=5)
    assert [push["number"] for push in page["pushes"]] == [1] and not page["older"]
    assert [push["number"] for push in answered("/pushes", numbers="2,99,4")["pushes"]] == [2, 4]
    for path, query in (("/pushes", {"numbers": "1,,2"}), ("/pushes", {"numbers": "1,x"}), ("/pushes/matches", {"after": "x"})):
        assert answered(path, **query) == 400
    assert fetch(simulator, "POST", "/pushes/matches")[0] == 405


def test_a_search_from_a_shell(simulator):
    """curl and forms write a space as +, and people type % alone."""
    texts = ["order 77", "50% off", "1+1", "na\u00efve \U0001f600", 'say "hi"', "a&b=c", "(.*)[a-z]\\d+$"]
    for number, text in enumerate(texts, 1):
        finish(simulator.connect(), enhanced(number, payload=json.dumps({"aps": {"alert": text}}, ensure_ascii=False).encode()))
    for search, expected in (
        ("order+77", [1]), ("%22order+77%22", [1]), ('"order+77"', [1]), ("50%", [2]), ("50%25", [2]), ("%22%25+off%22", [2]), ("50%+off", [2]),
        ("1%2B1", [3]), ("%F0%9F%98%80", [4]), ("NA%C3%8FVE", [4]), ("%5C%22hi", [5]), ("a%26b%3Dc", [6]), ("a%26b=c", [6]),
        ("(.*)", [7]), ("[a-z]", [7]), (".%2A", [7]), ("%ff", []), ("%00", []), ("x" * 20_000, []), ("search=", []), ("%", [2]), ("%2", []),
        ("+", [1, 2, 3, 4, 5, 6, 7]),
    ):
        status, _, body = fetch(simulator, path=f"/pushes?search={search}")
        assert status == 200 and [push["number"] for push in json.loads(body)["pushes"]] == expected, search
    # The first of several, and other parameters beside it.
    for query, expected in (("search=off&search=1", [2]), ("limit=1&&search=", [7]), ("se%61rch=off", [2]), ("search", [1, 2, 3, 4, 5, 6, 7])):
        assert [push["number"] for push in json.loads(fetch(simulator, path=f"/pushes?{query}")[2])["pushes"]] == expected, query


def test_the_simulator_keeps_a_limited_number(start):
    simulator = start("--dashboard-keeps", 2000)
    for first in range(1, 5001, 500):
        finish(simulator.connect(), b"".join(enhanced(number) for number in range(first, first + 500)))
    events = Events(simulator)
    events.next("pushes")
    kept = json.loads(fetch(simulator, path="/pushes/matches")[2])
    assert kept["last"] == 5000 and 2000 <= kept["kept"] < 2000 + 1024 and kept["dropped"] == 5000 - kept["kept"]
    assert kept["matches"] == [[kept["first"], 5000]] and kept["first"] == kept["dropped"] + 1
    assert fetch(simulator, path=f"/pushes/{kept['first'] - 1}")[0] == 404 and fetch(simulator, path=f"/pushes/{kept['first']}")[0] == 200
    # Deleted ones leave gaps.
    for number in (4000, 4001):
        assert fetch(simulator, "DELETE", f"/pushes/{number}")[0] == 200
    assert json.loads(fetch(simulator, path="/pushes/matches")[2])["matches"] == [[kept["first"], 3999], [4002, 5000]]
    events.close()


def test_the_changes_since_the_device_s_previous_push(simulator):
    payloads = [
        b'{"aps":{"alert":{"title":"Chess","body":"Your turn"},"badge":1},"moves":["e4","e5"],"game":7}', b"{}",
        b'{"aps": {"alert": {"title": "Chess", "body": "You won"}, "badge": 1.0, "sound": "x"}, "moves": ["e4"], "game": 12345678901234567890}', b"no json",
    ]
    for number, payload in enumerate(payloads, 1):
        finish(simulator.connect(), enhanced(number, bytes(32) if number == 2 else TOKEN, payload))
    events = Events(simulator)
    events.pushes(4)
    events.close()

    def changes(number, query=""):
        status, _, body = fetch(simulator, path=f"/pushes/{number}/changes{query}")
        return json.loads(body) if status == 200 else status

    found = changes(3)
    assert found["since"] == 1
    assert [(one["path"], one["before"], one["after"]) for one in found["changes"]] == [
        ("aps.alert.body", '"Your turn"', '"You won"'), ("aps.sound", None, '"x"'), ("moves[1]", '"e5"', None),
        ("game", "7", "12345678901234567890"),
    ]
    assert changes(1) == {"since": None, "changes": []} and changes(4) == {"since": 3, "changes": None}
    assert changes(3, "?since=3") == {"since": 3, "changes": []}
    assert {one["path"] for one in changes(3, "?since=2")["changes"]} == {"aps", "moves", "game"}
    assert changes(3, "?since=99") == 404 and changes(3, "?since=x") == 400 and changes(99) == 404


def test_changes_that_a_number_or_a_text_hides(simulator):
    """Identifiers that differ beyond a double, and letters that look the same."""
    payloads = [{"id": 2**60, "same": 2**60, "n": 1, "name": "caf\u00e9"}, {"id": 2**60 + 1, "same": 2**60, "n": 1.0, "name": "cafe\u0301"}]
    for number, payload in enumerate(payloads, 1):
        finish(simulator.connect(), enhanced(number, payload=json.dumps(payload, ensure_ascii=False).encode()))
    found = json.loads(fetch(simulator, path="/pushes/2/changes")[2])["changes"]
    assert [(one["path"], one["before"], one["after"]) for one in found] == [
        ("id", str(2**60), str(2**60 + 1)), ("name", '"caf\u00e9"', '"cafe\u0301"')]
