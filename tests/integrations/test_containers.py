# SPDX-License-Identifier: MIT
"""The recipes for containers: their files are copied as in the recipes, and a program is recorded with them.

The tests use no container runtime: an image is a folder. With --long, the folder is the root of another Debian.
"""

import glob
import os
import re
import shutil
import unittest

import dockerfile
import recipes
import tap
import test_packages
from packages import debian_python, must, run
from recipes import check_train, read

OPTIONS = "output=/data/%e.%p.gmt.gz"


class Containers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.installed = recipes.Installed(cls)
        cls.contexts = {"gpumemtrace": cls.installed.library_folder()}

    def record(self, root, variables, prefix=(), **more):
        """Runs the program with the variables of an image whose files are in the folder. Returns its recordings."""
        os.makedirs(f"{root}/data")
        os.chmod(f"{root}/data", 0o777)
        inside = {
            name: re.sub(r"(?<![\w.])/(?=opt/|data/|recordings/|gpumemtrace/)", f"{root}/", value)
            for name, value in variables.items()
        }
        # Only the driver comes from elsewhere, as with the container runtime of NVIDIA.
        os.makedirs(f"{root}/driver")
        shutil.copy(os.path.join(recipes.SIMCUDA, "libcuda.so.1"), f"{root}/driver")
        shutil.copy(os.path.join(recipes.PROGRAMS, "train.py"), root)
        line = [*prefix, debian_python(), f"{root}/train.py"]
        done = run(*line, cwd=root, LD_LIBRARY_PATH=f"{root}/driver", **inside, **more)
        self.assertEqual((done.returncode, done.stdout), (0, "rank 0 ran 20 steps\n"), done.stderr)
        self.assertEqual(done.stderr, "")

    def image(self, text):
        """Returns the folder of an image that a Dockerfile makes, and its variables."""
        root = self.installed.place()
        return root, dockerfile.build(text, self.contexts, root)

    def check_recorder_of(self, root, path):
        """Checks that the recording was made with the recorder and the unwinder of the image."""
        text = must(f"{self.installed.venv}/bin/gpumemtrace", "dump", "--record", "module", path)
        for name in ("libgpumemtrace.so", "libgmtunw.so.8"):
            self.assertRegex(text, rf'path="{root}/[^"]*{re.escape(name)}"')

    def test_the_lines_of_env_docker_add_the_recorder_to_an_image(self):
        text = must(f"{self.installed.venv}/bin/gpumemtrace", "env", "--docker", f"--{OPTIONS}")
        context = re.search(r"--build-context gpumemtrace=(\S+) ", text)[1]
        self.assertEqual(context, self.contexts["gpumemtrace"])
        root, variables = self.image(text)
        self.record(root, variables)
        (path,) = glob.glob(f"{root}/data/*.gmt.gz")
        check_train(self, self.installed.report(path))
        self.check_recorder_of(root, path)

    def test_the_dockerfile_adds_the_recorder_to_an_image(self):
        root, variables = self.image(read("integrations", "container", "Dockerfile"))
        self.assertEqual(set(variables), {"LD_PRELOAD"})
        self.record(root, {**variables, "GPUMEMTRACE_OPTIONS": OPTIONS})
        (path,) = glob.glob(f"{root}/data/*.gmt.gz")
        check_train(self, self.installed.report(path))
        self.check_recorder_of(root, path)

    def test_the_dockerfile_and_env_docker_set_the_same(self):
        text = must(f"{self.installed.venv}/bin/gpumemtrace", "env", "--docker")
        ours = [self.image(one) for one in (text, read("integrations", "container", "Dockerfile"))]
        self.assertEqual(ours[0][1], ours[1][1])
        needed = set(os.listdir(f"{ours[0][0]}/opt/gpumemtrace"))
        self.assertLessEqual(needed, set(os.listdir(f"{ours[1][0]}/opt/gpumemtrace")))

    def test_the_page_shows_the_lines_of_env_docker(self):
        page, text = read("docs", "containers.md"), must(f"{self.installed.venv}/bin/gpumemtrace", "env", "--docker")
        shown = re.search(r"^# gpumemtrace .*\n(COPY .*)\n(ENV .*)\n", page, re.M)
        self.assertEqual(shown[2], text.splitlines()[2])
        # A native build also copies a library of libunwind's.
        self.assertEqual(shown[1], text.splitlines()[1].replace(" libgmtl.so.5", ""))
        for path in re.findall(r"integrations/[\w./-]+\w", page):
            self.assertTrue(os.path.exists(os.path.join(recipes.SOURCE, path)), path)

    def test_the_init_container_of_the_job_brings_the_recorder_without_rights(self):
        text = read("integrations", "kubernetes", "job.yaml")
        root = self.installed.place()
        image = os.path.join(root, "init")
        dockerfile.build(read("integrations", "container", "recorder.Dockerfile"), self.contexts, image)
        for name in ("gpumemtrace", "recordings"):
            os.makedirs(f"{root}/{name}")
            os.chmod(f"{root}/{name}", 0o777)
        user = ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups"] if os.getuid() == 0 else []
        script = re.search(r"command: \[sh, -c, (cp .*)\]", text)[1]
        script = script.replace("/recorder/", f"{image}/recorder/").replace(" /gpumemtrace/", f" {root}/gpumemtrace/")
        must(*user, "sh", "-c", script, cwd=root)

        variables = dict(re.findall(r"- name: (\w+)\n +value: (.*)\n", text))
        self.assertEqual(set(variables), {"LD_PRELOAD", "GPUMEMTRACE_OPTIONS"})
        self.record(root, variables, prefix=user, POD_NAME="train-abc12")
        (path,) = glob.glob(f"{root}/recordings/*")
        self.assertRegex(os.path.basename(path), r"^train-abc12\.python3\.\d+\.\d+\.gmt\.gz$")
        check_train(self, self.installed.report(path))
        self.check_recorder_of(root, path)

    def test_the_job_asks_for_no_rights(self):
        text = read("integrations", "kubernetes", "job.yaml")
        for word in ("privileged", "hostPath", "hostPID", "hostIPC", "hostNetwork", "SYS_"):
            self.assertNotIn(word, text)
        self.assertIn("runAsNonRoot: true", text)
        containers = len(re.findall(r"^ +image:", text, re.M))
        self.assertEqual(containers, 2)
        for line in ("allowPrivilegeEscalation: false", "drop: [ALL]"):
            self.assertEqual(text.count(line), containers)
        # Each mount has its volume.
        volumes = text[text.index("      volumes:\n") :]
        for mount in re.findall(r"- name: ([\w-]+)\n +mountPath:", text):
            self.assertIn(f"- name: {mount}\n", volumes.replace(" # a container has 64 MiB without it", ""))


