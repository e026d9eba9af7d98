"""Compilation of a parsed predicate to Arrow kernels for one schema, node by node.

Only the nodes and arguments listed here are accepted. Any other SQL is rejected with an error that names the part.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import reduce
from typing import Any, NoReturn

import pyarrow as pa
from sqlglot import exp

from windrow.errors import ColumnError, TypeMismatchError, UnsupportedError, quoted
from windrow.predicates.evaluate import FALSE, TRUE, UNKNOWN, Constant, Node, call, negated
from windrow.predicates.names import BARE_FUNCTIONS, FUNCTIONS_BEFORE_COLUMNS
from windrow.predicates.types import (
    Kind,
    Refused,
    Typed,
    arithmetic,
    boolean,
    column,
    common_list,
    comparison,
    has_plain_nulls,
    number,
    signed,
)

_COMPARISONS = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
    exp.NullSafeNEQ: "<=>",
}
_ARITHMETIC = {exp.Add: "add", exp.Sub: "subtract", exp.Mul: "multiply"}
_SUFFIXES = {exp.DataType.Type.DOUBLE: "D", exp.DataType.Type.BIGINT: "L"}
_LEAVES = (exp.Column, exp.Literal, exp.Boolean, exp.Null, exp.TryCast)
_OPERANDS = (*_LEAVES, exp.Paren, exp.Neg, exp.Abs, exp.IsNan, *_ARITHMETIC)


class Compiler:
    """A compiler that turns the tree of one predicate into kernels.

    `used` collects the columns, spelled as in the schema; `words` counts the tokens that the tree accounts for.
    """

    def __init__(self, text: str, schema: pa.Schema) -> None:
        self.text = text
        self.schema = schema
        self.used: dict[str, None] = {}
        self.words: Counter[str] = Counter()

    def condition(self, tree: exp.Expr) -> Node:
        """Compile a condition."""
        typed = self._typed(tree)
        if typed.kind is Kind.NULL:
            self._refuse(tree, "null alone is left to Spark")
        return self._boolean(tree, typed)

    def _refuse(self, tree: exp.Expr, reason: str) -> NoReturn:
        part = tree.sql(dialect="spark")
        raise UnsupportedError(
            f"predicate {quoted(self.text)}: {quoted(part)} is not evaluated outside Spark: {reason}"
        )

    def _typed(self, tree: exp.Expr) -> Typed:
        """Compile any expression, by its class."""
        rule, allowed, words = _RULES.get(type(tree), (None, "", ""))
        arguments = {name for name, value in tree.args.items() if value not in (None, False, [])}
        if rule is None or not arguments <= set(allowed.split()):
            self._refuse(tree, "it may have another result outside Spark")
        self.words.update(words.split())
        try:
            return rule(self, tree)
        except Refused as reason:
            self._refuse(tree, str(reason))

    def _operand(self, tree: exp.Expr) -> Typed:
        """Compile an operand of a comparison; parsers disagree on how to read a bare condition there."""
        if type(tree) in _RULES and not isinstance(tree, _OPERANDS):
            self._refuse(tree, "as a part of a comparison or sum it needs parentheses")
        return self._typed(tree)

    def _truth(self, tree: exp.Expr) -> Node:
        """Compile an operand of AND, OR or NOT."""
        typed = self._typed(tree)
        if typed.kind is Kind.STRING:
            self._refuse(tree, "Spark would cast the string to boolean")
        return typed.node if typed.kind is Kind.NULL else self._boolean(tree, typed)

    def _boolean(self, tree: exp.Expr, typed: Typed) -> Node:
        if typed.kind is not Kind.BOOLEAN:
            part = tree.sql(dialect="spark")
            raise TypeMismatchError(
                f"predicate {quoted(self.text)}: {quoted(part)} is of type {typed}; expected a condition"
            )
        return typed.node

    def _column(self, tree: exp.Column) -> Typed:
        name = tree.name
        matches = [other for other in self.schema.names if other.lower() == name.lower()]
        functions = FUNCTIONS_BEFORE_COLUMNS if matches else BARE_FUNCTIONS | FUNCTIONS_BEFORE_COLUMNS
        if name.lower() in functions and not tree.this.quoted:
            raise Refused("it is a function in Spark")
        if not matches:
            raise ColumnError.unknown(name, f"predicate {quoted(self.text)}", self.schema.names)
        if len(matches) > 1:
            raise Refused(f"it may be any of the columns {', '.join(map(repr, matches))}")
        self.used[matches[0]] = None
        return column(matches[0], self.schema.field(matches[0]).type)

    def _literal(self, tree: exp.Literal) -> Typed:
        if tree.is_string:
            return Typed(Kind.STRING, Constant(tree.name, pa.string()), pa.string())
        return number(tree.name)

    def _suffixed(self, tree: exp.TryCast) -> Typed:
        """Compile `1.5D` and `1L`, which the parser turns into casts; any other cast is left to Spark."""
        if isinstance(tree.this, exp.Literal) and not tree.this.is_string and tree.to.this in _SUFFIXES:
            return number(tree.this.name, _SUFFIXES[tree.to.this])
        raise Refused("casts are left to Spark")

    def _connector(self, tree: exp.Connector) -> Typed:
        kernel = "and_kleene" if isinstance(tree, exp.And) else "or_kleene"
        return boolean(call(kernel, self._truth(tree.this), self._truth(tree.expression)))

    def _arithmetic(self, tree: exp.Binary) -> Typed:
        return arithmetic(_ARITHMETIC[type(tree)], self._operand(tree.this), self._operand(tree.expression))

    def _comparison(self, tree: exp.Binary) -> Typed:
        node = comparison(_COMPARISONS[type(tree)], self._operand(tree.this), self._operand(tree.expression))
        return boolean(negated(node) if isinstance(tree, exp.NullSafeNEQ) else node)

    def _isnan(self, tree: exp.IsNan) -> Typed:
        value = self._operand(tree.this)
        if value.kind not in (Kind.FLOAT, Kind.DOUBLE):
            raise Refused("isnan is for float and double")
        return boolean(call("coalesce", call("is_nan", value.node), FALSE))  # isnan(null) is false

    def _is(self, tree: exp.Is) -> Typed:
        value = self._operand(tree.this)
        if value.kind in (Kind.NULL, Kind.EXACT):
            raise Refused("a literal there is left to Spark")
        if isinstance(tree.expression, exp.Null):
            if value.kind is Kind.OTHER and not has_plain_nulls(value.type):
                raise Refused(f"nulls of {value} are left to Spark")
            return boolean(call("is_null", value.node))
        if not isinstance(tree.expression, exp.Boolean) or value.kind is not Kind.BOOLEAN:
            raise Refused("IS is for NULL, and for TRUE and FALSE after a condition")
        return boolean(call("coalesce", value.node if tree.expression.this else negated(value.node), FALSE))

    def _between(self, tree: exp.Between) -> Typed:
        value, low, high = (self._operand(tree.args[name]) for name in ("this", "low", "high"))
        return boolean(call("and_kleene", comparison(">=", value, low), comparison("<=", value, high)))

    def _in(self, tree: exp.In) -> Typed:
        value = self._operand(tree.this)
        self.words.update(COMMA=len(tree.expressions) - 1)
        items = common_list(value, [self._operand(item) for item in tree.expressions])
        if not items:
            raise Refused("the list is empty")
        matches = [UNKNOWN if item.kind is Kind.NULL else comparison("=", value, item) for item in items]
        return boolean(reduce(lambda some, match: call("or_kleene", some, match), matches))

    def _like(self, tree: exp.Like) -> Typed:
        """Compile LIKE, only for patterns whose sole wildcards are a `%` at the start, the end, or both."""
        value, pattern = self._operand(tree.this), tree.expression
        if value.kind is not Kind.STRING or not isinstance(pattern, exp.Literal) or not pattern.is_string:
            raise Refused("LIKE is for a string and a literal")
        core = pattern.name.removeprefix("%").removesuffix("%")
        if not core or "%" in core or "_" in core:
            raise Refused("only 'a%', '%a' and '%a%' are matched outside Spark")
        self.words.update(OTHER=1, NOT=1 if tree.args.get("negate") else 0)
        first, last = pattern.name.startswith("%"), pattern.name.endswith("%")
        if first or last:
            kernel = "match_substring" if first and last else "ends_with" if first else "starts_with"
            node: Node = call(kernel, value.node, pattern=core)
        else:
            node = comparison("=", value, self._literal(pattern))
        return boolean(negated(node) if tree.args.get("negate") else node)


_Rule = Callable[[Compiler, Any], Typed]
_BOTH = "this expression"
_CALL = "OTHER L_PAREN R_PAREN"
_RULES: dict[type[exp.Expr], tuple[_Rule, str, str]] = {
    exp.Paren: (lambda compiler, tree: compiler._typed(tree.this), "this", "L_PAREN R_PAREN"),
    exp.Column: (Compiler._column, "this", "OTHER"),
    exp.Literal: (Compiler._literal, "this is_string", "OTHER"),
    exp.Boolean: (lambda _, tree: boolean(TRUE if tree.this else FALSE), "this", "OTHER"),
    exp.Null: (lambda _, tree: Typed(Kind.NULL, UNKNOWN, pa.null()), "", "OTHER"),
    exp.TryCast: (Compiler._suffixed, "this to", "OTHER DCOLON OTHER"),
    exp.And: (Compiler._connector, _BOTH, "AND"),
    exp.Or: (Compiler._connector, _BOTH, "OR"),
    exp.Not: (lambda compiler, tree: boolean(negated(compiler._truth(tree.this))), "this", "NOT"),
    exp.Neg: (lambda compiler, tree: signed("negate", compiler._operand(tree.this)), "this", "DASH"),
    exp.Abs: (lambda compiler, tree: signed("abs", compiler._operand(tree.this)), "this", _CALL),
    exp.IsNan: (Compiler._isnan, "this", _CALL),
    exp.Add: (Compiler._arithmetic, _BOTH, "PLUS"),
    exp.Sub: (Compiler._arithmetic, _BOTH, "DASH"),
    exp.Mul: (Compiler._arithmetic, _BOTH, "STAR"),
    **dict.fromkeys(_COMPARISONS, (Compiler._comparison, _BOTH, "OTHER")),
    exp.Is: (Compiler._is, _BOTH, "IS OTHER"),
    exp.Between: (Compiler._between, "this low high", "BETWEEN AND"),
    exp.In: (Compiler._in, "this expressions", "IN L_PAREN R_PAREN"),
    exp.Like: (Compiler._like, "this expression negate", "LIKE"),
}
"""For each class of node: the rule that compiles it, its allowed arguments, and the tokens it is written with."""

STRUCTURE = {word for _, _, words in _RULES.values() for word in words.split()} | {"COMMA"}
"""The kinds of tokens that a tree must account for one by one; the others are only counted."""
