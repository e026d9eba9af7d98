"""Predicates outside Spark: what is computed, what is refused, and how mistakes are reported."""

import pickle

import pyarrow as pa
import pytest

import windrow as wr
from windrow.errors import ColumnError, SpecError, TypeMismatchError, UnsupportedError
from windrow.predicates.parse import canonical, literal_patterns, parse_predicate, zero_division

NAN, INF = float("nan"), float("inf")
T, F, U = True, False, None


def schema(**types):
    return pa.schema(list(types.items()))


def answers(text, **columns):
    table = pa.table(columns)
    return parse_predicate(text).compile(table.schema)(table).to_pylist()


SCHEMA = schema(
    x=pa.float64(),
    f=pa.float32(),
    i=pa.int64(),
    k=pa.int8(),
    n=pa.uint32(),
    s=pa.string(),
    b=pa.bool_(),
    t=pa.timestamp("us"),
    m=pa.decimal128(10, 2),
    Speed=pa.float64(),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a and b", [T, F, U, F, F, F, U, F, U]),
        ("a or b", [T, T, T, T, F, U, T, U, U]),
        ("not a", [F, F, F, T, T, T, U, U, U]),
        ("!a", [F, F, F, T, T, T, U, U, U]),
        ("a is true", [T, T, T, F, F, F, F, F, F]),
        ("a is not true", [F, F, F, T, T, T, T, T, T]),
        ("a is false", [F, F, F, T, T, T, F, F, F]),
        ("a is not false", [T, T, T, F, F, F, T, T, T]),
        ("a is null", [F, F, F, F, F, F, T, T, T]),
        ("a is not null", [T, T, T, T, T, T, F, F, F]),
        ("a = b", [T, F, U, F, T, U, U, U, U]),
        ("a <=> b", [T, F, F, F, T, F, F, F, T]),
        ("a is distinct from b", [F, T, T, T, F, T, T, T, F]),
        ("a < b", [F, F, U, T, F, U, U, U, U]),
        ("a and null", [U, U, U, F, F, F, U, U, U]),
        ("a or null", [T, T, T, U, U, U, U, U, U]),
        ("a = true and not b", [F, T, U, F, F, F, F, U, U]),
        ("true", [T] * 9),
        ("not (false or null)", [U] * 9),
    ],
)
def test_three_valued_logic(text, expected):
    assert answers(text, a=[T, T, T, F, F, F, U, U, U], b=[T, F, U, T, F, U, T, F, U]) == expected


@pytest.mark.parametrize("type_", [pa.float64(), pa.float32()])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x > 0.5", [F, F, F, T, T, U]),
        ("x >= 0.5", [F, F, T, T, T, U]),
        ("x < 0.5", [T, T, F, F, F, U]),
        ("x <= 0.5", [T, T, T, F, F, U]),
        ("0.5 < x", [F, F, F, T, T, U]),
        ("x = 0.5", [F, F, T, F, F, U]),
        ("x <> 0.5", [T, T, F, T, T, U]),
        ("x <=> 0.5", [F, F, T, F, F, F]),
        ("x = 0", [F, T, F, F, F, U]),
        ("x between 0 and 0.5", [F, T, T, F, F, U]),
        ("x not between 0 and 0.5", [T, F, F, T, T, U]),
        ("x in (0.5, -0.0)", [F, T, T, F, F, U]),
        ("x in (0.5, null)", [U, U, T, U, U, U]),
        ("isnan(x)", [F, F, F, F, T, F]),
        ("x = x", [T, T, T, T, T, U]),
        ("x <=> x", [T] * 6),
        ("x < x or x > x or x <> x", [F, F, F, F, F, U]),
        ("abs(x) > 1e300", [T, F, F, T, T, U]),
        ("-x > 0.0", [T, F, F, F, T, U]),
        ("x * 2.0 - 1.0 = 0", [F, F, T, F, F, U]),
        ("x = null", [U] * 6),
        ("x <=> null", [F, F, F, F, F, T]),
    ],
)
def test_nan_is_above_everything_and_zero_has_no_sign(type_, text, expected):
    assert answers(text, x=pa.array([-INF, -0.0, 0.5, INF, NAN, None], type_)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = y", [T, F, F, F]),
        ("x < y", [F, F, T, F]),
        ("x <= y", [T, F, T, F]),
        ("x > y", [F, T, F, T]),
        ("x >= y", [T, T, F, T]),
        ("x <> y", [F, T, T, T]),
    ],
)
def test_nan_between_columns(text, expected):
    assert answers(text, x=[NAN, NAN, 1.0, 2.0], y=[NAN, INF, NAN, 1.0]) == expected


