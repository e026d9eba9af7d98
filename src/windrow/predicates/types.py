"""Spark's typing rules for the operands of a predicate: the type in which a comparison or sum is computed.

Only pairs of types that Spark treats alike with ANSI mode on (the default) and off are allowed; all others are
`Refused`.
"""

from __future__ import annotations

import enum
import math
import re
from dataclasses import dataclass
from decimal import Decimal

import pyarrow as pa

from windrow.predicates.evaluate import (
    FALSE,
    UNKNOWN,
    Call,
    Column,
    Constant,
    Node,
    call,
    compare,
    null_safe_equal,
)


class Refused(Exception):
    """The reason why an expression is left to Spark."""


class Kind(enum.Enum):
    """The kind of an expression in Spark; EXACT is an integer or decimal literal, which adapts to the other operand."""

    NULL = "null"
    BOOLEAN = "boolean"
    INTEGER = "integer"
    FLOAT = "float"
    DOUBLE = "double"
    STRING = "string"
    EXACT = "a number"
    OTHER = "other"


@dataclass(frozen=True)
class Typed:
    """An expression with its kind; `type` is the Arrow type of its values, `exact` the value of an EXACT literal."""

    kind: Kind
    node: Node
    type: pa.DataType
    exact: Decimal = Decimal(0)

    def __str__(self) -> str:
        return self.kind.value if self.kind is Kind.EXACT else str(self.type)


def boolean(node: Node) -> Typed:
    """Return a condition."""
    return Typed(Kind.BOOLEAN, node, pa.bool_())


def column(name: str, type_: pa.DataType) -> Typed:
    """Return a column of an Arrow type; dictionaries and string views, which Spark does not have, are decoded."""
    plain = type_.value_type if pa.types.is_dictionary(type_) else type_
    if plain == pa.string_view():
        plain = pa.large_string()
    return Typed(_KINDS.get(plain, Kind.OTHER), Column(name, type_, plain), plain)


_KINDS: dict[pa.DataType, Kind] = {
    pa.bool_(): Kind.BOOLEAN,
    **dict.fromkeys((pa.int8(), pa.int16(), pa.int32(), pa.int64()), Kind.INTEGER),
    pa.float32(): Kind.FLOAT,
    pa.float64(): Kind.DOUBLE,
    **dict.fromkeys((pa.string(), pa.large_string()), Kind.STRING),
}
_FLOATING = {Kind.FLOAT: pa.float32(), Kind.DOUBLE: pa.float64()}


def has_plain_nulls(type_: pa.DataType) -> bool:
    """Return whether nulls of a type that predicates do not compute with are nulls to Spark too."""
    tests = (pa.types.is_primitive, pa.types.is_decimal, pa.types.is_binary, pa.types.is_large_binary)
    return any(test(type_) for test in tests)


def number(digits: str, suffix: str = "") -> Typed:
    """Return a literal without sign: `7` and `0.5` are exact, `5e-1` and `0.5D` are doubles, `7L` is a long."""
    if suffix != "D" and re.fullmatch(r"\d+|\d+\.\d*|\.\d+", digits, re.ASCII):
        exact = Decimal(digits)
        if suffix == "L" and (not digits.isdigit() or exact >= 2**63):
            raise Refused("it does not fit into a long")
        if _digits(exact) > 38:
            raise Refused("it has more digits than a decimal can hold")
        return Typed(Kind.EXACT, UNKNOWN, pa.null(), exact)
    if suffix == "L" or not re.fullmatch(r"(\d++(\.\d*+)?|\.\d++)([eE][+-]?\d{1,4})?", digits, re.ASCII):
        raise Refused("Spark may read this number differently")
    value = float(digits)
    if not math.isfinite(value) or (abs(value) < 1e-300 and not re.fullmatch(r"[0.]+([eE].*)?", digits)):
        raise Refused("it is at the limit of the range of a double")
    return Typed(Kind.DOUBLE, Constant(value, pa.float64()), pa.float64())


def _digits(exact: Decimal) -> int:
    """Return the precision that Spark gives to a decimal literal."""
    _, digits, exponent = exact.as_tuple()
    return max(len(digits), -int(exponent))


