# SPDX-License-Identifier: MIT
"""The commands of docs/clusters.md for Slurm and for frameworks with launchers of their own. Only with --long."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

import recipes
import tap
from packages import PLAIN
from recipes import STEPS, check_train, commands, layer_of

WAIT_S = 120
SLURM = "slurmctld", "slurmd", "srun", "sbatch", "munged", "unshare"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Cluster:
    """Slurm on this machine, with one node of two devices, and memory for shared files of its own."""

    def __init__(self, case):
        self.folder = tempfile.mkdtemp(prefix="gpumemtrace-slurm.")
        case.addClassCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        os.chmod(self.folder, 0o755)
        host = socket.gethostname().split(".")[0]
        for name in ("state", "spool"):
            os.mkdir(os.path.join(self.folder, name))
        with open(self.place("key"), "wb") as file:
            file.write(os.urandom(1024))
        os.chmod(self.place("key"), 0o600)
        with open(self.place("slurm.conf"), "w", encoding="utf-8") as file:
            file.write(f"""\
ClusterName=recipes
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={free_port()}
SlurmdPort={free_port()}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={self.place("munge.socket")}
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SlurmdParameters=config_overrides
MpiDefault=none
ReturnToService=2
StateSaveLocation={self.place("state")}
SlurmdSpoolDir={self.place("spool")}
SlurmctldPidFile={self.place("slurmctld.pid")}
SlurmdPidFile={self.place("slurmd.pid")}
GresTypes=gpu
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 Gres=gpu:2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
""")
        with open(self.place("gres.conf"), "w", encoding="utf-8") as file:
            # Slurm wants a file for each device.
            file.write("Name=gpu File=/dev/null\nName=gpu File=/dev/zero\n")
        self.variables = {"SLURM_CONF": self.place("slurm.conf")}
        munge = [
            f"--{name}={self.place('munge.' + name.split('-')[0])}" for name in ("log-file", "pid-file", "seed-file")
        ]
        socket_flags = [f"--socket={self.place('munge.socket')}", f"--key-file={self.place('key')}"]
        self.start(case, "munged", "--foreground", "--force", *socket_flags, *munge)
        self.wait_for(lambda: os.path.exists(self.place("munge.socket")), "munged")
        self.start(case, "slurmctld", "-D", "-c")
        # `recover --all` in a job must not see the recordings of other tests.
        own_memory = 'mount -t tmpfs tmpfs /dev/shm && exec slurmd -D -N "$0"'
        self.start(case, "unshare", "--mount", "sh", "-c", own_memory, host)
        self.wait_for(self.is_idle, "slurmd")

    def place(self, name):
        return os.path.join(self.folder, name)

    def start(self, case, *command):
        with open(self.place(f"{command[0]}.out"), "wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, env={**PLAIN, **self.variables}, cwd="/")

        def stop():
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

        case.addClassCleanup(stop)

    def is_idle(self):
        return recipes.run("sinfo", "--noheader", "--format=%T", **self.variables).stdout.strip() == "idle"

    def wait_for(self, condition, name):
        for _ in range(WAIT_S * 10):
            if condition():
                return
            time.sleep(0.1)
        logs = {
            one: open(self.place(one), errors="replace").read()[-1000:]
            for one in os.listdir(self.folder)
            if one.endswith(".out")
        }
        raise unittest.SkipTest(f"{name} does not start here: {logs}")


def recordings(folder):
    return sorted(name for name in os.listdir(folder) if name.endswith(".gmt.gz"))


@unittest.skipUnless(recipes.is_long(), "only with --long: Slurm is a system of services")
@unittest.skipUnless(os.getuid() == 0, "Slurm needs root here")
@unittest.skipUnless(all(map(shutil.which, SLURM)), "no Slurm: run scripts/setup/packages --long")
class Slurm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.installed = recipes.Installed(cls)
        cls.cluster = Cluster(cls)

    def run_line(self, line, folder, **variables):
        variables = {**self.installed.environment(**self.cluster.variables), **variables}
        return recipes.run("bash", "-c", line, cwd=folder, **variables)

    def submit(self, *arguments, **variables):
        """Submits the batch script and waits. Returns the exit code, the job's output, and the folder of its recordings."""
        line = commands("clusters.md", "Slurm")[1]
        folder = self.installed.place()
        script = re.search(r"sbatch (\S+)", line)[1]
        os.makedirs(os.path.join(folder, os.path.dirname(script)))
        shutil.copy(os.path.join(recipes.SOURCE, script), os.path.join(folder, script))
        done = self.run_line(
            " ".join([line, *arguments]), folder, SBATCH_WAIT="1", SBATCH_OUTPUT="job.out", **variables
        )
        job = re.search(r"Submitted batch job (\d+)", done.stdout)
        self.assertIsNotNone(job, done.stdout + done.stderr)
        with open(os.path.join(folder, "job.out"), encoding="utf-8") as file:
            return done.returncode, file.read(), os.path.join(folder, f"gpu-memory-{job[1]}")

    def test_srun_records_each_task(self):
        line = commands("clusters.md", "Slurm")[0]
        folder = self.installed.place()
        done = self.run_line(line, folder, SLURM_NTASKS="2")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(recordings(folder), ["mem.r0.gmt.gz", "mem.r1.gmt.gz"])
        for rank in (0, 1):
            self.assertIn(f"rank {rank} ran 20 steps", done.stdout)
            report = self.installed.report(f"{folder}/mem.r{rank}.gmt.gz")
            check_train(self, report)
            self.assertEqual(report["process"]["rank"], rank)

    def test_the_batch_script_records_and_judges_each_task(self):
        code, output, folder = self.submit()
        self.assertEqual(code, 0, output)
        self.assertIn("PASSED", output)
        names = recordings(folder)
        self.assertEqual([re.search(r"\.r(\d)\.", name)[1] for name in names], ["0", "1"])
        for name in names:
            check_train(self, self.installed.report(f"{folder}/{name}"))

    def test_the_folder_of_the_batch_script_may_have_any_name(self):
        wanted = os.path.join(self.installed.place(), "a,b: 100%p 'c'")
        code, output, _ = self.submit(RECORDINGS=wanted)
        self.assertEqual(code, 0, output)
        names = recordings(wanted)
        self.assertEqual([re.search(r"\.r(\d)\.", name)[1] for name in names], ["0", "1"])
        for name in names:
            check_train(self, self.installed.report(f"{wanted}/{name}"))

    def test_the_batch_script_fails_for_a_leak_and_for_a_failed_task(self):
        code, output, _ = self.submit("leak")
        self.assertEqual(code, 1, output)
        self.assertIn("GMT002", output)
        code, output, _ = self.submit("fail")
        self.assertEqual(code, 7, output)
        self.assertIn("PASSED", output)

    def test_the_batch_script_completes_the_recording_of_a_killed_task(self):
        code, output, folder = self.submit("killed")
        self.assertEqual(code, 128 + signal.SIGKILL, output)
        (name,) = [name for name in recordings(folder) if ".r1." in name]
        self.assertRegex(output, rf"{re.escape(name)}: complete: \d+ events")
        layer = layer_of(self.installed.report(f"{folder}/{name}"), "cuda")
        self.assertEqual((layer["alloc_count"], layer["free_count"]), (STEPS, STEPS))


