"""The archive of a booking: one zip that proves its report years later, on a machine without engine or GPU.

It is a project of its own: code, configuration and raw files lie where the pipeline looks for them, so that unpacked it
can be run, and `benchbook restore` puts it into a clone.

members.py   which files go in, and where they come from
covered.py   the same with secrets and names covered, and the list of what was
revision.py  the state of the code: commit, changes, hashes
crate.py     the Workflow Run RO-Crate that describes it
write.py     all of it, from the project’s files to the zip
pack.py      the zip, equal bytes for equal content
tables.py    the tables as Parquet and CSV beside the report
unpack.py    an archive into a folder, checked
place.py     where a report's raw files are: in the project, or in its archive
restored.py  what a restored booking knows of itself: stores in their order, registry, code
restore.py   an archive into a clone
"""
