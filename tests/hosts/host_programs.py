# SPDX-License-Identifier: MIT
"""The host programs, which must behave with the recorder as without it, to the byte.

usage: host_programs.py [--long]    prints the table for docs/internals/testing/hosts.md, with the versions of this machine
"""

import os
import subprocess

from host_program import Host, bash, program, python, shell, source

GIT = """
set -e
export GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000'
git config --global user.name Somebody; git config --global user.email s@example.org
git config --global init.defaultBranch main; git config --global gc.autoDetach false
git init -q one; cd one
for i in 1 2 3; do echo "line $i" >> file; git add file; git commit -q -m "commit $i"; done
git checkout -q -b side HEAD~1; echo other > other; git add other; git commit -q -m side
git checkout -q main; git merge -q -m merge side; git log --graph --stat; git gc -q; git fsck
printf '#!/bin/sh\\necho hook $0; exit 0\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit
git commit --allow-empty -m hooked; cd ..; git clone -q --no-local one two; cd two; git status -sb
git -c core.pager=cat diff HEAD~1; git grep -n line; git archive HEAD | tar tf -; git no-such-command
"""

BASH = (
    """
shopt -s extglob; set -o pipefail
trap 'echo exiting $?' EXIT; trap 'echo usr1' USR1; kill -USR1 $$
coproc cat; cat=$COPROC_PID; echo through >&${COPROC[1]}; read -r line <&${COPROC[0]}; echo "$line"; exec {COPROC[1]}>&-; wait $cat
diff <(printf 'a\\nb\\n') <(printf 'a\\nc\\n'); cat <<< here
(exit 4) & wait $!; echo $?; for i in {1..20}; do (echo $i) & wait; done
ulimit -a; jobs; type -a sh; echo ${BASH_VERSINFO[0]} $SHLVL; compgen -A signal | sed -n 1,5p
sleep 100 & kill -9 $!; wait $! 2>/dev/null; echo $?; false | true; echo ${PIPESTATUS[@]}
exec 7> seven; echo x >&7; exec 7>&-; """
    + "\"$PROCESS_FACTS\" a b; exit 7"
)

# Look-ups of CUDA's functions correctly find the recorder's functions.
WRAPPED = ((r"in lib(?:cuda\.so\.1|cudart\.so\.\d+|gpumemtrace\.so) as (cu)", r"CUDA's \1"),)
NUMBERS = ((r"0x[0-9a-f]+", "ADDRESS"),)

