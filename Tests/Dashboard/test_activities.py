"""Channels, broadcasts and Live Activities on the page."""

import os
import pathlib
import time

import pytest
from simulator import ROOT, TOKEN
from test_page import ROWS

httpx = pytest.importorskip("httpx", reason="Python has no httpx")

APP = "com.example.app"
SERVICES = ("--http2-port", 0, "--channels-port", 0)
SECOND, THIRD = bytes(range(32, 64)), bytes(range(64, 96))
UUID = "123e4567-e89b-12d3-a456-42665544000a"


class Provider:
    """A client of both services."""

    def __init__(self, simulator):
        self.client = httpx.Client(http2=True, verify=simulator.context(), timeout=240)
        self.pushes = f"https://127.0.0.1:{simulator.ready['http2_port']}"
        self.channels = f"https://127.0.0.1:{simulator.ready['channels_port']}/1/apps/{APP}/channels"

    def create(self, policy=1):
        answer = self.client.post(self.channels, json={"message-storage-policy": policy, "push-type": "LiveActivity"})
        assert answer.status_code == 201
        return answer.headers["apns-channel-id"]

    def broadcast(self, channel, aps, expiration=0, **headers):
        return self.client.post(f"{self.pushes}/4/broadcasts/apps/{APP}", json={"aps": aps}, headers={
            "apns-channel-id": channel, "apns-push-type": "liveactivity", "apns-expiration": str(expiration),
            "apns-priority": "10"} | headers)

    def awkward(self):
        """A channel ID with every base64 character that is not a letter or digit."""
        return next(channel for channel in (self.create() for _ in range(500)) if {"+", "/", "="} <= set(channel))

    def push(self, token, aps):
        answer = self.client.post(f"{self.pushes}/3/device/{token.hex()}", json={"aps": aps}, headers={
            "apns-push-type": "liveactivity", "apns-topic": f"{APP}.push-type.liveactivity", "apns-priority": "10"})
        assert answer.status_code == 200, answer.text
        return answer


@pytest.fixture
def provide():
    made = []

    def provide(simulator):
        made.append(Provider(simulator))
        return made[-1]

    yield provide
    for provider in made:
        provider.client.close()


def state(event, timestamp, content, **others):
    return {"timestamp": timestamp, "event": event, "content-state": content} | {
        name.replace("_", "-"): value for name, value in others.items()}


def subscribe(simulator, channel, *tokens):
    for token in tokens:
        assert simulator.control("POST", "/subscriptions", {"token": token.hex(), "channel": channel})[0] == 200


def content(page):
    return page.run("[...document.querySelectorAll('.activity')].map((one) => [one.dataset.state, ...[...one.querySelectorAll('dd')].map((part) => part.textContent)].join(' '))")


def choose(page, token):
    """Chooses the device on the lock screen."""
    page.wait(f"document.querySelector('#device [value=\"{token.hex()}\"]')")
    page.run(f"(({{ menu }}) => {{ menu.value = '{token.hex()}'; menu.dispatchEvent(new Event('change')); }})({{ menu: document.getElementById('device') }})")
    page.wait(f"document.getElementById('owner').textContent.startsWith('{token.hex()[:8]}')")


def test_a_live_activity_on_the_lock_screen(start, show, provide):
    simulator = start(*SERVICES)
    page, provider, now = show(simulator), provide(simulator), int(time.time())
    alert = {"title": {"loc-key": "KICK_OFF"}, "body": "A against B"}
    provider.push(TOKEN, state("start", now, {"home": 0, "guest": 0}, attributes_type="Match", attributes={}, alert=alert))
    page.wait("document.querySelector('.activity')")
    assert content(page) == ["active 0 0"]
    assert page.text(".activity .app") == "App" and "started as Match, 0 updates" in page.text(".activity .facts:last-child")
    # Its alert is a banner, and the activity is above it.
    page.wait("document.querySelector('.banner .body')?.textContent === 'A against B'")
    assert page.text(".banner .title") == "KICK_OFF"
    assert page.run("document.querySelectorAll('.icon').length") == 1
    provider.push(TOKEN, state("update", now + 2, {"home": 1, "guest": 0, "scorer": "<b>Jenna</b>"}))
    page.wait("document.querySelectorAll('.activity dd').length === 3")
    assert content(page) == ["active 1 0 <b>Jenna</b>"]
    # Older than the device's last update.
    provider.push(TOKEN, state("update", now + 1, {"home": 9}))
    provider.push(TOKEN, state("update", now + 3, {"home": 2, "guest": 0}, stale_date=int(time.time()) + 2))
    page.wait("document.querySelector('.activity').dataset.state === 'stale'")
    assert content(page) == ["stale 2 0"] and page.text(".activity-state") == "Stale"
    assert "1 came too late, stale since" in page.text(".activity .facts:last-child")
    provider.push(TOKEN, state("end", now + 4, {"home": 3, "guest": 0}, dismissal_date=int(time.time()) + 3))
    page.wait("document.querySelector('.activity')?.dataset.state === 'ended'")
    assert content(page) == ["ended 3 0"]
    page.wait("document.querySelectorAll('.activity').length === 0")


