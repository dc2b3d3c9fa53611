"""Columns of every table: name, unit, dtype, meaning, and when a null stands (checked by benchbook.schema)."""
