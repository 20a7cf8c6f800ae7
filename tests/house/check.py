"""check.py ROOT: fails, naming file, line and rule, where the tree breaks a rule of the house."""

import sys

from rules import RULES
from tree import Tree


def main():
    tree = Tree(sys.argv[1])
    broken = [
        f"{path}:{line}: {what} [{rule.__name__}]"
        for rule in RULES
        for path, line, what in rule(tree)
    ]
    print("\n".join(broken) or f"{len(tree.paths)} files hold {len(RULES)} rules")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