def test_a_float_is_compared_as_a_double_with_a_decimal():
    tenth = pa.array([0.1], pa.float32())
    assert answers("f > 0.1", f=tenth) == [True]
    assert answers("f = 0.1", f=tenth) == [False]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("i > 9007199254740992", [F, T, T, F, U]),
        ("i = 9007199254740993", [F, T, F, F, U]),
        ("i >= 9007199254740992.5", [F, T, T, F, U]),
        ("i < 9007199254740992.5", [T, F, F, T, U]),
        ("i = 9007199254740992.5", [F, F, F, F, U]),
        ("i <> 9007199254740992.5", [T, T, T, T, U]),
        ("i > -7.5", [T, T, T, T, U]),
        ("i <= -7.5", [F, F, F, F, U]),
        ("i = 9007199254740992e0", [T, T, F, F, U]),
        ("i in (9007199254740993, -7.0)", [F, T, F, T, U]),
    ],
)
def test_long_integers_are_compared_exactly_with_all_but_doubles(text, expected):
    assert answers(text, i=[2**53, 2**53 + 1, 2**63 - 1, -7, None]) == expected


def test_a_literal_beyond_the_range_of_the_column():
    tiny = pa.array([-128, 127, None], pa.int8())
    assert answers("k < 128", k=tiny) == [True, True, None]
    assert answers("k = 128", k=tiny) == [False, False, None]
    assert answers("k > -128.5", k=tiny) == [True, True, None]
    assert answers("k <= -129", k=tiny) == [False, False, None]


@pytest.mark.parametrize(
    "type_", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
)
def test_strings_are_ordered_by_their_bytes(type_):
    words = pa.array(["Z", "a", "é", "\uffff", "\U0001f600", None]).cast(type_)
    assert answers("s >= 'a'", s=words) == [False, True, True, True, True, None]
    assert answers("s > '\uffff'", s=words) == [False, False, False, False, True, None]
    assert answers('s in ("a", "Z")', s=words) == [True, True, False, False, False, None]
    assert answers("s is null", s=words) == [False] * 5 + [True]
    assert answers("s = t", s=words, t=words.cast(pa.large_string())) == [True] * 5 + [None]


def test_like_with_a_wildcard_at_the_ends():
    words = ["on ramp", "off ramp", "on", "", None]
    assert answers("s like 'on%'", s=words) == [True, False, True, False, None]
    assert answers("s not like '%ramp'", s=words) == [False, False, True, True, None]
    assert answers("s like '%f r%'", s=words) == [False, True, False, False, None]
    assert answers("s like 'on'", s=words) == [False, False, True, False, None]


def test_any_column_may_be_null():
    columns = {"t": pa.array([0, None], pa.timestamp("us")), "m": pa.array([1, None], pa.decimal128(5, 2))}
    assert answers("t is null and m is null", **columns) == [False, True]
    with pytest.raises(UnsupportedError, match="nulls of list"):
        parse_predicate("v is null").compile(schema(v=pa.list_(pa.int8())))


def test_columns_are_found_as_spark_finds_them():
    predicate = parse_predicate("SPEED < 40 and `on ramp` and speed > 3")
    assert predicate.columns == ("SPEED", "on ramp", "speed")
    compiled = predicate.compile(schema(**{"Speed": pa.float64(), "on ramp": pa.bool_(), "other": pa.int8()}))
    assert compiled.columns == ("Speed", "on ramp")


def test_a_predicate_runs_on_batches_tables_and_plain_columns():
    table = pa.table({"x": pa.chunked_array([[0.0, 1.0], [], [None]]), "y": [1, 2, 3]})
    compiled = parse_predicate("x > 0.5").compile(table.schema)
    expected = pa.array([False, True, None])
    assert compiled(table) == expected
    assert compiled(table.combine_chunks().to_batches()[0]) == expected
    assert compiled({"x": table["x"]}) == expected
    assert compiled({"x": table["x"].combine_chunks()}) == expected
    assert compiled(table.slice(0, 0)) == pa.array([], pa.bool_())
    assert parse_predicate("true").compile(table.schema)(table) == pa.array([True] * 3)