# Programs that every machine with a compiler has.
SMALL = [
    Host(
        "ls, sort, cut, find and xargs",
        **shell(
            "mkdir -p a/b; printf '3\\n1\\n2\\n' > a/f; ls -A a; sort -n a/f | cut -c1 | uniq -c; find . -type f | sort | "
            "xargs -n 1 stat -c '%A %s %n'; ls /nonexistent; tr a-z A-Z < a/f; seq 1000 | tail -n 3 | tac; nproc; id; uname -s; date -u -d @0; "
            "nice -n 3 nice"
        ),
        version=["ls", "--version"],
        package="coreutils",
        is_deterministic=True,
    ),
    Host(
        "timeout, nohup, stdbuf and setsid",
        **shell(
            "timeout 600 true; timeout 0.1 sleep 600; echo $?; nohup true; printf x | stdbuf -o0 cat; env -i pwd; setsid -w sh -c 'exit 4'; echo $?"
        ),
    ),
    Host(
        "a shell's end",
        ["/bin/sh", "-c", "echo out; echo err >&2; exit 3"],
        expected_end="exit 3",
        is_deterministic=True,
    ),
    Host(
        "a shell killed by a signal",
        ["/bin/sh", "-c", "echo before; kill -TERM $$; echo after"],
        expected_end="signal 15",
    ),
    Host(
        "bash",
        **bash(BASH, environment={"PROCESS_FACTS": program("process-facts")}),
        package="bash",
        version=["bash", "--version"],
        expected_end="exit 7",
    ),
    Host(
        "git",
        **{**bash(GIT), "needs": ("git", "bash", "tar")},
        package="git",
        version=["git", "--version"],
        ignored=(r"\.git/index$",),
        expected_end="exit 1",
        expected_text=b"commit 3",
    ),
    Host(
        "python with threads, processes and ctypes",
        [python(), "script.py"],
        files={"script.py": source("python_host.py")},
        environment={"PROCESS_FACTS": program("process-facts")},
        package="python3",
        version=[python(), "--version"],
        with_driver=True,
        normalise=((r"Thread 0x[0-9a-f]+", "Thread N"),),
        expected_text=b"faulthandler done",
        ignored=(r"__pycache__",),
    ),
    Host(
        "pip install",
        [python(), "install.py"],
        files={"install.py": source("install_wheel.py")},
        needs=(python(),),
        package="python3-pip",
        version=[python(), "-m", "pip", "--version"],
        expected_text=b"Successfully installed",
    ),
    Host(
        "gcc",
        **shell(
            "gcc -O2 -g -Wall -c main.c && gcc -flto -O2 -o main main.c && ./main; g++ -O1 -o throws throws.cc && ./throws; "
            "gcc -c wrong.c; gcc -E -x c - -dM < /dev/null | sort | sed -n 1,3p"
        ),
        files={
            "main.c": "#include <stdio.h>\nint main(void) { int unused; printf(\"%d\\n\", __LINE__); return 0; }\n",
            "throws.cc": "#include <iostream>\n#include <stdexcept>\nint main() { for (int i = 0; i < 3; i++) try { throw std::runtime_error(\"thrown\"); }"
            " catch (const std::exception &e) { std::cout << e.what() << i << std::endl; } }\n",
            "wrong.c": "int main(void) { return nobody; }\n",
        },
        needs=("gcc", "g++"),
        package="g++",
        version=["gcc", "--version"],
        ignored=(r"\.o$",),
        expected_text=b"thrown2",
    ),
    Host(
        "make -j",
        **shell("make -j4 --output-sync=target | sort; make wrong"),
        files={
            "Makefile": "all: a b c d\na b c d:\n\t@echo making $@ && sleep 0.01 && echo $@ > $@ && $(MAKE) --no-print-directory sub\nsub:\n\t@echo sub\nwrong:\n\t@exit 3\n"
        },
        needs=("make",),
        package="make",
        version=["make", "--version"],
        expected_end="exit 2",
    ),
    Host(
        "perl",
        ["perl", "script.pl"],
        files={"script.pl": source("perl_host.pl")},
        environment={"PROCESS_FACTS": program("process-facts")},
        needs=("perl",),
        package="perl-base",
        version=["perl", "-e", "print $^V"],
        expected_text=b"perl done",
    ),
    Host(
        "tar and gzip",
        **shell(
            "mkdir -p d/e; seq 5000 > d/e/f; ln -s e/f d/link; tar --mtime=@0 --owner=0 --group=0 --sort=name -czf a.tar.gz d; tar tvzf a.tar.gz --full-time; "
            "mkdir x; tar xzf a.tar.gz -C x; cmp d/e/f x/d/e/f && echo same; gzip -t a.tar.gz; tar tf /dev/null nothing"
        ),
        needs=("tar", "gzip"),
        package="tar",
        version=["tar", "--version"],
        expected_end="exit 2",
    ),
    Host(
        "names, locales and character sets",
        **shell(
            "getent passwd root; getent passwd nobody; getent hosts localhost; getent services ssh; getent nothing; locale; locale -a | sed -n 1,3p; "
            "printf 'caf\\303\\251' | iconv -f UTF-8 -t ISO-8859-1 | od -c; printf x | iconv -f UTF-8 -t EUC-JP; LC_ALL=xx_YY date -u -d @0 +%A"
        ),
        package="libc-bin",
        version=["getent", "--version"],
        is_deterministic=True,
    ),
    Host(
        "ldd",
        **shell("ldd /bin/ls; ldd /etc/passwd"),
        needs=("ldd",),
        package="libc-bin",
        expected_end="exit 1",
        # The list names the preloaded library, as it must. The library also moves the loader up in the list.
        normalise=((r"(?m)^.*(?:libgpumemtrace\.so|/ld-linux).*\n", ""), (r" \(0x[0-9a-f]+\)", "")),
    ),
    Host(
        "all symbols bound at once (LD_BIND_NOW)",
        [python(), "-c", "import ctypes, ssl, sqlite3; print(ctypes.CDLL(None).getpid() > 0)"],
        environment={"LD_BIND_NOW": "1"},
        needs=(python(),),
    ),
    Host("the state of a child process", [program("process-facts"), "x"], with_driver=True),
    Host(
        "the state of a child process without standard descriptors",
        **shell("exec \"$PROCESS_FACTS\" <&- 2>&- > seen"),
        environment={"PROCESS_FACTS": program("process-facts")},
    ),
    Host(
        "a program with all kinds of symbol look-ups",
        [program("symbol-lookups")],
        normalise=WRAPPED,
        expected_text=b"dlsym default cuInit: nothing",
        with_driver=True,
    ),
    Host("the same, bound at once", [program("symbol-lookups")], environment={"LD_BIND_NOW": "1"}, normalise=WRAPPED),
    Host(
        "a program with a copy relocation of a loader's variable",
        [program("copy-relocation")],
        needs=(program("copy-relocation"),),
        environment={"GPUMEMTRACE_OPTIONS": "exports=off"},
        expected_text=b"a stack, no CUDA",
    ),
    Host(
        "a program under ThreadSanitizer",
        [program("with-tsan")],
        needs=(program("with-tsan"),),
        package="gcc",
        expected_text=b"2000",
    ),
    Host(
        "a program with AddressSanitizer inside",
        [program("with-asan")],
        needs=(program("with-asan"),),
        package="gcc",
        expected_text=b"2000",
    ),
    Host(
        "a static program",
        [program("process-facts-static")],
        needs=(program("process-facts-static"),),
        package="libc6-dev",
    ),
    Host(
        "a static program of musl's",
        **shell("musl-gcc -static -o main main.c && ./main"),
        needs=("musl-gcc",),
        package="musl-tools",
        files={"main.c": "#include <stdio.h>\nint main(void) { puts(\"static\"); return 3; }\n"},
        expected_end="exit 3",
        expected_text=b"static",
    ),
    Host(
        "busybox",
        **shell("busybox ls -A /nonexistent; busybox sh -c 'echo $0; echo a | busybox tr a b'; busybox id"),
        needs=("busybox",),
        package="busybox-static",
        version=["busybox"],
    ),
    Host(
        "a 32-bit program",
        ["/lib/ld-linux.so.2", "/usr/lib32/libc.so.6"],
        needs=("/lib/ld-linux.so.2", "/usr/lib32/libc.so.6"),
        package="libc6-i386",
        # The loader prints that it cannot load a library of another ELF class, and continues.
        normalise=(
            (
                r"(?m)^ERROR: ld\.so: object '.*libgpumemtrace\.so' from LD_PRELOAD cannot be preloaded \(wrong ELF class: ELFCLASS64\): ignored\.\n",
                "",
            ),
        ),
    ),
    Host(
        "a program in Go",
        **shell("seq 3000 | fzf --filter 99 | sort -n | tail -3; seq 3 | fzf --filter 9; echo $?; fzf --version"),
        needs=("fzf",),
        package="fzf",
        version=["fzf", "--version"],
    ),
    Host(
        "node",
        ["node", "script.js"],
        files={"script.js": source("node_host.js")},
        environment={"PROCESS_FACTS": program("process-facts")},
        needs=("node",),
        package="nodejs",
        version=["node", "--version"],
        expected_text=b"node done",
    ),
    Host(
        "a JVM",
        ["java", "-Xshare:auto", "-version"],
        needs=("java",),
        package="default-jre-headless",
        version=["java", "-version"],
    ),
    Host(
        "ssh, openssl and curl",
        **shell(
            "ssh -V; ssh -G example.org | sort | sed -n 1,5p; printf x | openssl dgst -sha256; openssl version; curl -sS file:///etc/hostname; "
            "curl -sS http://127.0.0.1:1/; ssh-keygen -q -t ed25519 -N '' -f key; test -s key.pub"
        ),
        needs=("ssh", "openssl", "curl"),
        package="openssh-client",
        version=["ssh", "-V"],
        ignored=(r"work/key",),
        normalise=((r"after \d+ ms", "after N ms"),),
    ),
    Host(
        "gdb",
        **shell("gdb --version | sed -n 1,1p; gdb -nx -batch -ex 'print 6 * 7'"),
        needs=("gdb",),
        package="gdb",
        version=["gdb", "--version"],
    ),
    Host(
        "strace",
        **shell("strace -o trace -e trace=exit_group true; cat trace | sed -n 1,1p"),
        needs=("strace",),
        package="strace",
        version=["strace", "--version"],
    ),
    Host(
        "sqlite3, awk, sed and bc",
        **shell(
            "sqlite3 db 'create table t(a); insert into t values (1),(2); select sum(a) from t'; awk 'BEGIN { print 2^10 }'; "
            "echo abc | sed s/b/x/"
        ),
        needs=("sqlite3",),
        package="sqlite3",
        version=["sqlite3", "--version"],
    ),
    Host(
        "tclsh",
        ["tclsh", "script.tcl"],
        files={
            "script.tcl": "puts [exec sh -c {echo child}]\nputs [lsort {c a b}]\ncatch {load /nonexistent.so} why\nputs $why\nexit 4\n"
        },
        needs=("tclsh",),
        package="tcl",
        expected_end="exit 4",
    ),
    Host(
        "a terminal (script)",
        **shell("script -qec 'tty -s && echo a terminal; stty size' /dev/null"),
        needs=("script",),
        package="bsdutils",
    ),
    Host(
        "systemd-detect-virt and lscpu",
        **shell("systemd-detect-virt; lscpu | grep -v MHz; mountpoint /; getconf PAGESIZE"),
        needs=("lscpu",),
        package="systemd",
    ),
    Host(
        "su",
        **shell("su nobody -s /bin/sh -c 'id -un; ulimit -n; umask'"),
        as_root=True,
        needs=("su",),
        package="util-linux",
    ),
    Host(
        "a set-uid program",
        **shell(
            "setpriv --reuid=65534 --clear-groups passwd -S; setpriv --reuid=65534 --clear-groups su root -c true < /dev/null"
        ),
        as_root=True,
        needs=("setpriv", "passwd"),
        package="passwd",
        expected_end="exit 1",
    ),
    *[
        Host(
            f"an end by {how}",
            [program("ways-to-end"), how],
            expected_end=end,
            is_deterministic=not how.startswith(("thread", "daemon")),
        )
        for how, end in {
            "return": "exit 3",
            "exit": "exit 5",
            "_exit": "exit 5",
            "_Exit": "exit 5",
            "quick_exit": "exit 5",
            "abort": "signal 6",
            "segfault": "signal 11",
            "term": "exit 9",
            "kill": "signal 9",
            "pipe": "signal 13",
            "pthread_exit": "exit 0",
            "exec": "exit 3",
            "thread-exit": "exit 5",
            "thread-_exit": "exit 6",
            "thread-end": "exit 3",
            "children": "exit 3",
            "daemon": "exit 3",
        }.items()
    ],
]

