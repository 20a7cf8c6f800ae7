"""Every way in which a page can be wrong is found, and --write mends what can be mended."""

import contextlib
import io
import pathlib
import tempfile
import unittest

import snippets

SOURCE = "int a;\n    // [b]\n    if (x) {\n        y();\n    }\n    // [/b]\n"
REGION = "if (x) {\n    y();\n}\n"


def block(mark, body, language="cpp"):
    return f"{mark}\n```{language}\n{body}```\n"


class Snippets(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "docs").mkdir()
        (self.root / "a.cpp").write_text(SOURCE)

    def check(self, page, write=False):
        (self.root / "README.md").write_text(page)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            code = snippets.main(self.root, write)
        return code, printed.getvalue()

    def assert_fails(self, page, line, what):
        code, printed = self.check(page)
        self.assertEqual(code, 1)
        self.assertIn(f"README.md:{line}: {what}", printed)

    def test_a_block_equals_its_region_dedented(self):
        self.assertEqual(self.check(block("<!-- snippet: a.cpp b -->", REGION))[0], 0)

    def test_a_block_that_differs_is_found_and_written(self):
        page = block("# A\n<!-- snippet: a.cpp b -->", "z();\n")
        self.assert_fails(page, 2, "differs from a.cpp b")
        self.assertEqual(self.check(page, write=True)[0], 0)
        self.assertIn(REGION, (self.root / "README.md").read_text())

    def test_a_whole_file_is_shown_without_its_markers(self):
        self.check(block("<!-- snippet: a.cpp -->", ""), write=True)
        self.assertNotIn("[b]", (self.root / "README.md").read_text())

    def test_a_source_that_is_not_there_is_found(self):
        self.assert_fails(block("<!-- snippet: b.cpp -->", ""), 1, "b.cpp is not there")
        self.assert_fails(block("<!-- snippet: a.cpp c -->", ""), 1, "a.cpp has 0 regions [c]")

    def test_a_cpp_block_without_a_source_says_why(self):
        self.assert_fails(block("text", "z();\n"), 2, "a cpp block is cut from a file")
        self.assertEqual(self.check(block("<!-- not compiled: a sketch -->", "z();\n"))[0], 0)
        self.assertEqual(self.check(block("text", "ls\n", language=""))[0], 0)

    def test_a_mark_without_a_block_is_found(self):
        page = "<!-- snippet: a.cpp b -->\n\ntext\n"
        self.assert_fails(page, 1, "no fenced block directly below")

    def test_links_lead_somewhere(self):
        self.assert_fails("[a](docs/b.md)\n", 1, "the link docs/b.md leads nowhere")
        self.assert_fails("# A\n[a](#another)\n", 2, "the link #another leads to no heading")
        self.assertEqual(self.check("# One thing\n[a](#one-thing) [b](https://b.org)\n")[0], 0)
        self.assertEqual(self.check("```\n[a](nowhere.md)\n```\n")[0], 0)


if __name__ == "__main__":
    unittest.main()
