# SPDX-License-Identifier: MIT
"""The build backend of pyproject.toml: `pip install .` compiles for this machine, with its own libraries.

The wheels of scripts/package do not come from here: they run on other machines too.
"""

import importlib.util
import os
import platform
import shutil
import subprocess
import tempfile

import project
import sdist
import wheel


def refuse(why):
    # Whoever runs pip sees this as the last line of the build's output.
    raise SystemExit(f"gpumemtrace cannot be installed: {why}")


def check_machine():
    # The package itself says the same when it cannot start. It is not imported by its name: it is not installed yet.
    path = os.path.join(project.SOURCE, "python", "gpumemtrace", "_program.py")
    found = importlib.util.spec_from_file_location("gpumemtrace_program", path)
    program = importlib.util.module_from_spec(found)
    found.loader.exec_module(program)
    why = program.why_unsuitable()
    if why:
        refuse(why)


def cuda_headers():
    folder = subprocess.run(
        [os.path.join(project.SOURCE, "scripts", "setup", "cuda-headers")],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout.strip()
    return [f"-Dcudaheaders={folder}"] if folder else []


def get_requires_for_build_wheel(config_settings=None):
    check_machine()
    return ["meson>=1.0", "ninja"]


def get_requires_for_build_sdist(config_settings=None):
    return []


def build_sdist(sdist_directory, config_settings=None):
    return sdist.write(sdist_directory)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    check_machine()
    for program in ("cc", "pkg-config"):
        if not shutil.which(program):
            libraries = "zlib, libelf, libdw and libsqlite3 with headers"
            refuse(f"no {program}: compiling needs a C compiler, pkg-config, and {libraries}")
    with tempfile.TemporaryDirectory(prefix="gpumemtrace-build.") as folder:
        build, root = os.path.join(folder, "build"), os.path.join(folder, "root")
        setup = ["meson", "setup", *cuda_headers(), "-Dsimcuda=false", "--buildtype=release", "--prefix=/"]
        subprocess.run([*setup, "--libdir=lib", build, project.SOURCE], check=True)
        subprocess.run(["meson", "compile", "-C", build], check=True)
        subprocess.run(["meson", "install", "-C", build, "--no-rebuild", "--destdir", root], check=True)
        return wheel.write(root, f"linux_{platform.machine()}", "", wheel_directory)