# Programs that run for minutes, or come in large packages.
LARGE = [
    Host(
        "a JVM with threads and processes",
        **shell("javac Host.java && java -Xmx64m Host; java -Xint -cp . Host; java Nothing"),
        files={"Host.java": source("Host.java")},
        environment={"PROCESS_FACTS": program("process-facts")},
        needs=("javac",),
        package="default-jdk-headless",
        version=["javac", "-version"],
        expected_text=b"java done",
        expected_end="exit 1",
        ignored=("hsperfdata",),
    ),
    Host(
        "go build",
        **shell(
            "go build -o host host.go && ./host; go vet host.go; CGO_ENABLED=0 go build -o static host.go && ./static"
        ),
        files={"host.go": source("go_host.go")},
        environment={"PROCESS_FACTS": program("process-facts"), "GOFLAGS": "-mod=mod", "GO111MODULE": "off"},
        needs=("go",),
        package="golang-go",
        version=["go", "version"],
        expected_text=b"go done",
        ignored=(r"\.cache/go-build", r"home/go"),
    ),
    Host(
        "npm install",
        **shell(
            "npm install --no-audit --no-fund --offline ./package 2>&1 | sed 's/ in .*//'; node -e 'console.log(require(\"small\"))'"
        ),
        needs=("npm",),
        package="npm",
        version=["npm", "--version"],
        files={
            "package/package.json": '{"name": "small", "version": "1.0.0", "main": "index.js", "scripts": {"install": "node index.js > installed"}}\n',
            "package/index.js": "module.exports = 42; console.log('ran');\n",
            "package.json": '{"name": "host", "version": "1.0.0"}\n',
        },
        ignored=(r"\.npm/_logs", r"\.npm/_cacache", r"\.npm/_update", r"node-compile-cache"),
    ),
    Host(
        "pip install from source into an environment",
        **shell(
            f"{python()} -m venv v && v/bin/pip -q --disable-pip-version-check install --no-index --no-build-isolation ./p && v/bin/small"
        ),
        files={
            "p/setup.py": "from setuptools import setup\nsetup(name='small', version='1', py_modules=['small'], entry_points={'console_scripts': ['small = small:main']})\n",
            "p/small.py": "def main():\n    print('installed')\n",
        },
        needs=(python(),),
        package="python3-venv",
        expected_text=b"installed",
        ignored=(r"\.pyc$", r"__pycache__", r"RECORD$", r"direct_url"),
    ),
    Host(
        "gdb with a program",
        **shell(
            "gdb -nx -batch -ex 'break write' -ex run -ex 'bt 1' -ex continue --args \"$WAYS_TO_END\" return 2>&1 | grep -v libthread_db"
        ),
        environment={"WAYS_TO_END": program("ways-to-end")},
        needs=("gdb",),
        package="gdb",
        normalise=(*NUMBERS, (r"process \d+", "process N")),
        expected_text=b"Breakpoint 1",
    ),
    Host(
        "a compiler of a larger program",
        **shell(
            "for i in $(seq 40); do echo \"int f$i(int a) { return a * $i; }\" > f$i.c; echo all: f$i.o; done > Makefile; make -j4 -s all && ar rcD libf.a f*.o && nm libf.a | wc -l"
        ),
        needs=("make", "gcc"),
        package="make",
        ignored=(),
    ),
]


def is_long_run():
    return bool(os.environ.get("GMT_TEST_LONG"))


def first_line(host):
    if not host.version or host.missing():
        return ""
    done = subprocess.run(host.version, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.stdout.splitlines()[0].strip() if done.stdout else ""


def main():
    print("| program | version | when |\n|---|---|---|")
    for host in SMALL + LARGE:
        print(f"| {host.name} | {first_line(host)} | {'long' if host in LARGE else 'always'} |")


if __name__ == "__main__":
    main()
