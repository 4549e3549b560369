"""The relay's page in a browser: every button, by mouse and by keyboard, at three widths."""

import base64
import json
import os
import pathlib
import time

import pytest
from relaying import pushes, token, wait_until
from test_campaigns import many
from test_page import OWN_CHECKS, axe

WIDTHS = (1440, 768, 360)
# The text in a campaign's cell, and the campaign's state.
CELL = """(campaign, name) => [...document.querySelectorAll(".campaigns tbody tr")].find((line) => line.querySelector(".name").textContent === campaign)
  ?.querySelector(`[data-name="${name}"]`)?.textContent"""
MARK = """(campaign) => [...document.querySelectorAll(".campaigns tbody tr")].find((line) => line.querySelector(".name").textContent === campaign)
  ?.querySelector(".mark").dataset.is"""


def pick(name, label):
    return f"button[data-act='{name}'][aria-label='{label}']"


@pytest.fixture
def busy(start, relay, queue):
    """A relay that sends campaigns, and has dead letters and a finished campaign."""

    def busy(**options):
        simulator = start("--seed", "1", faults={"bad_every": 1, "bad_reason": "TooManyRequests"})
        one = relay(simulator, queue=queue, app={"retry": {"within": "0s", "max_deferrals": 0}, "limits": {"window": 400}} | options)
        one.start().wait_ready()
        queue.add(*(many(f"order-47{n}", 9000 + 20 * n, n, campaign=None) for n in (1, 12, 3)))
        one.wait_done()
        simulator.control("DELETE", "/faults")
        simulator.control("PUT", "/faults", {"bad_tokens": [token(n) for n in range(0, 2000, 9)], "answer_delay_ms": 40, "streams_max": 20})
        for n in range(5, 2000, 25):
            simulator.control("POST", "/unregistered", {"token": token(n)})
        queue.add(many("welcome-1", 0, 150, campaign="welcome"))
        one.wait_done()
        for name, count in ("sale-wrong-text", 60), ("winter-sale", 400), ("newsletter-48", 120):
            queue.add(*(many(f"{name}-{n}", 200 * n, 200, campaign=name, lane="bulk") for n in range(count)))
        return simulator, one

    return busy


def ready(page):
    page.wait(f"({CELL})('winter-sale', 'Progress')?.includes('%')")


def choose(page, selector, key=None, confirm="#ask-go"):
    """Presses a button and confirms, with the mouse or with a key. Returns the text of the question."""
    def press(what):
        if key is None:
            return page.click(what)
        page.run(f"document.querySelector({json.dumps(what)}).focus()")
        page.press(key)

    press(selector)
    page.wait("document.getElementById('ask').open")
    said = page.text("#ask-title") + " " + page.text("#ask-text") + " " + page.text("#ask-go")
    press(confirm)
    page.wait("!document.getElementById('ask').open")
    return said


@pytest.mark.parametrize("width, key", [*((width, key) for width in WIDTHS for key in (None, "Enter")), (WIDTHS[0], " ")])
def test_every_button(busy, show, queue, width, key):
    simulator, one = busy()
    page = show(one, width=width)
    ready(page)
    assert page.run("document.documentElement.scrollWidth <= innerWidth")
    # Nothing happens without an answer.
    choose(page, pick("cancel", "Cancel winter-sale"), key, confirm="#ask-no")
    page.click(pick("cancel", "Cancel winter-sale"))
    page.press("Escape")
    page.wait("!document.getElementById('ask').open")
    assert page.run("document.activeElement.getAttribute('aria-label')") == "Cancel winter-sale"
    assert queue.rows("SELECT * FROM app_state WHERE name = 'orders'") == []

    said = choose(page, pick("pause", "Pause winter-sale"), key)
    assert "Pause winter-sale?" in said and " devices wait" in said
    page.wait(f"({MARK})('winter-sale') === 'paused'")
    page.wait("document.getElementById('done').textContent.startsWith('winter-sale is paused: ')")
    choose(page, pick("resume", "Resume winter-sale"), key)
    page.wait(f"({MARK})('winter-sale') === 'sending'")

    said = choose(page, pick("cancel", "Cancel sale-wrong-text"), key)
    assert " devices will not get it" in said and "cannot be undone" in said and "Cancel for " in said
    page.wait(f"({MARK})('sale-wrong-text') === 'cancelled' && ({CELL})('sale-wrong-text', 'Other').includes('cancelled')")

    choose(page, pick("pause-app", "Pause app shop"), key)
    page.wait("document.querySelector('.state').dataset.is === 'paused'")
    page.wait(f"({MARK})('winter-sale') === 'held'")
    choose(page, pick("resume-app", "Resume app shop"), key)
    page.wait("document.querySelector('.state').dataset.is === 'ready'")

    for name, label, place in ("limit", "Limit winter-sale", ".campaigns"), ("limit-app", "Limit app shop", ".head"):
        page.click(pick(name, label))
        page.wait("document.activeElement.id === 'ask-per-second'")
        page.type("#ask-per-second", "12x")
        page.press("Enter")
        page.wait("document.getElementById('ask-fault').textContent.includes('whole number')")
        page.run("document.getElementById('ask-per-second').select()")
        page.type("#ask-per-second", "1500")
        page.press("Enter")
        page.wait(f"document.querySelector('{place}').textContent.includes('at most 1,500')")

    said = choose(page, pick("retry", "Retry order-4712"), key)
    assert "12 devices" in said
    page.wait("![...document.querySelectorAll('.letters .name')].some((name) => name.textContent === 'order-4712')")
    assert "1 device" in choose(page, pick("discard", "Discard order-471"), key)
    page.wait("document.querySelectorAll('.letters > li').length === 1")
    choose(page, "button[data-act='retry-all']", key)
    page.wait("document.querySelector('.dead').hidden")
    wait_until(lambda: {int(push["token"], 16) for push in pushes(simulator)} >= {*range(9240, 9252), *range(9060, 9063)}, "they are not pushed")
    actions = [line["action"] for line in one.lines() if line.get("kind") == "action"]
    assert actions == ["pause", "resume", "cancel", "pause", "resume", "limit", "limit", "retry", "discard", "retry"]
    assert page.run("document.documentElement.scrollWidth <= innerWidth")


