"""Settings of the core tests: no deadline, since the first example may compile a kernel.

HYPOTHESIS_PROFILE=thorough tries many more examples.
"""

import os

from hypothesis import HealthCheck, settings

COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("core", max_examples=120, **COMMON)
settings.register_profile("thorough", max_examples=3000, **COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "core"))
