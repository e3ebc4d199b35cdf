# SPDX-License-Identifier: MIT
"""The pytest plugin: limits fail their tests, with lines and bytes; the fixture has exact numbers."""

import tap
from project import Project, needs_pytest, table


@needs_pytest
class Limits(Project):
    def test_a_peak_above_the_limit_fails_the_test_and_names_the_lines(self):
        self.write_tests("""
            @pytest.mark.limit_gpu_memory("6 MB")
            def test_large():
                work(4 * MiB)
        """)
        output = self.record(code=1)
        self.assertIn(
            "gpumemtrace: The test's peak on GPU 0 was 6.00 MiB (6,291,456 bytes) above its start. "
            "The limit is 6 MB (limit_gpu_memory).\n"
            "   6.00 MiB  cuda.py:9 in malloc  (2 blocks)\n"
            "             called at test_project.py:10 in work\n"
            "             called at test_project.py:17 in test_large\n",
            output,
        )
        self.assertIn("1 failed", output)

    def test_the_limit_itself_is_allowed_and_one_byte_more_is_not(self):
        self.write_tests("""
            @pytest.mark.limit_gpu_memory(1500)
            def test_equal():
                work(1000)

            @pytest.mark.limit_gpu_memory(1499)
            def test_more():
                work(1000)
        """)
        output = self.record(code=1)
        self.assertIn("1 failed, 1 passed", output)
        self.assertIn("above its start. The limit is 1,499 bytes (limit_gpu_memory).", output)

    def test_memory_from_before_the_test_and_of_its_fixtures_does_not_count(self):
        self.write_tests("""
            kept.append(malloc(100 * MiB))

            @pytest.fixture
            def block():
                block = malloc(50 * MiB)
                yield block
                free(block)

            @pytest.mark.limit_gpu_memory("1 KiB")
            @pytest.mark.limit_gpu_leaks("0 B")
            def test_small(block):
                free(malloc(KiB))
        """)
        self.assertEqual(table(self.record(code=0)), {"test_project.py::test_small": ("50.0 MiB", "0 B", 2)})

    def test_a_peak_far_below_an_earlier_peak_of_the_process_is_found(self):
        self.write_tests("""
            def test_first():
                free(malloc(100 * MiB))

            @pytest.mark.limit_gpu_memory("1 KiB")
            def test_second():
                free(malloc(2 * KiB))
        """)
        output = self.record(code=1)
        self.assertIn("was 2.00 KiB (2,048 bytes) above its start", output)

    def test_a_leak_fails_the_test_and_names_the_line_that_allocated(self):
        self.write_tests("""
            @pytest.mark.limit_gpu_leaks("0 B")
            def test_leaks():
                work(MiB)
                kept.append(malloc(100))
        """)
        output = self.record(code=1)
        self.assertIn("gpumemtrace: The test left 100 B on GPU 0. The limit is 0 B (limit_gpu_leaks).", output)
        self.assertIn(
            "100 B  cuda.py:9 in malloc  (1 block)\n             called at test_project.py:18 in test_leaks", output
        )
        self.assertNotIn("in work", output)

    def test_warmups_run_the_test_before_and_do_not_count(self):
        self.write_tests("""
            calls = []

            @pytest.mark.limit_gpu_leaks("0 B", warmups=2)
            def test_cache():
                calls.append(1)
                if len(calls) < 3:
                    kept.append(malloc(KiB))

            def test_calls():
                assert len(calls) == 3
        """)
        self.assertIn("2 passed", self.record(code=0))
        self.assertIn("1 failed", self.run_pytest("-k", "cache or calls", code=1), "without --gpumemtrace, one call")

    def test_garbage_in_cycles_is_collected_before_a_leak_is_judged(self):
        self.write_tests("""
            class Owner:
                def __init__(self):
                    self.block, self.itself = malloc(KiB), self

                def __del__(self):
                    free(self.block)

            @pytest.mark.limit_gpu_leaks("0 B")
            def test_cycle():
                Owner()
        """)
        self.assertIn("1 passed", self.record(code=0))

    def test_a_test_that_fails_by_itself_keeps_its_own_message(self):
        self.write_tests("""
            @pytest.mark.limit_gpu_memory("0 B")
            def test_wrong():
                work(KiB)
                assert 1 == 2
        """)
        output = self.record(code=1)
        self.assertIn("assert 1 == 2", output)
        self.assertNotIn("limit_gpu_memory)", output)

    def test_a_limit_for_one_gpu_does_not_judge_another(self):
        self.write_tests("""
            @pytest.mark.limit_gpu_memory("0 B", device=1)
            def test_other():
                work(KiB)

            @pytest.mark.limit_gpu_memory("0 B", device=0)
            def test_this():
                work(KiB)

            @pytest.mark.limit_gpu_memory("0 B", layer="torch")
            def test_layer():
                work(KiB)
        """)
        self.assertIn("1 failed, 2 passed", self.record(code=1))

    def test_the_rest_of_many_lines_and_freed_memory_are_sums(self):
        # A helper that allocates would be the one line of all blocks. Here each line calls the runtime.
        calls = "".join(
            f"    runtime.cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t({size} * 1024))\n"
            for size in range(1, 15)
        )
        self.write(
            "test_many.py",
            "import ctypes\nimport pytest\nfrom cuda import free, malloc, runtime\n\n"
            "@pytest.fixture\ndef old():\n    return malloc(512)\n\n"
            "@pytest.mark.limit_gpu_leaks('0 B')\ndef test_many(old):\n    free(old)\n" + calls,
        )
        output = self.record("test_many.py", code=1)
        self.assertIn("The test left 104 KiB (107,008 bytes) on GPU 0.", output)
        self.assertIn("  14.0 KiB  test_many.py:25 in test_many  (1 block)\n", output)
        self.assertIn("  10.0 KiB  in 4 other lines\n", output)
        self.assertIn("    -512 B  was freed that was held before\n", output)

    def test_a_wrong_limit_is_a_usage_error_that_names_the_test(self):
        for marker, words in (
            ('limit_gpu_memory("2 gigs")', "marker limit_gpu_memory: '2 gigs' is not a size; write it as \"2 GiB\""),
            ('limit_gpu_memory("2 iB")', "'2 iB' is not a size"),
            ("limit_gpu_memory(-1)", "marker limit_gpu_memory: -1 is below 0"),
            ("limit_gpu_memory()", "marker limit_gpu_memory: the limit is missing"),
            ("limit_gpu_memory(1, 2)", "it takes one argument without a name, the limit"),
            ("limit_gpu_memory(1, limit=2)", "the limit is given twice"),
            ("limit_gpu_memory(1, warmups=1)", "it has no argument warmups; it has device, layer, limit"),
            ("limit_gpu_leaks(0, warmups=-1)", "warmups=-1 is not a number of runs"),
            ('limit_gpu_leaks(0, layer="gpu")', "layer='gpu' is not one of torch, cuda, custom, driver, imported"),
            ("limit_gpu_leaks(0, device='0')", "device='0' is not the number of a GPU"),
        ):
            with self.subTest(marker):
                self.write_tests(f"@pytest.mark.{marker}\ndef test_wrong(): pass\n")
                output = self.record(code=4)
                self.assertIn("ERROR: test_project.py::test_wrong: marker ", output)
                self.assertIn(words, output)

    def test_units_are_powers_of_1024_with_an_i_and_of_1000_without(self):
        self.write_tests("""
            @pytest.mark.parametrize("text, size_bytes", [
                ("2 GiB", 2 << 30), ("500 MB", 500_000_000), ("0 B", 0), ("1.5KiB", 1536), ("3 kB", 3000), (7, 7),
                ("1 TiB", 1 << 40), ("7B", 7),
            ])
            def test_size(text, size_bytes):
                from gpumemtrace._pytest_limits import parse_size
                assert parse_size(text) == size_bytes
        """)
        self.assertIn("8 passed", self.run_pytest(code=0))


