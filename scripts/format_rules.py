# SPDX-License-Identifier: MIT
"""The rules of scripts/check-format that no formatter checks.

Each rule yields a Finding for each place that breaks it. wrap_markdown wraps long lines of Markdown.
"""

import collections
import dataclasses
import os
import re
import subprocess
import textwrap

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

LINE_WIDTH = 120
C_WIDTH, TAB_WIDTH = 100, 4
FILE_LINES = 500
PAGE_LINES = 150
FOLDER_FILES = 30
PARAMETERS = 8

# Files and folders that may break a rule, each with the reason.
LARGE_FILES = {}
LARGE_FOLDERS = {
    "tests/fuzz/corpus/recording": "one small recording for each path of the parser",
}

C_SUFFIXES = (".c", ".h", ".cc")
SOURCE_SUFFIXES = (*C_SUFFIXES, ".S", ".def", ".py", ".sh")
# The headers of CUDA and its libraries decide how many parameters these functions have.
FOREIGN_FUNCTION = re.compile(r"_*(cu[a-z]*|nvml|nvtx)[A-Z]\w*")


@dataclasses.dataclass(frozen=True)
class Finding:
    path: str
    line: int
    text: str  # what is wrong, and what to do

    def __str__(self):
        return f"{self.path}:{self.line}: {self.text}"


def project_files():
    """Returns the paths of all files that git does not ignore, relative to the root of the project."""
    names = subprocess.check_output(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=SOURCE, text=True
    )
    return sorted(name for name in set(names.split("\0")) if os.path.isfile(os.path.join(SOURCE, name)))


