"""`python -m pinproof` is the same as `pinproof`."""

import sys

from pinproof.cli import main

sys.exit(main())
