# SPDX-License-Identifier: MIT
"""The man page of each verb (docs/man/gpumemtrace-VERB.1), made from the page of the whole program.

The description and the options of a verb come from its section of gpumemtrace.1, the synopsis from `help VERB`. This
file adds exit codes, examples and related pages. It explains how to add them for a new verb (ABOUT).
"""

import dataclasses
import re


@dataclasses.dataclass(frozen=True)
class About:
    """The text of a verb's page in addition to the section of gpumemtrace.1."""

    exits: tuple  # names of EXITS, in the order of their codes
    examples: tuple  # (sentence, command line)
    related: tuple = ()  # other verbs
    passes_recorder_options: bool = False


# name: (exit code, meaning as mdoc lines)
EXITS = {
    "done": ("0", "Success."),
    "read": ("0", "Success, also for a recording that is incomplete or damaged after readable data."),
    "equal": ("0", "Success.\nThe two recordings may differ."),
    "passed": ("0", "All checks passed."),
    "sound": ("0", "The machine, and the command if one is given, can be recorded."),
    "differs": ("1", "A row or a layer holds more or less by at least the threshold, and\n.Fl -exit-code\nwas given."),
    "failed": ("1", "A check failed, also if growth was requested and could not be judged."),
    "problem": ("1", "A line of the result has the verdict\n.Sy problem ."),
    "usage": ("2", "The command line is wrong."),
    "gate_usage": (
        "2",
        "The command line is wrong, or a limits file, a baseline or a suppressions file is missing or malformed.",
    ),
    "no_recorder": ("3", "The recorder was not found next to the program, or the output cannot be written."),
    "no_file": (
        "3",
        "A file cannot be read, is not a recording, or needs more memory than allowed (see\n.Fl -max-memory\nin\n"
        ".Xr gpumemtrace 1 ) ;\nor the output cannot be written.",
    ),
    "no_import": (
        "3",
        "A file cannot be read, is of another kind, or needs more memory than allowed (see\n.Fl -max-memory\nin\n"
        ".Xr gpumemtrace 1 ) ;\nor the recording cannot be written.",
    ),
    "no_memory": (
        "3",
        "The file is incomplete and no memory was found for it, or it must not be replaced, or it cannot be read.",
    ),
    "no_process": (
        "3",
        "The process is not being recorded, belongs to another user, or did not answer; or the output cannot be written.",
    ),
    "no_output": ("3", "The output cannot be written."),
    "strict": ("4", "The recording is incomplete, and\n.Fl -strict\nwas given; or a part of the analysis was skipped."),
    "missing_rank": (
        "4",
        "A rank is missing or its recording is incomplete, and\n.Fl -strict\nwas given.",
    ),
    "incomplete": (
        "4",
        "A recording is incomplete or could not be read, and\n.Fl -strict\nwas given.",
    ),
    "skipped": ("4", "A part of the analysis was skipped, and nothing was written."),
    "not_judged": (
        "4",
        "The recording is incomplete, or growth could not be judged, and\n.Fl -strict\nwas given; "
        "or a part of the analysis was skipped.",
    ),
    "command": (
        "0 to 255",
        "The exit code of\n.Ar command ,\nor 128 and the number of the signal that ended it.\nWith\n.Fl -check\nand a\n"
        ".Ar command\nthat succeeded, the exit code of\n.Xr gpumemtrace-check 1 ,\nor 3 when nothing was recorded.",
    ),
    "not_started": ("125", "The program itself failed, for example because of a wrong option."),
    "not_executable": ("126", "The\n.Ar command\ncannot be executed."),
    "not_found": ("127", "The\n.Ar command\nwas not found."),
}

