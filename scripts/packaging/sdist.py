# SPDX-License-Identifier: MIT
"""usage: sdist.py OUTPUT_FOLDER

Writes the source distribution: all files of the project, PKG-INFO, and the report page if it is built, so that nobody
needs Node.js to compile it. Prints the path. Equal files make equal distributions.
"""

import gzip
import io
import os
import re
import subprocess
import sys
import tarfile

import project

PAGE = os.path.join("page", "dist", "page.html")
# Names of folders and files that tools write, and paths of folders that hold what was built.
WRITTEN_BY_TOOLS = re.compile(r"\.git|__pycache__|node_modules|\.venv|\..*_cache|.*\.gmt\.gz(\.[0-9].*)?")
BUILT = re.compile(r"build[^/]*|dist|page/dist")


def ask_git(*arguments):
    """Returns what git prints about the project's folder. Raises an exception if it fails or does not exist."""
    return subprocess.check_output(["git", *arguments], cwd=project.SOURCE, stderr=subprocess.DEVNULL).decode()


def files_of_git():
    """Returns the paths of the files that git knows, or None if the project's folder is no repository of its own.

    If it is one, but git refuses it (for example another user's), the archive is not made: it would contain files
    that git does not know, such as keys.
    """
    if not os.path.exists(os.path.join(project.SOURCE, ".git")):
        return None
    try:
        return ask_git("ls-files", "-z").split("\0")
    except (OSError, subprocess.CalledProcessError) as error:
        raise SystemExit(f"sdist.py: git cannot list the files of {project.SOURCE}: {error}") from None


def files_of_folder():
    """Returns the paths of all files in the project's folder, except those that tools wrote."""
    found = []
    for folder, folders, names in os.walk(project.SOURCE):
        inside = os.path.relpath(folder, project.SOURCE)
        folders[:] = [
            one
            for one in folders
            if not WRITTEN_BY_TOOLS.fullmatch(one) and not BUILT.fullmatch(os.path.normpath(os.path.join(inside, one)))
        ]
        found += [
            os.path.normpath(os.path.join(inside, name)) for name in names if not WRITTEN_BY_TOOLS.fullmatch(name)
        ]
    return found


def source_files():
    """Returns the paths of the project's files: those that git knows, or all of an unpacked source distribution."""
    found = files_of_git()
    if found is None:
        found = files_of_folder()
    found = {name for name in found if name and name != "PKG-INFO"} | {PAGE}
    return sorted(name for name in found if os.path.isfile(os.path.join(project.SOURCE, name)))


def write(folder):
    """Writes the distribution and returns its name."""
    base = f"{project.NAME}-{project.version()}"
    when = int(os.environ.get("SOURCE_DATE_EPOCH", "315532800"))
    name = base + ".tar.gz"
    unfinished = os.path.join(folder, f".{name}.new")
    paths = source_files()

    def anonymous(about):
        about.uid = about.gid = 0
        about.uname = about.gname = ""
        about.mtime = when
        about.mode = 0o755 if about.mode & 0o100 else 0o644
        return about

    with open(unfinished, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=when) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
            info = project.metadata(project.OWN_LICENSE, ["COPYING"]).encode()
            about = tarfile.TarInfo(f"{base}/PKG-INFO")
            about.size, about.mode = len(info), 0o644
            archive.addfile(anonymous(about), io.BytesIO(info))
            for path in paths:
                archive.add(os.path.join(project.SOURCE, path), f"{base}/{path}", filter=anonymous)
    os.replace(unfinished, os.path.join(folder, name))
    return name


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__.strip())
    print(os.path.join(sys.argv[1], write(sys.argv[1])))


if __name__ == "__main__":
    main()
