"""Optional dependencies: the extras that install them, and an error that names the missing extra."""

from __future__ import annotations

from importlib.util import find_spec

from windrow.errors import SessionError

EXTRAS = {
    "cli": ("rich",),
    "plot": ("matplotlib",),
    "redis": ("redis",),
    "studies": ("rich", "scipy", "statsmodels", "sympy"),
}
"""The packages of each extra, as in pyproject.toml. `windrow[all]` installs all of them."""


def require(feature: str, *extras: str, where: str = "") -> None:
    """Raise an error if a package of these extras is not installed; nothing is imported.

    >>> require("plotting", "plot")
    """
    packages = dict.fromkeys(package for extra in extras for package in EXTRAS[extra])
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        raise SessionError(
            f"{feature} requires {', '.join(missing)}{where and ' '}{where}; "
            f"install {'it' if len(missing) == 1 else 'them'} with: pip install 'windrow[{','.join(extras)}]'"
        )
