# SPDX-License-Identifier: MIT
"""Lines and names in every form in which CPython stores them."""

import sys
import unittest

from comparing import Compared, capture, here


class Lines(Compared):
    """Generated sources that use every way to store a line number."""

    def run_source(self, source, name="<made up>"):
        names = {"check": self.check, "here": here}
        exec(compile(source, name, "exec"), names)
        return names

    def test_far_forward(self):
        for gap in 1, 2, 3, 126, 127, 128, 129, 255, 256, 1000, 40000:
            self.run_source(
                "def f():\n check(here())" + "\n" * gap + " check(here())\n" + "\n" * gap + " check(here())\nf()"
            )

    def test_backward(self):
        for gap in 1, 2, 100, 128, 300, 40000:
            self.run_source("def f(a, b):\n pass\nf(b=check(here()),%sa=check(here())\n)" % ("\n" * gap))
            self.run_source(
                "def f(a):\n pass\nfor _ in range(2):\n f(%scheck(here())\n)\n check(here())" % ("\n" * gap)
            )
            self.run_source(
                "for _ in (1, 2):%s\n check(here());%s 1 if check(here()) else \\\n check(here())" % ("\n" * gap, "")
            )

    def test_long_lines(self):
        for count in 1, 30, 200, 1000:
            many = "+".join("x" * 3 for _ in range(count))
            self.run_source(
                "xxx = 1\ndef f():\n y = %s\n check(here()); y = %s; check(here())\n check(here())\nf()" % (many, many)
            )

    def test_code_without_lines(self):
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
        """Returns the function and file that the capture gives for a function with this name and file."""
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
        for text in (
            "",
            "a",
            "ascii only",
            "caf\u00e9 \u00ff",
            "\u0444\u0443\u043d\u043a",
            "\u53d8\u91cf \uffff",
            "a\U0001f600\U0010ffff",
            "\x7f\x80",
        ):
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

    def test_text_that_is_not_utf_8(self):
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


if __name__ == "__main__":
    unittest.main()