def test_a_broadcast_goes_to_subscribers(start, show, provide):
    simulator = start(*SERVICES)
    page, provider = show(simulator), provide(simulator)
    channel, other = provider.create(1), provider.create(0)
    page.click("#tab-channels")
    page.wait("document.querySelectorAll('.channel').length === 2")
    assert page.text("#channel-count").startswith("2 of 2")
    subscribe(simulator, channel, TOKEN, SECOND)
    subscribe(simulator, other, THIRD)
    card = f".channel[data-channel='{channel}']"
    page.wait(f"document.querySelectorAll(\"{card} .fan li\").length === 2")
    assert "stores the newest message; 2 devices" in page.text(card + " .facts")
    page.run("""(() => {
      window.flown = [];
      new MutationObserver(() => {
        for (const one of document.querySelectorAll(".sending")) if (!flown.includes(one.dataset.channel)) flown.push(one.dataset.channel);
      }).observe(document.getElementById("channels"), { attributes: true, subtree: true });
    })()""")
    answer = provider.broadcast(channel, state("update", 1, {"score": "1:0"}), **{"apns-request-id": UUID})
    assert answer.status_code == 200
    page.wait(f"flown.join() === '{channel}'")
    # Each device has its own lock screen.
    for token in (TOKEN, SECOND):
        choose(page, token)
        page.wait("document.querySelector('.activity dd')?.textContent === '1:0'")
        assert content(page) == ["active 1:0"]
    page.wait(f"document.querySelector(\"{card} .sent\").textContent.includes('the last at')")
    assert page.text(card + " .sent").startswith("1 broadcast, the last at ") and page.text(card + " .sent").endswith("to 2 devices")
    assert page.run("document.querySelector('.row .text').textContent") == "update: score 1:0"
    # The log line has the IDs to search for.
    line = page.wait("document.querySelector('#deliveries li')?.textContent")
    assert "broadcast update App to channel " in line and ", 2 devices accepted" in line
    assert f"apns-request-id={UUID}" in line and f"apns-unique-id={answer.headers['apns-unique-id']}" in line
    provider.broadcast("AAAA", state("update", 1, {}))
    page.wait("document.querySelector('#deliveries li.rejected')?.textContent.includes('rejected 400 ChannelNotRegistered')")
    # A line leads to its push, and a search for the channel finds the push.
    page.run("document.querySelectorAll('.delivery-line')[1].click()")
    page.wait("document.querySelector('.delivery')?.textContent.includes('2 devices got it')")
    assert channel in page.text(".delivery") and answer.headers["apns-unique-id"] in page.text(".delivery")
    page.type("#search", f"channel:{channel[:8].lower()}")
    page.wait(f"{ROWS} === 1")


def test_a_deleted_channel_disappears(start, show, provide):
    simulator = start(*SERVICES)
    page, provider = show(simulator), provide(simulator)
    page.click("#tab-channels")
    channel = provider.create()
    page.wait("document.querySelectorAll('.channel').length === 1")
    assert provider.client.request("DELETE", provider.channels, headers={"apns-channel-id": channel}).status_code == 204
    page.wait("document.querySelectorAll('.channel').length === 0 && document.getElementById('channel-count').textContent === 'There are no channels.'")


@pytest.fixture
def match(start, show, provide):
    """Half-time: a channel with three devices, and one device with its own activity."""

    def match(scheme, **arguments):
        simulator = start(*SERVICES)
        page, provider, now = show(simulator, scheme=scheme, **arguments), provide(simulator), int(time.time())
        # Before an update moves the page.
        page.click("#tab-channels")
        channel, other = provider.create(1), provider.create(0)
        subscribe(simulator, channel, SECOND, THIRD)
        subscribe(simulator, other, THIRD)
        provider.push(TOKEN, state("start", now - 2700, {"home": 0, "guest": 0, "minute": 1}, attributes_type="Match",
                                   attributes={"home": "Jenna", "guest": "Frank"}, input_push_channel=channel,
                                   alert={"title": "Kick-off", "body": "Jenna against Frank"}))
        provider.push(TOKEN, state("update", now - 60, {"pizza": "in the oven"}, stale_date=now - 1))
        for minute, home in ((12, 1), (45, 2)):
            provider.broadcast(channel, state("update", now - 2700 + minute * 60, {"home": home, "guest": 0, "minute": minute}), now + 3600)
        provider.broadcast("AAAA", state("update", now, {}))
        page.wait("document.querySelectorAll('.activity').length === 2 && document.querySelectorAll('#deliveries li').length === 5")
        page.run("document.querySelectorAll('.delivery-line')[1].click()")
        page.wait("document.querySelector('.delivery')")
        page.wait("document.querySelectorAll('.sending').length === 0 && document.getAnimations().length === 0")
        return page

    return match


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 768, 360])
def test_it_is_accessible(match, scheme, width):
    from test_page import inaccessible

    page = match(scheme, width=width)
    assert inaccessible(page) == []
    assert page.run("document.documentElement.scrollWidth <= innerWidth")


def test_picture_of_broadcasts(match):
    """Saves the picture to PICTURES or build/dashboard, for Documentation/pictures."""
    page = match("light", width=1440, height=1000)
    page.run("scrollTo(0, 0); document.activeElement.blur()")
    page.run("document.querySelector('.side').scrollTop = 0")
    path = pathlib.Path(os.environ.get("PICTURES", ROOT / "build" / "dashboard")) / "broadcasts-light.png"
    page.picture(path)
    assert path.stat().st_size > 20_000