@needs_pytest
class Fixture(Project):
    def test_the_fixture_has_the_bytes_of_this_moment(self):
        self.write_tests("""
            kept.append(malloc(1000))

            def test_numbers(gpu_memory):
                begin = gpu_memory.begin_bytes
                assert gpu_memory.live_bytes == begin >= 1000
                block = malloc(12345)
                assert (gpu_memory.live_bytes, gpu_memory.left_bytes) == (begin + 12345, 12345)
                free(block)
                free(malloc(5))
                usage = gpu_memory.usage()
                assert (usage.left_bytes, usage.peak_above_begin_bytes) == (0, 12345)
                assert (usage.allocations, usage.frees, usage.allocated_bytes) == (2, 2, 12350)
                assert list(gpu_memory.devices) == [0] and gpu_memory.devices[0] == usage
                assert gpu_memory.usage(device=1).peak_bytes == 0
        """)
        self.assertIn("1 passed", self.record(code=0))

    def test_measure_counts_only_its_own_body(self):
        self.write_tests("""
            def test_measure(gpu_memory):
                work(MiB)
                with gpu_memory.measure() as first:
                    block = malloc(300)
                    assert first.live_bytes - first.begin_bytes == 300
                    free(block)
                work(2 * MiB)
                with gpu_memory.measure() as second:
                    kept.append(malloc(7))
                free(kept.pop())
                assert (first.peak_above_begin_bytes, first.left_bytes, first.allocations) == (300, 0, 1)
                assert (second.peak_above_begin_bytes, second.left_bytes) == (7, 7)
        """)
        self.assertIn("1 passed", self.record(code=0))

    def test_blocks_of_all_threads_are_in_the_numbers(self):
        self.write_tests("""
            import threading

            def test_threads(gpu_memory):
                for number in range(20):
                    threads = [threading.Thread(target=lambda: kept.append(malloc(100))) for _ in range(5)]
                    [one.start() for one in threads]
                    [one.join() for one in threads]
                    assert gpu_memory.left_bytes == 500 * (number + 1)
        """)
        self.assertIn("1 passed", self.record(code=0))

    def test_without_a_cuda_call_the_numbers_are_zero(self):
        self.write_tests("""
            def test_zero(gpu_memory):
                assert gpu_memory.live_bytes == gpu_memory.peak_bytes == 0
        """)
        self.assertIn("1 passed", self.record(code=0))

    def test_without_the_option_the_fixture_skips_the_test(self):
        self.write_tests("def test_fixture(gpu_memory): pass\n")
        output = self.run_pytest("-rs", code=0)
        self.assertIn("the fixture gpu_memory needs pytest --gpumemtrace", output)


if __name__ == "__main__":
    tap.main()