def comparison(op: str, left: Typed, right: Typed) -> Node:
    """Return `left op right` for one of `=`, `<>`, `<`, `<=`, `>`, `>=`, `<=>`."""
    kinds = {left.kind, right.kind}
    if Kind.NULL in kinds:
        return _with_null(op, left, right)
    if Kind.OTHER in kinds or kinds == {Kind.EXACT}:
        raise Refused(f"comparing {left} with {right} is left to Spark")
    if left.kind is Kind.EXACT:
        return comparison({"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(op, op), right, left)
    if op == "<=>":
        equal = comparison("=", left, right)
        return (
            call("coalesce", equal, FALSE)
            if right.kind is Kind.EXACT
            else null_safe_equal(equal, left.node, right.node)
        )
    if len(kinds) == 1 and left.kind not in _FLOATING:
        return compare(op, *_same_width(left, right))
    if left.kind is Kind.INTEGER and right.kind is Kind.EXACT:
        return _integer_with_literal(op, left, right.exact)
    kind = _floating_kind(left, right)
    nan_left, nan_right = (
        side.kind is not Kind.EXACT and not isinstance(side.node, Constant) for side in (left, right)
    )
    return compare(op, _floating(left, kind), _floating(right, kind), nan_left=nan_left, nan_right=nan_right)


def arithmetic(kernel: str, left: Typed, right: Typed) -> Typed:
    """Return a sum, difference or product in float or double; integers, which may overflow, are left to Spark."""
    if left.kind not in _FLOATING and right.kind not in _FLOATING:
        raise Refused("arithmetic outside Spark needs a float or double on one side")
    kind = _floating_kind(left, right)
    if kind is Kind.FLOAT and Kind.EXACT in (left.kind, right.kind):
        raise Refused("the type of float with integer depends on Spark's settings; write the integer as 1.0 or 1D")
    return Typed(kind, call(kernel, _floating(left, kind), _floating(right, kind)), _FLOATING[kind])


def signed(kernel: str, value: Typed) -> Typed:
    """Return `-value` or `abs(value)`."""
    if kernel == "negate" and value.kind is Kind.EXACT:
        if value.exact < 0:  # -(-2147483648) overflows
            raise Refused("a number with two signs is left to Spark")
        return Typed(Kind.EXACT, value.node, value.type, -value.exact)
    if value.kind not in _FLOATING:
        raise Refused("arithmetic outside Spark is for float and double")
    return Typed(value.kind, call(kernel, value.node), value.type)


def common_list(value: Typed, items: list[Typed]) -> list[Typed]:
    """Return the items of an IN list if Spark compares the whole list in a supported type."""
    kinds = {item.kind for item in items if item.kind is not Kind.NULL}
    if value.kind in (Kind.STRING, Kind.BOOLEAN) and kinds <= {value.kind}:
        return items
    if value.kind is Kind.DOUBLE and kinds <= {Kind.EXACT, Kind.DOUBLE}:
        return items
    if value.kind not in (Kind.INTEGER, Kind.FLOAT) or not kinds <= {Kind.EXACT}:
        raise Refused(f"the list is compared with {value} in a type that is left to Spark")
    if value.kind is Kind.FLOAT and len({_is_long(item.exact) for item in items if item.kind is Kind.EXACT}) > 1:
        raise Refused("integers and decimals in one list with a float are left to Spark")
    return items


def _with_null(op: str, left: Typed, right: Typed) -> Node:
    other = right if left.kind is Kind.NULL else left
    if other.kind in (Kind.NULL, Kind.OTHER, Kind.EXACT):
        raise Refused(f"comparing {other} with null is left to Spark")
    return call("is_null", other.node) if op == "<=>" else UNKNOWN


def _same_width(left: Typed, right: Typed) -> tuple[Node, Node]:
    """Return two integers or two strings in the wider of their Arrow types."""
    if left.type == right.type:
        return left.node, right.node
    wide = pa.int64() if left.kind is Kind.INTEGER else pa.large_string()
    return _cast(left, wide), _cast(right, wide)


def _cast(value: Typed, type_: pa.DataType) -> Node:
    if value.type == type_:
        return value.node
    if isinstance(value.node, Constant):
        return Constant(value.node.value, type_)
    # Spark also rounds an integer beyond 2**53 to a double.
    return call("cast", value.node, target_type=type_, safe=False)


def _integer_with_literal(op: str, value: Typed, literal: Decimal) -> Call:
    """Compare exactly, as Spark does in decimals: with the floor of the literal, in the column's own type."""
    if -int(literal.as_tuple().exponent) > 18:
        raise Refused("the decimal has too many digits to be compared exactly")
    if not -(2**63) <= literal <= 2**63 - 1:
        raise Refused("Spark compares a literal outside the range of long even where the column is null")
    floor = math.floor(literal)
    bits = value.type.bit_width - 1
    least, most = Constant(-(2**bits), value.type), Constant(2**bits - 1, value.type)
    if floor >= 2**bits:  # above the range of the column: every value is less
        return call("less_equal" if op in ("<", "<=", "<>") else "greater", value.node, most)
    if floor < -(2**bits):
        return call("greater_equal" if op in (">", ">=", "<>") else "less", value.node, least)
    bound = Constant(floor, value.type)
    if floor == literal:
        return compare(op, value.node, bound)
    if op in ("=", "<>"):
        return call("greater" if op == "=" else "less_equal", value.node, most)
    return call("less_equal" if op in ("<", "<=") else "greater", value.node, bound)


def _floating_kind(left: Typed, right: Typed) -> Kind:
    """Return the type to which a float or double and the other operand are cast."""
    kinds = {left.kind, right.kind}
    if not kinds <= {Kind.INTEGER, Kind.FLOAT, Kind.DOUBLE, Kind.EXACT}:
        raise Refused(f"{left} with {right} is left to Spark")
    if Kind.DOUBLE in kinds or kinds == {Kind.FLOAT}:
        return Kind.DOUBLE if Kind.DOUBLE in kinds else Kind.FLOAT
    if Kind.INTEGER in kinds:
        raise Refused("the type of float with integer depends on Spark's settings")
    exact = left.exact if left.kind is Kind.EXACT else right.exact
    if not _is_long(exact):
        return Kind.DOUBLE
    if abs(exact) > 2**24:
        raise Refused("a float with an integer this large depends on Spark's settings; write it with the suffix D")
    return Kind.FLOAT


def _is_long(exact: Decimal) -> bool:
    """Return whether Spark reads a literal as an integer rather than as a decimal."""
    return exact.as_tuple().exponent == 0 and -(2**63) <= exact < 2**63


def _floating(value: Typed, kind: Kind) -> Node:
    if value.kind is Kind.EXACT:
        return Constant(float(value.exact), _FLOATING[kind])
    return _cast(value, _FLOATING[kind])
