"""Pictures and tables from stored runs; nothing here trains."""
