"""Headless Chromium, controlled with the DevTools protocol over two pipes."""

import base64
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time

import pytest

DEADLINE = int(os.environ.get("PAGE_DEADLINE", "120"))


def program():
    """Chromium's path, or None."""
    for name in (os.environ.get("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"):
        if name and (path := shutil.which(name)):
            return path
    return None


class Chromium:
    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="chromium-")
        down, self.writer = os.pipe()
        self.reader, up = os.pipe()

        def pipes():
            # Chromium reads from 3 and writes to 4. First move the pipes to numbers above both.
            high = [os.dup2(down, 60), os.dup2(up, 61)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        command = [
            program(), "--headless=new", "--remote-debugging-pipe", f"--user-data-dir={self.profile}",
            "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--lang=en-US", "--force-color-profile=srgb", "--hide-scrollbars", "about:blank",
        ]
        if os.geteuid() == 0:
            # Chromium's sandbox does not work for root.
            command.insert(1, "--no-sandbox")
        self.process = subprocess.Popen(
            command, preexec_fn=pipes, pass_fds=(3, 4), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env={**os.environ, "LANG": "en_US.UTF-8", "TZ": "UTC"},
        )
        os.close(down)
        os.close(up)
        self.number = 0
        self.answers = {}
        self.events = []
        self.changed = threading.Condition()
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        rest = b""
        while piece := os.read(self.reader, 1 << 16):
            *whole, rest = (rest + piece).split(b"\0")
            for text in whole:
                message = json.loads(text)
                if "id" in message:
                    with self.changed:
                        self.answers[message["id"]] = message
                        self.changed.notify_all()
                else:
                    self.events.append(message)

    def call(self, method, session=None, **parameters):
        self.number += 1
        number = self.number
        message = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.writer, data):]
        with self.changed:
            assert self.changed.wait_for(lambda: number in self.answers, DEADLINE), f"{method}: no answer"
            answer = self.answers.pop(number)
        assert "error" not in answer, (method, answer["error"])
        return answer["result"]

    def page(self, url, **arguments):
        return Page(self, url, **arguments)

    def close(self):
        try:
            self.call("Browser.close")
            self.process.wait(DEADLINE)
        except (AssertionError, OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.writer)
        shutil.rmtree(self.profile, ignore_errors=True)


class Page:
    def __init__(self, browser, url, *, width=1440, height=900, scheme="light", context=None):
        self.browser = browser
        where = {"browserContextId": context} if context else {}
        self.target = browser.call("Target.createTarget", url="about:blank", **where)["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        self.call("Page.enable")
        self.call("Runtime.enable")
        self.call("Log.enable")
        self.call("Network.enable")
        self.size(width, height)
        self.scheme(scheme)
        self.call("Page.navigate", url=url)
        self.wait("document.readyState === 'complete'")

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def size(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def scheme(self, scheme):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def run(self, expression):
        """Returns the value of a JavaScript expression, or of its promise."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True, userGesture=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, expression, timeout=DEADLINE):
        """Waits until an expression is true and returns its value."""
        deadline = time.monotonic() + timeout
        promise = f"""new Promise((done) => {{
          const look = () => {{
            const value = (() => ({expression}))();
            if (value || performance.now() > end) done(value instanceof Node ? true : value); else setTimeout(look, 10);
          }};
          const end = performance.now() + 5000;
          look();
        }})"""
        while True:
            value = self.run(promise)
            if value:
                return value
            assert time.monotonic() < deadline, f"never: {expression}\n{self.run('document.body.innerText')[:600]}"

    def click(self, selector):
        """Clicks the middle of an element with the mouse."""
        place = self.wait(f"""(() => {{
          const element = document.querySelector({json.dumps(selector)});
          if (!element || element.offsetParent === null) return null;
          element.scrollIntoView({{ block: "center", behavior: "instant" }});
          const box = element.getBoundingClientRect();
          return {{ x: box.x + box.width / 2, y: box.y + Math.min(box.height / 2, 20) }};
        }})()""")
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **place)

    def hover(self, selector):
        place = self.run(f"""(() => {{
          const element = document.querySelector({json.dumps(selector)});
          element.scrollIntoView({{ block: "center", behavior: "instant" }});
          const box = element.getClientRects()[0];
          return {{ x: box.x + box.width / 2, y: box.y + box.height / 2 }};
        }})()""")
        self.call("Input.dispatchMouseEvent", type="mouseMoved", **place)

    KEYS = {
        "Tab": (9, None), "Enter": (13, "\r"), " ": (32, " "), "ArrowDown": (40, None), "ArrowUp": (38, None),
        "ArrowRight": (39, None), "ArrowLeft": (37, None), "Home": (36, None), "End": (35, None), "PageDown": (34, None), "PageUp": (33, None),
        "Delete": (46, None), "Escape": (27, None), "/": (191, "/"), **{letter: (ord(letter.upper()), letter) for letter in "jknp"},
    }

    def press(self, key):
        code, text = self.KEYS[key]
        more = {"text": text} if text else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **more)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def type(self, selector, text):
        self.run(f"document.querySelector({json.dumps(selector)}).focus()")
        self.call("Input.insertText", text=text)

    def text(self, selector):
        return self.run(f"document.querySelector({json.dumps(selector)})?.textContent")

    def picture(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(data))

    def complaints(self):
        """Errors of the page and its console, and requests to other hosts."""
        found = []
        for event in list(self.browser.events):
            if event.get("sessionId") != self.session:
                continue
            method, parameters = event["method"], event["params"]
            if method == "Runtime.exceptionThrown":
                found.append(parameters["exceptionDetails"])
            elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
                # A push displaced by newer ones is not an error of the page.
                if "/pushes/" not in parameters["entry"].get("url", ""):
                    found.append(parameters["entry"])
            elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "assert"):
                found.append(parameters)
            elif method == "Network.requestWillBeSent":
                url = parameters["request"]["url"]
                if not url.startswith(("http://127.0.0.1:", "http://localhost:", "about:", "data:")):
                    found.append(url)
        return found

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)


@pytest.fixture(scope="session")
def browser():
    if program() is None:
        pytest.skip("there is no chromium")
    browser = Chromium()
    yield browser
    browser.close()


@contextlib.contextmanager
def pages(browser):
    """Opens pages by URL. At the end none of them may have reported an error, or sent a request to another host."""
    opened = []

    def show(url, **arguments):
        opened.append(browser.page(url, **arguments))
        opened[-1].wait("document.getElementById('link').dataset.is === 'live'")
        return opened[-1]

    yield show
    complaints = [complaint for page in opened for complaint in page.complaints()]
    for page in opened:
        page.close()
    assert complaints == []
