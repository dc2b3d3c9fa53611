"""What preflight finds in a booking."""

from __future__ import annotations

from benchbook.columns.column import Column

TABLES: dict[str, dict[str, Column]] = {
    "preflight": {
        "finding_id": Column("string", "", "rule, with /<arm> after it where it is an arm's; several joined by +"),
        "rule": Column("string", "", "rule of preflight, as preflight.allow names it"),
        "severity": Column("string", "", "error (stops the booking) | warning | note"),
        "arm": Column("string", "", "arms that it is about, comma separated", "the booking as a whole"),
        "place": Column("string", "", "key of the booking or node file to look at"),
        "evidence": Column("string", "", "the values, and where each is from"),
        "arithmetic": Column("string", "", "the sum to do again by hand", "nothing to work out"),
        "remedy": Column("string", "", "what to change"),
        "source": Column("string", "", "section of docs/ that the rule rests on"),
        "allowed": Column("string", "", "the booking file's reason for letting the error stand", "not overridden"),
    },
}
