"""Episodes: a policy tries a task through an interface, and a trajectory comes of it."""

from quintain.env._episode import Episode, run_episode

__all__ = ["Episode", "run_episode"]
