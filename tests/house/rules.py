"""The rules that the tree is held to. Each yields (path, line, what is wrong)."""

import re

from standard_headers import STANDARD_HEADERS

CPP = (".cpp", ".hpp")
CODE = CPP + (".py", ".sh", "/dev", "/run")
BUILD_LISTS = ("CMakeLists.txt", ".cmake")

LAYERS = ("base", "json", "store", "engine", "server", "cli")
SIBLINGS = (
    ("store/memory", "store/sql"),
    ("store/sql/sqlite", "store/sql/postgres", "store/sql/mariadb"),
)
HOMES = {  # how a third-party header begins: the only folder that sees it
    "simdjson": "src/json",
    "sqlite3": "src/store/sql/sqlite",
    "libpq": "src/store/sql/postgres",
    "mysql": "src/store/sql/mariadb",
    "mariadb": "src/store/sql/mariadb",
}

LINES = 500
TEST_LINES = 800
COLUMNS = 100


def has_its_own_shape(file):
    """Golden and generated files are as long as they are; examples are prose."""
    return file.path.startswith("examples/") or re.search(r"(^|[/_])(golden|generated)", file.path)


def layers(tree):
    """Includes point down: base <- json <- store <- engine <- server <- cli."""
    for file in tree.files(*CPP, under=["src"]):
        layer = file.path.split("/")[1]
        if layer not in LAYERS:
            yield file.path, 1, f"src/{layer} is not a layer: {', '.join(LAYERS)}"
            continue
        for line, form, header in file.includes:
            wrong = wrong_include(tree, file, layer, form, header)
            if wrong:
                yield file.path, line, wrong


def wrong_include(tree, file, layer, form, header):
    target = header.split("/")[0]
    if form == "<":
        if target in LAYERS and "/" in header:
            return f'write "{header}": angle brackets are for the public and foreign headers'
        return None
    if target not in LAYERS or "/" not in header:
        if file.is_test and f"tests/{header}" in tree.paths:
            return None
        return f'"{header}" does not name its layer: write "layer/file.hpp"'
    if LAYERS.index(target) > LAYERS.index(layer):
        return f"{layer} must not include {header}: {target} is above it"
    for group in SIBLINGS:
        own = [folder for folder in group if file.path.startswith(f"src/{folder}/")]
        for other in group:
            if own and other not in own and header.startswith(other + "/"):
                return f"{own[0]} must not include {header}: they are siblings"
    return None


def third_party(tree):
    """A third-party header is seen by one folder only."""
    for file in tree.files(*CPP, under=["src", "include"]):
        for line, _, header in file.includes:
            for begin, home in HOMES.items():
                if header.startswith(begin) and not file.path.startswith(home + "/"):
                    yield file.path, line, f"<{header}> belongs to {home} alone"


def public_headers(tree):
    """include/pawl reaches the standard library and itself, nothing else."""
    for file in tree.files(*CPP, under=["include"]):
        for line, form, header in file.includes:
            if form == "<" and header in STANDARD_HEADERS:
                continue
            if form == "<" and f"include/{header}" in tree.paths:
                continue
            yield file.path, line, f"{header} is neither standard nor an existing <pawl/...>"


def size(tree):
    """A file is at most 500 lines (a test 800), a line 100 columns."""
    for file in tree.files(*CODE):
        if has_its_own_shape(file):
            continue
        most = TEST_LINES if file.is_test else LINES
        if len(file.lines) > most:
            yield file.path, most + 1, f"{len(file.lines)} lines, at most {most}: split it by nouns"
        for number, line in enumerate(file.lines, 1):
            if len(line) > COLUMNS:
                yield file.path, number, f"{len(line)} columns, at most {COLUMNS}"


