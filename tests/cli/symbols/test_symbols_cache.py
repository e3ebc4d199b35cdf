# SPDX-License-Identifier: MIT
"""The symbol cache: the report is the same byte for byte, whatever the cache holds."""

import concurrent.futures
import os
import random
import resource
import shutil
import subprocess
import unittest

import cli
import test_symbols as symbols
import write_recording as w

VERBS = (
    ["report"],
    ["report", "--json"],
    ["report", "--native=all", "--frames=100"],
    ["leaks"],
    ["leaks", "--json"],
    ["check", "--json", "--max-peak=1TiB"],
)
# Hostile names in a file. The cache must keep each name completely, and must not take a name for a missing one.
HOSTILE = (
    "_ZN5torch8autograd6Engine7executeEv",
    "_ZN3fooIXadL_Z3barvEEE3bazEv.cold",
    "_Z",
    "_ZNSt6vectorIiE",
    "\x1b[31mred\x07",
    "::error::no",
    "\u202egnp.exe",
    "key\tand\nline",
    "0",
    "x" * 5000,
    "_PyEval_EvalFrameDefault.part.3",
)


def make_recording(name, path, identity, where):
    """Writes a recording whose stacks have two frames of `path`: each pair of neighbours in `where`."""
    recording = cli.place(name)
    w.write(
        recording,
        w.process(),
        w.block(
            "module",
            {
                "id": 1,
                "start": symbols.BIAS,
                "end": symbols.BIAS + (1 << 40),
                "bias": symbols.BIAS,
                "path": path,
                "build_id": identity,
            },
        ),
        *[
            w.block("stack", {"id": i + 1, "items": [symbols.BIAS + address + 1 for address in where[i : i + 2]]})
            for i in range(len(where))
        ],
        *[
            w.block(
                "event",
                {
                    **w.EVENT,
                    "stamp": 2000 + i,
                    "address": 4096 * (i + 1),
                    "size_bytes": 1 << 20,
                    "device": 0,
                    "stack": i + 1,
                },
            )
            for i in range(len(where))
        ],
        w.end(len(where)),
    )
    return recording


def hash_of(content):
    """Returns the hash of src/containers/map.c, so that a forged file has the right checksum."""
    most = (1 << 64) - 1

    def mix(word):
        product = (word ^ 0x9E3779B97F4A7C15) * 0xD6E8FEB86659FD93
        return (product ^ product >> 64) & most

    value = mix(len(content))
    for at in range(0, len(content), 8):
        word = int.from_bytes(content[at : at + 8], "little")
        value = mix(value ^ word) + word & most
    return mix(value)


