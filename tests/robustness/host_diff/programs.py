# SPDX-License-Identifier: MIT
"""Programs of others, in addition to those of tests/hosts/host_programs.py. Also selects the rows to compare.

usage: programs.py    prints the table for docs/internals/testing/hosts.md, with the versions of this machine
"""

import os

import host_programs
from host_programs import Host, NUMBERS, bash, program, python, shell

HERE = os.path.dirname(os.path.abspath(__file__))
PROCESS_FACTS = {"PROCESS_FACTS": program("process-facts")}


def script(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return file.read()


REDIS = """
redis-server --port 0 --unixsocket s --save '' --daemonize no --logfile log > /dev/null & server=$!
for i in $(seq 600); do redis-cli -s s ping > /dev/null 2>&1 && break; sleep 0.05; done
redis-cli -s s set a 1; redis-cli -s s incr a; redis-cli -s s get a; redis-cli -s s lpush l x y; redis-cli -s s lrange l 0 -1
redis-cli -s s save; redis-cli -s s shutdown nosave; wait $server; echo $?
"""

NGINX = """
mkdir -p logs www; echo page > www/index.html
cat > c <<END
user root; daemon off; master_process on; worker_processes 2; pid logs/pid; error_log logs/error;
events { worker_connections 64; }
http { access_log off; client_body_temp_path logs/b; proxy_temp_path logs/p; fastcgi_temp_path logs/f; uwsgi_temp_path logs/u; scgi_temp_path logs/s;
  server { listen unix:$PWD/s; root $PWD/www; } }
END
nginx -p . -c c -e logs/error & server=$!
for i in $(seq 600); do [ -S s ] && break; sleep 0.05; done
curl -sS --unix-socket s http://here/; curl -sS -o /dev/null -w '%{http_code}\\n' --unix-socket s http://here/nothing
kill -HUP $server; sleep 0.3; curl -sS --unix-socket s http://here/; kill -QUIT $server; wait $server; echo $?
"""

TMUX = """
tmux -L host-diff -f /dev/null new-session -d -s one 'echo in a pane > said; tmux -L host-diff wait-for -S said; sleep 60'
tmux -L host-diff wait-for said
cat said; tmux -L host-diff list-sessions -F '#S'; tmux -L host-diff kill-server; echo $?
"""

CMAKE = "cmake_minimum_required(VERSION 3.5)\nproject(small C)\nadd_library(one SHARED one.c)\nadd_executable(main main.c)\ntarget_link_libraries(main one)\n"

RUST = """
use std::thread;
fn main() {
    let sums: Vec<u64> = (0..4).map(|i| thread::spawn(move || (0..1000u64).map(|x| x * i).sum())).map(|t| t.join().unwrap()).collect();
    println!("{:?}", sums);
    println!("{}", std::panic::catch_unwind(|| panic!("caught")).is_err());
    std::process::exit(3);
}
"""

MORE = [
    Host(
        "xz, zstd and bzip2 with threads",
        **shell(
            "seq 200000 > a; xz -T2 -k a; zstd -q -T2 -k a; bzip2 -k a; xz -t a.xz; zstd -q -t a.zst; bzip2 -t a.bz2; "
            "xz -dc a.xz | cksum; zstd -dc a.zst | cksum; bzip2 -dc a.bz2 | cksum; xz -t /etc/passwd; true"
        ),
        needs=("xz", "zstd", "bzip2"),
        package="zstd",
        version=["zstd", "--version"],
    ),
    Host(
        "zip and unzip",
        **shell(
            "seq 1000 > a; TZ=UTC touch -d @1000000000 a; TZ=UTC zip -qX z.zip a; unzip -p z.zip | cksum; unzip -tq z.zip; unzip -l nothing.zip"
        ),
        needs=("zip", "unzip"),
        package="zip",
        version=["zip", "-v"],
        expected_end="exit 9",
    ),
    Host(
        "jq",
        **shell("seq 100 | jq -s 'map(. * 2) | add'; echo '{' | jq .; true"),
        needs=("jq",),
        package="jq",
        version=["jq", "--version"],
    ),
    Host(
        "vim and ed",
        **shell(
            "seq 20 > f; vim -u NONE -i NONE -n -es -c '%s/1/one/g' -c 'wq' f < /dev/null; cat f; printf '1d\\nw\\nq\\n' | ed -s f; head -2 f"
        ),
        needs=("vim", "ed"),
        package="vim",
        version=["vim", "--version"],
    ),
    Host(
        "cmake and ninja",
        **shell("cmake -G Ninja -S . -B b > log && cmake --build b -- -j1 > log2; b/main"),
        needs=("cmake", "ninja", "gcc"),
        package="cmake",
        files={
            "CMakeLists.txt": CMAKE,
            "one.c": "int one(void) { return 1; }\n",
            "main.c": "int one(void);\nint main(void) { return one() + 6; }\n",
        },
        version=["cmake", "--version"],
        expected_end="exit 7",
        ignored=(r"work/b/", r"log"),
    ),
    Host(
        "binutils",
        **shell(
            "printf '.globl _start\\n_start: mov $60,%%eax\\n mov $5,%%edi\\n syscall\\n' > a.s && as -o a.o a.s && ld -o a a.o && ./a; echo $?; nm a; objdump -d a | tail -4; "
            "readelf -h a | sed -n 1,5p; strip a; size a; ar rcD l.a a.o; ranlib -D l.a; nm l.a; ld -o x nothing.o"
        ),
        needs=("as", "ld"),
        package="binutils",
        version=["ld", "--version"],
        expected_end="exit 1",
    ),
    Host(
        "diff, patch and cmp",
        **shell(
            "seq 20 > a; seq 2 22 > b; diff -u --label a --label b a b > p; patch -s a < p; cmp a b && echo same; diff a /etc/passwd | wc -l; patch -s a < /dev/null; cmp a nothing"
        ),
        needs=("patch", "diff"),
        package="patch",
        version=["patch", "--version"],
        expected_end="exit 2",
    ),
    Host(
        "programs that change a process and start another",
        **shell(
            "flock lock \"$PROCESS_FACTS\"; prlimit --nofile=64 \"$PROCESS_FACTS\"; taskset -c 0 \"$PROCESS_FACTS\"; chrt --batch 0 \"$PROCESS_FACTS\"; ionice -c3 \"$PROCESS_FACTS\"; setsid -w \"$PROCESS_FACTS\"; "
            "setpriv --no-new-privs \"$PROCESS_FACTS\"; env -i \"$PROCESS_FACTS\" | sed -n 1,3p; nohup \"$PROCESS_FACTS\" < /dev/null | tail -3; (umask 077; exec \"$PROCESS_FACTS\" 9> nine); time -p true 2> /dev/null; "
            "(trap '' USR1 HUP; exec \"$PROCESS_FACTS\"); (ulimit -s unlimited; exec \"$PROCESS_FACTS\")"
        ),
        environment=PROCESS_FACTS,
        needs=("flock", "prlimit", "taskset", "chrt", "setpriv"),
        package="util-linux",
        version=["prlimit", "--version"],
    ),
    Host(
        "programs in namespaces of their own",
        **shell(
            "unshare --pid --fork --mount-proc \"$PROCESS_FACTS\"; unshare --uts sh -c 'hostname elsewhere; hostname'; unshare --mount --net ip -o link | wc -l"
        ),
        environment=PROCESS_FACTS,
        as_root=True,
        needs=("unshare", "ip"),
        package="util-linux",
    ),
    Host(
        "file, less and mandoc",
        **shell(
            "file -b /bin/sh /etc/passwd /nonexistent; seq 100 | less -F -X | tail -1; printf '.Dd d\\n.Dt T 1\\n.Os\\n.Sh NAME\\n.Nm t\\n.Nd text\\n' | mandoc -T ascii | sed -n 1,3p"
        ),
        needs=("file", "less", "mandoc"),
        package="mandoc",
        version=["file", "--version"],
    ),
    Host(
        "dpkg and apt",
        **shell(
            "mkdir -p p/DEBIAN p/usr/share/small; printf 'Package: small\\nVersion: 1\\nArchitecture: all\\nMaintainer: n <n@example.org>\\nDescription: small\\n' > p/DEBIAN/control; "
            "SOURCE_DATE_EPOCH=0 dpkg-deb --build p small.deb; dpkg-deb --contents small.deb | wc -l; dpkg-query -W -f '${Status}\\n' libc6; apt-config dump APT::Architecture; apt-get --version | sed -n 1,1p; dpkg -s nothing"
        ),
        needs=("dpkg-deb", "apt-get"),
        package="apt",
        version=["apt-get", "--version"],
        expected_end="exit 1",
    ),
    Host(
        "gpg, wget and bc",
        **shell(
            "echo x | gpg --print-md sha256; wget -q -O - file:///nothing; wget -q -T 1 -t 1 http://127.0.0.1:1/; echo $?; echo 'scale=30; 4*a(1)' | bc -l"
        ),
        needs=("gpg", "wget", "bc"),
        package="gpg",
        version=["gpg", "--version"],
        ignored=(r"\.gnupg",),
    ),
    Host(
        "python: loops of events, TLS, a data base, pools, signals",
        [python(), "many_modules.py"],
        files={"many_modules.py": script("many_modules.py")},
        needs=(python(),),
        package="python3",
        version=[python(), "--version"],
        expected_text=b"asked done",
        ignored=(r"__pycache__",),
    ),
    Host(
        "a web server in Python and curl",
        **bash(
            f"mkdir www; echo page > www/f; {python()} -u -c 'import http.server, os, socketserver\nos.chdir(\"www\")\nwith socketserver.ThreadingTCPServer((\"127.0.0.1\", 0), http.server.SimpleHTTPRequestHandler) as s:\n"
            " open(\"../port\", \"w\").write(str(s.server_address[1]) + \"\\n\")\n for _ in range(3): s.handle_request()' 2> /dev/null & server=$!; "
            "until [ -s port ]; do sleep 0.05; done; for i in 1 2 3; do curl -sS http://127.0.0.1:$(cat port)/f; done; wait $server; echo $?; rm port"
        ),
        package="curl",
        version=["curl", "--version"],
        expected_text=b"page\npage\npage",
    ),
    Host(
        "rustc and a program in Rust",
        **shell("rustc -O -C codegen-units=1 main.rs && ./main"),
        files={"main.rs": RUST},
        needs=("rustc",),
        package="rustc",
        version=["rustc", "--version"],
        normalise=((r"thread '<unnamed>' \(\d+\)", "thread"), (r"thread 'main' \(\d+\)", "thread")),
        expected_end="exit 3",
        expected_text=b"true",
        ignored=(r"work/main$",),
        # rustc may be rustup's wrapper, which reads this variable.
        environment={"RUSTUP_HOME": os.environ.get("RUSTUP_HOME", os.path.expanduser("~/.rustup"))},
    ),
    Host(
        "valgrind",
        **shell("valgrind -q --error-exitcode=9 --leak-check=full \"$WAYS_TO_END\" return"),
        environment={"WAYS_TO_END": program("ways-to-end")},
        needs=("valgrind",),
        package="valgrind",
        version=["valgrind", "--version"],
        normalise=((r"==\d+==", "==N=="), *NUMBERS),
        expected_end="exit 3",
    ),
    Host(
        "a program of another architecture",
        **shell("aarch64-linux-gnu-gcc -static -o main main.c && qemu-aarch64 ./main; echo $?"),
        needs=("qemu-aarch64", "aarch64-linux-gnu-gcc"),
        package="qemu-user",
        version=["qemu-aarch64", "--version"],
        files={"main.c": "#include <stdio.h>\nint main(void) { puts(\"elsewhere\"); return 6; }\n"},
        expected_text=b"elsewhere",
    ),
    Host(
        "tmux",
        **bash(TMUX, "tmux", environment={"TERM": "xterm"}),
        package="tmux",
        version=["tmux", "-V"],
        expected_text=b"in a pane",
    ),
    Host(
        "a client in Go",
        **shell("docker --version; docker context ls; docker -H unix:///nonexistent ps"),
        needs=("docker",),
        package="docker-cli",
        version=["docker", "--version"],
        expected_end="exit 1",
        ignored=(r"\.docker",),
    ),
    Host(
        "a data base server",
        **shell("postgres --version; postgres --describe-config | cksum; postgres --single nothing"),
        needs=("postgres",),
        package="postgresql",
        version=["postgres", "--version"],
        expected_end="exit 1",
    ),
    Host(
        "redis",
        **bash(REDIS, "redis-server", "redis-cli"),
        package="redis-server",
        version=["redis-server", "--version"],
        ignored=(r"work/log$", r"dump\.rdb"),
        expected_text=b"OK\n2\n2\n",
    ),
    Host(
        "nginx",
        **bash(NGINX, "nginx", "curl"),
        package="nginx-light",
        version=["nginx", "-v"],
        ignored=(r"work/logs",),
        expected_text=b"page\n404\npage\n0",
    ),
    Host(
        "lua",
        **shell(
            "lua5.4 -e 'local c = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end); print(c(), c(), c()); print(pcall(error, \"thrown\")); os.exit(4)'"
        ),
        needs=("lua5.4",),
        package="lua5.4",
        version=["lua5.4", "-v"],
        expected_end="exit 4",
    ),
    Host(
        "ruby",
        **shell(
            "ruby -e 'f = Fiber.new { Fiber.yield 1; 2 }; puts f.resume, f.resume; puts 4.times.map { |i| Thread.new { i * i } }.map(&:value).sum; puts `echo child`; pid = fork { exit! 7 }; Process.wait pid; "
            "puts $?.exitstatus; trap(\"USR1\") { puts :usr1 }; Process.kill(:USR1, $$); sleep 0.01; begin; raise \"thrown\"; rescue => e; puts e.message; end; exit 5'"
        ),
        needs=("ruby",),
        package="ruby",
        version=["ruby", "--version"],
        expected_end="exit 5",
        expected_text=b"thrown",
    ),
    Host(
        "another allocator before the program's",
        **shell(
            "LD_PRELOAD=\"$(ls /usr/lib/*/libjemalloc.so.2):$LD_PRELOAD\" sh -c 'seq 2000 | sort -R | sort -n | tail -1; ls /nonexistent'"
        ),
        needs=("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2",),
        package="libjemalloc2",
        expected_end="exit 2",
    ),
    Host(
        "a clock that another preload changes",
        **shell(
            "faketime='/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1'; LD_PRELOAD=\"$faketime:$LD_PRELOAD\" FAKETIME='2001-02-03 04:05:06' TZ=UTC date +%F; "
            "LD_PRELOAD=\"$LD_PRELOAD:$faketime\" FAKETIME='2001-02-03 04:05:06' TZ=UTC date +%F"
        ),
        needs=("/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1",),
        package="libfaketime",
        expected_text=b"2001-02-03\n2001-02-03",
    ),
]


def rows():
    """Returns every row that this run compares."""
    return host_programs.SMALL + MORE + (host_programs.LARGE if host_programs.is_long_run() else [])


def main():
    print("| program | version |\n|---|---|")
    for host in host_programs.SMALL + MORE + host_programs.LARGE:
        print(f"| {host.name} | {host_programs.first_line(host) or ('not here' if host.missing() else '')} |")


if __name__ == "__main__":
    main()
