"""Which plural form of a language is the one for a single thing: gettext's `Plural-Forms`."""

import re

LONGEST, DEEPEST = 500, 20
_WORD = re.compile(r"\s*(\d+|n|&&|\|\||[<>=!]=|[-+*/%<>?:()!])")
_STRENGTH = {
    "||": 1,
    "&&": 2,
    "==": 3,
    "!=": 3,
    "<": 4,
    ">": 4,
    "<=": 4,
    ">=": 4,
    "+": 5,
    "-": 5,
    "*": 6,
    "/": 6,
    "%": 6,
}


def singular_form(rule: str) -> int:
    """The number of the form for n = 1; 0 for a rule that cannot be understood."""
    found = re.search(r"nplurals\s*=\s*(\d+)\s*;\s*plural\s*=\s*([^;]+)", rule)
    if found is None or len(found[2]) > LONGEST or found[2].count("(") + found[2].count("!") > DEEPEST:
        return 0
    try:
        form = form_of(found[2], 1)
    except (ValueError, ZeroDivisionError):
        return 0
    return form if form < int(found[1][:3]) else 0


def form_of(expression: str, n: int) -> int:
    """The value of a C expression over `n`. ValueError: it is none."""
    words, place = list[str](), 0
    while expression[place:].strip():
        found = _WORD.match(expression, place)
        if found is None:
            raise ValueError(f"{expression[place:]!r} is no part of a plural rule")
        words.append(found[1])
        place = found.end()
    words.append("")
    value = _Rule(words, n).choice()
    if words != [""]:
        raise ValueError(f"{words[0]!r} is too much")
    return value


class _Rule:
    """The rest of an expression, whose words are taken from the front."""

    def __init__(self, words: list[str], n: int) -> None:
        self.words, self.n = words, n

    def choice(self) -> int:
        """`a ? b : c`; the last part is a loop and no call, since rules are long chains of it."""
        condition = self.operation(1)
        while self.words[0] == "?":
            del self.words[0]
            yes = self.choice()
            self._expect(":")
            if condition:
                self.choice()
                return yes
            condition = self.operation(1)
        return condition

    def operation(self, least: int) -> int:
        """Binary operators that bind at least so strongly, from left to right."""
        left = self.operand()
        while _STRENGTH.get(self.words[0], 0) >= least:
            sign = self.words.pop(0)
            right = self.operation(_STRENGTH[sign] + 1)
            left = _computed(left, sign, right)
        return left

    def operand(self) -> int:
        """A number, `n`, a negation or an expression in brackets."""
        word = self.words.pop(0)
        if word == "n":
            return self.n
        if word == "!":
            return int(not self.operand())
        if word == "(":
            value = self.choice()
            self._expect(")")
            return value
        return int(word)

    def _expect(self, sign: str) -> None:
        if self.words.pop(0) != sign:
            raise ValueError(f"{sign!r} is missing")


def _computed(left: int, sign: str, right: int) -> int:
    match sign:
        case "||":
            return int(bool(left or right))
        case "&&":
            return int(bool(left and right))
        case "==" | "!=":
            return int((left == right) == (sign == "=="))
        case "<" | ">":
            return int(left < right if sign == "<" else left > right)
        case "<=" | ">=":
            return int(left <= right if sign == "<=" else left >= right)
        case "+" | "-":
            return left + right if sign == "+" else left - right
        case "*":
            return left * right
    return left // right if sign == "/" else left % right