def framework(name):
    """Returns the Python and the library path of a framework on the simulated device, or None."""
    script = os.path.join(recipes.SOURCE, "scripts", "setup", "framework")
    done = subprocess.run(
        [script, "--if-ready", name, recipes.packages.BUILD], capture_output=True, text=True, timeout=600
    )
    return None if done.returncode else done.stdout.splitlines()[-2:]


@unittest.skipUnless(recipes.is_long(), "only with --long: each framework is an environment of its own")
class Frameworks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.installed = recipes.Installed(cls)

    def run_line(self, name, line, program, **variables):
        """Runs a line of the page with the environment of a framework. Returns its folder and output."""
        found = framework(name)
        if not found:
            self.skipTest(f"needs scripts/setup/framework {name} BUILD_DIR")
        python, libraries = found
        folder, tools = self.installed.place(program), self.installed.place()
        # The framework's environment sees PyTorch's packages, but not its programs.
        with open(os.path.join(tools, "torchrun"), "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nexec {python} -m torch.distributed.run "$@"\n')
        os.chmod(os.path.join(tools, "torchrun"), 0o755)
        environment = {
            "PATH": os.pathsep.join([tools, os.path.dirname(python), f"{self.installed.venv}/bin", PLAIN["PATH"]]),
            "LD_LIBRARY_PATH": libraries,
            "SIMCUDA_DEVICES": "2",
            "OMP_NUM_THREADS": "1",
            **variables,
        }
        done = recipes.run("bash", "-c", line, cwd=folder, **environment)
        self.assertEqual(done.returncode, 0, f"{line}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        return folder, done.stdout + done.stderr

    def torch_peak(self, path):
        report = self.installed.report(path)
        peaks = [
            one["peak_bytes"] for device in report["devices"] for one in device["layers"] if one["layer"] == "torch"
        ]
        return max(peaks), report

    def check_ranks(self, name, program):
        (line,) = commands("clusters.md", {"deepspeed": "DeepSpeed"}.get(name, name.capitalize()))
        folder, output = self.run_line(name, line, program)
        self.assertEqual(recordings(folder), ["mem.r0.gmt.gz", "mem.r1.gmt.gz"], output)
        for rank in (0, 1):
            peak, report = self.torch_peak(f"{folder}/mem.r{rank}.gmt.gz")
            self.assertEqual(peak, int(re.search(rf"rank {rank} peak (\d+)", output)[1]))
            self.assertEqual(report["process"]["rank"], rank)

    def test_accelerate_records_each_rank(self):
        self.check_ranks("accelerate", "train_accelerate.py")

    def test_lightning_under_torchrun_records_each_rank(self):
        self.check_ranks("lightning", "train_lightning.py")

    def test_lightning_alone_records_each_process(self):
        line = "gpumemtrace run -o 'mem.%p.gmt.gz' -- python train.py"
        folder, output = self.run_line("lightning", line, "train_lightning.py")
        peaks = sorted(self.torch_peak(f"{folder}/{name}")[0] for name in recordings(folder))
        self.assertEqual(peaks, sorted(map(int, re.findall(r"rank \d peak (\d+)", output))))
        self.assertEqual(len(peaks), 2)

    def test_deepspeed_records_each_rank(self):
        self.check_ranks("deepspeed", "train_deepspeed.py")

    def test_deepspeed_zero_3_records_its_rank(self):
        # One rank: with more, ZeRO-3 compares numbers of the ranks, and the stub of NCCL sends none.
        (line,) = commands("clusters.md", "DeepSpeed")
        line = line.replace("--num_gpus 2", "--num_gpus 1")
        folder, output = self.run_line("deepspeed", line, "train_deepspeed.py", ZERO_STAGE="3")
        self.assertEqual(recordings(folder), ["mem.r0.gmt.gz"], output)
        peak, report = self.torch_peak(f"{folder}/mem.r0.gmt.gz")
        self.assertEqual(peak, int(re.search(r"rank 0 peak (\d+)", output)[1]))
        self.assertTrue(report["complete"])

    def check_ray(self, line, program="train_ray.py", **variables):
        temporary = tempfile.mkdtemp(prefix="ray.")
        self.addCleanup(shutil.rmtree, temporary, ignore_errors=True)
        folder, output = self.run_line("ray", line, program, RAY_FOLDER=temporary, **variables)
        printed = [json.loads(one) for one in re.findall(r'^\{"rank".*\}$', output, re.M)]
        self.assertEqual([one["rank"] for one in printed], [0, 1])
        return folder, printed

    def test_ray_on_this_machine_records_each_worker(self):
        (line,) = commands("clusters.md", "Ray")
        folder, printed = self.check_ray(line)
        self.assertEqual(recordings(folder), sorted(f"ray.{one['process']}.gmt.gz" for one in printed))
        for one in printed:
            self.assertEqual(self.torch_peak(f"{folder}/ray.{one['process']}.gmt.gz")[0], one["peak"])

    def ray_start(self, shared):
        """Returns the page's call of ray.init, with the folder `shared` for the recordings."""
        (start,) = recipes.code_blocks("clusters.md", "Ray", "python")
        library = json.dumps(f"{self.installed.library_folder()}/libgpumemtrace.so")
        start = re.sub(r'"/shared/venv/[^"]*"', library, start)
        start = start.replace("/shared/recordings", shared).replace("ray.init(\n", "ray.init(\n    **SETTINGS,\n")
        self.assertNotIn("/shared/", start)
        return start

    def test_the_environment_of_a_ray_job_records_each_worker(self):
        shared = self.installed.place()
        _, printed = self.check_ray("python train.py", RAY_START=self.ray_start(shared))
        for one in printed:
            (name,) = [name for name in recordings(shared) if f".{one['process']}." in name]
            self.assertEqual(self.torch_peak(f"{shared}/{name}")[0], one["peak"])

    def check_ray_train(self, folder, printed, name):
        """Checks that the recordings of Ray Train's workers are one job of two ranks, with the program's peaks."""
        self.assertEqual(recordings(folder), sorted(name.format(**one) for one in printed))
        ranks = json.loads(recipes.must(f"{self.installed.venv}/bin/gpumemtrace", "ranks", "--json", folder))
        self.assertEqual((ranks["world_size"], ranks["missing_ranks"]), (2, []))
        self.assertEqual(
            [(one["rank"], one["peak_bytes"]) for one in ranks["ranks"]],
            [(one["rank"], one["peak"]) for one in printed],
        )

    def test_ray_train_on_this_machine_has_a_recording_for_each_rank(self):
        (line,) = commands("clusters.md", "Ray")
        folder, printed = self.check_ray(line, "train_ray_train.py")
        self.check_ray_train(folder, printed, "ray.{process}.r{rank}.gmt.gz")

    def test_the_environment_of_a_ray_train_job_has_a_recording_for_each_rank(self):
        shared = self.installed.place()
        _, printed = self.check_ray("python train.py", "train_ray_train.py", RAY_START=self.ray_start(shared))
        self.check_ray_train(shared, printed, f"ray.{socket.gethostname()}.r{{rank}}.{{process}}.gmt.gz")


if __name__ == "__main__":
    tap.main()
