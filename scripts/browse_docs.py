#!/usr/bin/env python3
"""Opens every page of the built documentation in Chromium, at desktop and phone width, and reports what is wrong.

    make docs browse                                    build the site, then look at all pages
    python scripts/browse_docs.py --out pictures        also keep a screenshot of every page
    python scripts/browse_docs.py schemes/delta.html    only some pages

It reports pages and elements that are wider than the screen, code that has to be scrolled on a desktop, pictures that
do not load or have no alternative text, links to pages or headings that do not exist, and anything that is loaded from
another server. It exits with 1 if there is any. It needs Debian's packages chromium and chromium-driver; where they
are missing, it says so and exits with 0.
"""

from __future__ import annotations

import argparse
import base64
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

SITE = Path(__file__).resolve().parents[1] / "site"
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"),
]
SCREENS = {"desktop": (1280, 900), "phone": (390, 844)}
FAULTS = """
    const faults = [], wide = document.documentElement.clientWidth, desktop = wide > 1000
    const name = element => element.tagName.toLowerCase() + ' ' + (element.textContent || '').trim().slice(0, 50)
    const boxed = element => element.closest('.md-typeset__scrollwrap, pre, .highlight, [hidden], .md-nav, .md-header')
    if (document.documentElement.scrollWidth > wide)
        faults.push(`the page is ${document.documentElement.scrollWidth} pixels wide, the screen ${wide}`)
    for (const element of document.querySelectorAll('article *')) {
        const box = element.getBoundingClientRect()
        if (box.width && box.right > wide + 1 && !boxed(element)) faults.push('too wide: ' + name(element))
    }
    for (const table of document.querySelectorAll('.md-typeset__scrollwrap'))
        if (desktop && table.scrollWidth > table.clientWidth + 1) faults.push('scrolls: table ' + name(table))
    for (const code of document.querySelectorAll('article pre > code'))
        if (desktop && code.scrollWidth > code.clientWidth + 1) faults.push('scrolls: ' + name(code))
    for (const picture of document.querySelectorAll('article img')) {
        if (!picture.complete || !picture.naturalWidth) faults.push('does not load: ' + picture.getAttribute('src'))
        if (!picture.alt) faults.push('has no alternative text: ' + picture.getAttribute('src'))
    }
    for (const entry of performance.getEntriesByType('resource'))
        if (new URL(entry.name).host != location.host) faults.push('loaded from another server: ' + entry.name)
    return faults
"""
LINKS = """
    const all = [...document.querySelectorAll('a[href]')].map(a => new URL(a.href))
    const local = all.filter(url => url.host == location.host).map(url => url.pathname.slice(1) + url.hash)
    return {links: [...new Set(local)], ids: [...document.querySelectorAll('[id]')].map(element => element.id)}
"""
AT_REST = """
    const style = document.createElement('style')
    style.textContent = '* { transition: none !important; animation: none !important }'
    document.head.append(style)
"""
WHOLE_PAGE = "return Math.max(document.documentElement.scrollHeight, document.body.scrollHeight)"


class Browser:
    """Chromium, driven by chromedriver's HTTP interface."""

    def __init__(self, address: str, screen: tuple[int, int], scheme: str) -> None:
        self.address = address
        metrics = {"width": screen[0], "height": screen[1], "pixelRatio": 1.0, "mobile": screen[0] < 600}
        options = {
            "args": [*FLAGS, f"--window-size={screen[0]},{screen[1]}", f"--user-data-dir={tempfile.mkdtemp()}"],
            "mobileEmulation": {"deviceMetrics": metrics},
        }
        options["args"] += ["--force-dark-mode"] if scheme == "dark" else []
        request = {"capabilities": {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options}}}
        self.session = f"/session/{self._call('POST', '/session', request)['sessionId']}"
        self.screen = screen

    def open(self, address: str) -> None:
        self._call("POST", f"{self.session}/url", {"url": address})

    def run(self, script: str) -> Any:
        return self._call("POST", f"{self.session}/execute/sync", {"script": script, "args": []})

    def picture(self) -> bytes:
        """Return a picture of the whole page, as PNG."""
        self.run(AT_REST)
        clip = {"x": 0, "y": 0, "width": self.screen[0], "height": min(self.run(WHOLE_PAGE), 12_000), "scale": 1}
        command = {"cmd": "Page.captureScreenshot", "params": {"captureBeyondViewport": True, "clip": clip}}
        return base64.b64decode(self._call("POST", f"{self.session}/goog/cdp/execute", command)["data"])

    def close(self) -> None:
        self._call("DELETE", self.session)

    def _call(self, method: str, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise SystemExit(f"chromedriver: {error.read().decode()[:500]}") from None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", help="paths below the site (default: all)")
    parser.add_argument("--site", type=Path, default=SITE, help="the folder of the built site (default: site)")
    parser.add_argument("--out", type=Path, help="a folder for screenshots")
    parser.add_argument("--dark", action="store_true", help="in dark mode")
    options = parser.parse_args()
    site = options.site.resolve()
    if not shutil.which("chromium") or not shutil.which("chromedriver"):
        print("skipped: chromium or chromedriver is not installed (Debian: apt-get install chromium chromium-driver)")
        return 0
    if not (site / "index.html").exists():
        sys.exit(f"{site}: not found; build the site with `make docs`")
    pages = options.pages or sorted(
        str(page.relative_to(site)) for page in site.rglob("*.html") if page.name != "404.html"
    )
    faults = list(look(site, pages, options.out, "dark" if options.dark else "light"))
    print("\n".join(faults) or f"{len(pages)} pages: nothing is broken or too wide")
    return 1 if faults else 0


def look(site: Path, pages: list[str], out: Path | None, scheme: str) -> Iterator[str]:
    """Open each page on each screen and yield what is wrong."""
    links: dict[str, list[str]] = {}
    ids: dict[str, set[str]] = {}
    with served(site) as home, driver() as address:
        for screen, size in SCREENS.items():
            browser = Browser(address, size, scheme)
            for page in pages:
                browser.open(f"{home}/{page}")
                yield from (f"{page} ({screen}): {fault}" for fault in browser.run(FAULTS))
                if screen == "desktop":
                    seen = browser.run(LINKS)
                    links[page], ids[page] = seen["links"], set(seen["ids"])
                if out:
                    file = out / screen / f"{page.removesuffix('.html').replace('/', '-')}.png"
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_bytes(browser.picture())
            browser.close()
    for page, targets in links.items():
        yield from (f"{page}: broken link {target}" for target in targets if is_broken(site, target, ids))


def is_broken(site: Path, target: str, ids: dict[str, set[str]]) -> bool:
    """Whether a link leads to a file that does not exist, or to a heading that its page does not have."""
    path, _, anchor = unquote(target).partition("#")
    file = site / path / "index.html" if (site / path).is_dir() else site / path
    if not file.is_file():
        return True
    return bool(anchor) and anchor not in ids.get(str(file.relative_to(site)), {anchor})


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves files without a line for each request."""

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def served(site: Path) -> Iterator[str]:
    """Serve the site on this machine and yield its address: search works only over HTTP."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


@contextmanager
def driver() -> Iterator[str]:
    """Start chromedriver and yield its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(100):
            try:
                urllib.request.urlopen(f"{address}/status", timeout=5).close()
                break
            except OSError:
                time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    sys.exit(main())
