"""What can go wrong, and whose fault it is.

::

    QuintainError
    ├── UserError            bad input or a missing capability: message + hint, exit code 2
    └── BoundaryError        a fault at a named boundary: retried, then `invalid`, never reward 0
        ├── PolicyError      the sampler or its endpoint failed
        ├── SandboxError     the sandbox itself failed (not the program in it)
        ├── JudgeError       the judge failed (not the candidate)
        ├── TaskError        the task is broken: no cases, unparsable gold answer
        └── LogError         the trial log is damaged or cannot be written

Anything else that is raised is a bug of ours and stops the run. A candidate's failure is not
an exception at all: it is a value in the `Verdict`.
"""

from __future__ import annotations

__all__ = [
    "BoundaryError",
    "JudgeError",
    "LogError",
    "PolicyError",
    "QuintainError",
    "SandboxError",
    "TaskError",
    "UserError",
]


class QuintainError(Exception):
    """The root; raised only through its subclasses.

    ``hint`` is a way out, shown to people as ``hint: …`` below the message.
    """

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __reduce__(self) -> tuple[object, ...]:
        """Keep the hint when an error crosses a process boundary."""
        return (_rebuild, (type(self), self.message, self.hint))

    def __str__(self) -> str:
        return f"{self.message}\nhint: {self.hint}" if self.hint else self.message


def _rebuild(kind: type[QuintainError], message: str, hint: str) -> QuintainError:
    return kind(message, hint=hint)


class UserError(QuintainError):
    """Raised when the caller's input cannot be accepted or the host lacks a capability."""


class BoundaryError(QuintainError):
    """Raised when the infrastructure behind a boundary fails; the trial becomes `invalid`."""


class PolicyError(BoundaryError):
    """Raised when a sampler cannot produce a turn."""


class SandboxError(BoundaryError):
    """Raised when a sandbox cannot be made, or dies of something other than its program."""


class JudgeError(BoundaryError):
    """Raised when a judge cannot reach a verdict through no fault of the candidate."""


class TaskError(BoundaryError):
    """Raised when a task cannot be tried: no cases, a gold answer that does not parse."""


class LogError(BoundaryError):
    """Raised when a log cannot be written, or read back unchanged."""
