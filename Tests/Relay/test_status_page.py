"""The relay's status page in a browser."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "Dashboard"))

from chromium import browser  # noqa: E402, F401
from legacy import context, push, simple  # noqa: E402
from relaying import relay_program, token  # noqa: E402
from test_binary_listener import Listener, people, raw  # noqa: E402, F401

LIVE = "document.getElementById('link').dataset.is === 'live'"
# The values on an app's card, by name.
SAID = """(app) => Object.fromEntries([...document.querySelectorAll(`article[data-app="${app}"] dl > div`)].map(
  (pair) => [pair.querySelector("dt").textContent, pair.querySelector("dd").textContent]))"""


@pytest.fixture
def show(browser):
    pages = []

    def show(one, **arguments):
        pages.append(browser.page(f"http://127.0.0.1:{one.port_file.read_text().strip()}/", **arguments))
        pages[-1].wait(LIVE)
        return pages[-1]

    yield show
    # A 503 of /readyz is expected, but browsers log it as an error.
    complaints = [
        complaint for page in pages for complaint in page.complaints() if "/readyz" not in str(complaint)]
    for page in pages:
        page.close()
    assert complaints == []


def test_it_shows_what_the_relay_does(start, relay, queue, show):
    simulator = start()
    simulator.control("PUT", "/faults", {"bad_tokens": [token(3)]})
    queue.add(*({"id": f"{n}", "token": token(n)} for n in range(40)), {"id": "bad", "token": "zz"})
    one = relay(simulator, queue=queue).start().wait_ready().wait_done()
    # App names are shown as text, even with special characters.
    queue.add({"id": "x", "token": token(1)}, app='<b>"other\\')
    page = show(one)
    page.wait(f"({SAID})('shop')['accepted'] === '39'")
    said = page.run(f"({SAID})('shop')")
    assert (said["accepted"], said["rejected"], said["BadDeviceToken"], said["refused"]) == ("39", "1", "1", "1")
    assert (said["ready"], said["deferred"], said["dead letters"], said["connections"]) == ("0", "0", "0", "1")
    assert said["certificate"].endswith(" days left")
    assert page.text("article h2") == "shop" and page.text("article .state") == "ready"
    # The page updates automatically.
    queue.add(*({"id": f"more-{n}", "token": token(n + 100)} for n in range(5)))
    page.wait(f"({SAID})('shop')['accepted'] === '44'")
    assert re.match(r"≤ [0-9.]+ m?s$", page.run(f"({SAID})('shop')")["99 % within"])
    # It also shows a problem, and its end.
    queue.rows("CREATE TRIGGER full BEFORE INSERT ON outcomes BEGIN SELECT RAISE(ABORT, 'the disk is full'); END")
    queue.add({"id": "late", "token": token(7)})
    page.wait("document.getElementById('problem').textContent.includes('the disk is full')")
    page.wait("document.querySelector('article .state').dataset.is === 'failing'")
    queue.rows("DROP TRIGGER full")
    page.wait("document.getElementById('problem').hidden && document.querySelector('article .state').dataset.is === 'ready'")


def test_it_says_that_bad_tokens_do_not_count(start, relay, tmp_path, people, show):  # noqa: F811
    """Until the service has accepted a push, and again after the operator overrides the guard."""
    simulator = start(faults={"bad_every": 1})
    listener = Listener(relay, simulator, tmp_path, people, app={"guard": {"min_responses": 20, "share": 0.1, "wait": "0s"}}, accepted=False)
    page = show(listener.relay)
    push(listener.port, context(people.listed), b"".join(simple(raw(n)) for n in range(30)))
    page.wait(f"({SAID})('shop')['bad tokens'] === 'do not count'")
    page.wait(f"({SAID})('shop')['ignored'] === '30'")
    assert page.text("article h2") == "shop"
    subprocess.run([relay_program(), "guard", "--config", listener.relay.file, "--override", "shop"], check=True, stdout=subprocess.DEVNULL)
    page.wait(f"({SAID})('shop')['bad tokens'] === 'count'")


def test_it_says_that_the_relay_is_gone(start, relay, browser):
    one = relay(start()).start().wait_ready()
    page = browser.page(f"http://127.0.0.1:{one.port_file.read_text().strip()}/")
    page.wait(LIVE)
    one.stop()
    page.wait("document.getElementById('link').textContent === 'the relay does not respond'")
    page.close()


@pytest.mark.parametrize("scheme", ("light", "dark"))
def test_it_fits_narrow_windows_and_both_schemes(start, relay, show, scheme):
    one = relay(start()).start().wait_ready()
    page = show(one, width=320, height=640, scheme=scheme)
    page.wait("document.querySelectorAll('article').length === 1")
    assert page.run("document.documentElement.scrollWidth <= innerWidth")
    # WCAG's 4.5 to 1 for all visible text.
    worst = page.run("""(() => {
      const light = (text) => {
        const part = text.match(/[0-9.]+/g).slice(0, 3).map((c) => c / 255).map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
        return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2];
      };
      const ground = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (!/, 0\\)$/.test(c)) return c; } };
      let worst = 99;
      for (const e of document.querySelectorAll("body *")) {
        if (![...e.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim())) continue;
        const [one, other] = [light(getComputedStyle(e).color), light(ground(e))].sort((a, b) => a - b);
        worst = Math.min(worst, (other + 0.05) / (one + 0.05));
      }
      return worst;
    })()""")
    assert 4.5 <= worst < 99


@pytest.mark.parametrize("scheme", ("light", "dark"))
def test_picture_of_the_status_page(start, relay, queue, show, tmp_path, scheme):
    """That of Tests/Console is in the documentation."""
    simulator = start(faults={"answer_delay_ms": 30})
    for n in range(4):
        simulator.control("POST", "/unregistered", {"token": token(n * 7)})
    one = relay(simulator, queue=queue)
    one.write({"shop": {}, "chess": {"limits": {"window": 200}}})
    one.start().wait_ready()
    page = show(one, width=1100, height=760, scheme=scheme)
    for second in range(2):
        for app in "shop", "chess":
            queue.add(*({"id": f"{second}-{n}", "token": token(n)} for n in range(100 + 150 * (second % 3))), app=app)
        page.wait(f"({SAID})('shop')['accepted'] && ({SAID})('chess')['accepted']")
        one.wait_done()
        seen = page.run("document.querySelector('polyline')?.getAttribute('points')")
        page.wait(f"document.querySelector('polyline').getAttribute('points') !== {seen!r}")
    path = tmp_path / f"relay-{scheme}.png"
    page.picture(path)
    assert path.stat().st_size > 10_000
