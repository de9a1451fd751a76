"""`python -m sadapt` is the command `sadapt`."""

import sys

from sadapt.cli import main

sys.exit(main())
