# SPDX-License-Identifier: MIT
"""Arenas of libraries are not leaks. No verb judges their content, and every verb says so."""

import json
import unittest

import cli
from definitions import Space
from heap_story import HeapStory
from recording import CUDA, MiB, Story

PACKAGES = "/env/lib/python3.12/site-packages/"
JAX = PACKAGES + "jax/_src/array.py:7 in put"
CUPY = PACKAGES + "cupy/_creation/basic.py:22 in empty"
ORT = PACKAGES + "onnxruntime/capi/libonnxruntime_providers_cuda.so"
OWN = "/home/me/train.py:31 in step"
DOUBT = "blocks inside {}'s arena are not recorded, so leaks there cannot be found"


def grow(story, steps=40, size=4 * MiB, every=4, frames=(JAX, OWN), **fields):
    """Adds an arena to which the program adds a piece every few steps, and which keeps all pieces."""

    def body(number):
        if number % every == 0:
            story.alloc(size, *frames, layer=CUDA, **fields)

    story.steps(steps, body)
    return story


def leaks(path, *arguments):
    return json.loads(cli.run("leaks", "--json", *arguments, path).stdout)


def check(path, *arguments):
    answer = cli.run("check", "--json", *arguments, path)
    return answer.returncode, json.loads(answer.stdout)["checks"]


def growth_of(checks, layer="cuda"):
    (row,) = [row for row in checks if row["name"] == "growth" and row["layer"] == layer and row["device"] is not None]
    return row


