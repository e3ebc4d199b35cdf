# SPDX-License-Identifier: MIT
"""Logs of allocations as comma-separated values: the recording has their rows, and errors name the line."""

import unittest

import cli
import hostile_texts
import snapshots

HEADER = "time_ns,operation,pointer,size,device,stream,thread,stack\n"


def log(text, name="log.csv"):
    return snapshots.write(name, text.encode() if isinstance(text, str) else text)


def events(text):
    return snapshots.dump(snapshots.imported(log(text)), "event")


class Rows(unittest.TestCase):
    def test_all_columns(self):
        path = snapshots.imported(
            log(
                HEADER
                + "5,alloc,0x7f0000,4096,0,7,main,main (train.py:9);step (/home/me/train.py:31)\n"
                + '15, alloc ,8388608,1024,1,0,"a, ""b""",\n'
                + "\n# a comment\n"
                + "25,free,0x7f0000,,0,7,main,main (train.py:9)\r\n"
                + "35,alloc,1,100,host,0,99,f;g\n"
                + "45,alloc_failed,0,1099511627776,0,0,main,\n"
            )
        )
        rows = snapshots.dump(path, "event")
        keys = "kind space device address size_bytes stream".split()
        self.assertEqual(
            [tuple(row[key] for key in keys) for row in rows],
            [
                (1, 1, 0, 0x7F0000, 4096, 7),
                (1, 1, 1, 8388608, 1024, 0),
                (2, 1, 0, 0x7F0000, 0, 7),
                (1, 4, -1, 1, 100, 0),
                (3, 1, 0, 0, 1 << 40, 0),
            ],
        )
        self.assertEqual([row["stamp"] - rows[0]["stamp"] for row in rows], [0, 10, 20, 30, 40])
        self.assertEqual([row["name"] for row in snapshots.dump(path, "thread")], ["main", 'a, "b"', "99"])
        report = cli.report(path)
        self.assertEqual(report["process"]["imported_from"], "CSV log")
        (peak,) = [site for site in report["sites"] if site["max_live_bytes"] == 4096]
        self.assertEqual(
            [(frame["function"], frame["file"], frame["line"], frame["kind"]) for frame in peak["stack"]],
            [("step", "/home/me/train.py", 31, "python"), ("main", "train.py", 9, "python")],
        )
        (host,) = [site for site in report["sites"] if site["device"] is None]
        self.assertEqual(
            [(frame["function"], frame["kind"]) for frame in host["stack"]], [("g", "native"), ("f", "native")]
        )
        self.assertEqual(len(report["ooms"]), 1)

    def test_the_sign_of_the_size_is_an_operation(self):
        rows = events("time_ns,pointer,size\n1,10,512\n2,10,-512\n3,20,+8\n")
        self.assertEqual([(row["kind"], row["size_bytes"]) for row in rows], [(1, 512), (2, 0), (1, 8)])

    def test_columns_have_other_orders_names_and_cases(self):
        rows = events("Size_Bytes,PTR,Op,Time_US\n512,0xAb,MALLOC,1\n,0xab,dealloc,2\n")
        self.assertEqual([(row["kind"], row["address"]) for row in rows], [(1, 0xAB), (2, 0xAB)])
        self.assertEqual(rows[1]["stamp"] - rows[0]["stamp"], 1000)

    def test_units_of_time(self):
        for unit, first, second, ns in (
            ("ns", "7", "9", 2),
            ("us", "7.5", "9", 1500),
            ("ms", "0.000001", "1.5", 1_499_999),
            ("s", "0", "1.2345678919", 1_234_567_891),
            ("s", "1700000000.25", "1700000001", 750_000_000),
        ):
            with self.subTest(unit=unit, first=first):
                rows = events(f"time_{unit},pointer,size\n{first},1,1\n{second},2,1\n")
                self.assertEqual(rows[1]["stamp"] - rows[0]["stamp"], ns)

    def test_times_since_1970_are_dates(self):
        process = cli.report(snapshots.imported(log("time_s,pointer,size\n1700000000.5,1,1\n")))["process"]
        self.assertEqual(process["start_time_ns"], 1_700_000_000_500_000_000)
        self.assertEqual(
            cli.report(snapshots.imported(log("time_s,pointer,size\n5,1,1\n")))["process"]["start_time_ns"], 0
        )

    def test_rows_in_any_order(self):
        path = snapshots.imported(log("time_ns,thread,pointer,size\n30,a,1,-5\n10,b,1,5\n20,b,2,7\n"))
        account = cli.report(path)["devices"][0]["layers"][0]
        self.assertEqual((account["peak_bytes"], account["live_bytes"]), (12, 7))

    def test_a_log_of_rmm(self):
        path = snapshots.imported(
            log(
                "Thread,Time,Action,Pointer,Size,Stream\n"
                "1234,10:02:03.000100,allocate,0x7f1000,1024,0x0\n"
                "1234,10:02:03.000300,allocate failure,(nil),99999999,0x0\n"
                "1235,10:02:04.000000,free,0x7f1000,1024,0x2\n"
            )
        )
        rows = snapshots.dump(path, "event")
        self.assertEqual([row["kind"] for row in rows], [1, 3, 2])
        self.assertEqual(rows[2]["stamp"] - rows[0]["stamp"], 999_900_000)
        self.assertEqual([row["tid"] for row in snapshots.dump(path, "thread")], [1234, 1235])

    def test_a_mark_of_utf8_and_a_missing_last_line_end(self):
        self.assertEqual(len(events(b"\xef\xbb\xbftime_ns,pointer,size\n1,1,1")), 1)

    def test_only_a_header(self):
        path = snapshots.imported(log(HEADER))
        self.assertEqual(cli.run("report", path).returncode, 0)

    def test_verbs(self):
        rows = "".join(f"{n},alloc,{n << 20},1000,0,0,t,main;f{n % 3}\n" for n in range(1, 200))
        path = snapshots.imported(log(HEADER + rows))
        self.assertIn("imported from CSV log", cli.run("report", path).stdout)
        self.assertIn("not judged: the recording was imported", cli.unwrapped(cli.run("check", path).stdout))
        self.assertEqual(cli.run("diff", path, cli.make("made.gmt.gz")).returncode, 0)
        self.assertEqual(snapshots.numbers(path, "cuda")[0]["live_bytes"], 199_000)


