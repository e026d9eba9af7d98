"""Settings of the core tests: small random streams, no deadline, since the first example may compile a kernel."""

from hypothesis import HealthCheck, settings

settings.register_profile("core", max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("core")
