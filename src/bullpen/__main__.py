"""`python -m bullpen` is the `bullpen` command."""

import sys

from bullpen.cli import main

if __name__ == "__main__":
    sys.exit(main())