class Errors(unittest.TestCase):
    def test_each_error_names_the_line(self):
        good = "1,alloc,1,1,0,0,t,s\n"
        for row, why in (
            ("x,alloc,1,1,0,0,t,s", "`time_ns` is `x`, not a time"),
            ("-1,alloc,1,1,0,0,t,s", "`time_ns` is `-1`, not a time"),
            (".,alloc,1,1,0,0,t,s", "`time_ns` is `.`, not a time"),
            ("1e5,alloc,1,1,0,0,t,s", "`time_ns` is `1e5`, not a time"),
            ("99999999999999999999,alloc,1,1,0,0,t,s", "not a time"),
            ("1,grow,1,1,0,0,t,s", "`operation` is `grow`, not `alloc`, `free` or `alloc_failed`"),
            ("1,,1,1,0,0,t,s", "`operation` is ``, not"),
            ("1,alloc,p,1,0,0,t,s", "`pointer` is `p`, not an address"),
            ("1,alloc,,1,0,0,t,s", "`pointer` is ``, not an address"),
            ("1,alloc,0x,1,0,0,t,s", "`pointer` is `0x`, not an address"),
            ("1,alloc,1,1.5,0,0,t,s", "`size` is `1.5`, not a number of bytes"),
            ("1,alloc,1,-5,0,0,t,s", "`size` is `-5`, not a number of bytes"),
            ("1,alloc,1,,0,0,t,s", "`size` is empty"),
            ("1,alloc,1,18446744073709551616,0,0,t,s", "not a number of bytes"),
            ("1,alloc,1,1,cuda,0,t,s", "`device` is `cuda`, not the number of a GPU, or `host`"),
            ("1,alloc,1,1,99999,0,t,s", "`device` is `99999`, not"),
            ("1,alloc,1,1,0,s,t,s", "`stream` is `s`, not a number"),
            ("1,alloc,1", "the header has 8 fields, and this line has 3"),
            ("1,alloc,1,1,0,0,t,s,more", "the header has 8 fields, and this line has 9"),
            ('1,alloc,1,1,0,0,t,"s', "the quotes do not close"),
            ('1,alloc,1,1,0,0,t,"s"x', "a quote is within a field"),
            ("1,alloc,1,1,0,0,t," + "," * 300, "has more than 256 fields"),
            ("1,alloc," + "y" * 100 + ",1,0,0,t,s", "`pointer` is `" + "y" * 40 + "...`, not"),
        ):
            with self.subTest(row=row[:60]):
                refusal = snapshots.refusal(log(HEADER + good + "\n" + good + row + "\n" + good))
                self.assertTrue(refusal.startswith("line 5: "), refusal)
                self.assertIn(why, refusal)

    def test_quotes_over_several_lines_count_as_lines(self):
        text = HEADER + '1,alloc,1,1,0,0,"two\nlines",s\n1,x,1,1,0,0,t,s\n'
        self.assertTrue(snapshots.refusal(log(text)).startswith("line 4: `operation` is `x`"))

    def test_headers(self):
        for header, why in (
            ("a,b", "no column is the time: it is called time_ns, time_us, time_ms or time_s"),
            ("time_ns,time_s,pointer,size", "more than one column is the time"),
            ("time_ns,size", "no column is called `pointer`"),
            ("time_ns,pointer", "no column is called `size`"),
            ("time_ns,pointer,ptr,size", "two columns are `pointer`"),
            ("time_ns,pointer,size\n1,1,0", "`size` is `0`, not more or less than 0"),
            ("time,pointer,size\n1,1,1", "`time` is `1`, not a time of the day"),
            ("time,pointer,size\n25:00:00,1,1", "not a time of the day"),
        ):
            self.assertIn(why, snapshots.refusal(log(header + "\n")))

    def test_damage_at_any_place(self):
        data = (HEADER + '1,alloc,0x7f,4096,0,7,main,"a ""b"" (t.py:9);c"\n2,free,0x7f,,0,7,main,\n').encode()
        for byte in b'",\n\0':
            for at in range(len(data)):
                path = log(data[:at] + bytes([byte]) + data[at + 1 :], "damaged.csv")
                done = cli.run("import", "--force", "-o", cli.place("damaged.gmt.gz"), path)
                self.assertIn(done.returncode, (0, 3))
                self.assertEqual(len((done.stdout + done.stderr).splitlines()), 1)