def built(tree):
    """Every source and test is in the build."""
    lists = list(tree.files(*BUILD_LISTS))
    named, entered = named_in(tree, lists)
    for file in tree.files(".cpp"):
        if file.path.startswith("src/") or file.name.endswith(("_test.cpp", "_bench.cpp")):
            if file.path not in named:
                yield file.path, 1, "no CMakeLists.txt names it"
    for file in lists:
        folder = file.path.rpartition("/")[0]
        own_project = re.search(r"^\s*project\(", file.text, re.MULTILINE)
        if file.name == "CMakeLists.txt" and not own_project and folder not in entered:
            yield file.path, 1, "no add_subdirectory leads here"


def named_in(tree, lists):
    """The paths of all .cpp files that the build lists name, and the folders they enter."""
    texts = {file.path: re.sub(r"#.*", "", file.text) for file in lists}
    variables = {"PROJECT_SOURCE_DIR": "", "CMAKE_SOURCE_DIR": ""}
    for text in texts.values():
        variables.update(re.findall(r"\bset\(\s*(\w+)\s+([^\s)]+)\s*\)", text))
    named, entered = set(), set()
    for path, text in texts.items():
        folder = path.rpartition("/")[0]
        local = {**variables, "CMAKE_CURRENT_SOURCE_DIR": folder, "CMAKE_CURRENT_LIST_DIR": folder}
        for token in re.findall(r"[^\s()\";]+\.cpp\b", text):
            named.add(resolve(token, folder, local))
        for token in re.findall(r"\badd_subdirectory\(\s*([^\s)]+)", text):
            entered.add(resolve(token, folder, local))
    return named, entered


def resolve(token, folder, variables):
    """A path as CMake would read it in `folder`, relative to the root."""
    absolute = token.startswith("${")
    for _ in range(5):  # variables made of variables
        token = re.sub(r"\$\{(\w+)\}", lambda m: variables.get(m[1], m[0]), token)
    return token.strip("/") if absolute else f"{folder}/{token}".strip("/")


SQL = re.compile(
    r"\b(SELECT|INSERT|UPDATE|DELETE|PRAGMA)\s|\bCREATE (TABLE|INDEX)\b|^\s*BEGIN\b"
    r"|(?i:\binsert\s+into\s|\bupdate\s+\w+\s+set\s|\bcreate\s+table\s|\bpragma\s+\w+\s*=)"
)
SQL_HOME = re.compile(r"src/store/sql/(.*/)?([^/]*statements[^/]*\.[ch]pp|migrations/[^/]+)$")


def sql(tree):
    """SQL text stands in src/store/sql: statements files and migrations."""
    for file in tree.files(*CPP, under=["src", "include"]):
        if file.is_test or file.name.endswith("_bench.cpp") or SQL_HOME.match(file.path):
            continue
        for offset, content in file.strings:
            found = SQL.search(content)
            if found:
                line = file.line_at(offset + found.start())
                yield file.path, line, f"SQL outside a statements file: {found[0].strip()}"
    for file in tree.files(".sql", under=["src", "include"]):
        if not SQL_HOME.match(file.path):
            yield file.path, 1, "a .sql file outside src/store/sql/**/migrations"


EMPTY_NAME = re.compile(
    r"\b(?:class|struct|union|concept|using)\s+(?:PAWL_API\s+)?"
    r"(\w*(?:Manager|Helper|Utils?)|\w+Base)\b"
    r"|\b((?!sqlite3_)\w+_v2)\b"  # SQLite's own names are not ours to choose
)
EMPTY_FILE_NAME = re.compile(r"(^|_)(manager|helpers?|utils?|v2)(_test|_bench)?\.\w+$")


def names(tree):
    """A name says what a thing is."""
    for file in tree.files(*CPP):
        if EMPTY_FILE_NAME.search(file.name):
            yield file.path, 1, f"{file.name} says nothing: name the noun"
        for match in EMPTY_NAME.finditer(file.code):
            yield file.path, file.line_at(match.start()), (
                f"{match[1] or match[2]} says nothing: name the noun"
            )


# Put together, so that a search for these words does not end here.
UNFINISHED = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "X" * 3)) + r")\b")