# To add a verb: choose its exit codes from EXITS, and give at least one command line that works as it is typed.
ABOUT = {
    "run": About(
        ("command", "not_started", "not_executable", "not_found"),
        (
            ("Record a training run:", "gpumemtrace run -- python train.py"),
            (
                "Record each rank of a job, and fail if memory leaks:",
                "gpumemtrace run --check --output='rank%r.gmt.gz' -- torchrun --nproc-per-node=2 train.py",
            ),
            (
                "Record for weeks within 512 MiB of disk:",
                "gpumemtrace run --mode=window --max_size=512MiB -- python serve.py",
            ),
        ),
        ("report", "check", "env", "recover"),
        passes_recorder_options=True,
    ),
    "report": About(
        ("read", "usage", "no_file", "strict"),
        (
            ("Show the first screen of the newest recording in this folder:", "gpumemtrace report"),
            ("Show the memory four seconds after the start:", "gpumemtrace report --until=4s --sort=live run.gmt.gz"),
            ("Write a page for the browser:", "gpumemtrace report --html=run.html run.gmt.gz"),
        ),
        ("leaks", "diff", "info"),
    ),
    "diff": About(
        ("equal", "differs", "usage", "no_file", "strict"),
        (
            ("Show which functions hold more memory:", "gpumemtrace diff before.gmt.gz after.gmt.gz"),
            (
                "Fail if a function holds at least 64 MiB more or less:",
                "gpumemtrace diff --exit-code --threshold=64M before.gmt.gz after.gmt.gz",
            ),
        ),
        ("report", "check"),
    ),
    "leaks": About(
        ("read", "usage", "no_file", "strict"),
        (
            ("Find leaks in the newest recording of this folder:", "gpumemtrace leaks"),
            (
                "Find also blocks that lived for more than 100 steps:",
                "gpumemtrace leaks --definition=growth,age --age-steps=100 run.gmt.gz",
            ),
        ),
        ("report", "check"),
    ),
    "check": About(
        ("passed", "failed", "gate_usage", "no_file", "not_judged"),
        (
            ("Judge all recordings of a job together:", "gpumemtrace check --max-peak=18GiB rank0.gmt.gz rank1.gmt.gz"),
            (
                "Write the memory that the program needs today, and compare with it later:",
                "gpumemtrace check --baseline=memory.baseline --update-baseline run.gmt.gz\n"
                "gpumemtrace check --baseline=memory.baseline --junit=memory.xml run.gmt.gz",
            ),
        ),
        ("run", "leaks", "diff"),
    ),
    "info": About(
        ("read", "usage", "no_file", "strict"),
        (
            ("Show whether a recording is complete:", "gpumemtrace info run.gmt.gz"),
            ("Show which functions were called:", "gpumemtrace info --coverage run.gmt.gz"),
        ),
        ("report", "recover", "dump"),
    ),
    "ranks": About(
        ("read", "usage", "no_file", "missing_rank"),
        (
            ("Compare the ranks of a job, whose files are in a folder:", "gpumemtrace ranks job"),
            ("Show all ranks, and all lines that make a difference:", "gpumemtrace ranks --full job"),
            ("Write a page for the browser, with a map of all ranks and steps:", "gpumemtrace ranks --html job"),
        ),
        ("summarize", "report", "leaks"),
    ),
    "summarize": About(
        ("done", "usage", "no_file"),
        (
            ("Write train.r0.summary.gz next to a recording:", "gpumemtrace summarize train.r0.gmt.gz"),
            ("Write the summary to another folder:", "gpumemtrace summarize train.r0.gmt.gz -o summaries/r0.summary.gz"),
        ),
        ("ranks", "fold"),
    ),
    "export": About(
        ("read", "usage", "no_file", "incomplete"),
        (
            ("Write train.folded, for a flame graph:", "gpumemtrace export --format=folded train.gmt.gz"),
            (
                "Write a snapshot for PyTorch's memory_viz, as it was when a request failed:",
                "gpumemtrace export --format=torch --at=oom train.gmt.gz",
            ),
            ("Write all tables of a job, for DuckDB, polars or Spark:", "gpumemtrace export -o tables job"),
            (
                "Write two tables, with a folder for each rank:",
                "gpumemtrace export --table=sites --table=steps --partition=rank -o tables job",
            ),
        ),
        ("ranks", "report"),
    ),
    "tree": About(
        ("read", "usage", "no_file", "strict"),
        (
            ("The calls that hold at least a tenth of the peak:", "gpumemtrace tree --least=10 train.gmt.gz"),
            ("What was live at the end of step 12:", "gpumemtrace tree --at=step:12 train.gmt.gz"),
        ),
        ("flamegraph", "report", "export"),
    ),
    "flamegraph": About(
        ("read", "usage", "no_file", "strict"),
        (("The calls of the first GPU at its peak:", "gpumemtrace flamegraph --device=0 train.gmt.gz"),),
        ("tree", "export", "report"),
    ),
    "import": About(
        ("done", "usage", "no_import"),
        (
            ("Make snapshot.gmt.gz of a memory snapshot of PyTorch:", "gpumemtrace import snapshot.pickle"),
            ("Choose the name of the recording:", "gpumemtrace import -o rank3.gmt.gz snapshot_rank3.pickle"),
            ("Take one process of a report of Nsight Systems:", "gpumemtrace import --pid=4242 report.sqlite"),
        ),
        ("report", "diff", "export"),
    ),
    "sql": About(
        ("read", "usage", "no_file", "strict"),
        (
            (
                "Show the blocks of 1 GiB and more, with their lines:",
                "gpumemtrace sql train.gmt.gz 'select * from blocks where size_bytes >= 1 << 30'",
            ),
            ("List the tables and their columns:", "gpumemtrace sql train.gmt.gz .schema"),
        ),
        ("export", "report"),
    ),
    "recover": About(
        ("done", "usage", "no_memory"),
        (
            ("Complete all recordings of this machine:", "gpumemtrace recover --all"),
            ("Write the complete recording to a new file:", "gpumemtrace recover -o whole.gmt.gz run.gmt.gz"),
        ),
        ("run", "info", "ps"),
    ),
    "fold": About(
        ("done", "usage", "no_file", "skipped"),
        (("Keep only the last 50 steps in detail:", "gpumemtrace fold --keep-steps=50 -o small.gmt.gz run.gmt.gz"),),
        ("info", "report"),
    ),
    "dump": About(
        ("read", "usage", "no_file", "strict"),
        (
            ("Print the events of one step as JSON:", "gpumemtrace dump --json --from=step:11 --until=step:12 run.gmt.gz"),
            ("Print only the steps and phases:", "gpumemtrace dump --record=mark run.gmt.gz"),
        ),
        ("info", "report"),
    ),
    "ps": About(
        ("done", "usage", "no_output"),
        (("List your recorded processes:", "gpumemtrace ps"),),
        ("snapshot", "pause", "resume"),
    ),
    "top": About(
        ("read", "usage", "no_file"),
        (
            ("Watch all of your recorded processes:", "gpumemtrace top"),
            ("Print what process 4711 holds now, as JSON:", "gpumemtrace top --json 4711"),
            ("Serve metrics to Prometheus on this machine:", "gpumemtrace top --metrics-listen=127.0.0.1:9400"),
        ),
        ("ps", "report", "snapshot"),
    ),
    "snapshot": About(
        ("done", "usage", "no_process"),
        (("Copy the recording of process 4711 so far:", "gpumemtrace snapshot -o now.gmt.gz 4711"),),
        ("ps", "report"),
    ),
    "pause": About(
        ("done", "usage", "no_process"),
        (("Record process 4711 without stacks from now on:", "gpumemtrace pause 4711"),),
        ("ps", "resume"),
    ),
    "resume": About(
        ("done", "usage", "no_process"),
        (("Record process 4711 with stacks again:", "gpumemtrace resume 4711"),),
        ("ps", "pause"),
    ),
    "doctor": About(
        ("sound", "problem", "usage", "no_output"),
        (
            ("Check the machine:", "gpumemtrace doctor"),
            ("Check a command, and record it as a test:", "gpumemtrace doctor --run -- python train.py"),
        ),
        ("run", "env"),
    ),
    "env": About(
        ("done", "usage", "no_recorder"),
        (
            ("Record the ranks of a job, but not its launcher:",
             'srun --export="ALL,LD_PRELOAD=$(gpumemtrace env --path)" python train.py'),
            ("Record everything that this shell starts:", 'eval "$(gpumemtrace env --export)"'),
            ("Print lines for a Dockerfile:", "gpumemtrace env --docker"),
        ),
        ("run", "doctor"),
        passes_recorder_options=True,
    ),
    "completion": About(
        ("done", "usage", "no_output"),
        (("Complete words in this bash:", "source <(gpumemtrace completion bash)"),),
        ("help",),
    ),
    "help": About(
        ("done", "usage", "no_output"),
        (("Show the options of one verb:", "gpumemtrace help report"),),
        ("version",),
    ),
    "version": About(
        ("done", "usage", "no_output"),
        (("Print the versions:", "gpumemtrace version"),),
        ("help",),
    ),
}  # fmt: skip


