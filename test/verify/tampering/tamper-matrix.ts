import type { Session } from "../../../src/platform/db/database.ts";

type Column = { name: string; type: string; is_generated: boolean };
export type Table = { name: string; columns: Column[]; uniques: string[][] };

/** By type: other values, of which the first that the database accepts is taken. */
const OTHER_VALUES: Record<string, (column: string, table: string) => string[]> = {
  uuid: () => ["gen_random_uuid()"],
  text: (column, table) => [
    `(select o.${column} from ${table} o where o.${column} <> ${table}.${column} limit 1)`,
    `${column} || 'x'`,
    "'x'",
    "null",
  ],
  bytea: (column) => [
    `set_byte(${column}, octet_length(${column}) - 1,
       get_byte(${column}, octet_length(${column}) - 1) # 1)`,
    "'\\x0102'::bytea",
    "null",
  ],
  boolean: (column) => [`not ${column}`],
  date: (column) => [`${column} - 1`, "'2026-01-01'", "null"],
  jsonb: (column) => [`${column} || '{"tampered":1}'`, `'{"tampered":1}'`],
  "text[]": (column) => [`${column} || 'x'::text`, `'{x}'`, "null"],
  "uuid[]": (column) => [`${column} || gen_random_uuid()`],
  "bytea[]": (column) => [`${column} || '\\x01'::bytea`],
  "timestamp with time zone": (column) => [
    `${column} + interval '1 hour'`,
    "'2026-01-01T00:00:00Z'",
    "null",
  ],
};
for (const type of ["smallint", "integer", "bigint", "numeric"]) {
  OTHER_VALUES[type] = (column) => [`${column} + 1`, `${column} - 1`, "1", "7", "null"];
}

/** The columns that the database changes only together, or to few values. */
const TOGETHER: Readonly<Record<string, string>> = {
  "events.change_id": "change_id = gen_random_uuid(), role = 'buyer'",
  "events.role": "role = 'buyer', change_id = gen_random_uuid()",
  "offramps.status": "status = case status when 'fiat_sent' then 'bounced' else 'fiat_sent' end",
  "offramps.payout_reference": `payout_reference =
    '{"end_to_end_id":"x","trace_number":null,"uetr":null}'`,
  "payouts.status":
    "status = case when status in ('booked', 'returned') then 'sent' else 'booked' end",
  "quotes.proposal_id": "proposal_id = gen_random_uuid(), approval_status = 'done'",
  "quotes.approval_status": "approval_status = 'done', proposal_id = gen_random_uuid()",
};

export async function listTables(session: Session): Promise<Table[]> {
  const columns = await session.query<Column & { table_name: string }>(
    `select c.relname as table_name, a.attname as name,
       regexp_replace(format_type(a.atttypid, a.atttypmod), '\\(\\d+(,\\d+)?\\)', '') as type,
       a.attidentity <> '' or a.attgenerated <> '' as is_generated
     from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and a.attnum > 0
       and not a.attisdropped order by c.relname, a.attnum`,
  );
  const uniques = await session.query<{ table_name: string; columns: string[] }>(
    `select c.relname as table_name, array(select a.attname::text from pg_attribute a
       where a.attrelid = c.oid and a.attnum = any(i.indkey[0:i.indnkeyatts - 1])
       order by a.attnum) as columns
     from pg_index i join pg_class c on c.oid = i.indrelid
     where c.relnamespace = 'public'::regnamespace and i.indisunique`,
  );
  return [...Map.groupBy(columns, (column) => column.table_name)].map(([name, own]) => ({
    name,
    columns: own,
    uniques: uniques.filter((unique) => unique.table_name === name).map((one) => one.columns),
  }));
}

/** Whoever owns the tables can drop their checks: only keys are left, and what `verify` finds. */
export async function dropChecks(session: Session): Promise<void> {
  const checks = await session.query<{ statement: string }>(
    `select format('alter table %s drop constraint %I', conrelid::regclass, conname) as statement
     from pg_constraint where contype = 'c' and connamespace = 'public'::regnamespace`,
  );
  for (const { statement } of checks) await session.query(statement);
}

/** The rows to change: one in each state, zero before other balances, and never more than this. */
export async function listPlaces(
  session: Session,
  { name, columns }: Table,
  rows_max: number,
): Promise<string[]> {
  const state = columns.find((column) =>
    ["status", "state", "kind", "balance"].includes(column.name),
  );
  const rows = await session.query<{ place: string }>(
    `select place from (select distinct on (${state?.name ?? "1"}) ctid::text as place
       from ${name} order by ${state?.name ?? "1"}, ctid) as rows limit $1`,
    [rows_max],
  );
  return rows.map((row) => row.place);
}

/** Statements that change this column, of which the database may refuse some. */
export function updatesOf({ name: table }: Table, { name, type }: Column): string[] {
  const together = TOGETHER[`${table}.${name}`];
  if (together) return [`update ${table} set ${together} where ctid = $1::tid returning 1`];
  const values = OTHER_VALUES[type.replace(/\(\d\)/, "")];
  if (!values) throw new Error(`no other value of the type ${type}`);
  return values(name, table).map(
    (value) =>
      `update ${table} set ${name} = ${value}
       where ctid = $1::tid and (${value}) is distinct from ${name} returning 1`,
  );
}

/** Statements that add the row again under another key. */
export function copiesOf({ name: table, columns, uniques }: Table): string[] {
  const copied = columns.filter((column) => !column.is_generated);
  const changed = new Set(uniques.map((unique) => unique.findLast((one) => one !== "account_id")!));
  for (const column of columns) if (column.name === "id") changed.add("id");
  const variants = [0, 1, 2].map((variant) => {
    const values = copied.map(({ name, type }) => {
      if (!changed.has(name)) return name;
      const others = (OTHER_VALUES[type.replace(/\(\d\)/, "")] ?? (() => [name]))(name, table);
      return others[Math.min(variant, others.length - 1)]!;
    });
    const names = copied.map((column) => column.name).join(", ");
    return `insert into ${table} (${names}) select ${values.join(", ")} from ${table}
      where ctid = $1::tid returning 1`;
  });
  return variants;
}

export type Finding = { fault: string | null } | { refused: string };

/** Runs the first of the statements that the database accepts, checks, and reverts it. */
export async function tamper(
  session: Session,
  statements: readonly string[],
  place: string,
  check: () => Promise<string | null>,
): Promise<Finding> {
  let refused = "nothing changed";
  for (const statement of statements) {
    await session.query("savepoint before");
    try {
      const rows = await session.query(statement, [place]).catch((error: Error) => {
        refused = error.message;
        return [];
      });
      if (rows.length === 0) continue;
      return { fault: await check().catch((error: Error) => `error: ${error.message}`) };
    } finally {
      await session.query("rollback to savepoint before");
    }
  }
  return { refused };
}
