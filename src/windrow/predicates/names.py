"""SQL keywords used as column names, such as `from` in `from > 3` and `and` in `x = 1 or and < 0`.

Spark accepts almost any keyword as a name where only a value can be. This module reads a predicate from left to right,
with just enough grammar to know whether a value or an operator comes next.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import Token
from sqlglot import TokenType as T

BARE_FUNCTIONS = {"user", "current_user", "session_user", "current_date", "current_time", "current_timestamp"}
"""Functions that Spark calls without parentheses, unless a column has their name."""
FUNCTIONS_BEFORE_COLUMNS = {"current_path"}
"""Functions that Spark calls without parentheses even if a column has their name."""
_LITERALS = (T.STRING, T.IDENTIFIER, T.NUMBER, T.TRUE, T.FALSE, T.NULL)
_INFIX = (T.AND, T.OR, T.IN, T.BETWEEN, T.LIKE, T.ILIKE, T.RLIKE, T.DIV, T.WHEN, T.THEN, T.ELSE, T.ESCAPE, T.DISTINCT)
"""Words that have a value on both sides, including those of CASE."""
_AFTER_A_VALUE = (*_INFIX, T.IS, T.NOT, T.ALIAS, T.END)
_SIGNS_BEFORE_A_VALUE = (T.L_PAREN, T.L_BRACKET, T.DASH, T.PLUS, T.TILDE)
MISTAKEN = {"if"}
"""Words that sqlglot's tokenizer reads as names, but its parser does not."""


def bare_names(tokens: Sequence[Token]) -> list[Token]:
    """Return the keywords that are names, because a value must stand there and an operator follows.

    >>> import sqlglot
    >>> [
    ...     token.start
    ...     for token in bare_names(
    ...         sqlglot.tokenize("and > 1 or not and < from and x = 1", read="spark")
    ...     )
    ... ]
    [0, 15, 21]
    """
    names: list[Token] = []
    at, value_next = 0, True
    while at < len(tokens):
        token, after, then = (*tokens[at : at + 3], None, None)[:3]
        assert token is not None
        kind = token.token_type
        if kind in (T.DOT, T.DCOLON):  # a field or a type, whatever its name
            at, value_next = at + 2, False
        elif kind is T.CASE and value_next and after is not None and after.token_type is T.WHEN:
            at += 2
        elif value_next:
            if _is_name(token, after, then):
                names.append(token)
                value_next = False
            elif kind in (*_LITERALS, T.R_PAREN) or (kind is T.VAR and not _is(after, T.L_PAREN)):
                value_next = False
            at += 1
        elif kind is T.IS:  # IS [NOT] NULL, or IS [NOT] DISTINCT FROM followed by a value
            at += 1
            while at < len(tokens) and tokens[at].token_type in (T.NOT, T.NULL, T.TRUE, T.FALSE):
                at += 1
            if at < len(tokens) and tokens[at].token_type is T.DISTINCT:
                at, value_next = at + 2, True
        else:
            is_sign = not token.text[:1].isalnum() and kind not in (*_LITERALS, T.R_PAREN, T.R_BRACKET)
            value_next = kind in _INFIX or (is_sign and token.text != "!")
            at += 1
    return names


def _is_name(token: Token, after: Token | None, then: Token | None) -> bool:
    """Return whether a word in the place of a value is a name, and neither a prefix of a value nor a function."""
    if not token.text.isidentifier() or token.token_type in _LITERALS or token.text.lower() in BARE_FUNCTIONS:
        return False
    if token.token_type is T.VAR and token.text.lower() not in MISTAKEN:
        return False
    if after is None:
        return True
    if token.token_type is T.NOT:  # a prefix in `not -x > 1`, `not not x` and, with another name, `not and > 1`
        prefixes = after.token_type in (*_SIGNS_BEFORE_A_VALUE, T.NOT)
        return _ends_a_value(after) and not prefixes and not (after.text.isidentifier() and _follows(then))
    return _ends_a_value(after)


def _follows(then: Token | None) -> bool:
    """Return whether the token after a word makes it a name, as in `not and > 1` and `not and is null`."""
    return then is None or (_ends_a_value(then) and then.token_type is not T.NOT)


def _ends_a_value(token: Token) -> bool:
    """Return whether a token can follow a value: an operator, a comma, a closing bracket, or a word such as AND."""
    return token.token_type in _AFTER_A_VALUE or _is_operator(token)


def _is_operator(token: Token | None) -> bool:
    """Return whether a token is neither a word nor a literal, and does not open a list of arguments."""
    return token is not None and not token.text[:1].isalnum() and token.token_type not in (T.L_PAREN, *_LITERALS)


def _is(token: Token | None, kind: T) -> bool:
    return token is not None and token.token_type is kind
