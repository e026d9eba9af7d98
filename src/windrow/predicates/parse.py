"""Predicates: Spark SQL conditions that can also be evaluated on Arrow columns, outside Spark.

The result is always exactly Spark's, NaN included. Whatever may differ is rejected with `UnsupportedError`, and the
caller leaves the predicate to Spark.
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
"""Words that sqlglot reads where Spark does not, or reads differently."""
_BEFORE_NOT = (TokenType.L_PAREN, TokenType.AND, TokenType.OR, TokenType.NOT)
"""Tokens before a NOT that begins a condition; any other NOT is a part of IS NOT or NOT IN, BETWEEN, LIKE."""
_COMPLETE = (TokenType.NUMBER, TokenType.STRING, TokenType.IDENTIFIER, TokenType.R_PAREN)
"""Tokens that are complete values: a word after them is not part of a name."""
_NO_NAME = (
    *_COMPLETE, TokenType.ALIAS, TokenType.AND, TokenType.BETWEEN, TokenType.FALSE, TokenType.IN, TokenType.IS,
    TokenType.LIKE, TokenType.NOT, TokenType.NULL, TokenType.OR, TokenType.RLIKE, TokenType.TRUE,
)  # fmt: skip
"""Tokens that, in a condition, are most likely not meant as a name."""


@dataclass(frozen=True)
class Predicate:
    """A parsed condition in Spark SQL.

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
        """Compile the predicate for batches of a schema; call the result with each batch.

        Raises
        ------
        ColumnError
            If a column does not exist.
        TypeMismatchError
            If the text is not a condition, such as `speed + 1`.
        UnsupportedError
            If some part might not be evaluated as Spark would; the message names that part.
        """
        if self._doubt:
            raise UnsupportedError(f"predicate {quoted(self.text)}: {self._doubt}")
        compiler = Compiler(self.text, schema)
        try:
            node = compiler.condition(self._tree)
        except RecursionError:
            raise UnsupportedError(f"predicate {quoted(self.text)} is nested too deeply") from None
        if compiler.words != self._words:
            raise UnsupportedError(f"predicate {quoted(self.text)}: Spark may read it differently")
        return CompiledPredicate(self.text, tuple(compiler.used), node)


def canonical(text: str) -> str:
    """Return one spelling for all spellings of a condition; text that only Spark can read is returned unchanged.

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
    # Parentheses around every part make the structure explicit, so only conditions that read alike are spelled alike.
    for node in reversed(list(whole.this.find_all(exp.Binary, exp.Not, exp.Between, exp.In))):
        if node is not whole.this:
            node.replace(exp.Paren(this=node.copy()))
    spelled: str = whole.this.sql(dialect="spark", identify=True)
    return spelled


@lru_cache(maxsize=256)
def parse_predicate(text: str, option: str = "predicate") -> Predicate:
    """Parse a Spark SQL condition; `option` is its name in error messages.

    >>> parse_predicate("speed <")
    Traceback (most recent call last):
    ...
    windrow.errors.SpecError: predicate 'speed <' cannot be parsed at line 1, column 7, near '<': ...
    """
    if not isinstance(text, str) or not text.strip():
        raise SpecError(f"{option} {quoted(text)} is empty; expected a condition such as 'speed < 40'")
    tokens: Sequence[Token] = []
    try:
        tokens = sqlglot.tokenize(text, read="spark")
        if any(token.token_type is TokenType.SEMICOLON for token in tokens):
            raise SpecError(f"{option} {quoted(text)} has a semicolon; expected a single condition")
        tree, names = _parse(text)
    except SqlglotError as error:
        raise SpecError(f"{option} {quoted(text)} cannot be parsed{_explain(tokens, error)}") from None
    except RecursionError:
        raise SpecError(f"{option} {quoted(text)} is nested too deeply") from None
    if _is_lambda(tree) and any(token.token_type is TokenType.ARROW for token in tokens):
        raise SpecError(
            f"{option} {quoted(text)} is a function, not a condition; expected a condition such as 'speed < 40'"
        )
    for kind, name in _NO_PREDICATE:
        if part := tree.find(*kind):
            raise SpecError(
                f"{option} {quoted(text)} contains {name}, {quoted(_sql(part))}; expected a condition on a single row"
            )
    columns = tuple(dict.fromkeys(column.parts[0].name for column in tree.find_all(exp.Column, bfs=False)))
    doubt = (
        f"the name {quoted(names[0])} is an SQL keyword without backticks, which is left to Spark" if names else None
    )
    return Predicate(text, columns, tree, _words(tokens), _doubt(text, tokens) or doubt)


def _parse(text: str) -> tuple[exp.Expr, list[str]]:
    """Parse a text into a tree; also return the keywords that are names to Spark but not to sqlglot."""
    # In parentheses, since sqlglot stops reading at a command such as `show` at the start.
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
    """Return the literal regular expressions in a condition; none if it has a backslash.

    >>> literal_patterns("road rlike '(' and not regexp_like(road, 'A[0-9]')")
    ['(', 'A[0-9]']
    """
    if "\\" in text:
        return []
    try:
        nodes = parse_predicate(text)._tree.find_all(exp.RegexpLike, exp.RegexpILike)
    except WindrowError:
        return []
    patterns = (node.args.get("expression") for node in nodes)
    return sorted({node.this for node in patterns if isinstance(node, exp.Literal) and node.is_string})


def zero_division(text: str) -> str | None:
    """Return the first part of a condition that divides by a literal zero, or None.

    >>> zero_division("speed / 0 > 1 or lane % 2 = 0")
    'speed / 0'
    """
    try:
        nodes = parse_predicate(text)._tree.find_all(exp.Div, exp.IntDiv, exp.Mod)
    except WindrowError:
        return None
    zeros = (node for node in nodes if isinstance(node.expression, exp.Literal) and _is_zero(node.expression))
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
    """Return whether a text is only a lambda, `x -> x`, which is valid only as an argument of a function."""
    return isinstance(tree, exp.Lambda | exp.JSONExtract) and not isinstance(tree.parent, exp.Func)


def _doubt(text: str, tokens: Sequence[Token]) -> str | None:
    """Return why Spark's own parser might read the text differently, or None."""
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
                return f"{quoted(token.text)} is in a place where Spark may read it differently"
        before = kind
    return None


def _words(tokens: Sequence[Token]) -> Counter[str]:
    """Count the tokens that a tree must account for, by kind; `.5` and `is not distinct from` count as one each.

    sqlglot accepts much that Spark does not, such as `in (1,)` or `between 1 2`, and adds parentheses. The counts then
    differ.
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
    """Return where a text cannot be parsed, and a likely correction."""
    if not isinstance(error, ParseError):
        return ": is a quote left open?"
    if not error.errors:
        return ": it contains only a comment; expected a condition such as 'speed < 40'"
    first = error.errors[0]
    place = (first["line"], first["col"])
    at = f" at line {place[0]}, column {place[1]}, near {quoted(first['highlight'])}"
    if first["description"].startswith("Expecting )"):
        return f"{at}: is a parenthesis not closed?"
    if bare_names(tokens) or _has_odd_name([token for token in tokens if (token.line, token.col) <= place]):
        return f"{at}: put column names that are SQL keywords, or that contain spaces, in backticks"
    return f"{at}: expected a condition such as 'speed < 40'"


def _has_odd_name(tokens: Sequence[Token]) -> bool:
    """Return whether a token may be meant as a name: a keyword in the place of a value, or a word after a name."""
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
