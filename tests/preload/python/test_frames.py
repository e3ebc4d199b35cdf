# SPDX-License-Identifier: MIT
"""Compares stacks that the capture read with the interpreter's own answer, taken on the same line."""

import asyncio
import contextlib
import ctypes
import functools
import gc
import os
import sys
import threading
import unittest

import capturing

capture = capturing.Capture(os.environ["GMT_TEST_CAPTURE"])
state, why = capture.init()
assert state == capturing.ON, (state, why)

here = sys._getframe
DEPTH = 1024


def take(depth=DEPTH, functions=capture.held):
    """The number of the caller's stack; with a frame of our own, as the innermost."""
    return functions.test_capture(depth, None, None)


class Compared(unittest.TestCase):
    maxDiff = 4000

    def check(self, frame, functions=None):
        """The stack from `frame` on is what the capture says; its entry bits add up to the native runs."""
        for library in [functions] if functions else [capture.held, capture.released]:
            runs = ctypes.c_uint32()
            number = library.test_capture(DEPTH, ctypes.byref(runs), None)
            truncated, frames = capture.decode(number)
            self.assertFalse(truncated)
            self.assertEqual([place[1:] for place in frames[1:]], capturing.walk(frame))
            self.assertEqual(frames[0][1], capturing.name_of(Compared.check.__code__))
            if sys.version_info < (3, 11):
                self.assertTrue(all(place[0] for place in frames))
            if runs.value:  # 0: this build does not show where its loop is
                self.assertEqual(sum(place[0] for place in frames), runs.value)
        return frames[1:]


