# SPDX-License-Identifier: MIT
"""CUDA's functions as tables: the rows of preload/hooks/hooks.def, and the declarations of NVIDIA's headers.

check-hooks, make-coverage, make-docs, gpu-check and the tests use this module. It needs Python 3.8 or later. The C
preprocessor ($CC or cc) reads the headers, so the tables contain the declarations that a compiled program sees.
"""

import atexit
import dataclasses
import functools
import os
import re
import shutil
import subprocess
import tempfile

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PRELOAD = os.path.join(SOURCE, "preload")
HOOKS = os.path.join(PRELOAD, "hooks", "hooks.def")
NOT_HOOKED = os.path.join(PRELOAD, "hooks", "not_hooked.def")
ALLOCATION_LIKE = os.path.join(PRELOAD, "hooks", "allocation_like.def")

# The columns after (library, symbol, base, since, mode). GMT_HOOK has all of them, GMT_HOOK_NAME the first two, the
# hand-written rows none.
ROW_COLUMNS = ("parameters", "arguments", "kind", "space", "address", "size", "further")


@dataclasses.dataclass
class Row:
    macro: str  # GMT_HOOK, GMT_HOOK_NAME, GMT_HOOK_BY_HAND, GMT_HOOK_ELSEWHERE
    group: str  # the comment above its group
    library: str
    symbol: str
    base: str
    since: int
    mode: str  # LEGACY or PTDS
    more: dict  # the cells after `mode`, by the names of ROW_COLUMNS

    def __getattr__(self, name):
        if name in ROW_COLUMNS:
            return self.more.get(name, "")
        raise AttributeError(name)


def one_line(text):
    return " ".join(text.split())


def split_arguments(text):
    """Splits the arguments of a macro call, or a parameter list, at commas outside of brackets and strings."""
    parts, depth, quoted, start = [], 0, False, 0
    for at, letter in enumerate(text):
        if letter == '"' and text[at - 1 : at] != "\\":
            quoted = not quoted
        elif not quoted and letter in "([{":
            depth += 1
        elif not quoted and letter in ")]}":
            depth -= 1
        elif not quoted and letter == "," and depth == 0:
            parts.append(one_line(text[start:at]))
            start = at + 1
    parts.append(one_line(text[start:]))
    return parts


def closing(text, opening):
    """Returns the index of the bracket that closes the one at `opening`."""
    depth, quoted = 0, False
    for at in range(opening, len(text)):
        if text[at] == '"' and text[at - 1] != "\\":
            quoted = not quoted
        elif not quoted and text[at] == "(":
            depth += 1
        elif not quoted and text[at] == ")":
            depth -= 1
            if depth == 0:
                return at
    raise ValueError(f"unbalanced brackets after {text[opening - 40 : opening + 40]!r}")


def read_table(path):
    """Returns the text of a .def file, with the text of the files of its folder that it includes."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    include = re.compile(r'^#include "\w+/(\w+\.def)"$', re.M)
    return include.sub(lambda match: read_table(os.path.join(os.path.dirname(path), match[1])), text)


def calls(path, prefix):
    """Yields (macro, arguments, group) of each row of a .def file whose macro has this prefix. The group is the last
    comment above the row."""
    text = read_table(path)
    # A comment at the start of a line is the heading of the rows below it.
    pattern = re.compile(r"^[ \t]*/\*(?P<comment>.*?)\*/|^(?P<macro>" + prefix + r"\w*)[ \t]*\(", re.M | re.S)
    group, at = "", 0
    while match := pattern.search(text, at):
        at = match.end()
        if match["comment"] is not None:
            group = one_line(re.sub(r"^\s*\*", "", match["comment"], flags=re.M))
            continue
        end = closing(text, at - 1)
        inside = re.sub(r"/\*.*?\*/", "", text[at:end], flags=re.S)
        yield match["macro"], split_arguments(inside), group
        at = end + 1


def rows(path=HOOKS):
    """Returns all rows of hooks.def, in their order."""
    result = []
    for macro, cells, group in calls(path, "GMT_HOOK"):
        library, symbol, base, since, mode, *more = cells
        further = len(ROW_COLUMNS) - 1
        cells = more[:further] + [", ".join(more[further:])]
        result.append(Row(macro, group, library, symbol, base, int(since), mode, dict(zip(ROW_COLUMNS, cells))))
    return result


def wrapped_rows():
    """Returns the rows of CUDA's functions that have a wrapper in preload/wrappers."""
    return [row for row in rows() if row.macro != "GMT_HOOK_ELSEWHERE"]


