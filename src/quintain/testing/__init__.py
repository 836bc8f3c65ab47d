"""Public fakes and contract suites: what you need to test code that is built on Quintain."""

from quintain.testing._fakes import FAKE_ISOLATION, FakeClock, FakePool, MemoryLog, executed

__all__ = ["FAKE_ISOLATION", "FakeClock", "FakePool", "MemoryLog", "executed"]
