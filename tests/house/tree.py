"""The tree as the rules see it: files, and C++ with comments and strings told from code."""

import functools
import pathlib
import re

SKIPPED_FOLDERS = {".git", ".cache", "build", "__pycache__"}

# A quote after a hexadecimal digit separates digits: 1'000.
CPP_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
      | R"(?P<delimiter>[^\s()\\]*)\((?P<raw>.*?)\)(?P=delimiter)"
      | "(?P<text>(?:\\.|[^"\\\n])*)"
      | (?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'""",
    re.DOTALL | re.VERBOSE,
)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)


class SourceFile:
    """One file of the tree. `path` is relative to the root, with forward slashes."""

    def __init__(self, root, path):
        self.path = path
        self.name = path.rpartition("/")[2]
        self.text = (root / path).read_text(encoding="utf-8")

    @property
    def lines(self):
        return self.text.splitlines()

    @property
    def is_test(self):
        return self.path.startswith("tests/") or self.name.endswith("_test.cpp")

    def line_at(self, offset):
        return self.text.count("\n", 0, offset) + 1

    @functools.cached_property
    def code(self):
        """The text with comments and literals blanked, so that offsets still fit."""
        return CPP_TOKEN.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), self.text)

    @property
    def strings(self):
        """(offset, content) of each string literal."""
        for match in CPP_TOKEN.finditer(self.text):
            for group in ("raw", "text"):
                if match[group] is not None:
                    yield match.start(group), match[group]

    @property
    def includes(self):
        """(line, form, header) of each include; form is `<` or `"`."""
        for match in INCLUDE.finditer(self.text):
            if self.code[match.start() : match.start(1)].strip():  # not in a comment
                yield self.line_at(match.start(1)), match[1], match[2]


class Tree:
    """All files under a root, except what is built."""

    def __init__(self, root):
        self.root = pathlib.Path(root).resolve()
        self._read = {}
        self.paths = sorted(self._walk(self.root))

    def _walk(self, folder):
        for entry in folder.iterdir():
            if entry.is_dir():
                if entry.name not in SKIPPED_FOLDERS:
                    yield from self._walk(entry)
            else:
                yield entry.relative_to(self.root).as_posix()

    def file(self, path):
        if path not in self._read:
            self._read[path] = SourceFile(self.root, path)
        return self._read[path]

    def files(self, *suffixes, under=("",)):
        """The files with one of these name endings below one of these folders."""
        folders = tuple(folder and folder + "/" for folder in under)
        for path in self.paths:
            if f"/{path}".endswith(suffixes) and path.startswith(folders):
                yield self.file(path)
