"""snippets.py ROOT [--write]: holds README.md and docs/ to what they show and where they point.

A fenced block below `<!-- snippet: FILE [REGION] -->` equals FILE, or what stands in it between
`// [REGION]` and `// [/REGION]`, dedented; --write copies it there. A `cpp` block that is not cut
from a file says why: `<!-- not compiled: reason -->`. Relative links lead to files and headings.
"""

import pathlib
import re
import sys
import textwrap

BLOCK = re.compile(
    r"(?P<mark>^<!-- (?P<kind>snippet|not compiled): (?P<what>[^\n]+?) -->\n)?"
    r"^```(?P<language>\w*)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
MARK = re.compile(r"^<!-- (?:snippet|not compiled):", re.MULTILINE)
LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
MARKER = re.compile(r"^[ \t]*// \[/?\w+\]\n", re.MULTILINE)


def pages(root):
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


def region(root, what):
    """The text that `FILE [REGION]` names; raises ValueError that says what is missing."""
    file, _, name = what.partition(" ")
    path = root / file
    if not path.is_file():
        raise ValueError(f"{file} is not there")
    text = path.read_text(encoding="utf-8")
    if name:
        found = re.findall(
            rf"^[ \t]*// \[{re.escape(name)}\]\n(.*?)^[ \t]*// \[/{re.escape(name)}\]$",
            text,
            re.MULTILINE | re.DOTALL,
        )
        if len(found) != 1:
            raise ValueError(f"{file} has {len(found)} regions [{name}], it must have one")
        text = found[0]
    return textwrap.dedent(MARKER.sub("", text)).strip("\n") + "\n"


def check_blocks(root, text):
    """The text with every snippet as it should be, and what is wrong as (offset, what)."""
    broken = []

    def hold(match):
        if match["kind"] == "snippet":
            try:
                wanted = region(root, match["what"])
            except ValueError as error:
                broken.append((match.start(), str(error)))
                return match[0]
            if wanted != match["body"]:
                broken.append((match.start(), f"differs from {match['what']}: run with --write"))
            return f"{match['mark']}```{match['language']}\n{wanted}```"
        if match["language"] == "cpp" and not match["mark"]:
            broken.append((match.start(), "a cpp block is cut from a file or says why not"))
        return match[0]

    written = BLOCK.sub(hold, text)
    marked = {match.start() for match in BLOCK.finditer(text) if match["mark"]}
    for match in MARK.finditer(text):
        if match.start() not in marked:
            broken.append((match.start(), "no fenced block directly below this mark"))
    return written, broken


def anchors(page):
    """The headings of a page as GitHub names them."""
    prose = BLOCK.sub("", page.read_text(encoding="utf-8"))
    for heading in re.findall(r"^#+ (.+)$", prose, re.MULTILINE):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def check_links(page, text):
    prose = BLOCK.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    for match in LINK.finditer(prose):
        if re.match(r"\w+:", match[1]):
            continue
        path, _, anchor = match[1].partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists():
            yield match.start(), f"the link {match[1]} leads nowhere"
        elif anchor and anchor not in anchors(target):
            yield match.start(), f"the link {match[1]} leads to no heading"


def main(root, write):
    broken = []
    for page in pages(root):
        text = page.read_text(encoding="utf-8")
        written, wrong = check_blocks(root, text)
        if write and written != text:
            page.write_text(written, encoding="utf-8")
            text = written
            wrong = check_blocks(root, text)[1]
        for offset, what in sorted([*wrong, *check_links(page, text)]):
            line = text.count("\n", 0, offset) + 1
            broken.append(f"{page.relative_to(root)}:{line}: {what}")
    print("\n".join(broken) or f"{len(pages(root))} pages show what is compiled")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), "--write" in sys.argv[2:]))
