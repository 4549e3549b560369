"""The page as a mail reader for pushes: finding a push, reading it, and keeping positions."""

import json
import re

import pytest
from simulator import PAYLOAD, ROOT, TOKEN, enhanced, finish, framed, item, read_to_end, simple
from test_page import ROWS, TOPIC, push


def many(simulator, count, first=1):
    """Sends numbered alerts; returns when the simulator has counted them."""
    finish(simulator.connect(), b"".join(
        enhanced(number, payload=b'{"aps":{"alert":"number %d"}}' % number) for number in range(first, first + count)))


def rejected(simulator):
    with simulator.connect() as sock:
        sock.sendall(enhanced(5, token=b""))
        read_to_end(sock)


def place(page, selector):
    return page.run(f"(({{x, y, width, height}}) => [x, y, width, height])(document.querySelector({json.dumps(selector)}).getBoundingClientRect())")


def pick(page, number):
    page.wait(f"document.querySelector('[data-key=\"{number}\"] .row')")
    page.click(f".rows [data-key='{number}'] .row")
    page.wait(f"document.querySelector('.verdict')?.textContent.startsWith('Push {number} at')")


def search(page, text):
    page.run(f"""(() => {{ const field = document.getElementById('search'); field.value = {json.dumps(text)};
      field.dispatchEvent(new Event('input', {{ bubbles: true }})); }})()""")
    settle(page)


def settle(page):
    """Waits until the search is complete."""
    page.wait("document.getElementById('rows').ariaBusy === 'false'")


def shown(page):
    return page.run("[...document.querySelectorAll('.rows > li')].map((row) => Number(row.dataset.key))")


# ---- Positions -------------------------------------------------------------

@pytest.mark.parametrize("size", [(1440, 900), (1000, 800), (1920, 1080)])
def test_selecting_a_push_does_not_move_the_list(simulator, show, size):
    many(simulator, 60)
    page = show(simulator, width=size[0], height=size[1])
    page.wait(f"{ROWS} === 60")
    page.run("document.querySelector('.rows').scrollTop = 500")
    page.wait("document.querySelector('[data-key=\"48\"]')")
    # The list may become narrower.
    before = place(page, ".rows")[:2], place(page, "[data-key='48']")[:2]
    for number in (48, 47):
        page.run(f"document.querySelector('[data-key=\"{number}\"] .row').click()")
        page.wait(f"document.querySelector('.verdict')?.textContent.startsWith('Push {number} at')")
        assert (place(page, ".rows")[:2], place(page, "[data-key='48']")[:2]) == before
        assert page.run("document.querySelector('.rows').scrollTop") == 500
    # The selected push is visible without scrolling.
    x, y, _, _ = place(page, ".verdict")
    assert 0 <= x < size[0] and 0 <= y < size[1]


def test_columns_scroll_apart_and_the_page_does_not(simulator, show):
    many(simulator, 60)
    page = show(simulator, width=1440, height=700)
    pick(page, 60)
    assert page.run("document.documentElement.scrollHeight <= innerHeight")
    rows = place(page, ".rows")
    # Frame and payload are longer than their column here.
    assert page.run("(() => { const column = document.querySelector('.inspector'); column.scrollTop = 200; return column.scrollTop; })()") > 0
    assert place(page, ".rows") == rows
    assert page.run("document.scrollingElement.scrollTop") == 0


def test_a_narrow_screen_shows_the_selected_frame_and_the_list_again(simulator, show):
    many(simulator, 60)
    page = show(simulator, width=420, height=800)
    page.wait(f"{ROWS} === 60")
    assert place(page, ".rows")[3] <= 0.6 * 800, "the list is capped"
    pick(page, 58)
    page.wait("(({ y }) => y >= 0 && y < innerHeight / 2)(document.querySelector('.verdict').getBoundingClientRect())")
    page.click(".back")
    page.wait("(({ y }) => y >= 0 && y < innerHeight)(document.querySelector('.rows').getBoundingClientRect())")
    assert page.run("location.hash") == ""


