"""What a Citus cluster would refuse, or do otherwise, in a statement: told without a cluster.

A statement that one server can answer has a table's profile as a value wherever it names the table.
That, and what a cluster refuses besides, is read off the statement as PostgreSQL itself parses it.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any

import psycopg

import commonplace
from commonplace.postgres.connection import numbered
from commonplace.postgres.schema import DISTRIBUTED, STEPS, index_of_vectors
from tests.support.skips import library

SENT = "COMMONPLACE_TEST_SENT"
"""The file to which a run of tests writes the statements that our code sent."""
OF_ONE_SERVER = frozenset(
    ("pg_current_xact_id", "pg_xact_status", "txid_current", "nextval", "pg_notify", "set_config")
)
"""Functions whose answer, or effect, belongs to the server that happens to be asked."""
IMMUTABLE = frozenset(("make_interval",))
"""Functions that may be called where two writes meet."""
CARRIERS = frozenset(
    ("rows", "many", "_rows", "_said", "_once", "_execute", "again", "once", "<lambda>")
)
"""Functions that send what their caller says."""
EQUALS = ("AEXPR_OP", "=")
OURS = str(Path(commonplace.__file__).parent)
PSYCOPG = str(Path(psycopg.__file__).parent)

Node = Any


def complaints(statement: str) -> list[str]:
    """What a cluster has against a statement, or a message of several."""
    if statement.startswith("declare "):
        # What a person asks is asked of the views, and these have no table in a cluster.
        return []
    ast = library("pglast").ast
    parsed = [raw.stmt for raw in library("pglast").parse_sql(numbered(statement)[0])]
    found = []
    for each in parsed:
        if isinstance(each, ast.VariableSetStmt) and each.is_local and len(parsed) > 1:
            found.append("a setting of several in one message, which is repeated for each")
        if isinstance(each, ast.DoStmt) and "set_config" in statement:
            found.append("set_config is not passed on to other servers")
        found += _against(each, frozenset())
    return found


def _against(node: Node, named: frozenset[str]) -> Iterator[str]:
    """What there is against a part of a statement, in which these names are not of tables."""
    ast = library("pglast").ast
    if isinstance(node, tuple):
        for each in node:
            yield from _against(each, named)
        return
    if not isinstance(node, ast.Node):
        return
    clause = getattr(node, "withClause", None)
    if clause:
        named |= {each.ctename for each in clause.ctes}
    if isinstance(node, ast.FuncCall) and _name(node) in OF_ONE_SERVER:
        yield f"{_name(node)} tells of one server, or tells it alone"
    policies = ast.CreatePolicyStmt | ast.AlterPolicyStmt
    if isinstance(node, policies) and any(_within((node.qual, node.with_check), ast.SubLink)):
        yield "a policy with a subquery"
    if isinstance(node, ast.SelectStmt):
        yield from _unnamed(node.fromClause or (), node.whereClause, named)
    elif isinstance(node, ast.UpdateStmt):
        yield from _unnamed((node.relation, *(node.fromClause or ())), node.whereClause, named)
    elif isinstance(node, ast.DeleteStmt):
        yield from _unnamed((node.relation, *(node.usingClause or ())), node.whereClause, named)
    elif isinstance(node, ast.InsertStmt):
        yield from _inserted(node)
    for part in node:
        yield from _against(getattr(node, part), named)


def _unnamed(sources: Iterable[Node], where: Node, named: frozenset[str]) -> Iterator[str]:
    """The tables of one level of a query whose profile is not told there by a value."""
    ast = library("pglast").ast
    tables, conditions = dict[str, str](), [where]
    others = list[str]()
    for source in sources:
        for each in _here(source):
            if isinstance(each, ast.JoinExpr):
                conditions.append(each.quals)
            elif each.relname in spread_tables() and each.relname not in named:
                tables[each.alias.aliasname if each.alias else each.relname] = each.relname
            elif each.relname.startswith("pg_") or each.schemaname == "information_schema":
                others.append(each.relname)
    told, same = set[str](), list[tuple[str, str]]()
    for left, right in _equal(conditions):
        pair = [_profile_of(side, tables) for side in (left, right)]
        if all(pair):
            same.append((str(pair[0]), str(pair[1])))
        elif any(pair) and _is_value(right if pair[0] else left):
            told.update(filter(None, pair))
    for _ in same:
        for one, other in same:
            told |= {one, other} if {one, other} & told else set()
    for alias, table in tables.items():
        if alias not in told:
            yield f"{table} {alias} has its profile not as a value, at the level where it stands"
        if others:
            yield f"{table} {alias} beside {others[0]}, which is of one server"


def _here(source: Node) -> Iterator[Node]:
    """The tables and joins of a source, without those of the queries in it."""
    ast = library("pglast").ast
    if isinstance(source, ast.JoinExpr):
        yield source
        yield from _here(source.larg)
        yield from _here(source.rarg)
    elif isinstance(source, ast.RangeVar):
        yield source


def _equal(conditions: Iterable[Node]) -> Iterator[tuple[Node, Node]]:
    """What has to be equal for all of these to be true."""
    ast = library("pglast").ast
    for each in conditions:
        if isinstance(each, ast.BoolExpr) and each.boolop.name == "AND_EXPR":
            yield from _equal(each.args)
        elif isinstance(each, ast.A_Expr) and (each.kind.name, each.name[-1].sval) == EQUALS:
            yield each.lexpr, each.rexpr


def _profile_of(node: Node, tables: dict[str, str]) -> str:
    """The table whose profile this is; empty when it is something else."""
    ast = library("pglast").ast
    if not isinstance(node, ast.ColumnRef) or getattr(node.fields[-1], "sval", "") != "profile":
        return ""
    alias = node.fields[0].sval if len(node.fields) > 1 else next(iter(tables), "")
    return alias if alias in tables else ""


def _is_value(node: Node) -> bool:
    ast = library("pglast").ast
    if isinstance(node, ast.TypeCast):
        return _is_value(node.arg)
    return isinstance(node, ast.ParamRef | ast.A_Const)


def _inserted(node: Node) -> Iterator[str]:
    ast = library("pglast").ast
    if node.relation.relname in spread_tables():
        names = [each.name for each in node.cols or ()]
        at = names.index("profile") if "profile" in names else -1
        given = node.selectStmt
        rows = given.valuesLists or [[each.val for each in given.targetList]]
        if at < 0 or not all(_is_value(row[at]) for row in rows):
            yield f"{node.relation.relname} gets its profile not as a value"
    for call in _within((node.onConflictClause,), ast.FuncCall | ast.SQLValueFunction):
        name = _name(call) if isinstance(call, ast.FuncCall) else call.op.name
        if name not in IMMUTABLE:
            yield f"{name} where two writes meet, which may say otherwise on another server"


def _within(node: Node, wanted: Any) -> Iterator[Node]:
    """Every part of this kind."""
    if isinstance(node, tuple):
        for each in node:
            yield from _within(each, wanted)
    elif isinstance(node, library("pglast").ast.Node):
        if isinstance(node, wanted):
            yield node
        for part in node:
            yield from _within(getattr(node, part), wanted)


def _name(call: Node) -> str:
    return str(call.funcname[-1].sval)


@functools.cache
def spread_tables() -> frozenset[str]:
    """The tables whose key begins with the profile."""
    return frozenset(name for name, by_profile in _tables() if by_profile)


def _tables() -> Iterator[tuple[str, bool]]:
    ast = library("pglast").ast
    for statement in [*_before_a_cluster(), *index_of_vectors()]:
        for raw in library("pglast").parse_sql(statement):
            if isinstance(raw.stmt, ast.CreateStmt):
                yield raw.stmt.relation.relname, _key(raw.stmt) == "profile"


def _key(table: Node) -> str:
    """The first column of a table's key."""
    ast = library("pglast").ast
    for each in table.tableElts:
        constraints = [each] if isinstance(each, ast.Constraint) else each.constraints or ()
        for constraint in constraints:
            if constraint.contype.name == "CONSTR_PRIMARY":
                return str(constraint.keys[0].sval if constraint.keys else each.colname)
    return ""


