# SPDX-License-Identifier: MIT
"""check_layers.py SOURCE_ROOT BUILD_ROOT: prints each include and each call against the order of the source folders.

Reads the includes from the sources, and the calls from the object files (nm): symbols that one file uses and another
file defines. Also prints files of the recorder, the program or the simulated device that call each other in a circle.
"""

import collections
import os
import pathlib
import re
import subprocess
import sys

# The source folders of src/ and tools/, in order. A folder may include itself and the folders before it.
ORDER = [
    "base",
    "containers",
    "system",
    "options",
    "format",
    "format/encoding",
    "format/file",
    "shared_memory",
    "source",
    "accounting",
    "compaction",
    "import",
    "import/pickle",
    "import/torch",
    "import/csv",
    "reader/load",
    "reader/symbols",
    "reader/stacks",
    "reader/steps",
    "reader/replay",
    "reader/follow",
    "analysis/history",
    "analysis/allocator",
    "analysis/oom",
    "analysis/ledger",
    "analysis/leaks",
    "analysis/steps",
    "analysis/stretch",
    "analysis/tables",
    "analysis/profile",
    "analysis/page",
    "analysis/recording",
    "analysis/overview",
    "analysis/job",
    "analysis/compare",
    "analysis/gate",
    "analysis/live",
    "render",
    "render/lines",
    "render/text",
    "render/json",
    "render/ci",
    "render/page",
    "render/export",
    "render/export/torch",
    "render/export/trace",
    "render/live",
    "tools/output",
    "tools/options",
    "tools/completion",
    "tools/recordings",
    "tools/pipeline",
    "library/tables",
    "tools/report",
    "tools/database",
    "tools/export",
    "tools/import",
    "tools/live",
    "tools/doctor",
    "tools/commands",
    "tools",
    "library",
]
# The recorder may use the folders of src/ up to this one.
LAST_OF_RECORDER = "compaction"
# The source folders of preload/, in order. docs/internals/architecture.md says what each one holds.
RECORDER = [
    "runtime",
    "audit",
    "hooks",
    "interpose",
    "depot",
    "unwind",
    "python",
    "files",
    "producer",
    "driver",
    "process_exit",
    "writer",
    "marks",
    "wrappers",
    "lifecycle",
]

# Uses that go against the order, each with its reason.
ALLOWED_USES = {
    # The table of hooks holds the address of each wrapper, and calls none of them: a hook is one row.
    ("preload/hooks/hooks.c", "gmt_wrap_"),
    # The table of verbs holds the address of each verb and its options, and calls none of them: a verb is one row.
    ("tools/options/command.c", "gmt_cmd_"),
    ("tools/options/command.c", "gmt_option_rows_"),
    # The table of formats holds the address of each writer, and calls none of them: a format is one row.
    ("src/render/export/export.c", "gmt_export_"),
}
# Folders whose files call each other in a circle, each with its reason. At most five.
ALLOWED_CIRCLES = {
    # The simulated driver: contexts own memory, and memory, pools, graphs and streams belong to contexts.
    "simcuda/driver",
}

# Headers of other projects, each with the only files that may include them.
FOREIGN = {
    r"zlib\.h": r"src/format/.*\.c",
    r"(elfutils/.*|dwarf|gelf|libelf)\.h": r"src/reader/symbols/symbols\w*\.c",
    r"libunwind.*\.h": r"preload/unwind/.*",
    r"pthread\.h": r"((preload|simcuda)/.*|src/source/read_ahead\.c|src/analysis/page/page_worker\.c|library/tables/recording\.h)",
    r"cuda.*\.h": r"(preload|simcuda)/.*",
    r"sqlite3\.h": r"tools/(database|import)/.*",
}


def folder_of(path):
    """Returns the folder of a file, without `src/` or `preload/`."""
    parent = path.parent.as_posix()
    return parent.removeprefix("src/").removeprefix("preload/")


def allowed_of(path):
    """Returns the folders that a file may use."""
    folder = folder_of(path)
    if path.parts[0] == "preload":
        return ORDER[: ORDER.index(LAST_OF_RECORDER) + 1] + RECORDER[: RECORDER.index(folder) + 1]
    return ORDER[: ORDER.index(folder) + 1]


