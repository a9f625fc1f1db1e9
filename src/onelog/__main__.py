"""`python -m onelog`: the same as the command onelog."""

import sys

from onelog.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
