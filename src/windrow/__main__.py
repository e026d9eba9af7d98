"""`python -m windrow`: the same as the command `windrow`."""

import sys

from windrow.cli.main import main

sys.exit(main())