def test_odd_searches(simulator, show):
    """Each is over, and so is the next one."""
    many(simulator, 3)
    page = show(simulator)
    page.wait(f"{ROWS} === 3")
    for text in ("\ud83d", "%", "%zz", "\U0001f600", "'\"", "<b>", "\\", "#&=+", "a" * 20_000, "number:\u0663", ".*", "--", "-", ":", "\x00"):
        search(page, text)
        assert page.run(ROWS) == (3 if text in ("--", ":") else 0), text
    search(page, '"number 2"')
    assert shown(page) == [2]


@pytest.mark.parametrize("width", [1440, 420])
def test_the_status_strip_covers_nothing(simulator, show, width):
    many(simulator, 60)
    page = show(simulator, width=width, height=800)
    pick(page, 60)
    page.wait("document.getElementById('said').textContent !== ''")
    for end in ("0", "1e6"):
        page.run(f"for (const one of document.querySelectorAll('main, section, .rows')) one.scrollTop = {end}")
        _, top, _, height = place(page, "#said")
        assert top + height <= 800
        _, y, _, tall = place(page, "main")
        assert y + tall <= top
    # The last element is above the strip when it has the focus.
    page.run("[...document.querySelectorAll('main button')].filter((one) => one.offsetParent).at(-1).focus()")
    assert page.run("(() => { const box = document.activeElement.getBoundingClientRect(); return document.elementFromPoint(box.x + 3, box.y + 3) === document.activeElement; })()")


def test_long_lists_are_capped(simulator, show):
    finish(simulator.connect(), b"".join(simple(number.to_bytes(32, "big")) for number in range(300)))
    for number in range(120):
        simulator.control("POST", "/unregistered", {"token": number.to_bytes(32, "big").hex()})
    for width in (1440, 420):
        page = show(simulator, width=width)
        page.wait("document.querySelectorAll('#feedback li').length === 120 && document.querySelectorAll('#devices li').length === 200")
        for selector in ("#feedback", "#devices", ".rows"):
            assert place(page, selector)[3] < 800, selector
            assert page.run(f"getComputedStyle(document.querySelector('{selector}')).overflowY") == "auto"


# ---- What is shown ---------------------------------------------------------

@pytest.mark.parametrize("payload, shown", [
    (b"not json at all", "not json at all"),
    (b'{"aps" :  {},}  trailing', '{"aps" :  {},}  trailing'),
    (b"a  b\n  c", "a  b\n  c"),
    (b"caf\xe9 \xff{}", "caf\\xe9 \\xff{}"),
    (b'{"aps":{"alert":"Hello"}}', '{\n  "aps": {\n    "alert": "Hello"\n  }\n}'),
])
def test_a_payload_that_is_not_json_is_shown_unchanged(simulator, show, payload, shown):
    push(simulator, payload)
    page = show(simulator)
    pick(page, 1)
    assert page.text(".json") == shown


def test_times_have_their_dates(simulator, show):
    push(simulator, {"aps": {"alert": "Hello"}})
    simulator.control("POST", "/unregistered", {"token": TOKEN.hex(), "timestamp": 1272715200})
    page = show(simulator)
    pick(page, 1)
    today = re.compile(r"[A-Z][a-z]{2} \d+, \d\d:\d\d:\d\d")
    for selector in (".row .time", ".banner .time", "#devices .card"):
        assert today.search(page.text(selector)), selector
    assert re.search(r"at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} over", page.text(".verdict"))
    page.wait("document.querySelector('#feedback li')")
    assert "May 1, 2010, 12:00:00" in page.text("#feedback li")


def test_the_chart_includes_earlier_pushes(simulator, show):
    many(simulator, 30)
    rejected(simulator)
    page = show(simulator)
    page.wait("document.getElementById('rate').textContent.includes('31 in the last minute')")
    tall = "[...document.querySelectorAll('#chart .{}')].filter((bar) => Number(bar.getAttribute('height')) > 0).length"
    assert page.run(tall.format("accepted")) >= 1 and page.run(tall.format("rejected")) >= 1
    many(simulator, 5)
    page.wait("document.getElementById('rate').textContent.includes('36 in the last minute')")


