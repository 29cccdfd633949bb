"""How the tables are spread over the servers of a Citus cluster; plain PostgreSQL has none of it.

What is keyed by a profile goes to the server of that profile, all of it to one. The few tables that
are not are on every server, but for the list of steps, which stays where clients connect. Every
statement of ours names its profile by a value, so that one server can answer it.
"""

from __future__ import annotations

from typing import Any

import psycopg

OURS = """
select c.oid::regclass as name, c.relname, exists(
    select 1 from pg_index i join pg_attribute a
    on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
    where i.indrelid = c.oid and i.indisprimary and a.attname = 'profile') as by_profile
from pg_class c
where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and c.relname <> 'step'
"""
"""The tables, and whether their key begins with the profile."""
WHOLE = f"""{OURS} and not relation_is_a_known_shard(c.oid)
    and not exists(select 1 from pg_dist_partition d where d.logicalrelid = c.oid)
order by c.relname <> 'profile', c.relname
"""
"""Those that are on one server still, the one that all others stand beside first."""
# What was copied to the servers would otherwise stay here as well, where nobody sees it.
SPREAD = f"""do $spread$
declare
    whole record;
begin
    lock table profile in exclusive mode;
    for whole in {WHOLE} loop
        if whole.relname = 'profile' then
            perform create_distributed_table(whole.name, 'profile', colocate_with => 'none');
        elsif whole.by_profile then
            perform create_distributed_table(whole.name, 'profile',
                colocate_with => format('%I.profile', current_schema()));
        else
            perform create_reference_table(whole.name);
        end if;
        perform truncate_local_data_after_distributing_table(whole.name);
    end loop;
end $spread$"""
# The servers of a cluster know nothing of who asks here, and let nobody in but the owner. So the
# owner reads what is the asker's, after a look whether he may read the view.
SPOKEN = """create or replace function spoken() returns table(
    id text, session text, agent text, channel text, role text, content text, "time" text)
language plpgsql stable security definer as $spoken$
#variable_conflict use_column
declare
    asker name := coalesce(nullif(current_setting('role'), 'none'), session_user);
    mine uuid;
begin
    if not has_table_privilege(asker, 'messages', 'select')
        and not has_table_privilege(asker, 'sessions', 'select') then
        raise insufficient_privilege using message = 'permission denied for view messages';
    end if;
    select coalesce((select r.profile from reader r where r.role = asker),
        nullif(current_setting('commonplace.profile', true), '')::uuid) into mine;
    return query select m.id, m.session, m.agent, m.channel, m.role, m.content, m.time
        from message m where m.profile = mine;
end $spoken$"""
SAFELY = """do $safely$ begin
    execute format('alter function spoken() set search_path = %I, pg_temp', current_schema());
end $safely$"""
AS_TIME = """case when {0} ~ '^\\d{{4}}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d'
        then {0}::timestamptz end"""
VIEWS = (
    f"""create or replace view messages with (security_barrier) as
        select id collate "C" as id, session collate "C" as session, agent collate "C" as agent,
            channel collate "C" as channel, role collate "C" as role,
            content collate "C" as content, {AS_TIME.format("time")} as time
        from spoken()""",
    f"""create or replace view sessions with (security_barrier) as
        select session collate "C" as session, count(*) as messages,
            {AS_TIME.format("min(time)")} as first, {AS_TIME.format("max(time)")} as last
        from spoken() group by session""",
)


def distribute() -> list[str]:
    """Spread what is on one server still: all of it, or none. It can be said again."""
    return [SPREAD, SPOKEN, SAFELY, *VIEWS]


def still_whole(connection: psycopg.Connection[Any]) -> list[str]:
    """The tables of a database with Citus that are on one server still."""
    return [str(row[1]) for row in connection.execute(WHOLE).fetchall()]
