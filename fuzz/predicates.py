"""A simple evaluator of conditions by Spark's rules: three-valued logic, and NaN greater than any number."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from fuzz.tables import is_nan, spark_key

TOKEN = re.compile(r"\s*(?:(\d+\.?\d*(?:e[+-]?\d+)?)|('(?:[^'])*')|(<=>|<=|>=|<>|!=|[<>=(),+*/%-])|(\w+))", re.I)
Truth = bool | None


def evaluate(text: str, row: dict[str, Any]) -> Truth:
    """Return whether a condition holds for a row, or None if unknown."""
    return _parsed(text)(row)


_KNOWN: dict[str, Callable[[dict[str, Any]], Any]] = {}


def _parsed(text: str) -> Callable[[dict[str, Any]], Any]:
    if text not in _KNOWN:
        _KNOWN[text] = _Parser(text).condition()
    return _KNOWN[text]


def _not(a: Truth) -> Truth:
    return None if a is None else not a


def _and(a: Truth, b: Truth) -> Truth:
    if a is False or b is False:
        return False
    return None if a is None or b is None else True


def _or(a: Truth, b: Truth) -> Truth:
    return _not(_and(_not(a), _not(b)))


def compare(op: str, a: Any, b: Any) -> Truth:
    """Compare two values as Spark does."""
    if op == "<=>":
        return a is None and b is None if a is None or b is None else bool(spark_key(a) == spark_key(b))
    if a is None or b is None:
        return None
    x, y = spark_key(a), spark_key(b)
    truths = {"=": x == y, "<>": x != y, "!=": x != y, "<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y}
    return bool(truths[op])


class _Parser:
    """A recursive-descent parser: `or`, `and`, `not`, comparisons, `is null`, `in`, `between`, arithmetic, names."""

    def __init__(self, text: str) -> None:
        self.tokens = [next(filter(None, match)) for match in TOKEN.findall(text)]
        self.at = 0

    def _next(self, *tokens: str) -> str | None:
        token = self.tokens[self.at].lower() if self.at < len(self.tokens) else None
        if token is not None and (not tokens or token in tokens):
            self.at += 1
            return token
        return None

    def condition(self) -> Any:
        left = self._conjunction()
        while self._next("or"):
            left = (lambda a, b: lambda row: _or(a(row), b(row)))(left, self._conjunction())
        return left

    def _conjunction(self) -> Any:
        left = self._negation()
        while self._next("and"):
            left = (lambda a, b: lambda row: _and(a(row), b(row)))(left, self._negation())
        return left

    def _negation(self) -> Any:
        if self._next("not"):
            inner = self._negation()
            return lambda row: _not(inner(row))
        return self._comparison()

    def _comparison(self) -> Any:
        left = self._sum()
        if op := self._next("=", "<>", "!=", "<", "<=", ">", ">=", "<=>"):
            right = self._sum()
            return lambda row: compare(op, left(row), right(row))
        if self._next("is"):
            negative = bool(self._next("not"))
            self._next("null")
            return lambda row: (left(row) is None) != negative
        negative = bool(self._next("not"))
        if self._next("between"):
            low = self._sum()
            self._next("and")
            high = self._sum()
            holds = lambda row: _and(compare(">=", left(row), low(row)), compare("<=", left(row), high(row)))  # noqa: E731
        elif self._next("in"):
            self._next("(")
            items = [self._sum()]
            while self._next(","):
                items.append(self._sum())
            self._next(")")

            def holds(row: dict[str, Any]) -> Truth:
                truth: Truth = False
                for item in items:
                    truth = _or(truth, compare("=", left(row), item(row)))
                return truth
        else:
            return left
        return (lambda row: _not(holds(row))) if negative else holds

    def _sum(self) -> Any:
        left = self._product()
        while op := self._next("+", "-"):
            left = self._arithmetic(op, left, self._product())
        return left

    def _product(self) -> Any:
        left = self._factor()
        while op := self._next("*"):
            left = self._arithmetic(op, left, self._factor())
        return left

    @staticmethod
    def _arithmetic(op: str, a: Any, b: Any) -> Any:
        def holds(row: dict[str, Any]) -> Any:
            x, y = a(row), b(row)
            if x is None or y is None:
                return None
            return x + y if op == "+" else x - y if op == "-" else x * y

        return holds

    def _factor(self) -> Any:
        if self._next("("):
            inner = self.condition()
            self._next(")")
            return inner
        if self._next("-"):
            inner = self._factor()
            return lambda row: None if inner(row) is None else -inner(row)
        token = self._next()
        assert token is not None
        if token == "isnan":
            inner = self._factor()
            return lambda row: is_nan(inner(row))
        if token in ("true", "false", "null"):
            value: Any = {"true": True, "false": False, "null": None}[token]
            return lambda row: value
        if token[0].isdigit():
            number = float(token) if "." in token or "e" in token else int(token)
            return lambda row: number
        if token[0] == "'":
            text = self.tokens[self.at - 1][1:-1]
            return lambda row: text
        return lambda row: row[token]
