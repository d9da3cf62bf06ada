"""Step 4: which released row gets which protected value. Each way states what it reads and what it costs.

rows.py        own row, own cluster: as the steps before left them
shuffle.py     columns or whole rows in a random order
pairs.py       two-way counts over released cells: one more pass over the data
signs.py       correlations from noisy sign products
select.py      which pairs are worth measuring, chosen with budget
tables.py      noisy two-way tables, denoised and consistent with the marginals
model.py       rows of cells that fit all released tables
draw.py        values for them: fresh rows in pieces
synthetic.py   all of it: the method `synthetic`
channel.py     one record's cells through one joint channel
grouping.py    which groups go through it, by a public rule, and what its outputs say
aligned.py     the method `aligned`
"""

from rankveil.flow.relink.rows import Piece, Rows, own_cluster, own_row

__all__ = ["Piece", "Rows", "own_cluster", "own_row"]