class Stacks(Compared):
    def test_a_plain_call(self):
        self.check(here())

    def test_the_native_stack_shows_the_loop(self):
        runs = ctypes.c_uint32()
        capture.held.test_capture(DEPTH, ctypes.byref(runs), None)
        self.assertGreater(runs.value, 0)

    def test_recursion(self):
        def down(left):
            if left:
                return down(left - 1)
            return self.check(here())

        for depth in 1, 2, 30, 300:
            self.assertEqual(len(down(depth)) - len(down(0)), depth)

    def test_nested_functions_and_lambdas(self):
        def outer():
            def inner():
                return (lambda: (lambda: self.check(here()))())()
            return inner()

        names = [place[1] for place in outer()]
        self.assertIn("lambda", names[0])
        if sys.version_info >= (3, 11):
            self.assertTrue(names[0].endswith("outer.<locals>.inner.<locals>.<lambda>.<locals>.<lambda>"))

    def test_c_code_that_calls_python(self):
        def key(number):
            found.append(self.check(here()))
            return number

        found = []
        sorted([2, 1], key=key)
        list(map(key, [1]))
        max([1, 2], key=lambda number: key(number))
        functools.reduce(lambda one, other: key(other), [1, 2])
        functools.partial(key, 1)()
        for frames in found:
            self.assertTrue(any(place[0] for place in frames))

    @unittest.skipIf(sys.version_info < (3, 11), "each Python call is a run")
    def test_entry_bits_stand_where_c_called_python(self):
        def leaf():
            return self.check(here())

        def called_from_c(_):
            found.append(leaf())
            return 0

        def middle():
            sorted([1], key=called_from_c)

        def outer():
            middle()

        found = []
        list(map(lambda _: outer(), [1]))
        self.assertEqual([place[0] for place in found[0][:5]], [False, True, False, False, True])

    def test_generators(self):
        def numbers(left):
            self.check(here())
            yield left
            self.check(here())
            if left:
                yield from numbers(left - 1)
            self.check(here())

        for _ in range(3):
            for _ in numbers(3):
                self.check(here())
        list(numbers(3))
        generator = numbers(1)
        next(generator)
        generator.send(None)
        generator.close()

    def test_a_generator_runs_below_who_resumes_it(self):
        def frames():
            while True:
                yield self.check(here())

        def resume():
            return next(generator)

        generator = frames()
        self.assertEqual(len(next(generator)) + 1, len(resume()))

    def test_comprehensions(self):
        [self.check(here()) for _ in range(3)]
        {self.check(here())[0] for _ in range(3)}
        list(self.check(here()) for _ in range(3))
        [[self.check(here()) for _ in range(2)] for _ in range(2)]

    def test_coroutines(self):
        async def leaf():
            self.check(here())
            await asyncio.sleep(0)
            self.check(here())

        async def numbers():
            for number in range(3):
                await leaf()
                self.check(here())
                yield number

        async def main():
            async for _ in numbers():
                await asyncio.gather(leaf(), leaf())
            async with manager():
                await leaf()

        @contextlib.asynccontextmanager
        async def manager():
            self.check(here())
            yield
            await leaf()

        for _ in range(3):
            asyncio.run(main())

    def test_decorators_and_context_managers(self):
        def decorate(function):
            self.check(here())

            @functools.wraps(function)
            def wrapper(*args, **kwargs):
                self.check(here())
                return function(*args, **kwargs)
            return wrapper

        @functools.lru_cache(maxsize=None)
        @decorate
        @decorate
        def function(number, *, other=1):
            self.check(here())

        @contextlib.contextmanager
        def manager():
            self.check(here())
            yield
            self.check(here())

        with manager():
            function(1, other=2)

    def test_classes(self):
        test = self

        class Thing:
            test.check(here())

            def __init__(self):
                test.check(here())

            def __getattr__(self, name):
                return test.check(here())

            def __eq__(self, other):
                test.check(here())
                return False

            def __del__(self):
                test.check(here())

            @property
            def size(self):
                return test.check(here())

            class Inner:
                test.check(here())

        for _ in range(200):  # long enough to be specialized: 3.13 then puts a frame of its own below
            thing = Thing()
            thing.size
            thing.other
            thing == Thing()
            del thing

    def test_objects_that_die_in_a_collection(self):
        def cycle():
            class Thing:
                def __del__(self):
                    found.append(test.check(here()))

            thing = Thing()
            thing.self = thing

        test = self
        found = []
        cycle()
        gc.collect()
        self.assertEqual(len(found), 1)

    def test_collections_in_the_middle_of_calls(self):
        def makes_cells_and_generators(one, two):
            def inner():
                return one, two
            return inner, (one for _ in range(two))

        def on_collection(phase, info):
            found.append((capture.held.test_take(), capturing.walk(here())))

        found = []
        before = gc.get_threshold()
        gc.callbacks.append(on_collection)
        gc.set_threshold(1, 1, 1)
        try:
            for number in range(300):
                makes_cells_and_generators(number, 1)
        finally:
            gc.set_threshold(*before)
            gc.callbacks.remove(on_collection)
        self.assertGreater(len(found), 0)
        for number, theirs in found:
            self.assertEqual([place[1:] for place in capture.decode(number)[1]], theirs)

    def test_exceptions(self):
        def fail():
            try:
                raise ValueError
            finally:
                self.check(here())

        try:
            fail()
        except ValueError:
            self.check(here())
            try:
                raise KeyError
            except KeyError:
                self.check(here())

    def test_tracers_and_profilers(self):
        def trace(frame, event, argument):
            seen.add(event)
            return trace

        def work():
            for _ in range(3):
                self.check(here())

        seen = set()
        sys.settrace(trace)
        try:
            work()
        finally:
            sys.settrace(None)
        sys.setprofile(trace)
        try:
            work()
        finally:
            sys.setprofile(None)
        work()
        self.assertIn("line", seen)
        self.assertIn("c_call", seen)


