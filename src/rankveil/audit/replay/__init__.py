"""Replay: whole releases of neighbouring tables with the same answers, compared byte by byte.

dice.py      choices that follow from a pair's name
records.py   values of all kinds, and awkward ones
ways.py      files and frames: the ways into a release
plans.py     random plans, tables, neighbours
units.py     whole persons, and rows that are there or not
given.py     somebody's own table
pair.py      one pair released and compared
drawn.py     noise as it was drawn
campaign.py  many pairs, and what they came to
"""

from rankveil.audit.replay.campaign import Replay, replay
from rankveil.audit.replay.given import Given

__all__ = ["Given", "Replay", "replay"]
