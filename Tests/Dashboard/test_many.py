"""100,000 pushes over HTTP/2: finding one of them, walking through them, and showing them to a colleague."""

import os
import subprocess

import pytest
from conftest import Shown
from simulator import DEADLINE, ROOT
from test_page import ROWS, inaccessible
from test_reader import search, shown

COUNT = 100_000
DEVICES = 1000
FOCUSED = "document.activeElement.closest('.rows > li')"


def token(number):
    return (number % DEVICES).to_bytes(4, "big") * 8


@pytest.fixture(scope="module")
def full(certificates, tmp_path_factory):
    """A simulator to which `apns send` has sent a list; every 1000th push was rejected."""
    simulator = Shown(certificates, "--control-keeps", 1, "--fault", "bad_every=1000", "--fault", "bad_reason=DeviceTokenNotForTopic")
    before = simulator.memory()
    folder = tmp_path_factory.mktemp("many")
    path, payload = folder / "list.csv", folder / "payload.json"
    payload.write_text('{"aps":{"alert":{"title":"Order {{order}}","body":"On its way"}}}')
    path.write_text("token,order\n" + "".join(f"{token(number).hex()},{number}\n" for number in range(1, COUNT + 1)))
    ready = simulator.ready
    command = [os.environ["APNS_TOOL"], "send", "--host", "127.0.0.1", "--port", ready["http2_port"], "--ca", ready["ca"],
               "--certificate", ready["provider"], "--topic", "com.example.app", "--tokens", path,
               "--payload", payload]
    subprocess.run(list(map(str, command)), capture_output=True, timeout=DEADLINE)
    counters = simulator.control("GET", "/counters")[1]
    assert counters["accepted"] + sum(counters["reasons"].values()) == COUNT, counters
    simulator.cost = (simulator.memory() - before) * 1024 / COUNT
    yield simulator
    simulator.stop()


def test_a_push_takes_little_memory(full):
    """Its texts share one array with those of others: in bytes, with what the connections take."""
    assert full.cost < 800


def number_of(page, order):
    """The number of the push for this order: rejected ones make the order of arrival differ."""
    found = page.run(f"""fetch('pushes?search=' + encodeURIComponent('"order {order}"') + '&limit=1000').then((answer) => answer.json())""")["pushes"]
    return next(push["number"] for push in found if push["banner"]["title"] == f"Order {order}")


@pytest.mark.parametrize("width", [1440, 768, 360])
def test_an_old_push_is_found_by_keyboard(full, show, width):
    page = show(full, width=width)
    page.wait(f"{ROWS} === {COUNT} && document.querySelector('.row .heading')")
    assert page.run("document.querySelectorAll('.row').length") < 60
    page.press("/")
    page.call("Input.insertText", text='"order 77"')
    page.wait(f"{ROWS} === 1111")  # 77, 770 to 779, 7700 to 7799, 77000 to 77999
    assert "1,111 of 100,000 pushes match" in page.text("#shown")
    page.run("document.querySelector('.row').focus()")
    page.press("End")
    page.wait(f"{FOCUSED}.querySelector('.heading')?.textContent === 'Order 77'")
    assert page.run(f"{FOCUSED}.ariaPosInSet") == "1111"
    page.press("Enter")
    page.wait("document.querySelector('.inspector .banner .title')?.textContent === 'Order 77'")
    # It opens beside the list, or below it.
    boxes = [page.run(f"(({{ x, y, width, height }}) => [x, y, x + width, y + height])(document.querySelector('{one}').getBoundingClientRect())")
             for one in (".stream", ".inspector")]
    if width >= 1024:
        assert boxes[0][2] <= boxes[1][0] and boxes[0][1] == boxes[1][1]
    else:
        assert boxes[0][3] <= boxes[1][1]
    assert page.run("document.documentElement.scrollWidth <= innerWidth")
    # The newest pushes to the device, and this one, which is its first.
    page.wait("document.querySelectorAll('.history li').length === 26 && document.querySelector('.history li:last-child [aria-current]')")
    # A rejected push has its whole reason in the row, also in the narrower list.
    search(page, "outcome:rejected")
    page.wait(f"{ROWS} === {COUNT // 1000} && document.querySelector('.row .outcome')")
    page.wait("document.querySelector('.row .outcome').textContent === 'rejected 400 DeviceTokenNotForTopic'")
    assert page.run("(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)(document.querySelector('.row .outcome'))")