def test_a_compiled_predicate_survives_pickling_without_the_parser():
    compiled = parse_predicate("x > 0.5 and s in ('a', 'b')").compile(SCHEMA)
    data = pickle.dumps(compiled)
    assert b"sqlglot" not in data
    assert pickle.loads(data) == compiled
    assert parse_predicate("x > 0.5") == pickle.loads(pickle.dumps(parse_predicate("x > 0.5")))


def test_a_batch_of_another_type_is_refused():
    compiled = parse_predicate("x > 0.5").compile(SCHEMA)
    with pytest.raises(TypeMismatchError, match=r"'x' is of type float, .* compiled for double"):
        compiled({"x": pa.array([1.0], pa.float32())})
    with pytest.raises(ColumnError, match="'x'"):
        compiled({"y": pa.array([1.0])})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("i + 1 > 2", r"'i \+ 1'.*needs a float or double"),
        ("abs(i) > 2", "float and double"),
        ("-k < 0", "float and double"),
        ("x > -(-2147483648)", "two signs"),
        ("x / 2 > 1", "'x / 2'"),
        ("x % 2 = 1", "'x % 2'"),
        ("f + 1 > 2", "Spark's settings"),
        ("f > 16777217", "Spark's settings"),
        ("f > i", "Spark's settings"),
        ("f in (1, 0.5)", "in one list with a float"),
        ("i > 9223372036854775808", "outside the range of long"),
        ("i > 0.1234567890123456789", "too many digits"),
        ("x > 0.1234567890123456789012345678901234567890", "more digits"),
        ("x > 1e400", "limit of the range"),
        ("x > 1e-320", "limit of the range"),
        ("i in (1e0)", "left to Spark"),
        ("s > 1", "string with a number"),
        ("x in (1, 'a')", "left to Spark"),
        ("b = 1", "left to Spark"),
        ("b and s", "cast the string"),
        ("n > 1", "uint32"),
        ("m > 1", "decimal"),
        ("t > '2026-01-01'", "timestamp"),
        ("t = t", "timestamp"),
        ("isnan(i)", "isnan is for"),
        ("1 = 1", "left to Spark"),
        ("null", "null alone"),
        ("null = null", "left to Spark"),
        ("x is true", "after a condition"),
        ("cast(x as int) = 1", "CAST"),
        ("coalesce(x, 0) > 1", "COALESCE"),
        ("case when b then b end", "CASE"),
        ("x.y > 1", "x.y"),
        ("s like 'a_'", "LIKE 'a_'"),
        ("s like 'a%' escape '/'", "ESCAPE"),
        ("s rlike 'a'", "RLIKE"),
        ("s = 'a''b'", "'b'"),
        (r"s = 'a\n'", "backslash"),
        ("x > ${limit}", "a variable"),
        ("x > 1 -- speed", "a comment"),
        ("x > 1 /* speed */", "a comment"),
        ("b is unknown", "'unknown'"),
        ("é > 1", "backticks"),
        ("user = 'me'", "a function in Spark"),
    ],
)
def test_what_may_differ_from_spark_is_refused_with_the_reason(text, reason):
    with pytest.raises(UnsupportedError, match=reason):
        parse_predicate(text).compile(SCHEMA)


@pytest.mark.parametrize(
    "text",
    """x < 1 = b|b = x < 1|b = not b|x <=> 1 <=> b|x is null = b|b = x in (1)|x > 1 is true|x between 1 and 2 = b
    x in (1,)|x in (, 1)|x in ()|x between 1 2|x between + 1 2|x not null|x not is null|x ! between 1 and 2|+b
    x isnull|x notnull|x > . 5|abs(, x) > 1|or (x > 1)""".replace("\n    ", "|").split("|"),
)
def test_what_parsers_read_in_different_ways_is_refused(text):
    with pytest.raises((UnsupportedError, SpecError)):
        parse_predicate(text).compile(SCHEMA)


def test_columns_that_differ_in_case_only_are_ambiguous():
    with pytest.raises(UnsupportedError, match="'x', 'X'"):
        parse_predicate("x > 1").compile(schema(x=pa.float64(), X=pa.float64()))


