# SPDX-License-Identifier: MIT
"""Compares captured stacks with the interpreter's own stacks, taken on the same line."""

import asyncio
import contextlib
import ctypes
import functools
import gc
import random
import sys
import threading
import unittest

import capturing
from comparing import Compared, DEPTH, capture, here, take


class Stacks(Compared):
    def test_a_plain_call(self):
        self.check(here())

    def test_the_native_stack_shows_the_loop(self):
        runs = ctypes.c_uint32()
        capture.held.test_capture(DEPTH, ctypes.byref(runs), None)
        if not runs.value and not capture.held.test_has_whole_loop():
            self.skipTest("a stripped interpreter whose loop is in several parts")
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

    @unittest.skipIf(sys.version_info < (3, 11), "each Python call is a run")
    def test_one_frame_that_c_and_python_call_in_turns_from_one_place(self):
        def leaf():
            found.append(capture.decode(take())[1])

        def caller(call):
            call()

        found = []
        for call in [leaf, functools.partial(leaf)] * 6:
            caller(call)
        self.assertEqual([frames[1][0] for frames in found], [False, True] * 6)

    def test_frames_at_the_same_places_that_c_or_python_calls_by_chance(self):
        def step(ways):
            if not ways:
                return self.check(here())
            # One call site calls a function directly, through C, or through a generator's frame.
            return (step, functools.partial(step), in_generator)[ways[0]](ways[1:])

        def in_generator(ways):
            return next(step(rest) for rest in [ways])

        chance = random.Random(9)
        ways = [0] * 24
        for _ in range(300):
            ways[chance.randrange(len(ways))] = chance.randrange(3)
            step(ways[chance.choice((0, 0, 0, 9)) :])

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

    def test_a_generator_runs_below_its_caller(self):
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
            thing.size  # noqa: B018
            thing.other  # noqa: B018
            thing == Thing()  # noqa: B015
            del thing

    def test_functions_that_are_called_so_often_that_they_are_compiled(self):
        def inner(number):
            if number % 997 == 0:
                self.check(here())
            return number

        def outer(number):
            twice = number * 2
            return inner(number) + twice

        def numbers(count):
            for number in range(count):
                if number % 3001 == 0:
                    self.check(here())
                yield number

        self.assertEqual(sum(outer(number) for number in numbers(20000)), 3 * sum(range(20000)))

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