def violations_of(path, text):
    allowed = allowed_of(path)
    for line, kind, name in re.findall(r'^(\s*#\s*include\s*([<"])([^>"]+)[>"].*)$', text, re.M):
        for pattern, places in FOREIGN.items():
            if re.fullmatch(pattern, name) and not re.fullmatch(places, path.as_posix()):
                yield f"{path}: {name} belongs to {places}"
        target = name.rpartition("/")[0]
        if kind == '"' and target in ORDER + RECORDER and target not in allowed:
            yield f"{path}: {line.strip()}: {folder_of(path)} comes before {target}"


def objects_of(root, build):
    """Yields the object file of each C source of the product that was built."""
    for folder, _, names in os.walk(build):
        relative = pathlib.Path(folder).relative_to(build)
        if not relative.name.endswith(".p") or relative.parts[0] not in (
            "src",
            "preload",
            "tools",
            "library",
            "simcuda",
        ):
            continue
        sources = {
            path.relative_to(root / relative.parent).as_posix().replace("/", "_"): path.relative_to(root)
            for path in (root / relative.parent).rglob("*.c")
        }
        for name in names:
            if name.endswith(".c.o") and name[:-2] in sources:
                yield sources[name[:-2]], pathlib.Path(folder) / name


def program_of(path):
    """Returns a file's program, whose files see each other's functions. The others contain parts of src/ and tools/ too."""
    return path.parts[0] if path.parts[0] in ("preload", "simcuda", "library") else "program"


def uses_of(objects):
    """Returns, for each pair of files, the names that the first file uses and the second file defines."""
    owners, wanted = {}, collections.defaultdict(set)
    for path, file in objects.items():
        for line in subprocess.run(["nm", str(file)], capture_output=True, text=True, check=True).stdout.splitlines():
            *_, kind, name = line.split()
            if kind in "TDBRVWC":
                owners[program_of(path), name] = path
            elif kind == "U":
                wanted[path].add(name)
    uses = collections.defaultdict(set)
    for path, names in wanted.items():
        for name in names:
            owner = owners.get((program_of(path), name)) or owners.get(("program", name))
            # Symbols without a prefix are libc's. The recorder replaces some of them, and may call all of them.
            if (
                owner
                and owner != path
                and name.startswith(("gmt_", "sim_"))
                and not any(path.as_posix() == user and name.startswith(prefix) for user, prefix in ALLOWED_USES)
            ):
                uses[path, owner].add(name)
    return uses


def circles_of(uses):
    """Returns the groups of files that use each other in a circle (Tarjan's strongly connected components)."""
    calls, order, low, stack, circles = collections.defaultdict(set), {}, {}, [], []
    for user, owner in uses:
        calls[user].add(owner)

    def visit(path):
        order[path] = low[path] = len(order)
        stack.append(path)
        for target in calls[path]:
            if target not in order:
                visit(target)
            if target in stack:
                low[path] = min(low[path], low[target])
        if low[path] == order[path]:
            start = stack.index(path)
            if len(stack) - start > 1:
                circles.append(sorted(stack[start:]))
            del stack[start:]

    for path in list(calls):
        if path not in order:
            visit(path)
    return circles


def violations_of_objects(root, build):
    objects = dict(objects_of(root, build))
    if len(objects) < 50:
        yield f"{build}: has only {len(objects)} object files: compile first"
    uses = uses_of(objects)
    for (user, owner), names in sorted(uses.items()):
        if user.parts[0] != "simcuda" and folder_of(owner) not in allowed_of(user):
            yield f"{user}: uses {', '.join(sorted(names))} of {owner}: {folder_of(user)} comes before {folder_of(owner)}"
    for circle in circles_of(uses):
        files = [path.as_posix() for path in circle]
        if os.path.commonpath(files) not in ALLOWED_CIRCLES:
            yield f"these files use each other in a circle: {' '.join(files)}"


def main():
    root = pathlib.Path(sys.argv[1])
    files = sorted(
        path
        for folder in ("src", "tools", "library", "preload", "simcuda")
        for path in (root / folder).rglob("*")
        if path.suffix in (".c", ".h", ".def", ".S")
    )
    violations = []
    for path in files:
        relative, text = path.relative_to(root), path.read_text(encoding="utf-8")
        if relative.parts[0] != "simcuda" and folder_of(relative) not in ORDER + RECORDER:
            violations.append(f"{relative}: its folder has no place in ORDER or RECORDER")
            continue
        if relative.parts[0] != "simcuda":
            violations += violations_of(relative, text)
    violations += violations_of_objects(root, pathlib.Path(sys.argv[2]))
    print("\n".join(violations) or f"{len(files)} files keep to the order of the source folders")
    return 1 if violations or len(files) < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
