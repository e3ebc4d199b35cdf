# SPDX-License-Identifier: MIT
"""Under the recorder, NVIDIA's own runtimes get the right functions when they request symbols of the driver.

The real libcudart of each version runs on a fake driver, which has all names and does nothing. The runtime's start
fails, after all its requests.
"""

import functools
import os
import unittest

import runtimes
import tap
from recorded_run import SHIM
from runtimes import cuda_functions


@functools.cache
def hooked():
    return {row.symbol for row in cuda_functions.rows() if row.library == "CUDA"}


def expected(symbol):
    return symbol and ("shim" if symbol in hooked() else "driver", symbol)


@unittest.skipUnless(runtimes.folders(), "no runtimes here: scripts/setup/cuda-runtimes fetches them")
class SymbolRequests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        known = runtimes.entries().values()
        cls.driver = runtimes.fake_driver("all", known)
        cls.exact = runtimes.fake_driver("all-exact", known, "-DEXACT_NAMES_ONLY")
        # All names of all headers, in each of their versions and in a future version.
        cls.names = os.path.join(runtimes.folder(), "names")
        with open(cls.names, "w", encoding="utf-8") as file:
            for name, since in sorted({(entry.base, entry.since) for entry in known}):
                file.write(f"{name} {since}\n{name} {runtimes.FUTURE_VERSION}\n{name} {since - 1}\n")
            for entry in known:
                file.write(f"{entry.symbol} {entry.since}\n")

    def linkings(self):
        for version in runtimes.folders():
            yield version, False
            if runtimes.archive(version):
                yield version, True

    def check(self, requests, driver, newest=runtimes.FUTURE_VERSION):
        """Checks each answer against a driver of that version. Returns how many answers were wrappers."""
        wrong = []
        for request in requests:
            if request.route == "dlsym":
                wanted = expected(request.name) if self.is_exported(request.name, driver) else None
            else:
                wanted = expected(runtimes.expected_symbol(request.name, request.version, request.flags, newest))
            if runtimes.answer_of(request) != wanted:
                wrong.append(
                    f"{request.name} {request.version} flags {request.flags} ({request.route}): "
                    f"{runtimes.answer_of(request)}, not {wanted}"
                )
        self.assertEqual(wrong, [])
        return sum((runtimes.answer_of(request) or [""])[0] == "shim" for request in requests)

    def is_exported(self, name, driver):
        if name.startswith("cuGetProcAddress"):
            return driver != self.exact
        return name in runtimes.entries() or name in runtimes.DEFINED_IN_FAKE_DRIVER

    def run_each(self, driver, **options):
        for version, static in self.linkings():
            with self.subTest(version=version, static=static):
                requests, last = runtimes.run_runtime(driver, version, static, preload=SHIM, **options)
                self.assertEqual(last, "ended 500")
                asked = [request for request in requests if request.who == "runtime"]
                # The runtime makes as many requests as without the recorder, so it did not fail earlier.
                self.assertEqual(len(runtimes.after_start(asked)), runtimes.runtime_entries()[1][version])
                self.assertGreater(self.check(requests, driver), 60)

    def test_each_request_of_each_runtime_gets_the_wrapper_of_exactly_that_function(self):
        self.run_each(self.driver)

    def test_a_driver_that_answers_with_functions_which_it_does_not_export_is_matched_by_version(self):
        self.run_each(self.driver, hides=True)

    def test_a_runtime_that_falls_back_to_exact_names_gets_the_wrappers_of_these(self):
        self.run_each(self.exact)

    def test_each_name_of_each_header_with_each_flag_gets_the_wrapper_of_exactly_that_function(self):
        newest = list(runtimes.folders())[-1]
        for hides in (False, True):
            with self.subTest(hides=hides):
                requests, _ = runtimes.run_runtime(self.driver, newest, preload=SHIM, names=self.names, hides=hides)
                own = [request for request in requests if request.who == "self"]
                self.assertGreater(len(own), 6 * len(hooked()))
                reached = {runtimes.answer_of(one)[1] for one in own if runtimes.answer_of(one)}
                self.assertEqual(hooked() & set(runtimes.entries()) - reached, set(), "never answered with")
                self.check(own, self.driver)

    def test_a_driver_older_than_the_version_asked_for_is_matched_by_address(self):
        # The driver answers with the newest form that it has. By the version alone, a newer form would be expected.
        for newest in (11040, 12020):
            with self.subTest(newest):
                old = [entry for entry in runtimes.entries().values() if entry.since <= newest]
                driver = runtimes.fake_driver(f"old-{newest}", old)
                requests, _ = runtimes.run_runtime(driver, list(runtimes.folders())[0], preload=SHIM, names=self.names)
                own = [one for one in requests if one.who == "self" and not one.name.startswith("cuGetProcAddress")]
                self.assertGreater(self.check(own, driver, newest), 3 * len(hooked()))

    def test_runtimes_and_headers_agree_which_function_is_meant_by_a_name_and_a_version(self):
        in_headers = runtimes.header_entries()
        differing = [
            (entry, in_headers[symbol])
            for symbol, known in runtimes.runtime_entries()[0].items()
            for entry in known
            if symbol in in_headers and entry != in_headers[symbol]
        ]
        self.assertEqual(differing, [])
        for symbol, known in runtimes.runtime_entries()[0].items():
            self.assertEqual(len(known), 1, f"{symbol}: {known}")

    def test_each_request_that_looks_like_an_allocation_call_has_a_row_or_a_reason(self):
        asked = runtimes.runtime_entries()[0]
        self.assertGreater(len(asked), 370)
        reasons = cuda_functions.not_hooked()
        unexplained = sorted(
            symbol
            for symbol in asked
            if cuda_functions.looks_like_allocation(symbol)
            and symbol not in hooked()
            and cuda_functions.base_of(symbol) not in reasons
            and symbol not in reasons
        )
        self.assertEqual(unexplained, [])


if __name__ == "__main__":
    tap.main()
