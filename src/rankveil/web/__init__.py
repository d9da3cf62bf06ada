"""The local page, `rankveil web`: the flow of the command line, to see and to steer.

serve.py      a socket on 127.0.0.1, the address to open, cleaning up at the end
guard.py      who may talk to the page: Host, Origin, the one-time token, the headers of every answer
home.py       the private folder: working sessions on disk, one JSON file each, changed under a lock
tables.py     receiving a table, drafting its plan, removing copies
columns.py    a column as a card: what is shown, what a form changes
jobs.py       releases, evaluations and comparisons as processes of their own; what became of each
worker.py     what such a process does
budget.py     what the ledger says about the table
commands.py   the same step on the command line
site.py       what views share: forms, pages, refusals as pages
app.py        which address is which view
views/        one file per step of the flow
"""
