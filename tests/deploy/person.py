"""A person at a browser: launches the course, and uses the server as its pages do."""

from __future__ import annotations

import re
import time
from typing import Any
from urllib.parse import urlencode

from deploy.people import username

# Runs a command in a terminal of the server, and returns what it printed.
TERMINAL = """
async ([base, line, mark]) => {
  const xsrf = document.cookie.match(/_xsrf=([^;]*)/)[1];
  const made = await fetch(base + 'api/terminals',
    {method: 'POST', headers: {'X-XSRFToken': xsrf}, body: '{}'});
  const name = (await made.json()).name;
  const where = new URL(base + 'terminals/websocket/' + name, location.href);
  where.protocol = 'wss:';
  const socket = new WebSocket(where);
  let text = '';
  return await new Promise((resolve, reject) => {
    socket.onmessage = (event) => {
      const [kind, data] = JSON.parse(event.data);
      if (kind === 'setup') socket.send(JSON.stringify(['stdin', line + '\\r']));
      if (kind === 'stdout') text += data;
      if (text.includes(mark)) { socket.close(); resolve(text); }
    };
    socket.onerror = () => reject(new Error('the terminal closed'));
    setTimeout(() => reject(new Error('no end of: ' + text)), 420000);
  });
}
"""
FETCH = """
async ([url, method, body]) => {
  const xsrf = document.cookie.match(/_xsrf=([^;]*)/)[1];
  const answer = await fetch(url, {method, headers: {'X-XSRFToken': xsrf}, body});
  return [answer.status, await answer.text()];
}
"""


class Person:
    """Somebody whom the platform knows as `user`."""

    def __init__(self, machine: Any, page: Any, user: str) -> None:
        self.machine, self.page, self.user = machine, page, user
        self.name = username(machine.platform.address, user)
        self.base = f"{machine.address}/user/{self.name}/"
        self.home = machine.homes / self.name

    def launch(self, target: str = "") -> None:
        """Click the course's link on the platform, and wait for JupyterLab."""
        query = urlencode({"user": self.user, **({"target": target} if target else {})})
        self.page.goto(f"{self.machine.platform.address}/course?{query}")
        self.page.get_by_role("link", name="Open").click()
        self.page.wait_for_url(re.compile(re.escape(f"/user/{self.name}/lab")))
        self.page.locator("#jp-main-dock-panel").wait_for()

    def fetch(
        self, path: str, method: str = "GET", body: str | None = None
    ) -> tuple[int, str]:
        """Request an address of the own server, as its pages do."""
        status, text = self.page.evaluate(FETCH, [self.base + path, method, body])
        return status, text

    def run(self, command: str) -> tuple[int, str]:
        """Run a command in a terminal of the own server; return its status and its output."""
        mark = f"end-{time.monotonic_ns()}"
        # The terminal echoes the line itself, in which the marks stand in two pieces.
        split = f'{mark[:4]}""{mark[4:]}'
        line = (
            f"stty -echo; echo begin={split}; {{ {command} ; }} 2>&1; "
            f"echo status=$?={split}-done"
        )
        text = self.page.evaluate(TERMINAL, [self.base, line, f"{mark}-done"])
        text = text.replace("\r\n", "\n")
        found = re.search(rf"begin={mark}\n(.*?)status=(\d+)={mark}", text, re.DOTALL)
        assert found, f"the terminal said: {text[-2000:]}"
        return int(found[2]), found[1]
