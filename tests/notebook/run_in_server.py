# SPDX-License-Identifier: MIT
"""Runs cells in the kernel `memory` of a Jupyter server, as a browser does. Needs the environment with Jupyter.

usage: run_in_server.py URL TOKEN CELL...
Prints JSON: the server's data about the kernel, the status of each cell, and the HTML of all cells.
"""

import asyncio
import json
import sys
import urllib.request
import uuid

from tornado.httpclient import HTTPRequest
from tornado.websocket import websocket_connect

URL, TOKEN, *CELLS = sys.argv[1:]


def ask(url, data=None):
    request = urllib.request.Request(url, data=data, headers={"Authorization": f"token {TOKEN}"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read()


async def run(url, cells):
    """Runs the cells. Returns the status of each one, and all HTML."""
    kernel = json.loads(ask(url + "api/kernels", json.dumps({"name": "memory"}).encode()))["id"]
    socket = await websocket_connect(
        HTTPRequest(
            f"{url.replace('http', 'ws', 1)}api/kernels/{kernel}/channels",
            headers={"Authorization": f"token {TOKEN}"},
        )
    )
    statuses, html = [], ""
    for cell in cells:
        header = {"msg_id": uuid.uuid4().hex, "msg_type": "execute_request", "username": "", "session": "1"}
        header.update(version="5.3", date="2026-01-01T00:00:00Z")
        content = {"code": cell, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False}
        message = {"channel": "shell", "header": header, "parent_header": {}, "metadata": {}, "content": content}
        await socket.write_message(json.dumps(message))
        is_idle = status = None
        while not (is_idle and status):
            answer = json.loads(await socket.read_message())
            if answer["parent_header"].get("msg_id") != header["msg_id"]:
                continue
            content = answer["content"]
            if answer["msg_type"] == "execute_reply":
                status = content["status"]
            elif answer["msg_type"] == "status":
                is_idle = content["execution_state"] == "idle"
            elif answer["msg_type"] == "display_data":
                html += content["data"].get("text/html", "")
        statuses.append(status)
    socket.close()
    return statuses, html


spec = json.loads(ask(URL + "api/kernelspecs"))["kernelspecs"]["memory"]
logo = ask(URL.rstrip("/") + spec["resources"]["logo-64x64"])
statuses, html = asyncio.run(asyncio.wait_for(run(URL, CELLS), 120))
print(
    json.dumps(
        {"display_name": spec["spec"]["display_name"], "logo_bytes": len(logo), "status": statuses, "html": html}
    )
)
