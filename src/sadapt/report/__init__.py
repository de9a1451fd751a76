"""Pictures and tables from stored runs; nothing here trains."""

from sadapt.report.table import load

__all__ = ["load"]
