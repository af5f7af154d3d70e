"""Lets failures in the shared checks of this folder show the two texts."""

import pytest

pytest.register_assert_rewrite("diagnostics")
