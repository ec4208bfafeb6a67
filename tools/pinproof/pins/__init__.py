"""Which version or commit of each library a tree pins, where that is written, and which pin decides."""

from pinproof.pins.decide import Disagreement, clash, deciding, disagreements, find_pin
from pinproof.pins.model import Pin
from pinproof.pins.read import read_pins

__all__ = ["Disagreement", "Pin", "clash", "deciding", "disagreements", "find_pin", "read_pins"]
