"""A unit is a value: what it holds can be replaced, and nothing else changes."""

from jumok.formats.units import NamedTexts


def test_a_unit_without_a_fault_is_whole() -> None:
    unit = NamedTexts(3, {"en": "a"})
    assert unit.fault is None
    assert unit._replace(texts={}) == NamedTexts(3, {})
