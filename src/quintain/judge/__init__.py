"""Judges: from a task and a submission to a verdict, and from a verdict to a reward."""
