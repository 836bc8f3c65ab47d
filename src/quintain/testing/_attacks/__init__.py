"""Hostile programs: every way out of a sandbox that we know, as data.

Each `Attack` is one or more programs for one slot, the statuses that the last may end with (as
root, and as an ordinary user without control groups), and what it prints when the wall held.
An attack that succeeds prints ``ESCAPED``. Numbers are those of ``SECURITY.md``.

The list does not prove that there is no other way out; a shared kernel cannot be proved.
"""

from __future__ import annotations

from quintain.testing._attacks._attack import Attack, complaint
from quintain.testing._attacks._files import FILE_ATTACKS
from quintain.testing._attacks._kernel import KERNEL_ATTACKS
from quintain.testing._attacks._resources import RESOURCE_ATTACKS
from quintain.testing._attacks._system import SYSTEM_ATTACKS

__all__ = ["ATTACKS", "Attack", "complaint"]

ATTACKS: tuple[Attack, ...] = (
    *RESOURCE_ATTACKS,
    *FILE_ATTACKS,
    *KERNEL_ATTACKS,
    *SYSTEM_ATTACKS,
)
