# SPDX-License-Identifier: MIT
"""`python -m gpumemtrace kernelspec`: installs a Jupyter kernel of this Python that records GPU memory.

The kernel is ipykernel's, with environment variables that load the recorder, and with the magics of
:mod:`gpumemtrace.notebook`.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import shutil
import site
import subprocess
import sys
import sysconfig
from typing import Any

from gpumemtrace import _program

_DEFAULT_NAME = "gpumemtrace"
# A kernel runs for days, and each cell with %%gpumemtrace reads the recording: its length must have a bound. In a
# notebook, exact numbers are worth a wait.
_DEFAULT_OPTIONS = "mode=window:window=1000000:overflow=wait"
_MARK = "gpumemtrace"


class KernelspecError(Exception):
    """Says in one line why the kernel cannot be installed or removed."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m gpumemtrace kernelspec",
        description="Installs a Jupyter kernel of this Python that records GPU memory.",
        allow_abbrev=False,
    )
    parser.add_argument("--name", default=_DEFAULT_NAME, help="name of the kernel (default: %(default)s)")
    parser.add_argument("--display-name", help="name that Jupyter shows (default: Python 3.x, records GPU memory)")
    parser.add_argument(
        "--options",
        default=_DEFAULT_OPTIONS,
        help="options of the recorder, as for GPUMEMTRACE_OPTIONS (default: %(default)s)",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--user", action="store_true", help="for all your Pythons (default outside of an environment)")
    where.add_argument("--sys-prefix", action="store_true", help="for this environment (default in an environment)")
    where.add_argument("--prefix", metavar="DIR", help="in DIR/share/jupyter/kernels")
    parser.add_argument("--remove", action="store_true", help="remove the kernel")
    return parser


def _user_folder() -> str:
    """Returns the folder where Jupyter looks for the user's kernels, as Jupyter's documentation has it."""
    data = os.environ.get("JUPYTER_DATA_DIR")
    if not data:
        home = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
        data = os.path.join(home, "jupyter")
    return os.path.join(data, "kernels")


def _in_environment() -> bool:
    return sys.prefix != sys.base_prefix or os.path.isdir(os.path.join(sys.prefix, "conda-meta"))


def _folder(arguments: argparse.Namespace) -> str:
    """Returns the folder of the kernel."""
    name: str = arguments.name
    if not re.fullmatch(r"[A-Za-z0-9._-]+", name) or name in (".", ".."):
        raise KernelspecError(f"--name: `{name}` is not a name of a kernel: use letters, digits, `-`, `_` and `.`")
    prefix: str | None = arguments.prefix
    if prefix is None and (arguments.sys_prefix or (not arguments.user and _in_environment())):
        prefix = sys.prefix
    kernels = _user_folder() if prefix is None else os.path.join(os.path.abspath(prefix), "share", "jupyter", "kernels")
    # Jupyter finds kernels by names in lower case.
    return os.path.join(kernels, name.lower())


def _read(folder: str) -> dict[str, Any] | None:
    """Returns the kernel.json of a folder, or None. A file that cannot be understood is somebody else's."""
    try:
        with open(os.path.join(folder, "kernel.json"), encoding="utf-8") as file:
            content = json.load(file)
    except FileNotFoundError:
        return None
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def _is_ours(content: dict[str, Any]) -> bool:
    metadata = content.get("metadata")
    return isinstance(metadata, dict) and _MARK in metadata


def _check_ours(folder: str, name: str) -> bool:
    """Returns whether the kernel exists. Refuses a kernel that this module did not make."""
    content = _read(folder)
    if content is not None and not _is_ours(content):
        raise KernelspecError(f"{folder}: this kernel is not from gpumemtrace: choose another --name than `{name}`")
    return content is not None


def _of_ipykernel() -> tuple[dict[str, Any], str]:
    """Returns the kernel.json of this Python's ipykernel, and the folder of its pictures."""
    try:
        module = importlib.import_module("ipykernel.kernelspec")
    except ImportError:
        raise KernelspecError(
            f"this Python has no ipykernel, which a kernel needs: type {sys.executable} -m pip install ipykernel"
        ) from None
    content: dict[str, Any] = module.get_kernel_dict(extra_arguments=["--ext", "gpumemtrace"])
    return content, os.path.join(os.path.dirname(str(module.__file__)), "resources")


def _variables(options: str) -> dict[str, str]:
    """Returns the variables that load the recorder. The program checks the options."""
    program = _program.find()
    words = [f"--{word}" for word in _split(options)]
    try:
        done = subprocess.run([program, "env", "--json", *words], capture_output=True, text=True, check=False)
    except OSError as error:
        why = _program.why_unsuitable() or f"{program}: {error.strerror}: install the package again"
        raise KernelspecError(f"cannot start gpumemtrace: {why}") from None
    if done.returncode:
        raise KernelspecError(done.stderr.strip().split("\n", 1)[0].replace("gpumemtrace: error: env: ", "--options: "))
    variables: dict[str, str] = json.loads(done.stdout)["variables"]
    return variables


def _split(options: str) -> list[str]:
    """Splits key=value:key=value. A value in quotes may contain colons."""
    words = re.findall(r"""(?:[^:"']|"[^"]*"|'[^']*')+""", options)
    return [re.sub(r"""^([^=]*=)(["'])(.*)\2$""", r"\1\3", word) for word in words]


def _python_path() -> str | None:
    """Returns a PYTHONPATH with which the kernel finds this package; None: it finds the package without one."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    known = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), site.getusersitepackages()]
    known += getattr(site, "getsitepackages", list)()
    if os.path.realpath(here) in map(os.path.realpath, known):
        return None
    others = [one for one in os.environ.get("PYTHONPATH", "").split(os.pathsep) if one and one != here]
    return os.pathsep.join([here, *others])


def _write(path: str, content: bytes) -> None:
    """Replaces a file in one step."""
    unfinished = f"{path}.unfinished-{os.getpid()}"
    try:
        with open(unfinished, "wb") as file:
            file.write(content)
        os.replace(unfinished, path)
    except OSError:
        if os.path.exists(unfinished):
            os.remove(unfinished)
        raise


def make(display_name: str | None = None, options: str = _DEFAULT_OPTIONS) -> tuple[dict[str, Any], str]:
    """Returns the content of kernel.json, and the folder with the pictures of the kernel."""
    content, resources = _of_ipykernel()
    environment = {**content.get("env", {}), **_variables(options)}
    python_path = _python_path()
    if python_path:
        environment["PYTHONPATH"] = python_path
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    content["display_name"] = display_name or f"Python {version}, records GPU memory"
    content["env"] = environment
    content["metadata"] = {**content.get("metadata", {}), _MARK: {"options": options}}
    return content, resources


def install(arguments: argparse.Namespace) -> str:
    """Installs the kernel. Returns its folder."""
    folder = _folder(arguments)
    _check_ours(folder, arguments.name)
    content, resources = make(arguments.display_name, arguments.options)
    os.makedirs(folder, exist_ok=True)
    # Jupyter lists the kernel from the moment when kernel.json exists, so it comes last.
    if os.path.isdir(resources):
        for name in sorted(os.listdir(resources)):
            if name.startswith("logo-"):
                with open(os.path.join(resources, name), "rb") as file:
                    _write(os.path.join(folder, name), file.read())
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    _write(os.path.join(folder, "kernel.json"), text.encode("utf-8"))
    return folder


def remove(arguments: argparse.Namespace) -> str:
    """Removes the kernel. Returns its folder."""
    folder = _folder(arguments)
    if not _check_ours(folder, arguments.name):
        raise KernelspecError(f"{folder}: there is no such kernel: `jupyter kernelspec list` shows all")
    shutil.rmtree(folder)
    return folder


def main(words: list[str]) -> int:
    """Returns the exit code: 0, 1 after an error, 2 after a wrong command line (by argparse)."""
    arguments = _parser().parse_args(words)
    try:
        if arguments.remove:
            print(f"removed {remove(arguments)}")
            return 0
        folder = install(arguments)
    except KernelspecError as error:
        print(f"gpumemtrace: error: kernelspec: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(
            f"gpumemtrace: error: kernelspec: {error.filename}: {error.strerror}: choose --user, --sys-prefix or --prefix DIR",
            file=sys.stderr,
        )
        return 1
    content = _read(folder) or {}
    print(f"installed {folder}")
    print(f"next: in Jupyter, choose the kernel `{content.get('display_name')}`, and begin a cell with %%gpumemtrace")
    return 0
