# SPDX-License-Identifier: MIT
"""scripts/check-format and its rules: what counts as a finding, and what --fix makes of Markdown."""

import os
import subprocess
import sys
import unittest
import unittest.mock

import tap

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPTS = os.path.join(HERE, "..", "..", "scripts")
sys.path.insert(0, SCRIPTS)

import format_rules  # noqa: E402

CODE = r"""
/* static int in_a_comment(int a, int b) { */
#define IN_A_MACRO(a, b, c) { f(a, b, c); }
struct table { int (*call)(int a, int b); };
static int none(void)
{
	return call("text ) {", '(', 1, 2);
}
extern "C" {
__attribute__((noinline)) static int two(int (*call)(int, int, int),
	const struct point *b) __attribute__((unused));
int two(int (*call)(int, int, int), const struct point *b)
{
	if (two(a, b)) { return 1; }
}
}
"""
LONG = "word " * 30


class Functions(unittest.TestCase):
    def test_definitions_are_found_with_their_line_and_the_number_of_their_parameters(self):
        self.assertEqual(list(format_rules.functions(CODE)), [("none", 5, 1), ("two", 12, 2)])

    def test_functions_of_cuda_may_have_more_parameters(self):
        self.assertTrue(format_rules.FOREIGN_FUNCTION.fullmatch("cuLaunchKernel"))
        self.assertTrue(format_rules.FOREIGN_FUNCTION.fullmatch("cublasLtMatmul"))
        self.assertFalse(format_rules.FOREIGN_FUNCTION.fullmatch("current_stack"))


class Text(unittest.TestCase):
    def test_comments_and_strings_have_at_most_100_columns_and_a_tab_counts_four(self):
        words = "x" * 88
        self.assertFalse(format_rules.is_long_text(f"\t// 56{words}\t"))
        for line in (f"\t// 56 {words} 90", f"\t * {words} 1234567", f'\t"{words} 1234567"', f"\tx; /* {words} */"):
            self.assertTrue(format_rules.is_long_text(line), line)

    def test_code_and_urls_may_be_long(self):
        self.assertFalse(format_rules.is_long_text("\tx = " + "y" * 120 + ";"))
        self.assertFalse(format_rules.is_long_text("// see https://example.org/" + "y" * 120))


class Markdown(unittest.TestCase):
    def long_lines(self, text):
        return [
            line for line, is_prose in format_rules.markdown_lines(text) if is_prose and format_rules.is_too_long(line)
        ]

    def test_lines_of_tables_and_code_may_be_long(self):
        self.assertEqual(self.long_lines(f"| {LONG} |\n\n```sh\n{LONG}\n```\n"), [])
        self.assertEqual(len(self.long_lines(f"```sh\n```\n{LONG}\n")), 1)

    def test_a_long_line_is_wrapped_with_the_rest_of_its_paragraph(self):
        wrapped = format_rules.wrap_markdown(f"# title\n\nbefore\n{LONG}\nafter\n\nend\n")
        self.assertEqual(self.long_lines(wrapped), [])
        self.assertEqual(wrapped.split(), f"# title before {LONG} after end".split())
        self.assertTrue(wrapped.startswith("# title\n\nbefore\nword") and wrapped.endswith(" after\n\nend\n"))

    def test_an_item_of_a_list_keeps_its_indentation(self):
        wrapped = format_rules.wrap_markdown(f"- {LONG}\n- next\n")
        self.assertEqual([line[:4] for line in wrapped.splitlines()], ["- wo", "  wo", "- ne"])

    def test_text_without_long_lines_stays_as_it_is(self):
        text = "# a\n\n- b\n  c\n\n| d |\n|---|\n\n```\n- e\n```\n"
        self.assertEqual(format_rules.wrap_markdown(text), text)


class Pages(unittest.TestCase):
    def test_pages_for_users_have_at_most_150_lines(self):
        paths = ["README.md", "docs/steps.md", "docs/data/sql.md", "docs/internals/a.md", "CONTRIBUTING.md"]
        for lines, expected in ((150, []), (151, paths[:3])):
            with unittest.mock.patch.object(format_rules, "read", lambda _, lines=lines: "\n" * lines):
                self.assertEqual([found.path for found in format_rules.check_pages(paths)], expected)


class Links(unittest.TestCase):
    def findings(self, text):
        pages = {"README.md": text, "docs/steps.md": "# Steps, `marks`\n\n## The 2nd part\n", "docs/a.png": ""}
        with unittest.mock.patch.object(format_rules, "read", pages.__getitem__):
            return [(found.path, found.line, found.text.split()[-1]) for found in format_rules.check_links(list(pages))]

    def test_links_to_files_folders_headings_and_other_sites_are_right(self):
        for target in ("docs/steps.md", "docs", "#top", "docs/steps.md#steps-marks", "docs/steps.md#the-2nd-part"):
            self.assertEqual(self.findings(f"# Top\n\n[text]({target})\n"), [], target)
        self.assertEqual(self.findings("![a](docs/a.png) [b](https://example.org/#c) `[d](e)`\n"), [])

    def test_a_link_to_a_missing_file_or_heading_is_a_finding_in_text_and_in_tables(self):
        self.assertEqual(self.findings("a\n\n    [b](docs/c.md)\n"), [("README.md", 3, "exist")])
        self.assertEqual(self.findings("| [b](docs/steps.md#step) |\n"), [("README.md", 1, "have")])
        self.assertEqual(
            self.findings("# a\n[b](#b) [c](c.md)\n"), [("README.md", 2, "have"), ("README.md", 2, "exist")]
        )

    def test_code_has_no_links_and_no_headings(self):
        self.assertEqual(self.findings("```sh\n[a](b)\n# c\n```\n"), [])
        self.assertEqual(len(self.findings("```sh\n# c\n```\n[a](#c)\n")), 1)


class Script(unittest.TestCase):
    def test_a_wrong_argument_is_one_line(self):
        command = [sys.executable, os.path.join(SCRIPTS, "check-format"), "--tap", "colors"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr, "scripts/check-format: unknown argument colors (see --help)\n")


if __name__ == "__main__":
    tap.main()