@unittest.skipUnless(recipes.is_long(), "only with --long: building the wheel takes minutes")
class Roots(unittest.TestCase):
    """The layer in Debians with another glibc than this machine's, with the files of the wheel."""

    @classmethod
    def setUpClass(cls):
        (wheel,) = test_packages.make("wheel", "x86_64")
        cls.installed = recipes.Installed(cls)
        cls.unpacked = cls.installed.place()
        must(debian_python(), "-m", "zipfile", "--extract", wheel, cls.unpacked)
        tools = test_packages.set_up("package-tools")
        build = os.path.join(recipes.SOURCE, "build-wheel-x86_64")
        must(f"{tools}/ninja", "-C", build, "simcuda/libcuda.so.1")
        cls.simcuda = os.path.join(build, "simcuda", "libcuda.so.1")

    def check_release(self, release):
        root = test_packages.Root(self, release)
        contexts = {"gpumemtrace": f"{self.unpacked}/gpumemtrace/lib/gpumemtrace"}
        variables = dockerfile.build(read("integrations", "container", "Dockerfile"), contexts, root.folder)
        size = sum(entry.stat().st_size for entry in os.scandir(root.place("/opt/gpumemtrace")))
        print(f"# the layer has {size} bytes")
        os.makedirs(root.place("/opt/driver"))
        shutil.copy(self.simcuda, root.place("/opt/driver"))
        shutil.copy(os.path.join(recipes.PROGRAMS, "train.py"), root.place("/tmp"))
        os.makedirs(root.place("/data"))
        # Tools of the image do not notice the recorder.
        self.assertEqual(root.must("sh", "-c", "echo x | sed s/x/y/", **variables), "y\n")
        done = root.run(
            "python3", "/tmp/train.py", LD_LIBRARY_PATH="/opt/driver", GPUMEMTRACE_OPTIONS=OPTIONS, **variables
        )
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "rank 0 ran 20 steps\n", ""))
        (path,) = glob.glob(f"{root.folder}/data/*.gmt.gz")
        report = self.installed.report(path)
        check_train(self, report)
        self.assertTrue(any(frame.get("function") == "allocate" for site in report["sites"] for frame in site["stack"]))

    def test_the_layer_records_in_debian_11(self):
        self.check_release("bullseye")

    def test_the_layer_records_in_debian_12(self):
        self.check_release("bookworm")


if __name__ == "__main__":
    tap.main()