def test_a_webhook_and_paced_entries(busy, show, tmp_path):
    secret = tmp_path / "webhook.secret"
    secret.write_text("whsec_" + base64.b64encode(bytes(32)).decode())
    _, one = busy(webhook={"url": "http://127.0.0.1:9/secret-path", "secret_file": str(secret)})
    page = show(one, width=360)
    ready(page)
    behind = r"/127\.0\.0\.1:9failing since \d\d:\d\d: Connection refused\n[\d,]+( or more)? behind, the oldest for \d/"
    page.wait(behind + ".test(document.body.textContent)")
    page.wait("document.querySelector('#problem li').textContent.includes('the webhook http://127.0.0.1:9 fails: Connection refused')")
    assert not page.run("document.body.textContent.includes('secret-path')")
    paced = "Number([...document.querySelectorAll('dt')].find((name) => name.textContent === 'paced').nextSibling.textContent)"
    assert page.run(paced) == 0
    page.click(pick("limit", "Limit winter-sale"))
    page.type("#ask-per-second", "10")
    page.press("Enter")
    page.wait(f"{paced} > 0")
    assert page.run("document.documentElement.scrollWidth <= innerWidth")


def test_all_dead_letters_are_discarded(busy, show, queue):
    _, one = busy()
    page = show(one)
    page.wait("document.querySelectorAll('.letters > li').length === 3")
    assert "16 devices" in choose(page, "button[data-act='discard-all']")
    page.wait("document.querySelector('.dead').hidden")
    assert queue.value("SELECT count(*) FROM dead") == 0


def test_a_refusal_stays_in_the_question(busy, show):
    _, one = busy()
    page = show(one)
    ready(page)
    page.click(pick("pause", "Pause winter-sale"))
    page.run("""fetch("actions", { method: "POST", headers: { "content-type": "application/json" },
      body: JSON.stringify({ action: "cancel", app: "shop", campaign: "winter-sale" }) }).then((answer) => answer.status)""")
    page.run("document.getElementById('ask-go').click()")
    page.wait("document.getElementById('ask-fault').textContent === 'winter-sale is cancelled'")
    page.browser.events.clear()  # Chromium logs the 409.


def test_the_keyboard_reaches_everything_and_stays(busy, show):
    _, one = busy()
    page = show(one)
    ready(page)
    names = []
    for _ in range(60):
        page.press("Tab")
        names.append(page.run("document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent"))
    for name in ("Pause app shop", "Limit app shop", "Pause winter-sale", "Limit winter-sale", "Cancel winter-sale", "Retry order-4712",
                 "Discard order-4712", "Retry all of these", "Discard all of these", "status.json"):
        assert name in names
    # The updates of each second keep the focus.
    page.run("document.querySelector(\"button[aria-label='Cancel newsletter-48']\").focus()")
    seen = page.run(f"({CELL})('sale-wrong-text', 'Accepted')")
    page.wait(f"({CELL})('sale-wrong-text', 'Accepted') !== {json.dumps(seen)}")
    assert page.run("document.activeElement.getAttribute('aria-label')") == "Cancel newsletter-48"


@pytest.mark.parametrize("scheme", ("light", "dark"))
@pytest.mark.parametrize("width", WIDTHS)
def test_it_is_accessible(busy, show, queue, scheme, width, tmp_path):
    """Also makes the pictures, in PICTURES if it is set."""
    _, one = busy()
    page = show(one, width=width, height=1000, scheme=scheme)
    ready(page)
    for action, campaign in ("pause", "newsletter-48"), ("cancel", "sale-wrong-text"):
        page.run(f"""fetch("actions", {{ method: "POST", headers: {{ "content-type": "application/json" }},
          body: JSON.stringify({{ action: "{action}", app: "shop", campaign: "{campaign}" }}) }}).then(() => 0)""")
    page.wait(f"({MARK})('newsletter-48') === 'paused'")
    page.wait(f"({CELL})('sale-wrong-text', 'Progress').startsWith('100 %')")
    seconds = 12 if "PICTURES" in os.environ else 2
    time.sleep(seconds)
    queue.rows("CREATE TRIGGER full BEFORE INSERT ON outcomes BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END")
    page.wait("document.querySelectorAll('#problem li').length === 1")
    time.sleep(seconds / 4)
    page.wait("document.getAnimations().length === 0")
    pictures = pathlib.Path(os.environ.get("PICTURES", tmp_path))
    height = page.run("document.documentElement.scrollHeight")
    page.size(width, height)
    page.picture(pictures / f"relay{'' if width == 1440 else f'-{width}'}-{scheme}.png")
    assert page.run("document.documentElement.scrollWidth <= innerWidth")
    script = axe()
    for what in "page", "question":
        if what == "question":
            page.click(pick("cancel", "Cancel winter-sale"))
            page.wait("document.getElementById('ask').open")
            page.picture(tmp_path / "question.png")
        assert page.run(OWN_CHECKS) == [], what
        if script:
            page.run(script + "; void 0")
            found = page.run("""axe.run(document, { resultTypes: ["violations"] }).then((result) => result.violations.map((one) =>
              [one.id, one.help, one.nodes.map((node) => node.html.slice(0, 160) + " " + node.failureSummary)]))""")
            assert found == [], (what, json.dumps(found, indent=1))