def test_an_unknown_column_is_told_with_those_that_exist():
    with pytest.raises(ColumnError, match=r"no column named 'sped'; available columns: .*'Speed'"):
        parse_predicate("sped < 40").compile(SCHEMA)


@pytest.mark.parametrize(
    ("text", "part"),
    [("x + 1", "x \\+ 1"), ("Speed", ".*"), ("s", "s"), ("x and b", "x"), ("not i", "i"), ("1", "1")],
)
def test_a_value_is_no_condition(text, part):
    with pytest.raises(TypeMismatchError, match=f"'{part}' is of type .* expected a condition"):
        parse_predicate(text).compile(SCHEMA)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("  \n", "is empty"),
        (None, "None is empty"),
        ("x >", r"'x >' cannot be parsed at line 1, column 3, near '>'"),
        ("x > 1 and\n  < 2", r"line 2, column \d"),
        ("x > 1)", r"column 6, near '\)'"),
        ("s = 'a", "quote left open"),
        ("(x > 1", "near '1': is a parenthesis not closed"),
        ("x in (", "parenthesis not closed"),
        ("x > 1; y > 2", "semicolon"),
        ("x > 1;", "semicolon"),
        ("x > 1 as y", "near 'as'"),
        ("x > 1, y > 2", "near ','"),
        ("select 1", "near 'select'"),
        ("select x > 1", "backticks"),
        ("x > (select 1)", "a subquery, "),
        ("x in (select y from t)", "a subquery"),
        ("exists(select 1)", "a subquery"),
        ("sum(x) > 1", r"an aggregate, 'SUM\(x\)'"),
        ("max(x) over (order by i) > 1", "a window function"),
        ("explode(x)", "a generator"),
        ("--", "only a comment"),
        ("(" * 5000 + "x > 1" + ")" * 5000, "nested too deeply"),
    ],
)
def test_a_text_that_is_no_predicate_is_refused_at_once(text, message):
    with pytest.raises(SpecError, match=message):
        parse_predicate(text)


@pytest.mark.parametrize(
    "text", ["select x > 1", "x < from y", "on ramp < 3", "speed limit < 40", "x > 1 and road work"]
)
def test_backticks_are_advised_where_a_name_may_be_the_trouble(text):
    with pytest.raises(SpecError, match="in backticks"):
        parse_predicate(text)


@pytest.mark.parametrize(
    "text", ["x >", "x > 1 and", "x = = 1", "x => 1", "x > 1)", "(x > 1", "x > 40 km", "x > 1 where", "s = 'a", "x 1"]
)
def test_backticks_are_not_advised_where_no_name_is_involved(text):
    with pytest.raises(SpecError) as refusal:
        parse_predicate(text)
    assert "backticks" not in str(refusal.value)
    assert repr(text) in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("x > 0.5", "x>0.5"),
        ("x > 0.5 and y < 2", "( x > 0.5 )  AND (y < 2)"),
        ("x = 1 or not y <> 2", "(x == 1) OR (NOT (`y` != 2))"),
        ("x is not null", "not (x IS NULL)"),
        ("a * b + c > 1", "((a * b) + c) > 1"),
        ("x between 1 and 2", "(x BETWEEN (1) AND (2))"),
    ],
)
def test_spellings_of_one_condition_have_one_canonical_form(text: str, other: str) -> None:
    assert canonical(text) == canonical(other)
    assert canonical(canonical(text)) == canonical(text)
    assert wr.Threshold(text, close=other).fingerprint == wr.Threshold(other, close=text).fingerprint


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("x > 0.5", "x >= 0.5"),
        ("x > 0.5", "x > 0.50000001"),
        ("a * (b + c) > 1", "a * b + c > 1"),
        ("a and (b or c)", "(a and b) or c"),
        ("a - (b - c) > 1", "a - b - c > 1"),
        ("not (a or b)", "not a or b"),
        ("s = 'A'", "s = 'a'"),
        ("`a b` > 1", "`a  b` > 1"),
    ],
)
def test_different_conditions_keep_different_canonical_forms(text: str, other: str) -> None:
    assert canonical(text) != canonical(other)


