"""Each rule is run on a small tree that breaks it, so that no rule can rot."""

import pathlib
import tempfile
import unittest

from rules import RULES
from tree import Tree

HEADER = "/// A sample.\n#pragma once\n"
LISTS = {"CMakeLists.txt": "project(sample)\nadd_subdirectory(src)\n"}

# Words that the rules look for, split so that they do not find them here.
NAP = "sleep" + "_for"
LATER = "TO" + "DO"

GOOD = {
    **LISTS,
    "src/CMakeLists.txt": "set(src ${PROJECT_SOURCE_DIR}/src)\n"
    "add_library(a base/a.cpp ${src}/store/a_test.cpp engine/a.cpp json/json.cpp\n"
    "  store/sql/statements.cpp store/sql/sqlite/connection.cpp)\n",
    "include/pawl/a.hpp": HEADER + "#include <pawl/b.hpp>\n#include <vector>\n",
    "include/pawl/b.hpp": "/// A sentence that needs\n/// two lines.\n#pragma once\n",
    "include/pawl/c.hpp": HEADER + "template <class F>\nstruct With : Other<F> {\n    F call;\n"
    "    explicit With(int a) : b(a) { int c; }\n    void beat() const;\n    using Out = int;\n"
    "    struct Part {\n        std::string text{};  // a b;\n    };\n    int b = 1;\n"
    "    friend class Fields;\n    static const With object;\n\nprivate:\n    int seen_;\n};\n"
    "class Reader {\n    int at;\n};\n",
    "src/base/a.cpp": f'// "base/a.hpp" used std::thread, INSERT INTO and {NAP}\nint a = 1\'000;\n',
    "src/json/json.cpp": "#include <simdjson.h>\n",
    "src/store/a_test.cpp": '#include "house/sample.hpp"\nauto q = "SELECT 1";\n',
    "src/store/sql/statements.cpp": 'auto s = R"(SELECT 1)";\n',
    "src/store/sql/sqlite/sqlite_statements.hpp": HEADER + 'auto s = "BEGIN IMMEDIATE";\n',
    "src/store/sql/migrations/001.sql": "CREATE TABLE a (b);\n",
    "src/store/sql/sqlite/connection.cpp": "#include <sqlite3.h>\nauto f = sqlite3_open_v2;\n",
    "src/engine/a.cpp": '#include "base/a.hpp"\n#include "store/b.hpp"\n#include <pawl/a.hpp>\n'
    '// std::thread is what this must not use\nauto s = "please select one";\n',
    "tests/house/sample.hpp": HEADER + "void f() { context.sleep(1h); }\n",
    "examples/long.cpp": "//" + "-" * 200 + '\nauto q = "UPDATE account SET cents = 1";\n',
    "tests/golden/schema.py": "#" * 200 + "\n",
    "build/dev/junk.hpp": LATER,
}

