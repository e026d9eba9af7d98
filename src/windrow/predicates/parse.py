"""Predicates: Spark SQL conditions that can also be evaluated on Arrow columns, outside Spark.

The meaning is Spark's, to the last NaN, or there is none: what is not surely the same is refused with
`UnsupportedError`, and the caller leaves the predicate to Spark.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

import pyarrow as pa
import sqlglot
from sqlglot import Token, TokenType, exp
from sqlglot.errors import ParseError, SqlglotError

from windrow.errors import SpecError, UnsupportedError, WindrowError, quoted
from windrow.predicates.compile import STRUCTURE, Compiler
from windrow.predicates.evaluate import CompiledPredicate
from windrow.predicates.names import MISTAKEN, bare_names

_LENIENT = {"UNKNOWN", "ISNULL", "NOTNULL"}
"""Words that sqlglot reads in places where Spark does not, or reads differently."""
_BEFORE_NOT = (TokenType.L_PAREN, TokenType.AND, TokenType.OR, TokenType.NOT)
"""What comes before a NOT that begins a condition; any other NOT is a part of IS NOT or NOT IN, BETWEEN, LIKE."""
_COMPLETE = (TokenType.NUMBER, TokenType.STRING, TokenType.IDENTIFIER, TokenType.R_PAREN)
"""What is a value by itself: a word that follows it is no part of a name."""
_NO_NAME = (
    *_COMPLETE, TokenType.ALIAS, TokenType.AND, TokenType.BETWEEN, TokenType.FALSE, TokenType.IN, TokenType.IS,
    TokenType.LIKE, TokenType.NOT, TokenType.NULL, TokenType.OR, TokenType.RLIKE, TokenType.TRUE,
)  # fmt: skip
"""What is, in a condition, most likely just what it says."""


@dataclass(frozen=True)
class Predicate:
    """A condition in Spark SQL, parsed.

    >>> slow = parse_predicate("speed < 40 and not `on ramp`")
    >>> slow.columns
    ('speed', 'on ramp')
    >>> table = pa.table({"speed": [30.0, 60.0, None], "on ramp": [False, False, False]})
    >>> slow.compile(table.schema)(table).to_pylist()
    [True, False, None]
    """

    text: str
    columns: tuple[str, ...]
    """The names of the columns it uses, as written, without backticks."""
    _tree: exp.Expr = field(repr=False, compare=False)
    _words: Counter[str] = field(repr=False, compare=False)
    _doubt: str | None = field(repr=False, compare=False)

    def compile(self, schema: pa.Schema) -> CompiledPredicate:
        """The predicate made ready for batches of a schema, to be called with each.

        Raises:
            ColumnError: a column does not exist.
            TypeMismatchError: the text is no condition, such as `speed + 1`.
            UnsupportedError: some part of it is not surely evaluated as Spark would; the message names that part.
        """
        if self._doubt:
            raise UnsupportedError(f"predicate {quoted(self.text)}: {self._doubt}")
        compiler = Compiler(self.text, schema)
        try:
            node = compiler.condition(self._tree)
        except RecursionError:
            raise UnsupportedError(f"predicate {quoted(self.text)} is nested too deeply") from None
        if compiler.words != self._words:
            raise UnsupportedError(f"predicate {quoted(self.text)}: it is not sure that Spark reads it the same way")
        return CompiledPredicate(self.text, tuple(compiler.used), node)


def canonical(text: str) -> str:
    """Return a spelling that is the same for all spellings of a condition; what only Spark can read stays as it is.

    >>> canonical("speed<40 AND (`lane` <> 2)")
    '(`speed` < 40) AND (`lane` <> 2)'
    >>> canonical("((speed < 40) and lane != 2)")
    '(`speed` < 40) AND (`lane` <> 2)'
    """
    try:
        predicate = parse_predicate(text)
    except SpecError:
        return text
    if predicate._doubt:
        return text
    whole = exp.Paren(this=predicate._tree.copy())
    for paren in reversed(list(whole.find_all(exp.Paren))):
        if paren is not whole:
            paren.replace(paren.this)
    # Parentheses around every part show how it is read, so that two conditions are alike only if they read alike.
    for node in reversed(list(whole.this.find_all(exp.Binary, exp.Not, exp.Between, exp.In))):
        if node is not whole.this:
            node.replace(exp.Paren(this=node.copy()))
    spelled: str = whole.this.sql(dialect="spark", identify=True)
    return spelled


@lru_cache(maxsize=256)
def parse_predicate(text: str, option: str = "predicate") -> Predicate:
    """Parse a condition as Spark SQL would write it; `option` is what an error calls it.

    >>> parse_predicate("speed <")
    Traceback (most recent call last):
    ...
    windrow.errors.SpecError: predicate 'speed <' cannot be parsed at line 1, column 7, near '<': ...
    """
    if not isinstance(text, str) or not text.strip():
        raise SpecError(f"{option} {quoted(text)} is empty; give a condition such as 'speed < 40'")
    tokens: Sequence[Token] = []
    try:
        tokens = sqlglot.tokenize(text, read="spark")
        if any(token.token_type is TokenType.SEMICOLON for token in tokens):
            raise SpecError(f"{option} {quoted(text)} has a semicolon; give one condition, without it")
        tree, names = _parse(text)
    except SqlglotError as error:
        raise SpecError(f"{option} {quoted(text)} cannot be parsed{_explain(tokens, error)}") from None
    except RecursionError:
        raise SpecError(f"{option} {quoted(text)} is nested too deeply") from None
    if _is_lambda(tree) and any(token.token_type is TokenType.ARROW for token in tokens):
        raise SpecError(f"{option} {quoted(text)} is a function and not a condition; give one such as 'speed < 40'")
    for kind, name in _NO_PREDICATE:
        if found := tree.find(*kind):
            raise SpecError(
                f"{option} {quoted(text)} has {name}, {quoted(_sql(found))}; give a condition on a single row"
            )
    columns = tuple(dict.fromkeys(column.parts[0].name for column in tree.find_all(exp.Column, bfs=False)))
    doubt = f"the name {quoted(names[0])} is a word of SQL without backticks, left to Spark" if names else None
    return Predicate(text, columns, tree, _words(tokens), _doubt(text, tokens) or doubt)


def _parse(text: str) -> tuple[exp.Expr, list[str]]:
    """The tree of a text, and the words of SQL that it takes for names, as Spark does, though sqlglot does not."""
    # In parentheses, since sqlglot reads no further than a command such as `show` at the start.
    enclosed = f"({text})"
    names = bare_names(sqlglot.tokenize(enclosed, read="spark"))
    try:
        if any(token.text.lower() in MISTAKEN for token in names):
            raise ParseError("sqlglot reads a command")
        tree = sqlglot.parse_one(text, read="spark", into=exp.Condition)
        if {token.text for token in names} <= {column.name for column in tree.find_all(exp.Column)}:
            return tree, []
    except ParseError:
        if not names:
            raise
    for token in reversed(names):
        enclosed = f"{enclosed[: token.start]}`{token.text}`{enclosed[token.end + 1 :]}"
    try:
        return sqlglot.parse_one(enclosed, read="spark", into=exp.Condition), [token.text for token in names]
    except ParseError:
        return sqlglot.parse_one(text, read="spark", into=exp.Condition), []


def literal_patterns(text: str) -> list[str]:
    """The regular expressions that a condition is written with, those without a backslash.

    >>> literal_patterns("road rlike '(' and not regexp_like(road, 'A[0-9]')")
    ['(', 'A[0-9]']
    """
    if "\\" in text:
        return []
    try:
        found = parse_predicate(text)._tree.find_all(exp.RegexpLike, exp.RegexpILike)
    except WindrowError:
        return []
    patterns = (node.args.get("expression") for node in found)
    return sorted({node.this for node in patterns if isinstance(node, exp.Literal) and node.is_string})


def zero_division(text: str) -> str | None:
    """The first part of a condition that divides by a zero written out, or None.

    >>> zero_division("speed / 0 > 1 or lane % 2 = 0")
    'speed / 0'
    """
    try:
        found = parse_predicate(text)._tree.find_all(exp.Div, exp.IntDiv, exp.Mod)
    except WindrowError:
        return None
    zeros = (node for node in found if isinstance(node.expression, exp.Literal) and _is_zero(node.expression))
    return next((_sql(node) for node in zeros), None)


def _is_zero(literal: exp.Literal) -> bool:
    return not literal.is_string and not literal.name.rstrip("DdLlSsYyFf").strip("0.")


_NO_PREDICATE: tuple[tuple[tuple[type[exp.Expr], ...], str], ...] = (
    ((exp.Query,), "a subquery"),
    ((exp.Window,), "a window function"),
    ((exp.AggFunc,), "an aggregate"),
    ((exp.UDTF, exp.Explode), "a generator"),
)


def _is_lambda(tree: exp.Expr) -> bool:
    """Whether a text is nothing but a function of its own, `x -> x`, which only stands within others."""
    return isinstance(tree, exp.Lambda | exp.JSONExtract) and not isinstance(tree.parent, exp.Func)


def _doubt(text: str, tokens: Sequence[Token]) -> str | None:
    """Why the tree may not be what Spark's own parser would make of the text, or None."""
    for mark, name in (("\\", "a backslash"), ("${", "a variable"), ("--", "a comment"), ("/*", "a comment")):
        if mark in text:
            return f"{name} ({mark!r}) is left to Spark"
    before = TokenType.L_PAREN
    for token, after in zip(tokens, [*tokens[1:], None], strict=True):
        kind = token.token_type
        if kind is TokenType.VAR and not token.text.isascii():
            return f"the name {quoted(token.text)} needs backticks"
        if kind not in (TokenType.STRING, TokenType.IDENTIFIER) and token.text.upper() in _LENIENT:
            return f"{quoted(token.text)} is left to Spark"
        if kind is TokenType.NOT and before not in _BEFORE_NOT:
            infix = after is not None and after.token_type in (TokenType.IN, TokenType.BETWEEN, TokenType.LIKE)
            if token.text == "!" or not (infix or before is TokenType.IS):
                return f"{quoted(token.text)} is not where Spark would have it"
        before = kind
    return None