def test_a_condition_that_only_spark_reads_is_its_own_canonical_form() -> None:
    assert canonical(r"s rlike '\\d+'") == r"s rlike '\\d+'"


WORDS = [
    "alter", "and", "any", "as", "between", "case", "create", "cross", "distinct", "drop", "else", "except",
    "execute", "explain", "fetch", "for", "from", "grant", "if", "ilike", "inner", "intersect", "into",
    "join", "lateral", "like", "minus", "on", "or", "outer", "rename", "revoke", "rlike", "rollback",
    "select", "show", "tablesample", "then", "uncache", "union", "using", "values", "when", "where", "with",
]  # fmt: skip


@pytest.mark.parametrize("word", WORDS)
def test_a_column_may_be_named_by_a_word_of_sql_as_in_spark(word):
    for text in (
        f"{word} > 1",
        f"x < 1 and ({word} is not null)",
        f"1 <= {word} + x",
        f"{word} in (1, 2) or x = 1",
        f"not {word} > 1",
        f"{word} between {word} and 2",
        f"case when {word} > 1 then true else {word} < 0 end",
        f"{word} not like 'a%'",
        f"cast({word} as int) = 1",
        f"coalesce({word}, x) > {word}.a",
    ):
        assert word in parse_predicate(text).columns, text
    quoted = parse_predicate(f"`{word}` > 1").compile(pa.schema([(word, pa.int64())]))
    assert quoted(pa.table({word: [1, 2]})).to_pylist() == [False, True]


def test_not_may_be_a_column_where_it_cannot_mean_what_it_says():
    for text in ("not > 1", "x > not", "not between 1 and 2", "not not > 1", "(not) = 1"):
        assert "not" in parse_predicate(text).columns, text
    for text in (
        "not -x > 1",
        "not x > 1",
        "not not x > 1",
        "not (x > 1)",
        "x not in (1)",
        "not and > 1",
        "not or is null",
    ):
        assert "not" not in parse_predicate(text).columns, text


def test_a_column_named_if_is_read_without_a_word_to_the_log(caplog):
    assert parse_predicate("if > 1 and if(x > 1, true, false)").columns == ("if", "x")
    assert not caplog.records


def test_a_function_that_hides_a_column_is_left_to_spark():
    table = pa.table({"current_path": ["a"], "user": ["a"]})
    with pytest.raises(UnsupportedError, match="it is a function in Spark"):
        parse_predicate("current_path = 'a'").compile(table.schema)
    for text in ("`current_path` = 'a'", "user = 'a'"):
        assert parse_predicate(text).compile(table.schema)(table).to_pylist() == [True]


def test_a_zero_that_a_predicate_divides_by_is_found():
    assert zero_division("x > 1 and y / 0.0 > 1") == "y / 0.0"
    assert zero_division("1 % 0 = x") == "1 % 0"
    for text in ("x / 10 > 1", "0 / x > 1", "x * 0 > 1", "x / '0' > 1", "x / y > 0", "x <"):
        assert zero_division(text) is None, text


@pytest.mark.parametrize("text", ["select 1 > 2", "from from > 1", "x > from(1"])
def test_what_is_no_condition_is_still_refused(text):
    with pytest.raises(SpecError, match="cannot be parsed"):
        parse_predicate(text)


def test_a_function_by_itself_is_no_condition():
    with pytest.raises(SpecError, match="predicate 'x -> x' is a function, not a condition"):
        parse_predicate("x -> x")
    assert parse_predicate("exists(xs, x -> x > 1)").columns


def test_regular_expressions_are_found_where_they_are_written():
    assert literal_patterns("s rlike '(' or s not rlike 'a+'") == ["(", "a+"]
    assert literal_patterns("s rlike t") == []
    assert literal_patterns("s rlike 'a\\\\d'") == [], "what the parsers may read differently is left to Spark"
    assert literal_patterns("s <") == []


def test_nan_is_greater_than_any_number_as_in_spark():
    table = pa.table({"t": [81.0, float("nan"), 82.0, None]})
    hot, sure = parse_predicate("t > 80"), parse_predicate("t > 80 and not isnan(t)")
    assert hot.compile(table.schema)(table).to_pylist() == [True, True, True, None]
    assert sure.compile(table.schema)(table).to_pylist()[:3] == [True, False, True]
