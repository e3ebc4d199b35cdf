# SPDX-License-Identifier: MIT
"""Reads the system calls of each process of a program with strace, in order and with their arguments."""

import collections
import dataclasses
import difflib
import os
import re
import subprocess

PRELOAD = "PRELOAD"
PATTERNS = (
    (r"0x[0-9a-f]+", "ADDRESS"),
    (
        r"\b(m(?:map|protect|unmap|remap|advise)\()([^\"]*)",
        lambda found: found.group(1) + re.sub(r"\b\d+\b", "N", found.group(2)),
    ),
    (r"/\*[^*]*\*/", ""),
    (r",? ?\bsi_[us]time=\d+", ""),
    (r"\bst_(?:size|blksize)=\d+", "SIZE"),
    (r"\b(?:tv_n?sec|tv_usec|it_value|ru_\w+)=[^,}]*", "TIME"),
    (r"(?:tid|pid|TID|PID|uaddr)=\d+", "PROCESS"),
    (r"(pipe|socket):\[\d+\]", r"\1"),
    # The length of a folder's list varies: other programs make files in /dev/shm, and processes in /proc.
    (r"^(getdents64\(.*) = [1-9]\d*$", r"\1 = N"),
)
BEGUN = re.compile(r"^(\w+)\(")
MADE = re.compile(r"^(?:clone3?|v?fork)\(.*= (\d+)$|^<\.\.\. (?:clone3?|v?fork) resumed.*= (\d+)$")


@dataclasses.dataclass
class Trace:
    processes: dict  # name of the process -> its calls
    programs: int  # number of started programs
    opened: set
    groups: dict  # name of a thread -> its process; a process maps to itself

    def kinds(self, name):
        """Returns the kinds of calls of a process and its threads. By chance one thread or another makes a call."""
        group = self.groups.get(name, name)
        return {
            call.split("(")[0]
            for other, made in self.processes.items()
            if self.groups.get(other, other) == group
            for call in made
        }


def command_of(command, out, preload):
    # strace itself runs without the preload, because its loader would make more calls.
    return ["strace", "-f", "-qq", "-s", "0", "-o", out, "-E", f"LD_PRELOAD={preload}", *command]


def lines_of(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            number, _, text = line.rstrip("\n").partition(" ")
            yield int(number), text.strip()


def whole_calls(path):
    """Yields (process, call) in the order in which calls end. Joins calls that another thread's line interrupted."""
    unfinished = {}
    for number, text in lines_of(path):
        if text.endswith("<unfinished ...>"):
            unfinished[number] = text[: -len("<unfinished ...>")].rstrip()
            continue
        resumed = re.match(r"<\.\.\. \w+ resumed>(.*)", text)
        if resumed:
            text = unfinished.pop(number, "") + resumed.group(1)
        yield number, text


def normalise(text, numbers, preload):
    text = text.replace(preload, PRELOAD)
    # In signals and ends of processes only the process numbers are replaced.
    for pattern, replacement in PATTERNS:
        text = re.sub(pattern, replacement, text)
    text = re.sub(r"\d{2,}", lambda found: "PROCESS" if int(found.group()) in numbers else found.group(), text)
    return re.sub(r",(?! )", ", ", re.sub(r"\s+", " ", text))


def read(path, preload):
    calls = list(whole_calls(path))
    numbers = {number for number, _ in calls}
    names, children, groups = {}, collections.Counter(), {}
    processes, opened, programs = collections.defaultdict(list), set(), 0
    lists, answered_by_kernel = set(), set()
    for number, text in calls:
        name = names.setdefault(number, "0" if not names else f"? {number}")
        groups.setdefault(name, name)
        made = re.match(r"(?:clone3?|v?fork)\(.*= (\d+)$", text)
        child = made and int(made.group(1))
        if made and (child not in names or names[child].startswith("?")):
            children[name] += 1
            new = f"{name}.{children[name]}"
            if child in names:
                # The trace showed the child before its parent's fork.
                processes[new] = processes.pop(names[child], [])
            names[child] = new
            groups[new] = groups[name] if "CLONE_THREAD" in text else new
        programs += bool(re.match(r"execve\(.*= 0$", text))
        opened |= {found for found in re.findall(r'open(?:at)?\([^"]*"([^"]*)"', text)}
        # The moment of SIGCHLD varies by chance.
        if text.startswith("--- SIGCHLD"):
            continue
        # The size of /proc/self/maps depends on the library's name and segments. Sizes of other files in /proc depend
        # on how often a thread waited.
        if '"/proc/self/maps"' in text:
            lists.add(number)
        elif re.match(r'open.*"/proc/', text):
            answered_by_kernel.add(number)
        elif text.startswith("close("):
            lists.discard(number)
            answered_by_kernel.discard(number)
        elif number in lists and text.startswith("read("):
            continue
        elif number in answered_by_kernel and text.startswith("read("):
            text = re.sub(r"= [1-9]\d*$", "= N", text)
        sender = re.search(r"^--- .*\bsi_pid=(\d+)", text)
        if sender and int(sender.group(1)) != number:
            text = text.replace(sender.group(), sender.group().replace(sender.group(1), "ANOTHER"))
        call = normalise(text, numbers, preload)
        if not (call.startswith("getdents64(") and processes[name][-1:] == [call]):
            processes[name].append(call)
    return Trace(dict(processes), programs, opened, groups)


def trace(host, run_folder, preload):
    run_folder.clear(host.files)
    out = os.path.join(os.path.dirname(run_folder.path), os.path.basename(run_folder.path) + ".trace")
    subprocess.run(
        command_of(host.command, out, preload),
        cwd=run_folder.work,
        env=run_folder.environment(None, None, host.environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=600,
        check=False,
    )
    found = read(out, preload)
    os.unlink(out)
    return found


# The end of a process that another process killed: the interrupted call, and the signal.
CUT_SHORT = re.compile(
    r"\+\+\+ killed|--- SIG\w+ .*si_pid=ANOTHER|(?!exit|t?g?kill\().*(<unfinished \.\.\.>|= \? ERESTART)"
)


def until_killed(process):
    """Returns the calls of a process without the lines that show that it was killed."""
    last = len(process)
    while last and CUT_SHORT.match(process[last - 1]):
        last -= 1
    return process[:last]


def is_killed(process):
    return bool(process) and bool(CUT_SHORT.match(process[-1]))


def changes(plain, recorded):
    """
    Returns the lines that only one of two processes has, with "+ " or "- " in front. Ignores lines that only one of
    them has at its end if another process killed it: the moment of the kill varies by chance.
    """
    is_chance = is_killed(plain) or is_killed(recorded)
    ends = [process[-1] for process in (plain, recorded) if is_killed(process)]
    if is_chance:
        plain, recorded = until_killed(plain), until_killed(recorded)
    steps = difflib.SequenceMatcher(None, plain, recorded, autojunk=False).get_opcodes()
    if is_chance and steps and steps[-1][0] != "equal":
        steps.pop()
    different = [
        sign + line
        for kind, a, b, c, d in steps
        if kind != "equal"
        for sign, part in (("- ", plain[a:b]), ("+ ", recorded[c:d]))
        for line in part
    ]
    if len(ends) == 2 and ends[0] != ends[1]:
        different += ["- " + ends[0], "+ " + ends[1]]
    return different
