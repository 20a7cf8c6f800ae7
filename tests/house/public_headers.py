"""public_headers.py ROOT COMPILER: each public header compiles alone and reaches nothing foreign.

What the compiler opens for all standard headers together is standard; a public header may make it
open only that and other public headers.
"""

import pathlib
import subprocess
import sys
import tempfile

from standard_headers import STANDARD_HEADERS


def opened_files(compiler, root, header, source):
    """The files that the compiler opens for a source; reports what does not compile."""
    command = [compiler, "-std=c++20", "-fsyntax-only", f"-I{root}/include", "-MD", "-MF"]
    with tempfile.NamedTemporaryFile("r") as listed:
        command += [listed.name, "-x", "c++", "-"]
        done = subprocess.run(command, input=source, text=True, capture_output=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{header}: does not compile alone [public_headers]\n{done.stderr}")
        names = listed.read().replace("\\\n", " ").split()[1:]
    return {pathlib.Path(name).resolve() for name in names if name != "-"}


def main():
    root, compiler = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    standard = "".join(f"#include <{name}>\n" for name in sorted(STANDARD_HEADERS))
    allowed = opened_files(compiler, root, "the standard headers", standard)
    broken = []
    public = sorted((root / "include").rglob("*.hpp"))
    for header in public:
        name = header.relative_to(root / "include").as_posix()
        for file in opened_files(compiler, root, name, f"#include <{name}>\n") - allowed:
            if not file.is_relative_to(root / "include"):
                broken.append(f"include/{name}:1: reaches {file} [public_headers]")
    print("\n".join(broken) or f"{len(public)} public headers stand alone")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
