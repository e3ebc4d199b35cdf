# SPDX-License-Identifier: MIT
"""Containers, sandboxes, tracers and clocks: the recorder needs little, and the recording states what is missing."""

import glob
import json
import os
import subprocess
import time

import shared_recordings
import tap
from faulty import WAIT_S, Faults, Host, cli, needs_mounts, needs_tool, tmpfs, wait_until
from recorded_run import SHIM, SIMCUDA, built, report

IN_A_CONTAINER = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]


class Containers(Faults):
    @needs_mounts
    def test_the_first_process_of_a_container_is_recorded(self):
        host = Host(around=IN_A_CONTAINER)
        host("events 100", "threads 3")
        self.end(host)
        self.assertEqual(os.path.basename(host.file), "1.gmt.gz")
        self.check_file(host, 203)

    @needs_mounts
    def test_containers_with_the_same_process_numbers_share_shared_memory_and_a_folder(self):
        with tmpfs("size=256m", at="/dev/shm"), tmpfs("size=64m") as folder:
            hosts = [Host(around=IN_A_CONTAINER, folder=folder) for _ in range(3)]
            for number, host in enumerate(hosts):
                host(f"keep {number + 1}")
            areas = glob.glob("/dev/shm/*/*.area")
            self.assertEqual(len(areas), 3, areas)
            for host in hosts:
                self.end(host)
            found = sorted(report(path)["devices"][0]["layers"][0]["live_blocks"] for path in hosts[0].files)
            self.assertEqual(found, [1, 2, 3])
            self.assertEqual(glob.glob("/dev/shm/*/*.area"), [])

    @needs_mounts
    def test_a_live_process_in_another_container_is_not_taken_for_dead(self):
        with tmpfs("size=256m", at="/dev/shm"):
            inner = Host(around=[*IN_A_CONTAINER, "sh", "-c", '(exit 0); (exit 0); "$@"; exit $?', "sh"])
            inner("events 10")
            areas = glob.glob("/dev/shm/*/*.area")
            other = Host(around=IN_A_CONTAINER)
            other("events 10")
            self.end(other)
            self.assertEqual(glob.glob("/dev/shm/*/*.area"), areas)
            self.end(inner)

    @needs_mounts
    def test_without_proc_events_are_recorded(self):
        # The loader finds the program's libraries by their names, so only the recorder needs /proc.
        host = Host(around=["unshare", "--mount", "sh", "-c", 'umount -l /proc && exec "$@"', "sh"])
        host("events 100", "threads 3")
        self.end(host)
        self.assertEqual(host.count_events(), 203)
        self.assertTrue(host.report()["complete"])

    @needs_mounts
    def test_a_root_folder_without_dev_and_proc_is_recorded(self):
        with tmpfs("size=64m") as root:
            for folder in ("usr", "lib", "lib64", "bin", "tmp"):
                os.makedirs(os.path.join(root, folder), exist_ok=True)
                if os.path.isdir("/" + folder) and folder != "tmp":
                    subprocess.run(["mount", "--bind", "/" + folder, os.path.join(root, folder)], check=True)
            build = os.path.commonpath([SHIM, SIMCUDA])
            os.makedirs(root + build, exist_ok=True)
            subprocess.run(["mount", "--bind", build, root + build], check=True)
            host = Host(around=["chroot", root], options={"output": "/tmp/%p.gmt.gz"}, folder=os.path.join(root, "tmp"))
            host("events 100")
            self.end(host)
            self.check_file(host, 200)

    def test_a_program_without_environment_is_recorded(self):
        host = Host()
        done = subprocess.run(
            ["env", "-i", f"LD_PRELOAD={SHIM}", f"LD_LIBRARY_PATH={SIMCUDA}", built("faults-host")],
            input="events 10\n",
            capture_output=True,
            text=True,
            timeout=WAIT_S,
            cwd=host.work,
            check=True,
        )
        host.end()
        self.assertEqual((done.stdout, done.stderr), ("events 10: 0, errno 0\n", ""))
        self.check_file(host, 20)

    def test_with_any_umask_only_the_user_can_read_the_recording(self):
        for mask in ("000", "022", "077"):
            with self.subTest(mask):
                host = Host(
                    around=["sh", "-c", f'umask {mask} && exec "$@"', "sh"], options={"output": "new/%p.gmt.gz"}
                )
                host("events 10")
                # Memory of other processes comes and goes. Without /dev/shm, the memory is next to the file.
                (path,) = [
                    path
                    for path in shared_recordings.paths(os.path.join(host.folder, "new"))
                    if f"{host.process.pid}." in os.path.basename(path)
                ]
                self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
                self.end(host)
                self.check_file(host, 20)


