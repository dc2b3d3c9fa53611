"""Columns of every table: name, unit, dtype, meaning, and when a null stands (checked by benchbook.schema).

measured, claims: the tables; metrics: the columns of a run that claims are made of; tag_text: a cell of tags.
"""
