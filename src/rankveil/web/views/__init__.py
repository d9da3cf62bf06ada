"""The steps of the flow, one file each: table, columns, method, release, result."""
