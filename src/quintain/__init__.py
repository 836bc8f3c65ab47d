"""Quintain: verifiable environments for LLM post-training.

Importing the package does nothing but name its version; import the module you need, for
instance ``from quintain.sandbox import execute``.
"""

from quintain._version import __version__

__all__ = ["__version__"]