class Arenas(unittest.TestCase):
    def test_blocks_of_an_arena_are_no_leak_and_its_growth_is_not_judged(self):
        path = grow(Story()).write("arena.gmt.gz")
        answer = leaks(path)
        self.assertEqual(answer["leaks"], [])
        self.assertEqual(
            answer["arenas"],
            [
                {
                    "owner": "XLA",
                    "device": 0,
                    "live_bytes": 40 * MiB,
                    "peak_bytes": 40 * MiB,
                    "allocs": 10,
                    "certain": False,
                    "blocks_are_seen": False,
                    "setting": "set XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async",
                }
            ],
        )
        code, checks = check(path)
        self.assertEqual(code, 0)
        row = growth_of(checks)
        self.assertEqual(
            (row["state"], row["text"]),
            (
                "skipped",
                "not judged: "
                + DOUBT.format("XLA")
                + "; to record its blocks, set XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async",
            ),
        )

    def test_report_leaks_and_check_name_the_hidden_arena_and_the_setting_that_opens_it(self):
        path = grow(Story()).write("arena_text.gmt.gz")
        for verb in ["leaks"], ["report", "--full"]:
            text = cli.unwrapped(cli.run(*verb, path).stdout)
            head = text[: text.index("\n\n")]
            self.assertIn(
                DOUBT.format("XLA") + " (40.0 MiB on GPU 0); to record its blocks, set "
                "XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async",
                head,
            )
            self.assertIn("Leaks: none found outside of XLA's arena over 40 steps", text)
            self.assertIn("  arena     40.0 MiB on GPU 0 in the arena of XLA", text)
            self.assertNotIn("exit ", text)
        self.assertIn("none found outside of XLA's arena", cli.run("report", path).stdout)
        text = cli.unwrapped(cli.run("check", path).stdout)
        self.assertIn("0 B leaked outside of XLA's arena", text)
        self.assertIn("not judged: " + DOUBT.format("XLA"), text)

    def test_a_compacted_recording_says_the_same(self):
        path = grow(Story()).write("arena_whole.gmt.gz")
        compacted = cli.place("arena_compacted.gmt.gz")
        self.assertEqual(cli.run("fold", "--force", "-o", compacted, path).returncode, 0)
        self.assertEqual((leaks(compacted)["arenas"], leaks(compacted)["leaks"]), (leaks(path)["arenas"], []))
        code, checks = check(compacted)
        self.assertEqual((code, growth_of(checks)["state"]), (0, "skipped"))

    def test_leaks_finds_the_programs_own_leak_next_to_an_arena(self):
        story = grow(Story(), steps=0)
        story.alloc(64 * MiB, JAX, OWN, layer=CUDA)

        def body(_number):
            story.alloc(MiB, "/home/me/train.py:40 in keep", "/home/me/train.py:90 in main", layer=CUDA)

        story.steps(40, body)
        path = story.write("arena_beside.gmt.gz")
        (leak,) = leaks(path)["leaks"]
        self.assertEqual((leak["definition"], leak["bytes_per_step"]), ("growth", MiB))
        code, checks = check(path)
        self.assertEqual((code, growth_of(checks)["state"]), (1, "failed"))

    def test_a_library_that_frees_most_of_its_memory_has_no_arena(self):
        story = Story()

        def body(_number):
            for _ in range(3):
                story.free(story.alloc(MiB, JAX, OWN, layer=CUDA))
            story.alloc(2 * MiB, JAX, "/home/me/train.py:32 in keep", layer=CUDA)

        story.steps(40, body)
        path = story.write("arena_platform.gmt.gz")
        answer = leaks(path)
        self.assertEqual(answer["arenas"], [])
        self.assertEqual(
            [(leak["definition"], leak["bytes_per_step"]) for leak in answer["leaks"]], [("growth", 2 * MiB)]
        )
        self.assertEqual(check(path)[0], 1)

    def test_blocks_of_a_driver_pool_are_neither_an_arena_nor_a_leak(self):
        story = Story()
        story.alloc(8 * MiB, CUPY, "/home/me/train.py:5 in build", layer=CUDA, space=Space.POOL, object=1)
        grow(story, every=1, frames=(CUPY, OWN), space=Space.POOL, object=1)
        path = story.write("arena_async.gmt.gz")
        answer = leaks(path)
        self.assertEqual(answer["arenas"], [])
        self.assertEqual(
            [(leak["definition"], leak["bytes_per_step"]) for leak in answer["leaks"]], [("growth", 4 * MiB)]
        )
        self.assertEqual([leak["definition"] for leak in leaks(path, "--definition=exit")["leaks"]], ["exit", "exit"])

    def test_a_library_without_function_names_is_recognized_by_its_file(self):
        path = grow(Story(), module=ORT, frames=(OWN,)).write("arena_ort.gmt.gz")
        answer = leaks(path)
        self.assertEqual(
            [(row["owner"], row["certain"], row["setting"]) for row in answer["arenas"]],
            [("ONNX Runtime", False, None)],
        )
        self.assertEqual(answer["leaks"], [])
        self.assertIn(DOUBT.format("ONNX Runtime"), cli.unwrapped(cli.run("check", path).stdout))

    def test_a_heap_of_the_same_name_reports_the_blocks(self):
        story = HeapStory()
        story.alloc(160 * MiB, CUPY, OWN, address=0x10_0000_0000, layer=CUDA)
        story.heap(1, "CuPy", 0x10_0000_0000, 160 * MiB)
        story.heap_event(1, 1, 0x10_0000_0000, 4 * MiB, "/home/me/train.py:5 in build")

        def body(number):
            story.heap_event(1, 1, 0x10_0100_0000 + number * MiB, MiB, OWN)

        story.steps(40, body)
        path = story.write("arena_heap.gmt.gz")
        answer = leaks(path)
        self.assertEqual([(row["owner"], row["blocks_are_seen"]) for row in answer["arenas"]], [("CuPy", True)])
        # The array that lives at the end is not a leak by `exit`.
        self.assertEqual(
            [(leak["definition"], leak["layer"], leak["bytes_per_step"]) for leak in answer["leaks"]],
            [("growth", "custom", MiB)],
        )
        text = cli.run("leaks", path).stdout
        self.assertNotIn("are not seen", text)
        self.assertIn("its blocks are judged as blocks of the heap of that name", text)

    def test_user_rules_can_add_and_remove_arenas(self):
        path = grow(Story(), frames=("/home/me/engine/pool.py:9 in grow", OWN)).write("arena_rules.gmt.gz")
        self.assertEqual([leak["definition"] for leak in leaks(path)["leaks"]], ["growth"])
        with open(cli.place("arena.rules"), "w", encoding="utf-8") as file:
            file.write("arena Engine file engine/pool.py function grow\n")
        answer = leaks(path, "--owners", cli.place("arena.rules"))
        self.assertEqual(([row["owner"] for row in answer["arenas"]], answer["leaks"]), (["Engine"], []))
        path = grow(Story()).write("arena_unmade.gmt.gz")
        with open(cli.place("arena.rules"), "w", encoding="utf-8") as file:
            file.write("own XLA package jax\n")
        answer = leaks(path, "--owners", cli.place("arena.rules"))
        self.assertEqual((answer["arenas"], len(answer["leaks"])), ([], 1))

    def test_pinned_host_memory_of_an_arena_is_no_leak(self):
        path = grow(Story(), module=ORT, frames=(OWN,), device=-1, space=Space.PINNED).write("arena_host.gmt.gz")
        answer = leaks(path)
        self.assertEqual(([row["device"] for row in answer["arenas"]], answer["leaks"]), ([None], []))
        self.assertIn("pinned host memory in the arena of ONNX Runtime: not judged", cli.run("leaks", path).stdout)


if __name__ == "__main__":
    cli.main()
