# SPDX-License-Identifier: MIT
"""check_layers.py SOURCE_ROOT: reads the #include lines and names each one that goes against the order of the rooms."""
import pathlib
import re
import sys

# The rooms of src/ and tools/, in order. A room may include itself and the rooms before it.
ORDER = [
    "base", "containers", "system", "options", "format", "format/encoding", "format/file", "shared_memory", "source",
    "accounting", "compaction",
    "reader/load", "reader/symbols", "reader/stacks", "reader/steps", "reader/replay",
    "analysis/history", "analysis/allocator", "analysis/oom", "analysis/ledger", "analysis/leaks", "analysis/steps",
    "analysis/tables", "analysis/recording", "analysis/compare", "analysis/gate",
    "render", "render/text", "render/json", "render/ci",
    "tools/output", "tools/options", "tools/recordings", "tools/pipeline", "tools/doctor", "tools/commands", "tools",
]
# The recorder may use the rooms up to this one.
LAST_OF_RECORDER = "compaction"

# Headers of others, each with the only files that may include them.
FOREIGN = {
    r"zlib\.h": r"src/format/.*\.c",
    r"(elfutils/.*|dwarf|gelf|libelf)\.h": r"src/reader/symbols/symbols\w*\.c",
    r"libunwind.*\.h": r"preload/unwind/.*",
    r"pthread\.h": r"((preload|simcuda)/.*|src/source/feed\.c)",
    r"cuda.*\.h": r"(preload|simcuda)/.*",
}


def room_of(path):
    """The room of a file: its folder, without `src/`."""
    folder = path.parent.as_posix()
    return folder[len("src/"):] if folder.startswith("src/") else folder


def breaches_of(path, text, rooms):
    room = room_of(path)
    if room in ORDER:
        allowed = ORDER[:ORDER.index(room) + 1]
    else:
        allowed = ORDER[:ORDER.index(LAST_OF_RECORDER) + 1]
    for line, kind, name in re.findall(r'^(\s*#\s*include\s*([<"])([^>"]+)[>"].*)$', text, re.M):
        for pattern, places in FOREIGN.items():
            if re.fullmatch(pattern, name) and not re.fullmatch(places, path.as_posix()):
                yield f"{path}: {name} belongs to {places}"
        target = name.rpartition("/")[0]
        if kind == '"' and target in rooms and target not in allowed:
            yield f"{path}: {line.strip()}: {room} comes before {target}"


def main():
    root = pathlib.Path(sys.argv[1])
    files = sorted(path for room in ("src", "tools", "preload", "simcuda") for path in (root / room).rglob("*")
                   if path.suffix in (".c", ".h", ".def", ".S"))
    breaches = []
    for path in files:
        relative, text = path.relative_to(root), path.read_text(encoding="utf-8")
        if relative.parts[0] in ("src", "tools") and room_of(relative) not in ORDER:
            breaches.append(f"{relative}: its folder has no place in ORDER")
        if relative.parts[0] != "simcuda":
            breaches += breaches_of(relative, text, ORDER)
        if "SPDX-License-Identifier: MIT" not in text[:200]:
            breaches.append(f"{relative}: has no SPDX line")
    print("\n".join(breaches) or f"{len(files)} files keep to the order of the rooms")
    return 1 if breaches or len(files) < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
