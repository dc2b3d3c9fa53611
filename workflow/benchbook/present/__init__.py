"""Present: figures and the write-up, from tables that derive has made. Nothing here computes a statistic.

format.py    the only place where a number becomes text
address.py   the address of a cell: table:row:column
labels.py    column headings
wording.py   sentences from facts
summary.py   counts and sums of the first chapter, as a table with addresses of its own
tables.py    a frame and a choice of columns to a table as shown
chapters.py  what each chapter shows; claim_chapters.py those on claims, claim_wording.py their sentences
levels.py    the levels of a verdict: name, shape, what it allows
palette.py   colour, marker and line of each arm; every colour of a figure; the look of the figures
canvas.py    a figure's size, saving, and what it says when there is nothing to draw
figure_*.py  one figure each: draw(frames, out)
svg.py       a figure made fit to stand inside the page
origin.py    the line under a table or figure: runs, rule, script, code
context.py   what a report is made of
report.py    the page (Jinja2) and the PDF (WeasyPrint)
"""