def strings(cell):
    """Joins the string literals of a cell, as C does."""
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', cell))


def not_hooked(path=NOT_HOOKED):
    """Returns {name: (reason, group)} of the functions that are deliberately not hooked."""
    if not os.path.exists(path):
        return {}
    return {cells[0]: (strings(cells[1]), group) for _, cells, group in calls(path, "GMT_NOT_HOOKED")}


@functools.lru_cache(maxsize=None)
def allocation_parts():
    return tuple(strings(cells[0]) for _, cells, _ in calls(ALLOCATION_LIKE, "GMT_ALLOCATION_LIKE"))


def looks_like_allocation(name):
    return any(part in name for part in allocation_parts())


# --- headers ---


def base_of(symbol):
    """Removes the suffixes: cuMemAlloc_v2 and cuMemAlloc_v2_ptsz give cuMemAlloc."""
    return re.sub(r"(_v\d+)?(_ptds|_ptsz)?$", "", symbol)


# Headers in the same folder that declare further functions of the same library.
COMPANIONS = {
    "cuda.h": ("cudaGL.h", "cudaEGL.h", "cudaVDPAU.h"),
    "cuda_runtime_api.h": ("cuda_gl_interop.h", "cuda_egl_interop.h", "cuda_vdpau_interop.h"),
}
# These headers name the first version of each form.
TYPEDEFS = ("cudaTypedefs.h", "cudaGLTypedefs.h", "cudaEGLTypedefs.h", "cudaVDPAUTypedefs.h")
# Replacements for headers of other vendors that NVIDIA's headers include. The types in declarations are enough,
# because nothing is compiled.
FOREIGN = {
    "GL/gl.h": "typedef unsigned int GLenum; typedef unsigned int GLuint;",
    "EGL/egl.h": "typedef void *EGLImageKHR;",
    "EGL/eglext.h": "",
    "vdpau/vdpau.h": "typedef unsigned int VdpVideoSurface; typedef unsigned int VdpOutputSurface;",
}


@functools.lru_cache(maxsize=None)
def foreign_folder():
    folder = tempfile.mkdtemp(prefix="gpumemtrace-headers.")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name, text in FOREIGN.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    return folder


def preprocess(folder, names, *definitions):
    """Returns the text of these headers of the folder after the preprocessor. Omits headers that do not exist.

    Raises RuntimeError with the compiler's first error.
    """
    present = [name for name in names if os.path.exists(os.path.join(folder, name))]
    done = subprocess.run(
        [
            os.environ.get("CC", "cc"),
            "-E",
            "-P",
            "-x",
            "c",
            "-I",
            folder,
            "-isystem",
            foreign_folder(),
            *definitions,
            "-",
        ],
        input="".join(f'#include "{name}"\n' for name in (*FOREIGN, *present)),
        capture_output=True,
        text=True,
        timeout=60,
    )
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "error" in line]
        raise RuntimeError((errors or ["the preprocessor failed without an error message"])[0])
    return done.stdout


DECLARATION = re.compile(r"\b(?:CUresult|cudaError_t)\s+(cu\w+)\s*\(([^;]*?)\)\s*;")
TYPEDEF = re.compile(r"typedef\s+CUresult\s*\(\s*\*\s*PFN_(\w+?)_v(\d+)(_ptsz|_ptds)?\s*\)\s*\(([^;]*?)\)\s*;")
ALIAS = re.compile(r"\btypedef\s+([^;{}()\[\]]*?)\b(\w+)\s*;")


