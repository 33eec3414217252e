"""A headless Chromium with one page, driven as a reader would: with keys and the pointer.

It is spoken to through two pipes in Chromium's DevTools protocol, which needs nothing but Python's own library.
"""
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


class NotHere(Exception):
    """Chromium does not start on this machine."""


class Page:
    """with Page(chromium, file) as page: page.press("w") ..."""

    def __init__(self, chromium, file, width=1280, height=1000, dark=False):
        self.profile = tempfile.mkdtemp()
        to_browser, self.writes = os.pipe()
        self.reads, from_browser = os.pipe()
        command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                   f"--user-data-dir={self.profile}", f"--window-size={width},{height}", "--remote-debugging-pipe", "about:blank"]

        def connect():
            # The protocol's descriptors are 3 and 4; first out of their way, should ours have these numbers.
            here, there = os.dup2(to_browser, 100), os.dup2(from_browser, 101)
            os.dup2(here, 3)
            os.dup2(there, 4)

        try:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                            preexec_fn=connect, close_fds=False)
        except OSError as error:
            raise NotHere(f"{chromium} cannot be run: {error}") from error
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.number, self.session, self.console = b"", 0, None, []
        try:
            target = self.call("Target.createTarget", url="about:blank")["targetId"]
        except (OSError, EOFError) as error:
            self.close()
            raise NotHere(f"{chromium} does not start here") from error
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Performance"):
            self.call(f"{domain}.enable")
        self.prefer("dark" if dark else "light")
        self.resize(width, height)
        self.call("Page.navigate", url=f"file://{os.path.abspath(file)}")
        self.wait("document.body && document.body.dataset.ready === 'yes'", 300)
        self.seconds = self.processor_time()  # to open
        # What is ready is not yet drawn: a test that looks at pixels at once may come before the first frame.
        self.settle()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def close(self):
        """Ends this Chromium."""
        self.process.kill()
        self.process.wait()
        os.close(self.writes)
        os.close(self.reads)
        shutil.rmtree(self.profile, ignore_errors=True)

    def receive(self, deadline):
        """One message."""
        while b"\0" not in self.buffer:
            if not select.select([self.reads], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError("Chromium gives no answer")
            piece = os.read(self.reads, 1 << 20)
            if not piece:
                raise EOFError("Chromium has ended")
            self.buffer += piece
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        """One command of the protocol; its result."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.writes, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + 120
        while True:
            answer = self.receive(deadline)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            if answer.get("method") in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"):
                self.console.append(json.dumps(answer["params"])[:2000])

    def value(self, expression):
        """What a JavaScript expression is in the page."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {json.dumps(result['exceptionDetails'])[:1000]}")
        return result["result"].get("value")

    def processor_time(self):
        """Seconds that the page's process has worked, whatever else the machine did."""
        return next(m["value"] for m in self.call("Performance.getMetrics")["metrics"] if m["name"] == "ProcessTime")

    def wait(self, expression, seconds=60):
        """Until it holds."""
        deadline = time.monotonic() + seconds
        while not self.value(expression):
            if time.monotonic() > deadline:
                raise AssertionError(f"never came true: {expression}; console: {self.console}")
            time.sleep(0.02)

    def settle(self):
        """Until what was changed is drawn."""
        self.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0))))")

    def resize(self, width, height):
        """The window's size."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def prefer(self, scheme):
        """What the system prefers: "light" or "dark"."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def press(self, key, shift=False):
        """A key, as KeyboardEvent.key names it."""
        codes = {"Escape": 27, "Tab": 9, "Enter": 13, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        event = {"key": key, "modifiers": 8 if shift else 0, "windowsVirtualKeyCode": codes.get(key, ord(key[0].upper()))}
        text = "\r" if key == "Enter" else key if len(key) == 1 else ""
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **event)
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)
        self.settle()

    def type(self, text):
        """Into the field that has the focus."""
        self.call("Input.insertText", text=text)
        self.wait(f"document.activeElement.value.endsWith({json.dumps(text)})")

    def pointer(self, kind, x, y, **more):
        """One event of the pointer, at a place in the window."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click_at(self, x, y):
        """The left button, once."""
        self.pointer("mouseMoved", x, y)
        self.pointer("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        self.pointer("mouseReleased", x, y, button="left", clickCount=1)
        self.settle()

    def click(self, selector):
        """The middle of the first element that is so selected, after scrolling to it: when it is there and stays where it is."""
        look = (f"(() => {{ const e = document.querySelector({json.dumps(selector)}); if (!e) return null; e.scrollIntoView({{block: 'nearest'}}); "
                "const b = e.getBoundingClientRect(), x = b.left + Math.min(b.width / 2, 60), y = b.top + b.height / 2; "
                "return e.contains(document.elementFromPoint(x, y)) ? [x, y] : null; })()")
        deadline = time.monotonic() + 60
        place = None
        while True:
            before, place = place, self.value(look)
            if place and place == before:
                break
            if time.monotonic() > deadline:
                raise AssertionError(f"cannot be clicked: {selector}, at {place}")
            self.settle()
        self.click_at(*place)

    def drag(self, start, stop, **more):
        """With the left button, from one place to another."""
        self.pointer("mouseMoved", *start)
        self.pointer("mousePressed", *start, button="left", buttons=1, clickCount=1, **more)
        for part in (0.3, 0.7, 1):
            self.pointer("mouseMoved", *(a + (b - a) * part for a, b in zip(start, stop)), button="left", buttons=1, **more)
        self.pointer("mouseReleased", *stop, button="left", clickCount=1, **more)
        self.settle()

    def picture(self, file):
        """A PNG of the window."""
        import base64
        with open(file, "wb") as out:
            out.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