class Sandboxes(Faults):
    """The kernel refuses one system call after the other, with each of the two errors that sandboxes use."""

    CALLS = (
        "prctl",
        "sched_setscheduler",
        "madvise",
        "process_vm_readv",
        "fallocate",
        "statx",
        "getcpu",
        "memfd_create",
        "rt_sigtimedwait",
        "ftruncate",
        "uname",
        "getdents64",
        "sched_yield",
        "kill",
        "fcntl",
        "getcwd",
        "socket",
        "ioctl",
        "readlinkat",
        "clock_gettime",
        "ppoll",
        "poll",
        "readlink",
        "unlink",
        "mkdir",
        "mremap",
        "clone3",
        "mprotect",
    )
    # The C library needs these calls to create a thread.
    NEEDED = {("mprotect", "EPERM"), ("mprotect", "ENOSYS"), ("clone3", "EPERM")}

    def check_denied(self, call, error):
        host = Host(faults={"FAULTS_DENY": f"{call}={error}"})
        host("events 100", *([] if (call, error) in self.NEEDED else ["threads 3"]), "pause 1")
        host.end()
        self.assertEqual(("".join(host.out), host.code), host.plain(), host.messages)
        # Without mprotect, the recorder reports up to three failures: its unwinder, its tables and its memory.
        limit = 3 if call == "mprotect" else 1
        messages = [line for line in host.messages if " more times: " not in line]
        self.assertLessEqual(len(messages), limit, host.messages)
        if host.files:
            self.assertEqual(host.count_events() + host.dropped(), 203 if len(host.commands) == 3 else 200)
        else:
            self.assertIn("nothing is recorded", messages[-1])

    def test_a_forbidden_system_call_costs_at_most_one_line(self):
        for call in self.CALLS:
            with self.subTest(call):
                self.check_denied(call, "EPERM")

    def test_a_missing_system_call_costs_at_most_one_line(self):
        for call in self.CALLS:
            with self.subTest(call):
                self.check_denied(call, "ENOSYS")

    def test_without_all_optional_calls_events_are_recorded(self):
        calls = "prctl sched_setscheduler madvise process_vm_readv fallocate statx getcpu memfd_create socket uname kill getdents64"
        host = Host(faults={"FAULTS_DENY": ",".join(f"{call}=EPERM" for call in calls.split())})
        host("events 100", "threads 3")
        host.end()
        self.assertEqual(("".join(host.out), host.code), host.plain(), host.messages)
        self.assertEqual(host.count_events(), 203)


class Tracers(Faults):
    @needs_tool("strace")
    def test_under_strace_the_program_is_the_same_and_recorded(self):
        host = Host(around=["strace", "-f", "-qq", "-o", "/dev/null"])
        host("events 100", "threads 3")
        self.end(host)
        self.check_file(host, 203)

    @needs_tool("gdb")
    def test_a_debugger_that_stops_the_program_changes_nothing(self):
        host = Host(options={"stacks": "none"})
        host("events 100")
        for _ in range(3):
            subprocess.run(
                ["gdb", "-nx", "-batch", "-p", str(host.process.pid), "-ex", "thread apply all bt 1"],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=5 * WAIT_S,
                check=False,
            )
            host("events 1000")
        self.end(host)
        self.check_file(host, 6200)

    def test_a_stopped_and_continued_program_is_recorded(self):
        host = Host()
        host("events 10")
        for _ in range(20):
            os.kill(host.process.pid, 19)
            os.kill(host.process.pid, 18)
            host("events 100")
        self.end(host)
        self.check_file(host, 4020)


def is_set_back(clocks):
    wall = [clock["realtime_ns"] for clock in clocks]
    return wall != sorted(wall)


class Clocks(Faults):
    def test_jumps_of_the_wall_clock_move_no_event(self):
        begun = time.monotonic()
        host = Host(faults={"FAULTS_CLOCK": "1"})
        host("keep 10", "pause 1200", "keep 10")
        wait_until(lambda: is_set_back(host.records("clock")), "a wall clock that has been set back")
        self.end(host)
        took_s = time.monotonic() - begun
        self.check_file(host, 20)
        stamps = [row["stamp"] for row in host.records("event")]
        self.assertEqual(stamps, sorted(stamps))
        self.assertTrue(is_set_back(host.records("clock")))
        # By the wall clock, the recording took a day.
        duration_ns = json.loads(cli("info", "--json", host.file).stdout)["duration_ns"]
        self.assertGreater(duration_ns, 1200000000)
        self.assertLess(duration_ns, took_s * 1e9)
        self.assertRegex(cli("report", "--full", host.file).stdout, r"recorded .* for [\d.]+ (s|min \d\d s),")


if __name__ == "__main__":
    tap.main()
