"""Print what one extra of pyproject.toml requires, a line each.

`pip install -e '.[extra]'` would build the package again for each extra; this lets make
install the extras' requirements beside a package that is there already.
"""

import sys
import tomllib
from pathlib import Path


def main() -> None:
    """Print the requirements of the extra named on the command line."""
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    sys.stdout.write("\n".join(project["optional-dependencies"][sys.argv[1]]) + "\n")


if __name__ == "__main__":
    main()