# (rule, path, line, content): the rule must say exactly this place of a tree with this file.
BAD = (
    ("layers", "src/base/a.hpp", 3, HEADER + '#include "json/a.hpp"\n'),
    ("layers", "src/store/a.hpp", 3, HEADER + '#include "engine/a.hpp"\n'),
    ("layers", "src/store/a.hpp", 3, HEADER + '#include "values.hpp"\n'),
    ("layers", "src/store/a.hpp", 3, HEADER + "#include <base/a.hpp>\n"),
    ("layers", "src/store/memory/a.hpp", 3, HEADER + '#include "store/sql/a.hpp"\n'),
    ("layers", "src/store/sql/a.hpp", 3, HEADER + '#include "store/memory/a.hpp"\n'),
    ("layers", "src/store/sql/sqlite/a.hpp", 3, HEADER + '#include "store/sql/postgres/a.hpp"\n'),
    ("layers", "src/sundries/a.hpp", 1, HEADER),
    ("third_party", "src/engine/a.hpp", 3, HEADER + "#include <simdjson.h>\n"),
    ("third_party", "src/store/sql/a.hpp", 3, HEADER + "#include <sqlite3.h>\n"),
    ("public_headers", "include/pawl/a.hpp", 3, HEADER + "#include <fmt/format.h>\n"),
    ("public_headers", "include/pawl/a.hpp", 3, HEADER + '#include "base/text.hpp"\n'),
    ("public_headers", "include/pawl/a.hpp", 3, HEADER + "#include <pawl/missing.hpp>\n"),
    ("size", "bench/a.hpp", 501, HEADER + "\n" * 499),
    ("size", "tests/a.hpp", 801, HEADER + "\n" * 799),
    ("size", "scripts/a.py", 2, "\n" + "#" * 101 + "\n"),
    ("size", "dev", 1, "#" * 101 + "\n"),
    ("built", "src/base/a.cpp", 1, "\n"),
    ("built", "tests/a_test.cpp", 1, "\n"),
    ("built", "bench/a_bench.cpp", 1, "\n"),
    ("built", "tests/lost/CMakeLists.txt", 1, "add_executable(a a.cpp)\n"),
    ("sql", "src/engine/a.hpp", 4, HEADER + '\nauto s = "SELECT 1";\n'),
    ("sql", "src/engine/a.hpp", 4, HEADER + 'auto s = R"(\n insert into a values (1))";\n'),
    ("sql", "src/store/sql/sqlite/a.hpp", 3, HEADER + 'auto s = "BEGIN IMMEDIATE";\n'),
    ("sql", "src/store/sql/a.hpp", 3, HEADER + 'auto s = "PRAGMA foreign_keys";\n'),
    ("sql", "src/store/a.sql", 1, "CREATE TABLE a (b);\n"),
    ("names", "src/store/a.hpp", 3, HEADER + "class PAWL_API StoreManager {};\n"),
    ("names", "src/store/a.hpp", 3, HEADER + "struct StoreBase {};\n"),
    ("names", "src/store/a.hpp", 3, HEADER + "int journal_v2 = 0;\n"),
    ("names", "src/store/sql_utils.hpp", 1, HEADER),
    ("finished", "src/store/a.hpp", 3, HEADER + f"// {LATER}: more\n"),
    ("finished", "src/CMakeLists.txt", 1, f"# {LATER}\n"),
    ("seams", "src/engine/a.hpp", 3, HEADER + "std::jthread t;\n"),
    ("seams", "src/engine/a.hpp", 3, HEADER + "auto t = std::chrono::steady_clock::now();\n"),
    ("seams", "src/engine/a.hpp", 3, HEADER + "std::condition_variable_any woken;\n"),
    ("seams", "src/engine/a.hpp", 3, HEADER + "std::mt19937_64 random{std::random_device{}()};\n"),
    ("headers", "src/store/a.hpp", 1, "#pragma once\n"),
    ("headers", "src/store/a.hpp", 1, "/// No full stop\n#pragma once\n"),
    ("headers", "src/store/a.hpp", 1, "/// A sample.\n"),
    ("defaults", "include/pawl/a.hpp", 3, HEADER + "struct A { int a; };\n"),
    ("defaults", "include/pawl/a.hpp", 4, HEADER + "struct A {\nconst B* b;\n};\n"),
    ("defaults", "include/pawl/a.hpp", 4, HEADER + "struct A {\nint a = 1; B b; };\n"),
    ("defaults", "include/pawl/a.hpp", 5, HEADER + "class A {\nstruct B {\nC<D()> c;\n};\n};\n"),
    ("defaults", "include/pawl/a.hpp", 5, HEADER + "struct A : B {\nA() {}\nstd::string a;\n};\n"),
    ("defaults", "include/pawl/a.hpp", 5, HEADER + "struct A {\npublic:\nB b;\n};\n"),
    ("sleep", "tests/a.hpp", 3, HEADER + f"void f() {{ std::this_thread::{NAP}(1s); }}\n"),
)


def findings(files):
    """What each rule says about a tree of these files: {(rule, path, line)}."""
    with tempfile.TemporaryDirectory() as root:
        for path, content in files.items():
            target = pathlib.Path(root, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(content, encoding="utf-8")
        tree = Tree(root)
        return {(rule.__name__, path, line) for rule in RULES for path, line, _ in rule(tree)}


class Rules(unittest.TestCase):
    def test_say_nothing_about_a_good_tree(self):
        self.assertEqual(findings(GOOD), set())

    def test_name_the_place_that_breaks_them(self):
        for rule, path, line, content in BAD:
            with self.subTest(rule=rule, path=path, content=content[-60:]):
                self.assertEqual(findings({**LISTS, path: content}), {(rule, path, line)})

    def test_are_all_shown_to_fail(self):
        self.assertEqual({rule for rule, *_ in BAD}, {rule.__name__ for rule in RULES})


if __name__ == "__main__":
    unittest.main()