def escaped(text):
    return text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")


def operands(usage):
    """Returns mdoc lines for the operands of the usage line, such as `[--] command [argument...]`."""
    words = usage.replace("[options]", "").split()
    lines = []
    while words:
        word = words.pop(0)
        dots = " ..." if "..." in word else ""
        bare = word.strip("[]").removesuffix("...").rstrip("]")
        if word == "[--]":
            lines.append(".Op Fl -")
        elif word[0] == "[" and not word.endswith("]"):  # [command [argument...]]
            inner = words.pop(0)
            lines.append(f".Op Ar {bare} Op Ar {inner.strip('[].')}" + (" ..." if "..." in inner else ""))
        elif word[0] == "[":
            lines.append(f".Op Ar {bare}{dots}")
        elif word.startswith("-"):
            lines.append(f".Fl {word[1:]} Ar {words.pop(0)}")
        elif "|" in word:
            lines.append(f".Cm {word.replace('|', ' | ')}")
        else:
            lines.append(f".Ar {bare}{dots}")
    return lines


def section_of(page, head):
    """Returns the lines of a section of the page, without its head."""
    start = page.index(head) + 1
    end = next((at for at in range(start, len(page)) if re.match(r"\.S[hs] ", page[at])), len(page))
    return page[start:end]


def split_list(lines):
    """Returns the text of a section without its list of options, and that list."""
    if ".Bl -tag -width Ds" not in lines:
        return lines, []
    start, depth = lines.index(".Bl -tag -width Ds"), 0
    for end in range(start, len(lines)):
        depth += lines[end].startswith(".Bl ") - (lines[end] == ".El")
        if depth == 0:
            break
    return lines[:start] + lines[end + 1 :], lines[start : end + 1]