class Lines(Compared):
    """Sources made up, so that every way to write a line number comes up."""

    def run_source(self, source, name="<made up>"):
        names = {"check": self.check, "here": here}
        exec(compile(source, name, "exec"), names)
        return names

    def test_far_forward(self):
        for gap in 1, 2, 3, 126, 127, 128, 129, 255, 256, 1000, 40000:
            self.run_source("def f():\n check(here())" + "\n" * gap + " check(here())\n" + "\n" * gap + " check(here())\nf()")

    def test_backward(self):
        for gap in 1, 2, 100, 128, 300, 40000:
            self.run_source("def f(a, b):\n pass\nf(b=check(here()),%sa=check(here())\n)" % ("\n" * gap))
            self.run_source("def f(a):\n pass\nfor _ in range(2):\n f(%scheck(here())\n)\n check(here())" % ("\n" * gap))
            self.run_source("for _ in (1, 2):%s\n check(here());%s 1 if check(here()) else \\\n check(here())" % ("\n" * gap, ""))

    def test_long_lines(self):
        for count in 1, 30, 200, 1000:
            many = "+".join("x" * 3 for _ in range(count))
            self.run_source("xxx = 1\ndef f():\n y = %s\n check(here()); y = %s; check(here())\n check(here())\nf()" % (many, many))

    def test_code_of_no_line(self):
        names = self.run_source("def f():\n\n check(here())\n")
        code = names["f"].__code__
        if hasattr(code, "co_linetable"):
            table = code.co_linetable
            units = len(code.co_code) // 2
            if sys.version_info >= (3, 11):  # 15: no line, for up to 8 instructions each
                table = b"".join(bytes([0x80 | 15 << 3 | min(8, units - at) - 1]) for at in range(0, units, 8))
            else:
                table = bytes([len(code.co_code), 0x80])
            names["f"].__code__ = code.replace(co_linetable=table)
            names["f"]()

    def test_large_first_lines(self):
        self.run_source("\n" * 100000 + "check(here())\n(lambda: check(here()))()")


class Texts(Compared):
    def capture_as(self, name=None, file="<made up>"):
        """Function and file that the capture tells of a function so named."""
        names = {"take": capture.held.test_take}
        exec("def f(): return take()", names)
        code = names["f"].__code__
        changes = {"co_filename": file}
        if name is not None:
            changes["co_name"] = name
            if hasattr(code, "co_qualname"):
                changes["co_qualname"] = name
        names["f"].__code__ = code.replace(**changes)
        first, second = names["f"](), names["f"]()
        self.assertEqual(first, second)
        return capture.decode(first)[1][0][1:3]

    def test_all_widths(self):
        for text in "", "a", "ascii only", "caf\u00e9 \u00ff", "\u0444\u0443\u043d\u043a", "\u53d8\u91cf \uffff", "a\U0001f600\U0010ffff", "\x7f\x80":
            self.assertEqual(self.capture_as(name=text), (text, "<made up>"))
            self.assertEqual(self.capture_as(file=text)[1], text)

    def test_identifiers_that_are_not_ascii(self):
        def функция():
            def 变量():
                def naïve():
                    self.check(here())
                naïve()
            变量()

        функция()

    def test_what_utf_8_cannot_hold(self):
        self.assertEqual(self.capture_as(file="/tmp/\udcff/\ud800x.py")[1], "/tmp/\ufffd/\ufffdx.py")
        self.assertEqual(self.capture_as(name="a\0b")[0], "a?b")

    def test_long_texts_are_cut_between_characters(self):
        for character in "a", "\u00e9", "\u53d8", "\U0001f600":
            for before in range(4):
                text = "x" * before + character * 2000
                cut = text.encode()[:1024].decode(errors="ignore")
                self.assertEqual(self.capture_as(name=text, file=text), (cut, cut))

    def test_strings_of_subclasses(self):
        class Text(str):
            pass

        for text in "plain", "caf\u00e9", "\u53d8", "\U0001f600":
            self.assertEqual(self.capture_as(name=Text(text), file=Text(text)), (text, text))


