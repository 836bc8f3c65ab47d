"""Names of the walls, and those that a pool requires unless told otherwise."""

from __future__ import annotations

__all__ = ["ALL_WALLS", "DEFAULT_WALLS"]

ALL_WALLS: tuple[str, ...] = (
    "user_namespace",
    "mount_namespace",
    "pid_namespace",
    "ipc_namespace",
    "uts_namespace",
    "net_namespace",
    "read_only_root",
    "no_capabilities",
    "no_new_privs",
    "seccomp",
    "landlock",
    "rlimits",
    "cgroup_memory",
    "cgroup_pids",
    "cgroup_cpu",
    "own_uid",
    "sampling",
)
"""Every wall an `IsolationReport` may name."""

DEFAULT_WALLS: frozenset[str] = frozenset(
    {
        "user_namespace",
        "mount_namespace",
        "pid_namespace",
        "net_namespace",
        "no_capabilities",
        "no_new_privs",
        "seccomp",
        "rlimits",
    }
)
"""Walls without which no pool opens; the others are used where the host has them."""
