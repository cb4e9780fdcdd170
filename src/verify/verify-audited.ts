import type { Session } from "../platform/db/database.ts";
import { FIRST_ID } from "../platform/ids.ts";
import { type Check, inOrder, isOperator } from "./checks.ts";

/*
 * A MAC says who wrote a row, not that a row was deleted. The audit log, which cannot be changed
 * unnoticed, says what was created, set and removed.
 */

type Created = {
  table: string;
  /** Of what the audit log calls the record. */
  prefix: string;
  key: string;
  created: string;
  removed: readonly string[];
};

const CREATED: readonly Created[] = [
  {
    ...{ table: "members", prefix: "person:", key: "person_id", created: "member.create" },
    removed: ["member.remove"],
  },
  { table: "api_keys", prefix: "api_key:", key: "id", created: "api_key.create", removed: [] },
  { table: "proposals", prefix: "proposal:", key: "id", created: "proposal.create", removed: [] },
  { table: "apps", prefix: "app:", key: "id", created: "app.create", removed: [] },
];

/** What was created is there, unless the log says that it was removed. */
const verifyCreated: Check = async (session, account_id) => {
  for (const { table, prefix, key, created, removed } of CREATED) {
    const [missing] = await session.query<{ record: string }>(
      `select e.record from audit_entries e
       where e.account_id = $1 and e.action = $2
         and not exists (select from ${table} t where t.account_id = $1
           and t.${key} = substring(e.record from ${prefix.length + 1})::uuid)
         and not exists (select from audit_entries l where l.account_id = $1
           and l.record = e.record and l.action = any($3::text[]) and l.id > e.id)
       order by e.id limit 1`,
      [account_id, created, removed],
    );
    if (missing) return deleted(`${table} ${missing.record.slice(prefix.length)}`, account_id);
  }
  return null;
};

function deleted(name: string, account_id: string): string {
  return `${name} of account ${account_id} is missing, but nobody removed it`;
}

type Limit = { amount_max: string | null; count_max: string | null };
type SetLimit = Limit & { account_id: string; key: string; is_set: boolean };

/** The limits of the account are the last ones that the audit log has; so are those of all. */
const verifyLimits: Check = async (session, account_id) => {
  const owners = [account_id, ...((await isOperator(session, account_id)) ? [FIRST_ID] : [])];
  const last = await session.query<SetLimit>(
    `select distinct on (1, 2) substring(record from 9) as account_id,
       concat_ws(' ', d->>'user_id', d->>'scope', d->>'window') as key,
       action = 'limit.set' as is_set, d->>'amount_max' as amount_max, d->>'count_max' as count_max
     from (select id, record, action, detail::jsonb as d from audit_entries
       where account_id = $1 and action in ('limit.set', 'limit.remove')) as entries
     order by 1, 2, id desc`,
    [account_id],
  );
  const rules = await session.query<Limit & { account_id: string; key: string }>(
    `select account_id, concat_ws(' ', user_id, scope, time_window) as key,
       amount_max::text as amount_max, count_max::text as count_max
     from limit_rules where account_id = any($1::uuid[])`,
    [owners],
  );
  const rule_of = new Map(rules.map((rule) => [`${rule.account_id} ${rule.key}`, rule]));
  for (const said of last) {
    const name = `${said.account_id} ${said.key}`;
    const rule = rule_of.get(name);
    rule_of.delete(name);
    const is_same = said.is_set
      ? rule?.amount_max === said.amount_max && rule.count_max === said.count_max
      : rule === undefined;
    if (!is_same) return `the limit ${name} is not the last one of the audit log`;
  }
  const [unknown] = rule_of.keys();
  return unknown ? `the audit log has no entry of the limit ${unknown}` : null;
};

const verifyControls: Check = async (session, account_id) => {
  const query = "select from account_controls where account_id = $1";
  const rows = await session.query(query, [account_id]);
  return rows.length > 0 ? null : deleted("account_controls", account_id);
};

/** The last entry of each record of a kind: its action, and what it says. */
const lastEntries = (prefix: string, actions: readonly string[]) =>
  `select distinct on (e.record) substring(e.record from ${prefix.length + 1})::uuid as id,
     e.action, e.detail
   from audit_entries e where account_id = $1 and starts_with(record, '${prefix}')
     and action in (${actions.map((action) => `'${action}'`).join(", ")})
   order by e.record, e.id desc`;

/**
 * A row that is put back to an earlier state has the MAC of that state: who is frozen, and which
 * role a member has, is what the audit log says.
 */
const verifyFrozen: Check = async (session, account_id) => {
  const [wrong] = await session.query<{ name: string; is_frozen: boolean }>(
    `with users_said as (${lastEntries("user:", ["user.freeze", "user.unfreeze"])}),
       account_said as (${lastEntries("account:", ["account.freeze", "account.unfreeze"])}),
       found as (
         select 'user ' || u.id as name, u.frozen_at is not null as is_frozen, s.action
         from users u left join users_said s on s.id = u.id where u.account_id = $1
         union all
         select 'account ' || a.id, a.frozen_at is not null, s.action
         from accounts a left join account_said s on s.id = a.id where a.id = $1
       )
     select name, is_frozen from found
     where is_frozen <> coalesce(action in ('user.freeze', 'account.freeze'), false)
     order by name limit 1`,
    [account_id],
  );
  if (!wrong) return null;
  return wrong.is_frozen
    ? `${wrong.name} is frozen, but the audit log has no entry of it`
    : `${wrong.name} was frozen, as the audit log says, and is not any more`;
};

const MEMBER_ACTS = ["member.create", "member.set_role", "member.remove"];

const verifyRoles: Check = async (session, account_id) => {
  const [wrong] = await session.query<{ id: string; role: string; said: string | null }>(
    `with said as (${lastEntries("person:", MEMBER_ACTS)})
     select m.person_id as id, m.role, s.detail::jsonb ->> 'role' as said
     from members m left join said s on s.id = m.person_id
     where m.account_id = $1 and m.role is distinct from s.detail::jsonb ->> 'role'
     order by m.person_id limit 1`,
    [account_id],
  );
  if (!wrong) return null;
  const { id, role, said } = wrong;
  return said === null
    ? `the member ${id} was removed, as the audit log says, or never added`
    : `the member ${id} is ${role}, but the audit log says ${said}`;
};

export const verifyAudited = inOrder(
  ...[verifyCreated, verifyLimits, verifyControls, verifyFrozen, verifyRoles],
);

/** An account that is not listed any more would not be verified at all. */
export async function verifyOwners(session: Session): Promise<string | null> {
  const [row] = await session.query<{ account_id: string }>(
    `select account_id from account_keys k
     where not exists (select from accounts where accounts.id = k.account_id) limit 1`,
  );
  return row ? deleted("the account", row.account_id) : null;
}