@functools.cache
def _before_a_cluster() -> tuple[str, ...]:
    """The statements of the steps that are taken while the tables are on one server."""
    return tuple(statement for step in STEPS[: DISTRIBUTED - 1] for statement in step())


@contextmanager
def watched() -> Iterator[set[str]]:
    """Refuse, for as long as the block, what a cluster would refuse of what our code sends.

    Gives the statements that were sent. Without the parser nothing is looked at; CI has it.
    """
    sent = set[str]()
    if find_spec("pglast") is None:
        yield sent
        return
    execute, many = psycopg.Cursor.execute, psycopg.Cursor.executemany

    def looked(plain: Callable[..., Any]) -> Callable[..., Any]:
        def send(cursor: Any, statement: Any, *rest: Any, **named: Any) -> Any:
            text = statement if isinstance(statement, str) else psycopg.sql.as_string(statement)
            if text not in sent and _is_ours(sys._getframe(1)):
                sent.add(text)
                against = [] if text in _before_a_cluster() else complaints(text)
                assert not against, f"a cluster refuses this: {against}\n{text}"
            return plain(cursor, statement, *rest, **named)

        return send

    with _replaced(looked(execute), looked(many)):
        yield sent


@contextmanager
def _replaced(execute: Callable[..., Any], many: Callable[..., Any]) -> Iterator[None]:
    before = psycopg.Cursor.execute, psycopg.Cursor.executemany
    psycopg.Cursor.execute, psycopg.Cursor.executemany = execute, many  # type: ignore[method-assign]
    try:
        yield
    finally:
        psycopg.Cursor.execute, psycopg.Cursor.executemany = before  # type: ignore[method-assign]


def _is_ours(frame: FrameType | None) -> bool:
    """Whether our code says this, and no test."""
    while frame and (
        frame.f_code.co_name in CARRIERS or frame.f_code.co_filename.startswith(PSYCOPG)
    ):
        frame = frame.f_back
    return bool(frame) and str(frame and frame.f_code.co_filename).startswith(OURS)
