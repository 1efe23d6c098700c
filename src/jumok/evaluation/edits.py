"""How far apart two sequences are: edits that turn one into the other, and what they have in common."""

from collections.abc import Hashable, Sequence


def edit_distance(first: Sequence[Hashable], second: Sequence[Hashable]) -> int:
    """Fewest insertions, deletions and substitutions that turn one sequence into the other.

    Hyyrö's bit-parallel form (2003) of Myers' algorithm: one column of the table is two integers,
    whose bits say where the value rises or falls from one row to the next.
    """
    if not first:
        return len(second)
    where, full = _positions(first), (1 << len(first)) - 1
    last = 1 << (len(first) - 1)
    rises, falls, distance = full, 0, len(first)
    for item in second:
        equal = where.get(item, 0)
        diagonal = (((equal & rises) + rises) ^ rises) | equal
        right_rises = falls | (full & ~(diagonal | rises))
        right_falls = rises & diagonal
        distance += bool(right_rises & last) - bool(right_falls & last)
        right_rises, right_falls = (right_rises << 1) | 1, right_falls << 1
        keeps = equal | falls
        rises = (right_falls | ~(keeps | right_rises)) & full
        falls = right_rises & keeps & full
    return distance


def common_subsequence(first: Sequence[Hashable], second: Sequence[Hashable]) -> int:
    """Length of the longest common subsequence, bit-parallel (Hyyrö 2004): each zero bit is one match."""
    where, full = _positions(first), (1 << len(first)) - 1
    open_rows = full
    for item in second:
        hits = open_rows & where.get(item, 0)
        open_rows = (open_rows + hits) | (open_rows - hits)
    return len(first) - (open_rows & full).bit_count()


def _positions(items: Sequence[Hashable]) -> dict[Hashable, int]:
    """For each item, an integer with a bit set at each of its places."""
    where: dict[Hashable, int] = {}
    for place, item in enumerate(items):
        where[item] = where.get(item, 0) | (1 << place)
    return where
