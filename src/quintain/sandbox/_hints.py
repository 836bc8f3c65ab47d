"""What to tell people whose host cannot raise a wall."""

from __future__ import annotations

import errno
from pathlib import Path

from quintain.errors import QuintainError, SandboxError, UserError

__all__ = ["HINTS", "STAND_INS", "explain"]

_USERNS = (
    "allow user namespaces: `sysctl -w user.max_user_namespaces=15000`; on Debian also "
    "`sysctl -w kernel.unprivileged_userns_clone=1`."
)
_CGROUP = (
    "make control groups writable: run as root, or under `systemd-run --user --scope "
    "-p Delegate=yes`; in Docker mount /sys/fs/cgroup read-write (`--cgroupns=private`)."
)

HINTS = {
    "user_namespace": _USERNS,
    "mount_namespace": _USERNS,
    "pid_namespace": _USERNS,
    "ipc_namespace": _USERNS,
    "uts_namespace": _USERNS,
    "net_namespace": _USERNS,
    "read_only_root": _USERNS,
    "no_capabilities": _USERNS,
    "no_new_privs": "use Linux 5.12 or newer.",
    "seccomp": "use a kernel built with CONFIG_SECCOMP_FILTER.",
    "landlock": "use a kernel built with CONFIG_SECURITY_LANDLOCK and `lsm=landlock,…`.",
    "rlimits": "use Linux 5.12 or newer.",
    "cgroup_memory": _CGROUP,
    "cgroup_pids": _CGROUP,
    "cgroup_cpu": _CGROUP,
    "own_uid": "run as root, so that each slot gets a user id of its own.",
    "sampling": "it stands in for control groups, and does not stand where they do.",
}
"""Wall to the way to get it."""

STAND_INS = {
    "landlock": "landlock: this kernel has none; the mount table alone keeps writes inside",
    "cgroup_memory": "cgroup_memory: not writable; memory is sampled, with RLIMIT_DATA behind it",
    "cgroup_pids": "cgroup_pids: not writable; RLIMIT_NPROC counts each slot's user namespace",
    "cgroup_cpu": "cgroup_cpu: not writable; processor time is sampled, with RLIMIT_CPU behind it",
    "own_uid": "own_uid: all slots share the caller's user id; namespaces keep them apart",
}
"""Wall to what stands in for it where it is missing."""


def _setting(path: str) -> str:
    try:
        return Path("/proc/sys", path).read_text().strip()
    except OSError:
        return ""


def explain(problem: str, number: int) -> QuintainError:
    """Turn a launcher's failure to open into the error that helps most."""
    if number not in (errno.EPERM, errno.EACCES, errno.ENOSPC, errno.EUSERS, errno.ENOSYS):
        return SandboxError(f"the sandbox could not be set up: {problem}")
    hint = _USERNS  # also the answer to ENOSPC and EUSERS: the number of namespaces is used up
    counted = number in (errno.ENOSPC, errno.EUSERS)
    if not counted and _setting("kernel/apparmor_restrict_unprivileged_userns") == "1":
        hint = (
            "AppArmor restricts user namespaces here (Ubuntu 24.04): "
            "`sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`, or give this "
            "interpreter a profile that allows `userns`."
        )
    elif not counted and Path("/.dockerenv").exists():
        hint = (
            "inside Docker add `--security-opt seccomp=unconfined --security-opt "
            "systempaths=unconfined --security-opt apparmor=unconfined`, or `--privileged`."
        )
    elif number == errno.ENOSYS:
        hint = "the native sandbox needs Linux 5.12 or newer."
    return UserError(f"this host refuses the walls of the native sandbox: {problem}", hint=hint)