def test_bytes_have_offsets_and_characters(simulator, show):
    frame = framed(item(1, TOKEN), item(2, b'{"aps":{"alert":"Hello"}}\x01\xff'))
    finish(simulator.connect(), frame)
    page = show(simulator)
    pick(page, 1)
    lines = page.run("[...document.querySelectorAll('.line')].map((line) => [...line.children].map((part) => part.textContent))")
    for number, (offset, digits, characters) in enumerate(lines):
        piece = frame[number * 16:number * 16 + 16]
        assert int(offset, 16) == number * 16
        assert bytes.fromhex(digits) == piece
        assert characters == "".join(chr(byte) if 32 <= byte < 127 else "·" for byte in piece)
    assert len(lines) == (len(frame) + 15) // 16


def test_reasons_are_explained(start, show):
    simulator = start("--http2-port", 0, "--fault", "bad_every=1")
    with simulator.connect() as sock:
        sock.sendall(enhanced(1))
        read_to_end(sock)
    page = show(simulator)
    pick(page, 1)
    assert "stop pushing to it" in page.text(".meaning")
    header = (ROOT / "include" / "apns" / "apns.h").read_text()
    reasons = [name.title().replace("_", "") for name in re.findall(r"APNS_REASON_([A-Z_]+) = (?!0\b|255\b)", header)]
    assert len(reasons) == len(json.loads((ROOT / "Tests/Vectors/reasons.json").read_text())["tests"])
    told = page.run(f"""import('./reasons.js').then(({{ meaning }}) => {json.dumps(reasons)}.filter((reason) =>
      !meaning({{ protocol: 'http2', outcome: 'rejected', status: 400, reason }})))""")
    assert told == []
    statuses = [int(number) for number in re.findall(r"APNS_REJECT_[A-Z_]+ = (\d+)", header)]
    told = page.run(f"""import('./reasons.js').then(({{ meaning }}) => {json.dumps(statuses)}.filter((status) =>
      !meaning({{ protocol: 'binary', outcome: 'rejected', status }})))""")
    assert told == [0]


# ---- Finding a push --------------------------------------------------------

def test_each_push_has_an_address_and_the_back_button_works(simulator, show, browser):
    many(simulator, 5)
    page = show(simulator)
    pick(page, 2)
    assert page.run("location.hash") == "#push=2"
    pick(page, 4)
    page.run("history.back()")
    page.wait("document.querySelector('.verdict').textContent.startsWith('Push 2 at')")
    assert page.run("document.querySelector('.row[aria-current]').parentElement.dataset.key") == "2"
    page.run("history.forward()")
    page.wait("document.querySelector('.verdict').textContent.startsWith('Push 4 at')")
    link = page.run("document.querySelector('.self').href")
    # Another person opens the link from a mail, with a search.
    other = browser.page(link + "&search=number%3A4")
    try:
        other.wait("document.querySelector('.verdict')?.textContent.startsWith('Push 4 at')")
        other.wait(f"{ROWS} === 1")
        assert other.run("document.getElementById('search').value") == "number:4"
    finally:
        other.close()
    page.run("location.hash = '#push=99'")
    page.wait("document.getElementById('inspector').textContent.includes('push 99 is no longer kept')")


def test_unseen_pushes_are_counted_in_the_title(simulator, show):
    many(simulator, 3)
    page = show(simulator)
    page.wait("document.title === '(3) apns simulate'")
    pick(page, 2)
    page.wait("document.title === '(2) apns simulate'")
    assert page.run("[...document.querySelectorAll('.row.unseen')].map((row) => row.parentElement.dataset.key).join()") == "3,1"
    many(simulator, 1)
    page.wait("document.title === '(3) apns simulate'")
    # A reload keeps the count.
    page.call("Page.reload")
    page.wait("document.title === '(3) apns simulate'")
    search(page, "is:unseen")
    assert shown(page) == [4, 3, 1]
    page.click("#all-seen")
    page.wait("document.title === 'apns simulate'")
    # In a background tab, and while the list is paused.
    page.click("#pause")
    show(simulator)
    many(simulator, 1)
    page.wait("document.title === '(1) apns simulate'")