def test_the_newest_matches_show_before_all_are_found(full, show):
    page = show(full)
    page.wait(f"{ROWS} === {COUNT} && document.querySelector('.row .heading')")
    # The simulator's answer to the rest arrives when the test says so.
    page.run("""(() => {
      const { fetch } = window, gate = new Promise((open) => { window.open_gate = open; });
      window.fetch = (path, ...more) => path.startsWith("pushes/matches?search") ? gate.then(() => fetch(path, ...more)) : fetch(path, ...more);
    })()""")
    page.type("#search", '"order 77"')
    page.wait(f"{ROWS} === 100 && document.querySelector('.row .heading')?.textContent.startsWith('Order 77')")
    assert page.run("document.getElementById('rows').ariaBusy") == "true"
    assert page.text("#shown").startswith("searching 100,000 pushes")
    newest = shown(page)
    # Meanwhile a person may pause, and open a push.
    page.click("#pause")
    page.run("document.querySelectorAll('.row')[3].click()")
    page.wait("document.querySelector('.inspector .banner .title')?.textContent.startsWith('Order 77')")
    page.run("document.getElementById('rows').scrollTop = 20 * 46")
    page.wait(f"!document.querySelector('[data-key=\"{newest[0]}\"]')")
    top = page.run("document.getElementById('rows').scrollTop")
    page.run("open_gate()")
    page.wait(f"{ROWS} === 1111 && document.getElementById('rows').ariaBusy === 'false'")
    assert page.run("document.getElementById('rows').scrollTop") == top
    assert "1,111 of 100,000 pushes match" in page.text("#shown")
    # Only those that this person has seen.
    search(page, "is:seen order")
    assert page.run(ROWS) == 1


def test_a_search_that_the_simulator_refuses_is_over(full, browser):
    """No request takes a header of a megabyte."""
    page = browser.page(full.url + "#search=" + "x" * 1_000_000)
    try:
        page.wait(f"document.getElementById('shown').textContent.startsWith('no search: ') && {ROWS} === 0 && document.getElementById('rows').ariaBusy === 'false'")
        search(page, '"order 77"')
        page.wait(f"{ROWS} === 1111")
    finally:
        page.close()


def test_the_scroll_bar_reaches_every_part(full, show):
    page = show(full)
    page.wait(f"{ROWS} === {COUNT}")
    for share in (0.25, 0.5, 0.99):
        page.run(f"(({{ list }}) => {{ list.scrollTop = (list.scrollHeight - list.clientHeight) * {share}; }})({{ list: document.getElementById('rows') }})")
        page.wait(f"""[...document.querySelectorAll('.rows > li')].some((row) => Math.abs(row.ariaPosInSet - {share} * {COUNT}) < 40
          && row.querySelector('.heading'))""")


def test_a_longer_list_than_a_browser_can_lay_out(full, show):
    """A million rows: only their numbers, because the simulator would need a gigabyte."""
    page = show(full)
    page.run("""(async () => {
      const { VirtualList } = await import("./list.js");
      const { make } = await import("./elements.js");
      const list = document.getElementById("rows").cloneNode();
      document.getElementById("rows").replaceWith(list);
      window.long = new VirtualList(list, {
        create: (number) => make("li", {}, make("button", { class: "row" }, `row ${number}`)), update: () => {} });
      long.set(Array.from({ length: 1_000_000 }, (_, index) => index + 1));
    })()""")
    inside = """[...document.querySelectorAll('.rows > li')].filter((row) => {
      const box = row.getBoundingClientRect(), list = document.getElementById('rows').getBoundingClientRect();
      return box.bottom > list.top + 1 && box.top < list.bottom - 1; }).map((row) => Number(row.dataset.key))"""
    assert page.run("document.getElementById('rows').scrollHeight") <= 8_000_000
    page.run("document.querySelector('.row').focus()")
    for key, first, last in (("End", None, 1), ("Home", 1_000_000, None)):
        page.press(key)
        visible = page.run(inside)
        assert (last is None or visible[-1] == last) and (first is None or visible[0] == first), visible
        assert visible == list(range(visible[0], visible[-1] - 1, -1))
    # A wheel moves by rows, and the scroll bar by its share.
    page.run("document.getElementById('rows').scrollTop = 460")
    page.wait(f"({inside})[0] === 1_000_000 - 10")
    page.run("(({ list }) => { list.scrollTop = (list.scrollHeight - list.clientHeight) / 2; })({ list: document.getElementById('rows') })")
    page.wait(f"Math.abs(({inside})[0] - 500_000) < 20")
    visible = page.run(inside)
    assert visible == list(range(visible[0], visible[-1] - 1, -1)) and len(visible) > 5