class Depth(unittest.TestCase):
    def dive(self, levels, depth):
        if levels:
            return self.dive(levels - 1, depth)
        return take(depth), capturing.walk(here())

    def check_both_ends(self, number, theirs, depth):
        """Checks that the stack has `depth` places, with a gap in front of the last quarter: the outermost frames."""
        truncated, frames = capture.decode(number)
        outer = depth // 4
        self.assertEqual(len(frames), depth)
        if not outer:
            self.assertTrue(truncated)
            self.assertEqual([place[1:] for place in frames[1:]], theirs[: depth - 1])
            return
        self.assertFalse(truncated)
        inner = depth - outer - 1
        self.assertEqual([at for at, place in enumerate(frames) if place is None], [inner])
        self.assertEqual([place[1:] for place in frames[1:inner]], theirs[: inner - 1])
        self.assertEqual([place[1:] for place in frames[inner + 1 :]], theirs[-outer:])

    def test_both_ends_of_a_deep_stack_are_kept_and_the_cut_is_marked(self):
        for functions in capture.held, capture.released:
            for depth in 1, 2, 3, 4, 5, 10, 50, 60:
                number, theirs = self.dive(60, depth)
                self.check_both_ends(number, theirs, depth)

    def test_a_stack_that_just_fits_is_not_cut(self):
        number, theirs = self.dive(3, DEPTH)
        deep = len(theirs) + 1
        for depth, cut in (deep - 1, True), (deep, False), (deep + 1, False):
            number, _ = self.dive(3, depth)
            truncated, frames = capture.decode(number)
            self.assertFalse(truncated)
            self.assertEqual(None in frames, cut)

    def test_a_depth_of_zero_gives_no_stack(self):
        self.assertEqual(take(0), 0)

    def deep(self, recursion, work):
        """Runs `work` in its own thread, with a stack large enough for `recursion` frames."""
        found = []

        def run():
            found.append(work())

        limit, size = sys.getrecursionlimit(), threading.stack_size(1 << 30)
        sys.setrecursionlimit(recursion + 1000)
        try:
            thread = threading.Thread(target=run)
            thread.start()
            thread.join()
        finally:
            sys.setrecursionlimit(limit)
            threading.stack_size(size)
        return found[0]

    def test_a_depth_above_the_maximum(self):
        number, theirs = self.deep(2000, lambda: self.dive(2000, 100000))
        self.check_both_ends(number, theirs, DEPTH)

    def test_both_ends_of_ten_thousand_frames_are_kept(self):
        for depth in 5, 128, 512, 1024:
            number, theirs = self.deep(10000, lambda depth=depth: self.dive(10000, depth))
            self.assertGreater(len(theirs), 10000)
            self.check_both_ends(number, theirs, depth)

    def test_the_same_recursion_from_another_place_has_another_outer_end(self):
        def outer(first):
            if first:
                number, theirs = self.dive(500, 40)
            else:
                number, theirs = self.dive(500, 40)
            self.check_both_ends(number, theirs, 40)
            return number

        def other():
            return [outer(first) for first in (True, False, True, False)]

        one, two, again, other_again = self.deep(500, other)
        self.assertNotEqual(one, two)
        self.assertEqual((one, two), (again, other_again))

    def test_deep_stacks_that_come_in_turns_with_others_are_right_each_time(self):
        def turns():
            numbers = []
            for _ in range(3):
                for levels in 300, 2, 301, 37:
                    number, theirs = self.dive(levels, 40)
                    if len(theirs) + 1 > 40:
                        self.check_both_ends(number, theirs, 40)
                    else:
                        self.assertEqual([place[1:] for place in capture.decode(number)[1][1:]], theirs)
                    numbers.append(number)
            return numbers

        numbers = self.deep(500, turns)
        # Stacks that differ only in the number of omitted frames have one id.
        self.assertEqual(len({numbers[0], numbers[2], numbers[3]}), 1)
        self.assertNotEqual(numbers[0], numbers[1])
        self.assertEqual(numbers[:4], numbers[4:8])

    def test_deeply_nested_generators(self):
        def numbers(left):
            if left:
                yield from numbers(left - 1)
            else:
                yield take(100), capturing.walk(here())

        # Each level calls C code from C code.
        number, theirs = self.deep(2000, lambda: next(numbers(1000)))
        self.check_both_ends(number, theirs, 100)

    def test_a_recursion_through_c_code(self):
        def turn(left):
            if left:
                return functools.reduce(lambda one, other: turn(other), [0, left - 1])
            return take(100), capturing.walk(here())

        number, theirs = self.deep(2000, lambda: turn(300))
        self.check_both_ends(number, theirs, 100)

    def test_a_stack_beyond_the_walks_limit_lacks_its_outer_end(self):
        def down(left):
            if left:
                return down(left - 1)
            return take(100), capturing.walk(here())

        number, theirs = self.deep(34000, lambda: down(33500)) if sys.version_info >= (3, 11) else (0, [])
        if not number:
            self.skipTest("a Python call is a C call, whose stack is smaller than that")
        truncated, frames = capture.decode(number)
        self.assertTrue(truncated)
        self.assertEqual([place[1:] for place in frames[1:]], theirs[:99])

    def test_equal_stacks_have_one_id_and_other_stacks_have_another(self):
        numbers = set()
        for _ in range(100):
            numbers.add(take())
        self.assertEqual(len(numbers), 1)
        self.assertNotIn(take(), numbers)
        self.assertNotEqual(self.dive(1, DEPTH)[0], self.dive(2, DEPTH)[0])


if __name__ == "__main__":
    unittest.main()
