"""Every backend runs the shipped contract suite."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import ClassVar

import pytest

from quintain.sandbox import Pool, open_pool
from quintain.sandbox._bwrap import KNOWN_FAILURES, available, open_bwrap_pool
from quintain.testing import SandboxContract
from quintain.types import Freshness


class TestNativeFresh(SandboxContract):
    def open(self) -> AbstractAsyncContextManager[Pool]:
        return open_pool(slots=1)


class TestNativePooled(SandboxContract):
    def open(self) -> AbstractAsyncContextManager[Pool]:
        return open_pool(slots=1, freshness=Freshness.POOLED)


@pytest.mark.skipif(not available(), reason="bubblewrap is not installed")
class TestBwrap(SandboxContract):
    known_failures: ClassVar[Mapping[str, str]] = KNOWN_FAILURES

    def open(self) -> AbstractAsyncContextManager[Pool]:
        return open_bwrap_pool(slots=1)