def read(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
        return file.read()


def has_shebang(path, programs):
    """Returns whether the first line of the file names one of these interpreters."""
    with open(os.path.join(SOURCE, path), "rb") as file:
        words = file.readline(100).decode("utf-8", "replace").split()
    return bool(words) and words[0].startswith("#!") and os.path.basename(words[-1]) in programs


def python_files(files):
    return [path for path in files if path.endswith(".py") or has_shebang(path, ("python3",))]


def shell_files(files):
    return [path for path in files if path.endswith(".sh") or has_shebang(path, ("bash", "sh"))]


def source_files(files):
    scripts = {*python_files(files), *shell_files(files)}
    return [path for path in files if path.endswith(SOURCE_SUFFIXES) or path in scripts]


# --- headers and sizes ---


def check_license(files):
    builds = [path for path in files if os.path.basename(path) == "meson.build"]
    for path in source_files(files) + builds:
        if "SPDX-License-Identifier: MIT" not in read(path)[:200]:
            yield Finding(path, 1, "no license: begin the file with a comment SPDX-License-Identifier: MIT")


def check_sizes(files):
    for path in source_files(files):
        lines = read(path).count("\n")
        if lines > FILE_LINES and path not in LARGE_FILES:
            yield Finding(path, FILE_LINES + 1, f"{lines} lines: split the file by idea, {FILE_LINES} are the limit")


def is_user_page(path):
    """Returns whether the file is a page for users. The pages for contributors may be longer."""
    in_docs = path.startswith("docs/") and path.endswith(".md") and not path.startswith("docs/internals/")
    return in_docs or path in ("README.md", "SECURITY.md")


def check_pages(files):
    for path in files:
        lines = read(path).count("\n") if is_user_page(path) else 0
        if lines > PAGE_LINES:
            yield Finding(path, PAGE_LINES + 1, f"{lines} lines: split the page by task, {PAGE_LINES} are the limit")


def check_folders(files):
    counts = collections.Counter(os.path.dirname(path) for path in files)
    for folder, count in sorted(counts.items()):
        if count > FOLDER_FILES and folder not in LARGE_FOLDERS:
            yield Finding(folder, 1, f"{count} files: split the folder by topic, {FOLDER_FILES} are the limit")


def check_exceptions(files):
    """Yields a finding for each exception that is no longer needed: it would hide the next violation."""
    here = os.path.relpath(__file__, SOURCE)
    counts = collections.Counter(os.path.dirname(path) for path in files)
    kept = [path for path in LARGE_FILES if path in files and read(path).count("\n") > FILE_LINES]
    kept += [folder for folder in LARGE_FOLDERS if counts[folder] > FOLDER_FILES]
    for line, text in enumerate(read(here).splitlines(), 1):
        name = re.match(r'    "([\w/.-]+)": "', text)
        if name and name[1] not in kept:
            yield Finding(here, line, f"{name[1]} is small enough now: remove this exception")


# --- comments and strings of C ---


def is_long_text(line):
    """Returns whether a line of C has a comment or a string, and is too long. clang-format wraps only code."""
    line = line.expandtabs(TAB_WIDTH)
    return len(line) > C_WIDTH and bool(re.search(r'/\*|//|"|^\s*\*', line)) and "://" not in line


def check_text(files):
    for path in files:
        if path.endswith(C_SUFFIXES):
            for number, line in enumerate(read(path).splitlines(), 1):
                if is_long_text(line):
                    width = len(line.expandtabs(TAB_WIDTH))
                    yield Finding(path, number, f"{width} columns: wrap the comment or string at {C_WIDTH}")


# --- parameters of C functions ---


def blank(found):
    """Returns only the line breaks of the matched text, so that line numbers stay."""
    return "\n" * found[0].count("\n") or " "


def bare_code(text):
    """Removes comments, strings, character constants and preprocessor lines from C code."""
    # An apostrophe between digits separates them.
    pattern = r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\''
    text = re.sub(pattern, blank, text, flags=re.S)
    return re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", blank, text, flags=re.M)


def closing(code, opening):
    """Returns the index of the bracket that closes the one at `opening`, and the number of commas between them."""
    depth = commas = 0
    for at in range(opening, len(code)):
        letter = code[at]
        depth += (letter in "([{") - (letter in ")]}")
        commas += letter == "," and depth == 1
        if depth == 0:
            return at, commas
    return len(code), commas


DEFINITION = re.compile(r"\b(\w+)\s*\(|\{")
ATTRIBUTES = re.compile(r"(?:\s|\b(?:const|noexcept|override)\b|__attribute__\s*\(\([^{;]*?\)\))*\{")
NAMESPACE = re.compile(r"\b(?:extern|namespace(?:\s+\w+)?)\s*$")


def functions(text):
    """Yields (name, line, number of parameters) of each function definition in C code."""
    code, at = bare_code(text), 0
    while found := DEFINITION.search(code, at):
        at = found.end()
        if found[1] is None:
            # Search inside namespaces and extern "C". Skip the bodies of functions and types.
            if not NAMESPACE.search(code, max(0, found.start() - 100), found.start()):
                at = closing(code, found.start())[0] + 1
            continue
        end, commas = closing(code, at - 1)
        if ATTRIBUTES.match(code, end + 1):
            yield found[1], code.count("\n", 0, found.start()) + 1, commas + 1
        at = end + 1


def check_parameters(files):
    for path in files:
        if not path.endswith(C_SUFFIXES):
            continue
        for name, line, count in functions(read(path)):
            if count > PARAMETERS and not FOREIGN_FUNCTION.fullmatch(name):
                yield Finding(path, line, f"{name} has {count} parameters: pass a struct, {PARAMETERS} are the limit")


# --- Markdown ---


def markdown_lines(text):
    """Yields (line, is_prose) for each line. Lines of tables and code blocks are not prose."""
    fence = None
    for line in text.splitlines():
        mark = line.lstrip()[:3]
        if fence:
            yield line, False
            fence = None if mark == fence else fence
            continue
        if mark in ("```", "~~~"):
            fence = mark
        yield line, not (fence or mark[:1] == "|" or line.startswith("    "))


def is_too_long(line):
    # A line of one long word, such as a URL, cannot be wrapped.
    return len(line) > LINE_WIDTH and " " in line.strip()


def check_markdown(files):
    for path in files:
        if path.endswith(".md"):
            for number, (line, is_prose) in enumerate(markdown_lines(read(path)), 1):
                if is_prose and is_too_long(line):
                    yield Finding(path, number, f"{len(line)} characters: wrap the line at {LINE_WIDTH}, or use --fix")


LINK = re.compile(r"\]\(([^()\s]+)\)")
OTHER_SITE = re.compile(r"[a-z]+:")


def anchors(text):
    """Returns the anchors of a page: one for each heading, in the form that GitHub and GitLab give it."""
    headings = (re.match(r"#+ +(.*)", line) for line, is_prose in markdown_lines(text) if is_prose)
    names = (re.sub(r"[^\w\- ]", "", found[1].lower()) for found in headings if found)
    return {name.replace(" ", "-") for name in names}


def links(text):
    """Yields (line, target) for each link of a page. Code has no links."""
    text = re.sub(r"^ *(```|~~~).*?^ *\1", blank, text, flags=re.S | re.M)
    for number, line in enumerate(text.splitlines(), 1):
        for found in LINK.finditer(re.sub(r"`[^`]*`", "", line)):
            yield number, found[1]


def check_links(files):
    """Yields a finding for each link to a missing file of the project, or to a missing heading."""
    known = {*files, *(os.path.dirname(path) for path in files)}
    for path in files:
        if not path.endswith(".md"):
            continue
        for line, target in links(read(path)):
            if OTHER_SITE.match(target):
                continue
            name, _, heading = target.partition("#")
            page = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
            if page not in known:
                yield Finding(path, line, f"the link leads to {page}, which does not exist")
            elif heading and page.endswith(".md") and heading not in anchors(read(page)):
                yield Finding(path, line, f"the link leads to the heading #{heading}, which {page} does not have")


BEGINS_PARAGRAPH = re.compile(r"\s*([-*+>#|<]|\d+[.)]|\[[^\]]*\]:|```|~~~|$)")


def wrapped(lines):
    """Wraps a paragraph or a list item, from its first line that is too long. Returns the new lines."""
    first = next(at for at, line in enumerate(lines) if is_too_long(line))
    # The second and later lines of a list item align with its text.
    item = re.match(r"\s*(?:[-*+]\s+|\d+[.)]\s+|>\s*)?", lines[0])[0]
    indent = lines[1][: len(lines[1]) - len(lines[1].lstrip())] if len(lines) > 1 else " " * len(item)
    begin = item if first == 0 else indent
    text = " ".join(line.strip() for line in lines[first:])
    text = text[len(item.strip()) :].strip() if first == 0 else text
    filled = textwrap.wrap(
        text,
        LINE_WIDTH,
        initial_indent=begin,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return lines[:first] + filled


def wrap_markdown(text):
    result, paragraph = [], []

    def end_paragraph():
        result.extend(wrapped(paragraph) if any(map(is_too_long, paragraph)) else paragraph)
        paragraph.clear()

    for line, is_prose in markdown_lines(text):
        if not is_prose or BEGINS_PARAGRAPH.match(line):
            end_paragraph()
        if is_prose and line.strip():
            paragraph.append(line)
        else:
            result.append(line)
    end_paragraph()
    return "\n".join(result) + "\n"
