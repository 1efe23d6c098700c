from itertools import product

import pytest

from jumok.formats.plural_forms import form_of, singular_form

SLAVIC = "n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2"
ARABIC = "n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : n%100>=11 ? 4 : 5"


def slavic(n: int) -> int:
    if n % 10 == 1 and n % 100 != 11:
        return 0
    return 1 if 2 <= n % 10 <= 4 and (n % 100 < 10 or n % 100 >= 20) else 2


def arabic(n: int) -> int:
    return n if n < 3 else 3 if 3 <= n % 100 <= 10 else 4 if n % 100 >= 11 else 5


def test_rules_give_what_the_same_rules_in_python_give() -> None:
    for n in range(200):
        assert form_of(SLAVIC, n) == slavic(n)
        assert form_of(ARABIC, n) == arabic(n)
        assert form_of("n != 1", n) == int(n != 1)
        assert form_of("!(n > 1) * 2 + 3 - 1", n) == 2 * (n <= 1) + 2


@pytest.mark.parametrize(
    ("rule", "form"),
    [
        ("nplurals=2; plural=(n != 1);", 0),
        ("nplurals=1; plural=0;", 0),
        (f"nplurals=6; plural={ARABIC};", 1),
        (f"nplurals=3; plural={SLAVIC};", 0),
        ("nplurals=INTEGER; plural=EXPRESSION;", 0),
        ("nplurals=2; plural=n/0;", 0),
        ("nplurals=2; plural=(n;", 0),
        ("nplurals=2; plural=7;", 0),
        ("nplurals=2; plural=" + "(" * 2000 + "1" + ")" * 2000 + ";", 0),
        ("nplurals=2; plural=n 1;", 0),
    ],
)
def test_the_form_of_one_thing(rule: str, form: int) -> None:
    assert singular_form(rule) == form


def test_what_is_no_rule_is_refused() -> None:
    with pytest.raises(ValueError, match="no part of a plural rule"):
        form_of("n & 1", 1)
    with pytest.raises(ValueError, match="too much"):
        form_of("1 2", 1)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("2 == 2 != 0", 1),
        ("1 < 2 + 3", 1),
        ("1 <= 2 + 3", 1),
        ("5 > 2 + 2", 1),
        ("5 >= 2 + 3", 1),
        ("2 != 2 == 0", 1),
        ("3 > 2 == 1", 1),
        ("1 == 2 >= 2", 1),
        ("1 < 2 <= 0", 0),
        ("9 - 3 - 2", 4),
        ("9 - 3 + 2", 8),
        ("7 % 4 * 2", 6),
        ("8 / 4 / 2", 1),
        ("1 + 2 * 3 < 7", 0),
        ("1 || 0 && 0", 1),
        ("0 && 0 || 1", 1),
        ("1 || 1 == 2", 1),
        ("0 && 2 == 0", 0),
        ("!0 + 1", 2),
        ("1 ? 2 : 0 ? 3 : 4", 2),
        ("0 ? 2 : 0 ? 3 : 4", 4),
        ("1 ? 0 ? 2 : 3 : 4", 3),
        ("0 ? 2 : 0 || 1", 1),
        ("0 ? 2 : 0 && 1 ? 3 : 1 && 1", 1),
    ],
)
def test_operators_bind_as_those_of_c(expression: str, value: int) -> None:
    """The values are those that a C compiler gives."""
    assert form_of(expression, 1) == value


GROUPS = (("||",), ("&&",), ("==", "!="), ("<", ">", "<=", ">="), ("+", "-"), ("*", "/", "%"))
"""As C has them, the weakest first."""


def test_every_operator_binds_to_every_other_as_in_c() -> None:
    strength = {sign: number for number, group in enumerate(GROUPS) for sign in group}
    for (one, a), (other, b) in product(strength.items(), repeat=2):
        for x, y, z in product((0, 1, 2, 5), (1, 2, 3), (1, 2, 4)):
            said = f"({x} {one} {y}) {other} {z}" if a >= b else f"{x} {one} ({y} {other} {z})"
            if "/ (" in said or "% (" in said:  # by 0, perhaps
                continue
            assert form_of(f"{x} {one} {y} {other} {z}", 0) == form_of(said, 0), said


@pytest.mark.parametrize(
    ("rule", "form"),
    [
        ("nplurals=2; plural=n" + " " * 499, 1),
        ("nplurals=2; plural=n" + " " * 500, 0),
        ("nplurals=2; plural=" + "(" * 20 + "n" + ")" * 20, 1),
        ("nplurals=2; plural=" + "(" * 21 + "n" + ")" * 21, 0),
        ("nplurals=2; plural=" + "(" * 10 + "!" * 10 + "n" + ")" * 10, 1),
        ("nplurals=2; plural=" + "(" * 11 + "!" * 10 + "n" + ")" * 11, 0),
        ("nplurals=2; plural=2", 0),
        ("nplurals=2; plural=n ? 1 : 0 || 1", 1),
        ("nplurals=100; plural=n+98", 99),
        ("nplurals=" + "9" * 5000 + "; plural=n", 1),
    ],
)
def test_rules_at_their_limits(rule: str, form: int) -> None:
    assert singular_form(rule) == form
