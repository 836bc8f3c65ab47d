"""The native backend: our own launcher, zygote and walls, in Python and system calls alone.

Three programs and who listens to whom::

    caller ──socketpair, length-framed JSON──▶ launcher ──SEQPACKET──▶ main zygote (pid 1)
                                                  │                        │ forks
                                                  ├──SEQPACKET, a slot──▶ slot zygote (pid 1)
                                                  │                        │ forks
                                                  └──job: fds + memfd──▶ the run's own process

- The *launcher* is executed, not forked, because the caller may have threads. It owns pipes,
  clocks, cgroups and verdicts, and dies with its caller.
- The *main zygote* is executed inside the template world, so that its memory holds nothing of
  the launcher or the caller. It imports the chosen packages and forks one slot zygote a slot.
- A *slot zygote* keeps one prepared world in stock: an init in a new pid namespace and a
  process of ours in it, which waits for a job. Programs travel in a memfd that only that
  process reads, so a zygote never holds what a program was given.

Modules that run inside the world (`_sys`, `_seccomp`, `_landlock`, `_world`, `_zygote`) use the
standard library alone and are handed over as source text in a memfd.
"""
