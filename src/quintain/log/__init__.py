"""The trial log: a run directory with a manifest and append-only, checksummed segments.

``RUN/manifest.json`` says what the run was made of; ``RUN/segments/NNNNNN.log`` hold its records,
one line each. `RunLog` writes; `records`, `trials`, `recorded`, `done` and `read_run` read. Old
runs open without torch and without a sandbox. ``RUN/audit/NNNNNN.log`` is the hash-chained audit
log: `AuditLog` writes, `audited` reads, `verify` and `verify_run` check both logs.
"""

from quintain.log._audit import AuditLog, audit_segments_of, audited
from quintain.log._chain import AUDIT_VERSION, AuditEntry, AuditHead, AuditSeal
from quintain.log._manifest import (
    GitState,
    Host,
    Manifest,
    make_manifest,
    read_manifest,
    write_manifest,
)
from quintain.log._read import Recorded, Run, done, read_run, recorded, records, trials
from quintain.log._records import (
    SCHEMA_VERSION,
    EventRecord,
    HeaderRecord,
    InterfaceRecord,
    IsolationRecord,
    MetricRecord,
    Record,
    TaskRecord,
    TrialRecord,
)
from quintain.log._segment import SegmentReader, decode_line, encode_line, segments_of
from quintain.log._verify import Finding, SegmentState, Verification, verify, verify_run
from quintain.log._writer import Log, RunLog

__all__ = [
    "AUDIT_VERSION",
    "SCHEMA_VERSION",
    "AuditEntry",
    "AuditHead",
    "AuditLog",
    "AuditSeal",
    "EventRecord",
    "Finding",
    "GitState",
    "HeaderRecord",
    "Host",
    "InterfaceRecord",
    "IsolationRecord",
    "Log",
    "Manifest",
    "MetricRecord",
    "Record",
    "Recorded",
    "Run",
    "RunLog",
    "SegmentReader",
    "SegmentState",
    "TaskRecord",
    "TrialRecord",
    "Verification",
    "audit_segments_of",
    "audited",
    "decode_line",
    "done",
    "encode_line",
    "make_manifest",
    "read_manifest",
    "read_run",
    "recorded",
    "records",
    "segments_of",
    "trials",
    "verify",
    "verify_run",
    "write_manifest",
]