def finished(tree):
    """What is in the tree is done; what is not is an issue."""
    for file in tree.files(*CODE, *BUILD_LISTS, ".sql"):
        for match in UNFINISHED.finditer(file.text):
            yield file.path, file.line_at(match.start()), f"{match[0]} in the code"


SEAMS = re.compile(
    r"\bstd::(?:j?thread|async|condition_variable(?:_any)?)\b"
    r"|\b(?:system|steady|high_resolution)_clock::now\b"
    r"|\brandom_device\b|\bmt19937(?:_64)?\b|\bdefault_random_engine\b|\bsleep_(?:for|until)\b"
)


def seams(tree):
    """The engine has no threads, clocks or chance of its own: one seed replays a whole run."""
    for file in tree.files(*CPP, under=["src/engine"]):
        if file.is_test:
            continue
        for match in SEAMS.finditer(file.code):
            yield file.path, file.line_at(match.start()), (
                f"{match[0]} in the engine: take it through a seam of src/base"
            )


def headers(tree):
    """A header begins with one sentence that says what it is, then #pragma once."""
    for file in tree.files(".hpp"):
        if not re.match(r"/// \S([^\n]*\n///)*[^\n]*[.:]\n", file.text):
            yield file.path, 1, "the first line is not a /// sentence that says what this is"
        if not re.search(r"^#pragma once$", file.code, re.MULTILINE):
            yield file.path, 1, "no #pragma once"


STRUCT = re.compile(r"\bstruct\s[^;(){}]*\{")
ACCESS = re.compile(r"\b(public|protected|private):(?!:)")
TEMPLATE_PARAMETER = re.compile(r"\b(?:class|typename)(?:\.\.\.)?\s+(\w+)\s*[,>=]")
BARE_FIELD = re.compile(r"(?:^|[;{}])\s*(?P<type>[^;{}=]*[\w>*&])\s+(?P<name>\w+)(?=;)")
NO_FIELD = re.compile(r"\b(?:using|typedef|friend|static|struct|class|enum|return)\b|&$|\(")
# A json::Value stands in a document: there is none without one.
WITHOUT_DEFAULT = {"Value"}


def defaults(tree):
    """Each field of a public struct has an initializer: else -Wextra warns where it is left out."""
    for file in tree.files(".hpp", under=["include"]):
        exempt = WITHOUT_DEFAULT | set(TEMPLATE_PARAMETER.findall(file.code))
        for struct in STRUCT.finditer(file.code):
            body = own_text(file.code, struct.end())
            for field in BARE_FIELD.finditer(body):
                kind = field["type"].removeprefix("const ")
                if NO_FIELD.search(re.sub(r"<.*>", "", kind, flags=re.DOTALL)) or kind in exempt:
                    continue
                if not field["name"].endswith("_"):  # private: not an aggregate
                    yield file.path, file.line_at(struct.end() + field.start("name")), (
                        f"{field['name']} has no initializer: write {field['name']}{{}}"
                    )


def own_text(code, begin):
    """The text from behind a `{` to its `}`, with what stands in braces inside blanked."""
    depth, text = 0, []
    for char in ACCESS.sub(lambda m: " " * len(m[0]), code[begin:]):
        if char == "}" and depth == 0:
            break
        depth -= char == "}"
        text.append(char if depth == 0 or char == "\n" else " ")
        depth += char == "{"
    return "".join(text)


SLEEP = re.compile(
    r"(?<!ctx\.)\b(?:sleep_(?:for|until)|(?:u|nano)sleep)\b|(?<!\w)::sleep\(|\btime\.sleep\b"
)


def sleep(tree):
    """Tests do not sleep."""
    for file in tree.files(*CPP, ".py"):
        text = file.code if file.path.endswith(CPP) else file.text
        for match in SLEEP.finditer(text) if file.is_test else ():
            yield file.path, file.line_at(match.start()), (
                f"{match[0]} in a test: move a manual clock, or await a condition with a deadline"
            )


RULES = (
    layers, third_party, public_headers, size, built, sql, names, finished, seams, headers,
    defaults, sleep,
)