def moved(lines, here, verb):
    """Returns the lines with names of sections that are only in gpumemtrace(1) as references to that page."""
    for line in lines:
        if line == ".Nm":
            yield ".Nm gpumemtrace"
        elif (found := re.match(r"\.Sx ([A-Z ]+?)( [.,;])?$", line)) and found[1] not in here:
            page = "gpumemtrace-run" if found[1] == "RECORDER OPTIONS" and verb != "run" else "gpumemtrace"
            yield from (f'.Dq {found[1]}', "in", f".Xr {page} 1{found[2] or ''}")
        else:
            yield line


def recorder_options(page):
    """Returns the section about the recorder's options, each of them as an option of the command line."""
    for line in section_of(page, ".Sh RECORDER OPTIONS"):
        found = re.match(r"\.It Cm (\w+)$", line)
        yield f".It Fl -{found[1]} Ns = Ns Ar value" if found and found[1] != "help" else line


def verb_page(page, verb, synopsis_options):
    """Returns the text of the verb's man page.

    page: the lines of gpumemtrace.1. verb: its name, meaning and usage (make-docs). synopsis_options: mdoc lines.
    """
    about = ABOUT[verb.name]
    text, options = split_list(section_of(page, f".Ss {verb.name}"))
    if text and text[-1] == ".Pp":
        text = text[:-1]
    sections = ["OPTIONS"] + (["RECORDER OPTIONS"] if verb.name == "run" else [])
    lines = ['.\\" SPDX-License-Identifier: MIT', '.\\" scripts/make-docs writes this file.']
    lines += [next(line for line in page if line.startswith(".Dd ")), f".Dt GPUMEMTRACE-{verb.name.upper()} 1", ".Os"]
    lines += [".Sh NAME", f".Nm gpumemtrace-{verb.name}", f".Nd {verb.meaning.replace('`', '')}"]
    lines += [".Sh SYNOPSIS", ".Nm gpumemtrace", f".Cm {verb.name}", *synopsis_options]
    if about.passes_recorder_options:
        lines.append(".Op Fl -option Ns = Ns Ar value ...")
    lines += operands(verb.usage)
    lines += [".Sh DESCRIPTION", *moved(text, sections, verb.name)]
    if options:
        lines += [".Sh OPTIONS", *moved(options, sections, verb.name)]
    if verb.name == "run":
        lines += [".Sh RECORDER OPTIONS", *moved(recorder_options(page), sections, verb.name)]
    lines += [".Sh EXIT STATUS", ".Bl -tag -width Ds"]
    for name in about.exits:
        code, meaning = EXITS[name]
        lines += [f".It {code}", *meaning.split("\n")]
    lines += [".El", ".Sh EXAMPLES"]
    for number, (sentence, command) in enumerate(about.examples):
        lines += ([".Pp"] if number else []) + [
            sentence,
            ".Bd -literal -offset indent",
            *escaped(command).split("\n"),
            ".Ed",
        ]
    related = ["gpumemtrace", *sorted(f"gpumemtrace-{name}" for name in about.related)]
    lines += [".Sh SEE ALSO", *(f".Xr {name} 1 ," for name in related)]
    lines[-1] = lines[-1].removesuffix(" ,")
    return "\n".join(lines) + "\n"


def see_also(page, names):
    """Returns the lines of gpumemtrace.1 with a reference to the page of each verb."""
    start = page.index(".Sh SEE ALSO") + 1
    end = page.index(".Xr ld.so 8")
    return page[:start] + [f".Xr gpumemtrace-{name} 1 ," for name in sorted(names)] + page[end:]
