# SPDX-License-Identifier: MIT
"""Reused addresses: code objects that are freed, stack depots that fill up or restart."""

import ctypes
import os
import sys
import threading
import unittest

import capturing
from comparing import DEPTH, capture, here


class Full(unittest.TestCase):
    def test_a_full_depot_is_reported_as_a_loss(self):
        other = capturing.Capture(os.environ["GMT_TEST_CAPTURE"])
        other.init()
        other.held.test_restart(64)
        lost = ctypes.c_uint32()
        self.assertEqual(other.held.test_capture(DEPTH, None, ctypes.byref(lost)), 0)
        self.assertEqual(lost.value, 1)
        other.held.test_restart(1 << 20)
        self.assertNotEqual(other.held.test_capture(DEPTH, None, ctypes.byref(lost)), 0)
        self.assertEqual(lost.value, 0)

    def test_a_new_depot_gets_all_names_again(self):
        other = capturing.Capture(os.environ["GMT_TEST_CAPTURE"])
        other.init()

        def function():
            return other.held.test_take(), capturing.walk(here())

        function()
        other.held.test_restart(1 << 20)
        number, theirs = function()
        self.assertEqual([place[1:] for place in other.decode(number)[1]], theirs)

    def test_a_forked_child_starts_again(self):
        child = os.fork()
        if not child:
            capture.held.test_restart(1 << 20)
            number, theirs = capture.held.test_take(), capturing.walk(here())
            os._exit([place[1:] for place in capture.decode(number)[1]] != theirs)
        self.assertEqual(os.waitpid(child, 0)[1], 0)


class Churn(unittest.TestCase):
    """Functions that are freed, and others that reuse their addresses."""

    # Each shape makes functions of one size, so that the allocator reuses the same addresses.
    SHAPES = {
        "names": ("def f{0:06}(): return take()", "f{0:06}", "<made>"),
        "files": ("def f(): return take()", "f", "<made {0:06}>"),
        "outer names": ("class C{0:06}:\n def f(): return take()\nf = C{0:06}.f", "f", "<made>"),
        "short lines": ("def f():\n pass" + "\n" + "{1} return take()", "f", "<made>"),
        "long lines": ("def f():\n x = 0" + "\n x += 1" * 40 + "\n{1} return take()" + "\n x += 1" * 40, "f", "<made>"),
    }

    def make_and_check(self, shape, number):
        source, name, file = self.SHAPES[shape]
        lines = "\n" * (number % 7)
        names = {"take": capture.released.test_take if number % 2 else capture.held.test_take}
        exec(compile(source.format(number, lines), file.format(number), "exec"), names)
        function = names[name.format(number)]
        code = function.__code__
        place = capture.decode(function())[1][0]
        self.assertEqual(
            (place[1], place[2], place[4]), (capturing.name_of(code), code.co_filename, code.co_firstlineno)
        )
        if "lines" in shape:
            line = source.format(number, lines).split("\n").index(" return take()") + 1
            self.assertEqual(place[3], line)
        return id(code)

    def test_a_new_function_at_an_old_address_gets_its_own_name(self):
        for shape in self.SHAPES:
            with self.subTest(shape):
                addresses = [self.make_and_check(shape, number) for number in range(3000)]
                self.assertLess(len(set(addresses)), 2900, "hardly an address was used again: proves nothing")

    def test_code_that_differs_in_one_field_is_distinguished(self):
        names = {"take": capture.held.test_take}
        exec("def f(): return take()", names)
        template = names["f"].__code__
        fields = ["co_name", "co_filename"] + ["co_qualname"] * hasattr(template, "co_qualname")
        for field in fields:
            addresses = set()
            for number in range(1000):
                names["f"].__code__ = template.replace(**{field: "text %06d" % number})
                addresses.add(id(names["f"].__code__))
                theirs = capturing.name_of(names["f"].__code__), names["f"].__code__.co_filename
                self.assertEqual(capture.decode(names["f"]())[1][0][1:3], theirs)
                names["f"].__code__ = template
            self.assertLess(len(addresses), 900, "hardly an address was used again: proves nothing")
        for number in range(1000):
            names["f"].__code__ = template.replace(co_firstlineno=number + 1)
            self.assertEqual(capture.decode(names["f"]())[1][0][3:], (number + 1, number + 1))
            names["f"].__code__ = template

    def test_line_tables_that_differ_only_in_the_middle_are_distinguished(self):
        """The tables have one size. Their code objects are otherwise equal and reuse the same addresses."""
        field = "co_lnotab" if sys.version_info < (3, 10) else "co_linetable"
        names = {"take": capture.held.test_take, "here": here}
        tables = []
        # The numbers of all gaps take the same number of bytes, whatever the table's form.
        for gap in range(3, 10):
            source = [
                "def f():",
                " x = 0",
                *[" x += 1"] * 150,
                *[""] * gap,
                " found = take(), here().f_lineno",
                *[""] * (12 - gap),
                *[" x += 1"] * 150,
                " return found",
            ]
            exec("\n".join(source), names)
            tables.append(getattr(names["f"].__code__, field))
        self.assertEqual(len({len(table) for table in tables}), 1)
        template, addresses = names["f"].__code__, set()
        for number in range(3000):
            code = template.replace(**{field: bytes(bytearray(tables[number % 7]))})
            addresses.add(id(code))
            names["f"].__code__ = code
            del code
            taken, line = names["f"]()
            self.assertEqual((capture.decode(taken)[1][0][3], line), (line, 156 + number % 7))
            names["f"].__code__ = template
        self.assertLess(len(addresses), 2900, "hardly an address was used again: proves nothing")

    def test_threads_keep_to_their_own_stacks_while_functions_come_and_go(self):
        wrong = []
        stop = threading.Event()

        def work(thread):
            number = thread * 100000
            try:
                while not stop.is_set():
                    for shape in self.SHAPES:
                        self.make_and_check(shape, number)
                        number += 1
                    down(number % 20)
            except BaseException as error:
                wrong.append(error)

        def down(left):
            if left:
                return down(left - 1)
            library = capture.released if stop else capture.held
            taken, theirs = library.test_take(), capturing.walk(here())
            self.assertEqual([place[1:] for place in capture.decode(taken)[1]], theirs)

        before = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)
        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        stop.wait(float(os.environ.get("GMT_TEST_CHURN_SECONDS", "2")))
        stop.set()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(before)
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