def test_search_by_protocol_connection_outcome_and_findings(start, show):
    httpx = pytest.importorskip("httpx")
    simulator = start("--http2-port", 0)
    push(simulator, {"aps": {"alert": "first word"}})
    push(simulator, {"aps": {"alert": "second"}}, {"aps": {"alert": "third", "badgee": 1}})
    push(simulator, b"no json")
    rejected(simulator)
    url = f"https://127.0.0.1:{simulator.ready['http2_port']}/3/device/{TOKEN.hex()}"
    with httpx.Client(http2=True, verify=simulator.context()) as client:
        assert client.post(url, content=PAYLOAD, headers={"apns-topic": TOPIC + ".chess"}).status_code in (200, 400)
    page = show(simulator)
    page.wait(f"{ROWS} === 6")
    connection = page.run("fetch('pushes/2').then((answer) => answer.json()).then((push) => push.connection)")
    for text, numbers in (
        ("protocol:http2", [6]), ("protocol:HTTP/2", [6]), ("protocol:binary", [5, 4, 3, 2, 1]), (f"connection:{connection}", [3, 2]),
        ("-protocol:http2 outcome:accepted", [4, 3, 2, 1]), ("findings:warning", [3]), ("findings:error -outcome:rejected", [4]),
        ('"first word"', [1]), ("word first", [1]), ("SECOND", [2]), ("status:2", [5]), ("reason:missing", [5]),
        ("topic:chess", [6]), ('alert":"th', []), ("number:3", [3]), (f"token:{TOKEN.hex()[:8]} number:1", [1]),
        ("is:duplicate", []), ("constructor:x", []), ("", [6, 5, 4, 3, 2, 1]),
    ):
        search(page, text)
        assert shown(page) == numbers, text
    for name, value, numbers in (("outcome", "rejected", {5}), ("protocol", "http2", {6}), ("findings", "warning", {3})):
        page.run(f"document.querySelector('[name={name}]').value = '{value}'; document.getElementById('filters').dispatchEvent(new Event('input'))")
        settle(page)
        assert numbers <= set(shown(page)) and len(shown(page)) < 6, name
        page.run(f"document.querySelector('[name={name}]').value = ''; document.getElementById('filters').dispatchEvent(new Event('input'))")


def test_the_list_reaches_the_oldest_push(simulator, show):
    many(simulator, 1050)
    page = show(simulator)
    page.wait(f"{ROWS} === 1050 && document.querySelector('.row .text').textContent === 'number 1050'")
    assert page.run("document.querySelectorAll('.row').length") < 60, "only the visible rows are elements"
    focused = "document.activeElement.closest('li')"
    page.run("document.querySelector('.row').focus()")
    for key, place, number in (
        ("End", 1050, 1), ("ArrowUp", 1049, 2), ("Home", 1, 1050), ("ArrowDown", 2, 1049), ("ArrowUp", 1, 1050), ("ArrowUp", 1, 1050),
    ):
        page.press(key)
        page.wait(f"{focused}.ariaPosInSet === '{place}' && {focused}.dataset.key === '{number}'")
        page.wait(f"{focused}.querySelector('.text').textContent === 'number {number}'")
    page.press("PageDown")
    page.wait(f"Number({focused}.ariaPosInSet) > 5 && {focused}.getBoundingClientRect().bottom < innerHeight")
    # The row that has the focus keeps it while it is scrolled away.
    here = page.run(f"{focused}.dataset.key")
    page.run("document.querySelector('.rows').scrollTop = 20000")
    page.wait("Math.min(...[...document.querySelectorAll('.rows > li')].map((row) => Number(row.dataset.key))) < 700")
    assert page.run(f"{focused}.dataset.key") == here
    # New pushes do not move the rows that are being read.
    seen = "[...document.querySelectorAll('.rows > li')].map((row) => [row.dataset.key, row.getBoundingClientRect().y]).slice(1, -1).join()"
    before = page.run(seen)
    many(simulator, 3)
    page.wait(f"{ROWS} === 1053")
    assert page.run(seen) == before
    # A search finds pushes that the page never loaded.
    page.call("Page.reload")
    page.wait(f"{ROWS} === 1053")
    search(page, '"number 7\\""')
    assert shown(page) == []
    search(page, '"number 7"')
    page.wait(f"{ROWS} === 111")
    search(page, "number:7")
    assert shown(page) == [7]
    assert "1 of 1,053 pushes match" in page.text("#shown")
