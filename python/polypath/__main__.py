"""`python -m polypath` is the command."""

import sys

from .command import main

sys.exit(main())