class Cache(unittest.TestCase):
    def setUp(self):
        self.home = cli.place("cache-" + self.id().split(".")[-1])
        shutil.rmtree(self.home, ignore_errors=True)
        self.folder = os.path.join(self.home, "gpumemtrace", "symbols")
        self.where = list(symbols.addresses(symbols.PROGRAM, 300))
        self.identity = symbols.build_id(symbols.PROGRAM)
        self.recording = make_recording("cached.gmt.gz", symbols.PROGRAM, self.identity, self.where)

    def read_with_cache(self, *arguments, environment=None, recording=None, **more):
        """Returns a verb's output as bytes. Checks that stderr is empty."""
        arguments = arguments or ("report", "--json")
        done = cli.run(
            *arguments,
            recording or self.recording,
            text=False,
            environment={"XDG_CACHE_HOME": self.home, **(environment or {})},
            **more,
        )
        # The memory at the recording's end fails the check.
        self.assertEqual((done.returncode, done.stderr), (int(arguments[0] == "check"), b""))
        return done.stdout

    def plain(self, *arguments, **more):
        return self.read_with_cache(*(arguments or ("report", "--json")), "--no-symbol-cache", **more)

    def kept(self):
        """Returns the content of each cache file by name."""
        if not os.path.isdir(self.folder):
            return {}
        files = {}
        for name in os.listdir(self.folder):
            with open(os.path.join(self.folder, name), "rb") as file:
                files[name] = file.read()
        return files

    def test_every_verb_prints_the_same_without_with_a_new_and_with_a_full_cache(self):
        for verb in VERBS:
            shutil.rmtree(self.home, ignore_errors=True)
            plain = self.plain(*verb)
            self.assertEqual(self.kept(), {})
            self.assertEqual(self.read_with_cache(*verb), plain)
            first = self.kept()
            self.assertEqual(len(first), 1, verb)
            self.assertEqual(self.read_with_cache(*verb), plain)
            self.assertEqual(self.kept(), first)
        pair = [self.recording, make_recording("other.gmt.gz", symbols.PROGRAM, self.identity, self.where[:100])]
        diff = [
            cli.run("diff", "--by=stack", *more, *pair, environment={"XDG_CACHE_HOME": self.home}).stdout
            for more in (["--no-symbol-cache"], [], [])
        ]
        self.assertIn("gmt_", diff[0])
        self.assertEqual(diff[1:], diff[:1] * 2)

    def test_hostile_names_from_the_cache_are_escaped_the_same_way(self):
        program = cli.place("hostile-names")
        lines = symbols.tool("nm", "--defined-only", "--print-size", symbols.PROGRAM).split("\n")
        rows = [line.split() for line in lines if " T gmt_" in line]
        # The address after the first one must lie in the function.
        rows = [(int(address, 16), name) for address, size, _kind, name in rows if int(size, 16) > 1][: len(HOSTILE)]
        self.assertEqual(len(rows), len(HOSTILE))
        functions, where = [name for _, name in rows], [address + 1 for address, _ in rows]
        renames = [f"--redefine-sym={old}={new}" for old, new in zip(functions, HOSTILE)]
        symbols.tool("objcopy", "--strip-debug", *renames, symbols.PROGRAM, program)
        recording = make_recording("hostile.gmt.gz", program, self.identity, where)
        for verb in VERBS:
            shutil.rmtree(self.home, ignore_errors=True)
            answers = [
                self.plain(*verb, recording=recording),
                *(self.read_with_cache(*verb, recording=recording) for _ in range(2)),
            ]
            self.assertEqual(answers[1:], answers[:1] * 2)
        self.assertIn(
            b'"torch::autograd::Engine::execute()"', self.read_with_cache("report", "--json", recording=recording)
        )
        self.assertTrue(all(name.encode() in b"".join(self.kept().values()) for name in HOSTILE))

    def test_a_damaged_cache_changes_no_output_and_is_repaired(self):
        plain = self.plain()
        self.read_with_cache()
        ((name, good),) = self.kept().items()
        path, draw = os.path.join(self.folder, name), random.Random(1)
        hostile = [
            b"",
            b"x",
            b"\0" * 100,
            good[:-1],
            good + b"\0",
            good[:40],
            os.urandom(len(good)),
            b"\xff" * (17 << 20),
        ]
        for _ in range(20):
            content = bytearray(good)
            for _ in range(draw.randrange(1, 4)):
                content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
            hostile.append(bytes(content))
        for content in hostile:
            with open(path, "wb") as file:
                file.write(content)
            self.assertEqual(self.read_with_cache(), plain)
            self.assertEqual(self.kept(), {name: good})

    def test_the_cache_adds_later_answers(self):
        half = make_recording("half.gmt.gz", symbols.PROGRAM, self.identity, self.where[::2])
        self.assertEqual(self.read_with_cache(recording=half), self.plain(recording=half))
        ((name, first),) = self.kept().items()
        self.assertEqual(self.read_with_cache(), self.plain())
        ((again, second),) = self.kept().items()
        self.assertEqual(name, again)
        self.assertGreater(len(second), len(first))
        self.assertEqual(self.read_with_cache(recording=half), self.plain(recording=half))
        self.assertEqual(self.kept(), {name: second})

    def test_a_new_or_removed_debug_file_is_noticed_at_once(self):
        stripped, debug = cli.place("cache-stripped"), cli.place("cache-debug")
        symbols.tool("strip", "-o", stripped, symbols.PROGRAM)
        recording = make_recording("stripped.gmt.gz", stripped, self.identity, self.where)
        target = os.path.join(debug, ".build-id", self.identity[:2], self.identity[2:] + ".debug")
        os.makedirs(os.path.dirname(target), exist_ok=True)
        option = f"--symbol-path={debug}"
        bare = self.read_with_cache("report", "--json", option, recording=recording)
        symbols.tool("objcopy", "--only-keep-debug", symbols.PROGRAM, target)
        full = self.read_with_cache("report", "--json", option, recording=recording)
        self.assertNotEqual(bare, full)
        self.assertEqual(full, self.plain("report", "--json", option, recording=recording))
        self.assertEqual(self.read_with_cache("report", "--json", option, recording=recording), full)
        os.unlink(target)
        self.assertEqual(self.read_with_cache("report", "--json", option, recording=recording), bare)

    def test_another_reader_does_not_use_the_cache(self):
        other = cli.place("other-reader")
        self.read_with_cache()
        before = self.kept()
        symbols.tool("strip", "-o", other, cli.CLI)
        done = subprocess.run(
            [other, "report", "--json", self.recording],
            capture_output=True,
            timeout=120,
            env={**cli.PLAIN, "XDG_CACHE_HOME": self.home},
        )
        self.assertEqual(done.stdout, self.plain())
        self.assertEqual(len(self.kept()), 2)
        self.assertLessEqual(before.items(), self.kept().items())

    def test_without_a_folder_for_the_cache_the_report_is_the_same(self):
        plain = self.plain()
        closed = cli.place("no-folder")
        with open(closed, "w", encoding="utf-8"):
            pass
        for environment in (
            {"XDG_CACHE_HOME": "", "HOME": ""},
            {"XDG_CACHE_HOME": "relative"},
            {"XDG_CACHE_HOME": "/proc"},
            {"XDG_CACHE_HOME": closed},
            {"XDG_CACHE_HOME": "/dev/null"},
            {"XDG_CACHE_HOME": "/" + "x" * 5000},
            {"XDG_CACHE_HOME": os.path.join(self.home, "a", "b", "c")},
        ):
            self.assertEqual(self.read_with_cache(environment=environment), plain)
        self.assertFalse(os.path.exists(self.home) or os.path.exists(os.path.join(cli.FOLDER, "relative")))

    @unittest.skipIf(os.geteuid(), "only root can be in another's home")
    def test_the_reader_makes_no_cache_in_another_users_home(self):
        folders = [".cache", ".cache/gpumemtrace", ".cache/gpumemtrace/symbols"]
        for made in (folders[:count] for count in range(4)):
            home = cli.place(f"another-{len(made)}")
            for folder in ["", *made]:
                os.mkdir(os.path.join(home, folder), 0o700)
                os.chown(os.path.join(home, folder), 1, 1)
            self.assertEqual(self.read_with_cache(environment={"XDG_CACHE_HOME": "", "HOME": home}), self.plain())
            self.assertEqual(
                sorted(
                    os.path.relpath(os.path.join(top, name), home)
                    for top, folders, files in os.walk(home)
                    for name in folders + files
                ),
                made,
            )

    def test_without_xdg_the_cache_is_below_home(self):
        self.read_with_cache(environment={"XDG_CACHE_HOME": "", "HOME": cli.FOLDER})
        self.folder = os.path.join(cli.FOLDER, ".cache", "gpumemtrace", "symbols")
        self.assertEqual(len(self.kept()), 1)

    def test_a_reader_without_memory_keeps_nothing(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (1 << 46, resource.RLIM_INFINITY))

        self.assertEqual(self.read_with_cache(preexec_fn=limit), self.plain())
        self.assertEqual(self.kept(), {})

    def poisoned(self):
        """Returns the name of the next report's cache file, its right content, and valid content with a wrong name."""
        self.read_with_cache()
        ((name, good),) = self.kept().items()
        lie = bytearray(good)
        # The file ends with its texts: the key and the names, each with a zero at its end.
        known = next(text for text in reversed(good.split(b"\0")) if len(text) > 9 and text in self.plain())
        start = lie.rindex(known + b"\0")
        lie[start : start + 8] = b"POISONED"
        lie[8:16] = hash_of(bytes(lie[16:])).to_bytes(8, "little")
        return name, good, bytes(lie)

    def test_the_reader_ignores_a_cache_that_others_may_have_written(self):
        """The reader uses a forged file that only the user can have written. Each refusal is about who could write."""
        plain = self.plain()
        name, good, lie = self.poisoned()
        path, outside = os.path.join(self.folder, name), os.path.join(self.home, "outside")
        program = os.path.join(self.home, "gpumemtrace")

        def plant(at=path, mode=0o600):
            for old in (path, outside):
                if os.path.lexists(old):
                    os.unlink(old)
            with open(at, "wb") as file:
                file.write(lie)
            os.chmod(at, mode)

        def with_mode(folder, mode):
            plant()
            os.chmod(folder, mode)

        def with_link():
            plant(outside)
            os.symlink(outside, path)

        def with_pipe():
            os.unlink(path)
            os.mkfifo(path, 0o600)

        def with_linked_folder(folder):
            plant()
            os.rename(folder, folder + ".elsewhere")
            os.symlink(folder + ".elsewhere", folder)

        def of_another(which):
            plant()
            os.chown(which, 65534, 65534)

        plant()
        self.assertIn(b"POISONED", self.read_with_cache())
        ways = {
            "a file that a group may write": lambda: plant(mode=0o620),
            "a file that all may read": lambda: plant(mode=0o644),
            "a link to a file": with_link,
            "a pipe": with_pipe,
            "a folder that all may write": lambda: with_mode(self.folder, 0o777),
            "a folder that a group may enter": lambda: with_mode(self.folder, 0o750),
            "a folder above that all may write": lambda: with_mode(program, 0o777),
            "a link to a folder": lambda: with_linked_folder(self.folder),
            "a link to a folder above": lambda: with_linked_folder(program),
        }
        if os.geteuid() == 0:
            ways.update(
                {
                    "a file of another": lambda: of_another(path),
                    "a folder of another": lambda: of_another(self.folder),
                    "a folder above of another": lambda: of_another(program),
                }
            )
        for what, way in ways.items():
            with self.subTest(what):
                shutil.rmtree(self.home)
                self.read_with_cache()
                way()
                self.assertEqual(self.read_with_cache(), plain)
        # All users may write to the base folder, as with XDG_CACHE_HOME=/tmp. The reader checks the folder below it.
        shutil.rmtree(self.home)
        os.mkdir(self.home)
        os.chmod(self.home, 0o1777)
        self.assertEqual(self.read_with_cache(), plain)
        self.assertEqual(os.stat(self.folder).st_mode & 0o777, 0o700)
        self.assertEqual(self.kept(), {name: good})

    def test_many_concurrent_readers_print_the_same_and_leave_a_whole_cache(self):
        plain = self.plain()
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            self.assertEqual(set(pool.map(lambda _: self.read_with_cache(), range(24))), {plain})
        ((name, content),) = self.kept().items()
        shutil.rmtree(self.home)
        self.read_with_cache()
        self.assertEqual(self.kept(), {name: content})


if __name__ == "__main__":
    cli.main()
