# SPDX-License-Identifier: MIT
"""check_layers.py SOURCE_ROOT: reads the #include lines and names each breach of the house's layers."""
import pathlib
import re
import sys

# A layer may include itself and those before it.
LAYERS = ["base", "wire", "books", "model", "analysis", "render"]
PRELOAD_MAY = ["base", "wire", "books"]

# Headers of others, each with the only files that may name them.
FOREIGN = {
    r"zlib\.h": r"src/wire/.*\.c",
    r"isa-l.*\.h": r"src/wire/inflate_isal\.c",
    r"(elfutils/.*|dwarf|gelf|libelf)\.h": r"src/model/symbols\w*\.c",
    r"libunwind.*\.h": r"preload/capture/.*",
    r"pthread\.h": r"((preload|simcuda)/.*|src/wire/(feed|inflate_isal)\.c)",
    r"cuda.*\.h": r"(preload|simcuda)/.*",
}


def allowed_of(path):
    """The first parts of include paths that this file may name, besides those of its own folder."""
    if path.parts[0] == "src":
        return LAYERS[:LAYERS.index(path.parts[1]) + 1]
    if path.parts[0] == "tools":
        return [*LAYERS, "tools"]
    return PRELOAD_MAY


def breaches_of(path, text):
    for line, kind, name in re.findall(r'^(\s*#\s*include\s*([<"])([^>"]+)[>"].*)$', text, re.M):
        for pattern, places in FOREIGN.items():
            if re.fullmatch(pattern, name) and not re.fullmatch(places, path.as_posix()):
                yield f"{path}: {name} belongs to {places}"
        first = name.split("/")[0]
        if kind == '"' and first in [*LAYERS, "tools", "preload"] and "/" in name and first not in allowed_of(path):
            yield f"{path}: {line.strip()} reaches into a room that it must not know"


def main():
    root = pathlib.Path(sys.argv[1])
    files = sorted(path for room in ("src", "tools", "preload", "simcuda") for path in (root / room).rglob("*")
                   if path.suffix in (".c", ".h", ".def", ".S"))
    breaches = [breach for path in files
                for breach in breaches_of(path.relative_to(root), path.read_text(encoding="utf-8"))]
    for path in files:
        head = path.read_text(encoding="utf-8")[:200]
        if "SPDX-License-Identifier: MIT" not in head:
            breaches.append(f"{path.relative_to(root)}: has no SPDX line")
    print("\n".join(breaches) or f"{len(files)} files keep to their layers")
    return 1 if breaches or len(files) < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