class Header:
    """The declarations of one cuda.h or cuda_runtime_api.h, with older forms, and with those of its companions."""

    def __init__(self, path):
        self.path = path
        self.folder, name = os.path.split(os.path.abspath(path))
        names = (name, *COMPANIONS.get(name, ()))
        # __CUDA_API_VERSION_INTERNAL makes the header declare all forms of each function.
        text = preprocess(self.folder, names, "-D__CUDA_API_VERSION_INTERNAL")
        self.functions = {symbol: one_line(parameters) for symbol, parameters in DECLARATION.findall(text)}
        self.aliases = {name: one_line(kind) for kind, name in ALIAS.findall(text)}
        with open(path, encoding="utf-8", errors="replace") as file:
            found = re.search(r"^#define (?:CUDA_VERSION|CUDART_VERSION)\s+(\d+)", file.read(), re.M)
        self.version = int(found[1]) if found else 0

    @functools.cached_property
    def typedefs(self):
        """{(base, version, mode): parameters} from the headers of TYPEDEFS. Empty if the folder has none."""
        text = preprocess(self.folder, TYPEDEFS, "-D__CUDA_API_VERSION_INTERNAL")
        return {
            (base, int(version), "PTDS" if suffix else "LEGACY"): one_line(parameters)
            for base, version, suffix, parameters in TYPEDEF.findall(text)
        }

    @functools.cached_property
    def driver_table(self):
        """[Entry]: the exported symbol that cuGetProcAddress returns for a base name and a version.

        A typedef such as PFN_cuMemAlloc_v3020 has the base name and the version, but not the symbol. The n-th
        version of a base name is the n-th of its symbols. A test compares their signatures.
        """
        versions, symbols = {}, {}
        for base, version, mode in self.typedefs:
            versions.setdefault((base, mode), []).append(version)
        for symbol in self.functions:
            mode = "PTDS" if re.search(r"_ptds$|_ptsz$", symbol) else "LEGACY"
            symbols.setdefault((base_of(symbol), mode), []).append(symbol)
        return [
            Entry(symbol, base, version, mode)
            for (base, mode), known in versions.items()
            for version, symbol in zip(sorted(known), sorted(symbols.get((base, mode), []), key=form_number))
        ]

    def type_of(self, parameter):
        """Returns the type of a parameter, without names and qualifiers, with typedefs resolved."""
        text = re.sub(r"\b(const|struct|enum|union)\b", " ", parameter)
        text = re.sub(r"\[\w*\]", "*", text)
        pointers = text.count("*")
        words = text.replace("*", " ").split()
        plain = {"unsigned", "int", "long", "char", "short", "void", "float"}
        if len(words) > 1 and words[-1] not in plain:
            words.pop()  # the parameter's name
        name = " ".join(words)
        while target := self.aliases.get(name):
            pointers += target.count("*")
            resolved = one_line(re.sub(r"\b(struct|enum|const)\b", " ", target.replace("*", " ")))
            if resolved == name:
                break
            name = resolved
        name = {"unsigned int": "unsigned"}.get(name, name)
        return name + "*" * pointers

    def signature(self, parameters):
        parameters = parameters.strip()
        return [] if parameters in ("", "void") else [self.type_of(one) for one in split_arguments(parameters)]


def same_signature(one, other):
    """Returns whether the types are equal. `void *` in a row equals each pointer, for types of other headers."""
    return len(one) == len(other) and all(
        a == b or ("void" in (a.rstrip("*"), b.rstrip("*")) and a.endswith("*") and b.endswith("*"))
        for a, b in zip(one, other)
    )


@dataclasses.dataclass(frozen=True)
class Entry:
    """An exported function of the driver, with the request to cuGetProcAddress that returns it."""

    symbol: str
    base: str
    since: int
    mode: str


def form_number(symbol):
    """Returns the number that sorts the forms of a base name: cuMemAlloc: 1, cuMemAlloc_v2: 2."""
    found = re.search(r"_v(\d+)(_pt|$)", symbol)
    return int(found[1]) if found else 1