class Texts(hostile_texts.SafeOutput):
    def test_texts_of_the_log_cannot_command_a_terminal(self):
        for raw in hostile_texts.HOSTILE:
            field = b'"' + raw.replace(b'"', b'""') + b'"'
            path = log(HEADER.encode() + b"1,alloc,1,1,0,0," + field + b"," + field + b"\n", "hostile.csv")
            recording = snapshots.imported(path)
            for verb in ["report", "--full"], ["leaks"], ["info"], ["tree"], ["dump"]:
                self.check(cli.run(*verb, recording, text=False).stdout, True)
            path = log(HEADER.encode() + b"1," + field + b",1,1,0,0,t,s\n", "hostile.csv")
            done = cli.run("import", "--force", "-o", cli.place("no.gmt.gz"), path, text=False)
            self.assertEqual(done.returncode, 3)
            self.check(done.stderr, True)

    def test_names_with_separators(self):
        path = snapshots.imported(
            log(HEADER + '1,alloc,1,1,0,0,t,"main (a,b;c.py:3);f(int, char) (x y.cpp:7);g (h)"\n')
        )
        (site,) = cli.report(path)["sites"]
        # A semicolon always separates frames.
        self.assertEqual(
            [(frame["function"], frame["file"]) for frame in site["stack"]],
            [("g (h)", None), ("f(int, char)", "x y.cpp"), ("c.py:3)", None), ("main (a,b", None)],
        )


if __name__ == "__main__":
    cli.main()
