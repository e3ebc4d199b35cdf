# SPDX-License-Identifier: MIT
"""Shared by the tests of notebooks: a kernel that records, notebooks that run in it, and readers of their outputs."""

import contextlib
import glob
import html.parser
import json
import os
import re
import subprocess
import tempfile
import time
import unittest
import uuid

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("GMT_TEST_BUILD") or os.path.join(SOURCE, "build")
HERE = os.path.join(SOURCE, "tests", "notebook")
PACKAGE = os.path.join(SOURCE, "python")
SIMCUDA = os.path.join(BUILD, "simcuda")
TOOLS = os.path.join(BUILD, "tools")

# Variables of the tests must not help the kernel to find its files.
PLAIN = {
    name: value
    for name, value in os.environ.items()
    if name not in ("PYTHONPATH", "LD_PRELOAD") and not name.startswith(("GMT_", "GPUMEMTRACE_", "JUPYTER", "IPY"))
}
PLAIN["PATH"] = TOOLS + os.pathsep + PLAIN["PATH"]
PLAIN["PYTHONDONTWRITEBYTECODE"] = "1"

# A user's program that calls the driver directly.
PROGRAM = """\
import ctypes

cuda = ctypes.CDLL("libcuda.so.1")
context = ctypes.c_void_p()
cuda.cuInit(0)
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
cuda.cuCtxSetCurrent(context)


def allocate(size):
    block = ctypes.c_uint64()
    assert cuda.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(size)) == 0
    return block


def free(block):
    assert cuda.cuMemFree_v2(block) == 0
"""


def run(*command, cwd="/", timeout=300, **variables):
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, cwd=cwd, env={**PLAIN, **variables})


def must(*command, **more):
    """Runs a command that must succeed, and returns its output."""
    done = run(*command, **more)
    if done.returncode:
        raise AssertionError(f"{' '.join(command)}: {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout


def jupyter_python():
    """Returns the Python with Jupyter. Skips the tests if the machine has none."""
    done = run(os.path.join(SOURCE, "scripts", "setup", "notebook"), "--if-ready")
    if done.returncode:
        raise unittest.SkipTest("no environment with Jupyter: run scripts/setup/notebook")
    return done.stdout.split()[-1]


class Output(html.parser.HTMLParser):
    """The tables of a cell's HTML: for each layer and device, the exact numbers of each row."""

    def __init__(self, text):
        super().__init__()
        self.tables, self.pages, self.text = {}, [], ""
        self._rows = self._row = None
        self.is_open = None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if tag == "div" and "data-layer" in values:
            self._rows = self.tables.setdefault((values["data-layer"], values["data-device"]), [])
        elif tag == "tr":
            self._row = []
        elif tag in ("td", "th"):
            title = values.get("title")
            self._row.append(int(re.sub(r"\D", "", title)) if title else "")
        elif tag == "iframe":
            self.pages.append(values["srcdoc"])
        elif tag == "details":
            self.is_open = "open" in values

    def handle_data(self, data):
        self.text += data
        if self._row and self._row[-1] == "":
            self._row[-1] = data

    def handle_endtag(self, tag):
        if tag == "tr":
            self._rows.append(tuple(int(one) if str(one).isdigit() else one for one in self._row))
            self._row = None

    def rows(self, layer="cuda", device="0"):
        """Returns (line, allocated, blocks, left, blocks, at the peak, code) for each row below the heads."""
        return self.tables[layer, device][1:]


class Notebook:
    """An executed notebook."""

    def __init__(self, path):
        self.path = path
        with open(path + ".ipynb", encoding="utf-8") as file:
            self.cells = json.load(file)["cells"]

    def outputs(self, cell, kind=None):
        return [one for one in self.cells[cell]["outputs"] if kind in (None, one["output_type"])]

    def printed(self, cell, name="stdout"):
        return "".join("".join(one["text"]) for one in self.outputs(cell, "stream") if one["name"] == name)

    def shown(self, cell):
        """Returns what the magic showed for a cell."""
        (data,) = [one["data"] for one in self.outputs(cell, "display_data")]
        output = Output("".join(data["text/html"]))
        output.plain = "".join(data["text/plain"])
        return output


class Kernel:
    """A kernel that records, installed for the tests alone."""

    def __init__(self, case, *options, libraries=SIMCUDA):
        self.python = jupyter_python()
        # A method of a class or of a test.
        temporary = tempfile.TemporaryDirectory(prefix="gpumemtrace-notebook.")
        getattr(case, "addClassCleanup", case.addCleanup)(temporary.cleanup)
        self.folder = temporary.name
        self.variables = {
            "HOME": self.folder,
            "JUPYTER_PATH": f"{self.folder}/share/jupyter",
            "IPYTHONDIR": f"{self.folder}/ipython",
            "LD_LIBRARY_PATH": libraries,
        }
        self.installed = must(
            self.python, "-m", "gpumemtrace", "kernelspec", "--prefix", self.folder, *options, PYTHONPATH=PACKAGE
        )
        self._count = 0

    @contextlib.contextmanager
    def server(self, module, *options):
        """Starts a Jupyter server that knows the kernel. Yields its address and its token."""
        runtime, token = tempfile.mkdtemp(dir=self.folder), uuid.uuid4().hex
        words = [self.python, "-m", module, "--no-browser", "--allow-root", "--ServerApp.port=0", *options]
        words += ["--ServerApp.ip=127.0.0.1", f"--IdentityProvider.token={token}"]
        variables = {**PLAIN, **self.variables, "JUPYTER_RUNTIME_DIR": runtime}
        with open(f"{self.folder}/server.log", "wb") as log:
            server = subprocess.Popen(words, cwd=self.folder, env=variables, stdout=log, stderr=log)
        try:
            yield self._address(server, runtime), token
        finally:
            server.terminate()
            server.wait()

    def _address(self, server, runtime):
        """Waits until the server has written its address, and returns the address."""
        while server.poll() is None:
            for path in glob.glob(f"{runtime}/jpserver-*.json"):
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                if text.rstrip().endswith("}"):
                    return json.loads(text)["url"]
            time.sleep(0.05)
        with open(f"{self.folder}/server.log", encoding="utf-8", errors="replace") as log:
            raise AssertionError("the server has ended: " + log.read()[-2000:])

    def execute(self, *sources, kernel="gpumemtrace"):
        """Runs cells and returns the notebook."""
        self._count += 1
        output = f"{self.folder}/notebook-{self._count}"
        with open(output + ".json", "w", encoding="utf-8") as file:
            json.dump(sources, file)
        words = [self.python, f"{HERE}/execute_notebook.py", kernel, output + ".json", output]
        self.messages = run(*words, cwd=self.folder, **self.variables).stderr
        if not os.path.exists(output + ".html"):
            raise AssertionError(self.messages[-4000:])
        return Notebook(output)
