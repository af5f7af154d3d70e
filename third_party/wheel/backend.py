"""The build back end of `pip install .`: scikit-build-core, which packs a finished build where there is one.

`make build` leaves the libraries in `build/`; then nothing is compiled but the extension module, if it is for
another Python than that of the build. Without `build/`, scikit-build-core compiles everything.
"""

from __future__ import annotations

from typing import Any

import staging
from scikit_build_core import build as _scikit_build

build_editable = _scikit_build.build_editable
build_sdist = _scikit_build.build_sdist
get_requires_for_build_editable = _scikit_build.get_requires_for_build_editable
get_requires_for_build_sdist = _scikit_build.get_requires_for_build_sdist
get_requires_for_build_wheel = _scikit_build.get_requires_for_build_wheel
prepare_metadata_for_build_editable = _scikit_build.prepare_metadata_for_build_editable
prepare_metadata_for_build_wheel = _scikit_build.prepare_metadata_for_build_wheel


def build_wheel(
    wheel_directory: str, config_settings: dict[str, Any] | None = None, metadata_directory: str | None = None
) -> str:
    """Makes a wheel; see PEP 517."""
    settings = dict(config_settings or {})
    package = staging.staged_package()
    if package:
        settings |= {"wheel.cmake": "false", "wheel.platlib": "true", "wheel.packages": package}
        settings["sdist.inclusion-mode"] = "manual"  # git ignores the build
    name: str = _scikit_build.build_wheel(wheel_directory, settings, metadata_directory)
    return name
