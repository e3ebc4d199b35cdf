# SPDX-License-Identifier: MIT
"""usage: wheel.py INSTALLED PLATFORM LICENSES OUTPUT_FOLDER

Writes the wheel of the files that `meson install` put into INSTALLED (prefix `/`). PLATFORM is the last part of the
tag, for example manylinux_2_28_x86_64. LICENSES is a folder with the licences of the libraries that the files contain,
or an empty text. Prints the path of the wheel. Equal files make equal wheels: SOURCE_DATE_EPOCH gives the time.
"""

import base64
import hashlib
import os
import re
import stat
import sys
import time
import zipfile

import project

LOADERS = {"x86_64": "/lib64/ld-linux-x86-64.so.2", "aarch64": "/lib/ld-linux-aarch64.so.1"}
MODULES = "share/gpumemtrace/python/gpumemtrace/"
# The name is the module's. So `-p gpumemtrace.pytest_plugin` names the same plugin, with and without the wheel.
ENTRY_POINTS = "[pytest11]\ngpumemtrace.pytest_plugin = gpumemtrace.pytest_plugin\n"
NOTICE = """\
This wheel contains gpumemtrace (COPYING, MIT) and parts of other projects:

  libelf, libdw   from elfutils, in the program gpumemtrace/bin/gpumemtrace and in the library
                  gpumemtrace/lib/libgpumemtrace-read.so.1 (elfutils*.txt)
  SQLite          in the program (sqlite3.txt)
  zlib            in the same program and library, and in gpumemtrace/lib/gpumemtrace/libgpumemtrace.so (zlib.txt)
  libunwind       as gpumemtrace/lib/gpumemtrace/libgmtunw.so.8, with liblzma in it (libunwind.txt, xz-utils.txt)
  libc++abi       in the same program and library (LLVM.txt)

libelf and libdw may be used under the GNU LGPL, version 3 or later, or under the GNU GPL, version 2 or later. To use
changed versions of them, build the wheel again: unpack the source distribution of gpumemtrace {version}, which has all
source and scripts, put your elfutils into a folder, and run

  GPUMEMTRACE_LIBRARY_SOURCES=FOLDER scripts/package wheel      # FOLDER/elfutils is your source

The same works for the other libraries. The sources that this wheel was made from:

{sources}"""


def installed_files(root):
    """Yields each installed file: its name, and its path. A wheel has no links.

    Of a library's names (libx.so, libx.so.1, libx.so.1.0.0), the wheel has the one that programs load: libx.so.1.
    """
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            if re.search(r"\.so\.\d+\.\d+", name) or (os.path.islink(path) and name.endswith(".so")):
                continue
            yield os.path.relpath(path, root), path


def read_bytes(path):
    with open(path, "rb") as file:
        return file.read()


class Wheel:
    """A wheel that is being written."""

    def __init__(self, path, dist_info):
        self.record_path = dist_info + "/RECORD"
        self.records = []
        when = int(os.environ.get("SOURCE_DATE_EPOCH", "315532800"))
        self.time = time.gmtime(max(when, 315532800))[:6]
        self.file = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9)

    def add(self, name, content, is_executable=False):
        content = content.encode() if isinstance(content, str) else content
        about = zipfile.ZipInfo(name, self.time)
        about.compress_type = zipfile.ZIP_DEFLATED
        about.external_attr = (stat.S_IFREG | (0o755 if is_executable else 0o644)) << 16
        self.file.writestr(about, content, compresslevel=9)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self.records.append(f"{name},sha256={digest},{len(content)}\n")

    def close(self):
        self.add(self.record_path, "".join(self.records) + f"{self.record_path},,\n")
        self.file.close()


def add_installed(wheel, root, data):
    """Adds the installed files, each at the place that the program or the user looks for it."""
    for name, path in sorted(installed_files(root)):
        content = read_bytes(path)
        if name.startswith(("bin/", "lib/")):
            wheel.add("gpumemtrace/" + name, content, is_executable=True)
        elif name.startswith("include/") or name.endswith(".rules"):
            wheel.add("gpumemtrace/" + name, content)
        elif name.startswith(MODULES):
            wheel.add("gpumemtrace/" + name[len(MODULES) :], content)
        elif name.startswith(("share/man/", "share/bash-completion/", "share/zsh/", "share/fish/")):
            wheel.add(f"{data}/data/{name}", content)
        else:
            raise SystemExit(f"wheel.py: {name} is installed, but has no place in the wheel")


def license_files(licenses):
    """Returns {name: text} of the licences in the wheel."""
    texts = {"COPYING": project.read("COPYING")}
    if licenses:
        for name in sorted(os.listdir(licenses)):
            texts[name] = read_bytes(os.path.join(licenses, name))
        sources = texts.pop("sources.txt").decode()
        texts["NOTICE"] = NOTICE.format(version=project.version(), sources=sources)
    return texts


def write(root, platform, licenses, folder):
    """Writes the wheel and returns its name. See the top of this file."""
    version = project.version()
    tag = f"py3-none-{platform}"
    name = f"{project.NAME}-{version}-{tag}.whl"
    dist_info, data = (f"{project.NAME}-{version}.{part}" for part in ("dist-info", "data"))
    machine = next(one for one in LOADERS if platform.endswith(one))
    launcher = project.read("scripts", "packaging", "launcher.sh")
    launcher = launcher.replace("@VERSION@", version).replace("@LOADER@", LOADERS[machine])
    texts = license_files(licenses)
    expression = project.WHEEL_LICENSE if licenses else project.OWN_LICENSE

    unfinished = os.path.join(folder, f".{name}.new")
    wheel = Wheel(unfinished, dist_info)
    add_installed(wheel, root, data)
    wheel.add(f"{data}/scripts/gpumemtrace", launcher, is_executable=True)
    for license_name, text in texts.items():
        wheel.add(f"{dist_info}/licenses/{license_name}", text)
    wheel.add(dist_info + "/METADATA", project.metadata(expression, texts))
    wheel.add(dist_info + "/entry_points.txt", ENTRY_POINTS)
    wheel.add(
        dist_info + "/WHEEL",
        f"Wheel-Version: 1.0\nGenerator: gpumemtrace {version}\nRoot-Is-Purelib: false\nTag: {tag}\n",
    )
    wheel.close()
    os.replace(unfinished, os.path.join(folder, name))
    return name


def main():
    if len(sys.argv) != 5:
        raise SystemExit(__doc__.strip())
    root, platform, licenses, folder = sys.argv[1:]
    print(os.path.join(folder, write(root, platform, licenses, folder)))


if __name__ == "__main__":
    main()