class Depth(unittest.TestCase):
    def dive(self, levels, depth):
        if levels:
            return self.dive(levels - 1, depth)
        return take(depth), capturing.walk(here())

    def test_a_deep_stack_is_cut_and_says_so(self):
        for functions in capture.held, capture.released:
            for depth in 1, 2, 10, 50:
                number, theirs = self.dive(60, depth)
                truncated, frames = capture.decode(number)
                self.assertTrue(truncated)
                self.assertEqual(len(frames), depth)
                self.assertEqual([place[1:] for place in frames[1:]], theirs[:depth - 1])

    def test_a_stack_that_just_fits_is_not_cut(self):
        number, theirs = self.dive(3, DEPTH)
        deep = len(theirs) + 1
        for depth, cut in (deep - 1, True), (deep, False), (deep + 1, False):
            number, _ = self.dive(3, depth)
            self.assertEqual(capture.decode(number)[0], cut)

    def test_nothing_is_asked_for(self):
        self.assertEqual(take(0), 0)

    def test_more_than_the_most(self):
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(5000)
        try:
            number, theirs = self.dive(2000, 100000)
        finally:
            sys.setrecursionlimit(before)
        truncated, frames = capture.decode(number)
        self.assertTrue(truncated)
        self.assertEqual(len(frames), 1024)
        self.assertEqual([place[1:] for place in frames[1:]], theirs[:1023])

    def test_equal_stacks_have_one_number_and_others_another(self):
        numbers = set()
        for _ in range(100):
            numbers.add(take())
        self.assertEqual(len(numbers), 1)
        self.assertNotIn(take(), numbers)
        self.assertNotEqual(self.dive(1, DEPTH)[0], self.dive(2, DEPTH)[0])


class Full(unittest.TestCase):
    def test_a_full_depot_is_told_as_a_loss(self):
        other = capturing.Capture(os.environ["GMT_TEST_CAPTURE"])
        other.init()
        other.held.test_restart(64)
        lost = ctypes.c_uint32()
        self.assertEqual(other.held.test_capture(DEPTH, None, ctypes.byref(lost)), 0)
        self.assertEqual(lost.value, 1)
        other.held.test_restart(1 << 20)
        self.assertNotEqual(other.held.test_capture(DEPTH, None, ctypes.byref(lost)), 0)
        self.assertEqual(lost.value, 0)

    def test_a_new_depot_gets_all_names_anew(self):
        other = capturing.Capture(os.environ["GMT_TEST_CAPTURE"])
        other.init()

        def function():
            return other.held.test_take(), capturing.walk(here())

        function()
        other.held.test_restart(1 << 20)
        number, theirs = function()
        self.assertEqual([place[1:] for place in other.decode(number)[1]], theirs)

    def test_a_forked_child_starts_anew(self):
        child = os.fork()
        if not child:
            capture.held.test_restart(1 << 20)
            number, theirs = capture.held.test_take(), capturing.walk(here())
            os._exit([place[1:] for place in capture.decode(number)[1]] != theirs)
        self.assertEqual(os.waitpid(child, 0)[1], 0)


class Churn(unittest.TestCase):
    """Functions that die, and others that get their addresses."""

    # Each makes functions of one shape, so that the allocator gives the same places again.
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
        self.assertEqual((place[1], place[2], place[4]), (capturing.name_of(code), code.co_filename, code.co_firstlineno))
        if "lines" in shape:
            line = source.format(number, lines).split("\n").index(" return take()") + 1
            self.assertEqual(place[3], line)
        return id(code)

    def test_another_function_at_the_same_address_is_never_taken_for_the_old(self):
        for shape in self.SHAPES:
            with self.subTest(shape):
                addresses = [self.make_and_check(shape, number) for number in range(3000)]
                self.assertLess(len(set(addresses)), 2900, "hardly an address was used again: proves nothing")

    def test_code_that_differs_in_one_field_only_is_told_apart(self):
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