def test_a_link_shows_a_colleague_the_same(full, show, browser):
    page = show(full)
    search(page, '"order 4242"')
    page.wait(f"{ROWS} === 11")
    number = number_of(page, 4242)
    page.run(f"document.querySelector('[data-key=\"{number}\"] .row').click()")
    page.wait("document.querySelector('.inspector .banner .title')?.textContent === 'Order 4242'")
    device = token(500).hex()
    page.run(f"(({{ menu }}) => {{ menu.append(new Option('x', '{device}')); menu.value = '{device}'; menu.dispatchEvent(new Event('change')); }})({{ menu: document.getElementById('device') }})")
    page.wait(f"document.getElementById('owner').textContent.startsWith('{device[:8]}')")
    # One of the 100 pushes to this device is drawn, the others are counted.
    page.wait("document.querySelector('.lock .more')?.textContent === '99 more'")
    assert page.run("[...document.querySelectorAll('.lock .banner .title')].every((title) => title.textContent.endsWith('500'))")
    link = page.run("location.href")
    context = browser.call("Target.createBrowserContext")["browserContextId"]
    other = browser.page(link, context=context)
    try:
        other.wait("document.querySelector('.inspector .banner .title')?.textContent === 'Order 4242'")
        other.wait(f"document.getElementById('owner').textContent.startsWith('{device[:8]}')")
        other.wait(f"{ROWS} === 11")
        assert shown(other) == shown(page)
        assert other.run("document.querySelector('.row[aria-current]').parentElement.dataset.key") == str(number)
        assert other.run("document.getElementById('device').value") == device
    finally:
        other.close()


def test_new_pushes_are_added_to_a_search(full, show):
    page = show(full)
    search(page, "token:" + b"\xee".hex() * 32)
    assert page.run(ROWS) == 0
    ready = full.ready
    command = [os.environ["APNS_TOOL"], "send", "--host", "127.0.0.1", "--port", ready["http2_port"], "--ca", ready["ca"],
               "--certificate", ready["provider"], "--topic", "com.example.app", "--alert", "new"]
    subprocess.run(list(map(str, [*command, "ee" * 32])), capture_output=True, timeout=DEADLINE, check=True)
    page.wait(f"{ROWS} === 1 && document.querySelector('.row .text').textContent === 'new'")
    page.run("document.querySelector('.row').click()")
    page.wait("document.getElementById('delete')")
    page.click("#delete")
    page.wait(f"{ROWS} === 0")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 768, 360])
def test_it_is_accessible(full, show, scheme, width):
    page = show(full, width=width, scheme=scheme)
    page.wait(f"{ROWS} >= {COUNT} && document.querySelector('.row .heading')")
    number = number_of(page, 123)
    page.run(f"location.hash = '#push={number}'")
    page.wait("document.querySelectorAll('.history li').length > 10 && document.querySelector('.changes')")
    page.wait("document.getAnimations().length === 0")
    page.picture(ROOT / "build" / "dashboard" / f"many-{width}-{scheme}.png")
    assert inaccessible(page) == []
    # All tabs are in one line.
    assert len(set(page.run("[...document.querySelectorAll('[role=tab]')].map((tab) => tab.getBoundingClientRect().y)"))) == 1
    assert page.run("document.documentElement.scrollWidth <= innerWidth")
