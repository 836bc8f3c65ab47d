"""Public fakes and contract suites: what you need to test code that is built on Quintain."""

from quintain.testing._fakes import FAKE_ISOLATION, FakeClock, FakePool, MemoryLog, executed
from quintain.testing._sandbox_contract import SandboxContract

__all__ = [
    "FAKE_ISOLATION",
    "FakeClock",
    "FakePool",
    "MemoryLog",
    "SandboxContract",
    "executed",
]