def _words(tokens: Sequence[Token]) -> Counter[str]:
    """The tokens that a tree must account for, by kind; `.5` and `is not distinct from` are one each.

    sqlglot forgives much, such as `in (1,)` or `between 1 2`, and puts parentheses where it sees fit. None of that
    keeps the tokens.
    """
    words = Counter(kind if (kind := token.token_type.name) in STRUCTURE else "OTHER" for token in tokens)
    for first, second in pairwise(tokens):
        pair = (first.token_type, second.token_type)
        if pair == (TokenType.DOT, TokenType.NUMBER) and first.end + 1 == second.start:
            words.subtract(["OTHER"])
        elif pair == (TokenType.DISTINCT, TokenType.FROM):
            words.subtract(["IS", "OTHER"])
        elif pair == (TokenType.NOT, TokenType.DISTINCT):
            words.subtract(["NOT"])
    return words


def _explain(tokens: Sequence[Token], error: SqlglotError) -> str:
    """Where a text cannot be parsed, and what would be right, as far as that can be guessed."""
    if not isinstance(error, ParseError):
        return ": is a quote left open?"
    if not error.errors:
        return ": there is nothing but a comment; give a condition such as 'speed < 40'"
    first = error.errors[0]
    place = (first["line"], first["col"])
    at = f" at line {place[0]}, column {place[1]}, near {quoted(first['highlight'])}"
    if first["description"].startswith("Expecting )"):
        return f"{at}: is a parenthesis left open?"
    if bare_names(tokens) or _has_odd_name([token for token in tokens if (token.line, token.col) <= place]):
        return f"{at}: a column whose name is a word of SQL, or more than one word, goes in backticks"
    return f"{at}: give a condition such as 'speed < 40'"


def _has_odd_name(tokens: Sequence[Token]) -> bool:
    """Whether one of these may be meant as a name: a word of SQL where a value can be, or a word after a name."""
    before = TokenType.L_PAREN
    for token in tokens:
        kind = token.token_type
        is_word = token.text.isidentifier() and kind not in _NO_NAME and before not in _COMPLETE
        if is_word and (kind is not TokenType.VAR or before is TokenType.VAR):
            return True
        before = kind
    return False


def _sql(tree: exp.Expr) -> str:
    return tree.sql(dialect="spark")
