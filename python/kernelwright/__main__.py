"""`python -m kernelwright` is the command `kw`."""

import sys

from .cli import main

sys.exit(main())
