import type { Session } from "../../src/platform/db/database.ts";

/*
 * What a statement touches, according to PostgreSQL's own planner: EXPLAIN resolves views, aliases,
 * subqueries and the equality of joined columns, which a parser of ours would have to repeat. The
 * account of a table counts as fixed if every row of it that is read has `account_id = $n`, a
 * constant, or the account of a row outside of the subquery that is fixed so, among its conditions,
 * or if every row written gets such a value.
 */

/** The column that a table is distributed by, and its place among the columns. */
type Key = { column: string; place: number };
export type Tables = {
  /** The tables that belong to an account. */
  tenants: ReadonlyMap<string, Key>;
  all: ReadonlySet<string>;
};

export type Touched = {
  /** `account` is a parameter such as `$1`, a constant, or null if the account is not fixed. */
  tenants: { table: string; alias: string; account: string | null }[];
  lookups: string[];
};

type Plan = {
  "Node Type": string;
  "Parent Relationship"?: string;
  Operation?: string;
  "Relation Name"?: string;
  Alias?: string;
  Output?: string[];
  Filter?: string;
  Plans?: Plan[];
};

/**
 * A table belongs to an account if its primary key starts with the account and its other unique keys
 * have it too; otherwise it stays together on one node (`migrate --distribute`).
 */
export async function readTables(session: Session): Promise<Tables> {
  const rows = await session.query<{ name: string; column: string; place: number; keyed: boolean }>(
    `select c.relname as name, a.attname as column, a.attnum::int as place,
       coalesce(a.attnum = i.indkey[0], false) and not exists (
         select from pg_index u where u.indrelid = c.oid and u.indisunique
           and not a.attnum = any(u.indkey[0:u.indnkeyatts - 1])) as keyed
     from pg_class c
     join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
     left join pg_index i on i.indrelid = c.oid and i.indisprimary
     where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace`,
  );
  const keys = rows.filter(({ column, keyed }) => keyed && column === "account_id");
  return {
    all: new Set(rows.map(({ name }) => name)),
    tenants: new Map(keys.map(({ name, ...key }) => [name, key])),
  };
}

/** With scans of whole tables the plan shows every condition as a filter. */
export async function preparePlanner(session: Session): Promise<void> {
  const off = ["indexscan", "indexonlyscan", "bitmapscan", "tidscan", "nestloop", "mergejoin"];
  for (const name of off) await session.query(`set enable_${name} = off`);
  // The program's own connections prefer an index to it (platform/db/pool.ts).
  await session.query("set enable_seqscan = on");
}

export async function explain(session: Session, tables: Tables, text: string): Promise<Touched> {
  const [row] = await session.query<{ "QUERY PLAN": { Plan: Plan }[] }>(
    `explain (generic_plan, verbose, costs off, format json) ${text}`,
  );
  const touched: Touched = { tenants: [], lookups: [] };
  const visit = (plan: Plan) => {
    note(plan, tables, touched);
    for (const child of plan.Plans ?? []) visit(child);
  };
  visit(row!["QUERY PLAN"][0]!.Plan);
  resolve(touched);
  return touched;
}

function note(plan: Plan, tables: Tables, touched: Touched): void {
  const table = plan["Relation Name"];
  if (table === undefined || !tables.all.has(table)) return;
  const key = tables.tenants.get(table);
  if (!key) {
    touched.lookups.push(table);
    return;
  }
  if (plan["Node Type"] === "ModifyTable") {
    // The rows of an update or a delete come from a scan of the same table, which is looked at.
    if (plan.Operation !== "Insert") return;
    touched.tenants.push({ table, alias: "", account: insertedAccount(plan, key) });
    return;
  }
  const alias = plan.Alias ?? table;
  const account = fixedBy(plan.Filter ?? "", `${alias}.${key.column}`);
  touched.tenants.push({ table, alias, account });
}

/** A subquery may compare its account with that of a row outside of it. */
function resolve(touched: Touched): void {
  for (const one of touched.tenants) {
    const seen = new Set<string>();
    for (
      let outer = outerOf(one.account);
      outer && !seen.has(outer);
      outer = outerOf(one.account)
    ) {
      seen.add(outer);
      one.account = touched.tenants.find(({ alias }) => alias === outer)?.account ?? null;
    }
    if (outerOf(one.account)) one.account = null;
  }
}

function outerOf(account: string | null): string | undefined {
  return /^(\w+)\.account_id$/.exec(account ?? "")?.[1];
}

/** The output of what an insert reads has the table's columns in their order. */
function insertedAccount(plan: Plan, key: Key): string | null {
  let source = plan.Plans?.find((child) => child["Parent Relationship"] === "Outer");
  // A select with groups, as it is.
  if (source?.Alias === "*SELECT*") source = source.Plans![0];
  const account = constantIn(source?.Output?.[key.place - 1] ?? "");
  return outerOf(account) ? null : account;
}

/** The value that the column equals in every row that passes the condition. */
export function fixedBy(condition: string, column: string): string | null {
  const text = unwrap(condition);
  const all = split(text, " AND ");
  if (all.length > 1) {
    return all.map((part) => fixedBy(part, column)).find((account) => account !== null) ?? null;
  }
  const any = split(text, " OR ");
  if (any.length > 1) {
    const accounts = new Set(any.map((part) => fixedBy(part, column)));
    return accounts.size === 1 ? [...accounts][0]! : null;
  }
  const sides = split(text, " = ");
  if (sides.length !== 2) return null;
  const [left, right] = sides as [string, string];
  if (left === column) return constantIn(right);
  return right === column ? constantIn(left) : null;
}

function constantIn(text: string): string | null {
  if (/^\(?\w+\.account_id\)?$/.test(text)) return text.replaceAll(/[()]/g, "");
  return /^\(?(\$\d+|'[0-9a-f-]{36}')\)?(::uuid)?$/.exec(text)?.[1] ?? null;
}

/** The parts between separators that stand outside of parentheses and quotes. */
function split(text: string, separator: string): string[] {
  const parts: string[] = [];
  let [depth, from, quoted] = [0, 0, false];
  for (let at = 0; at < text.length; at += 1) {
    const letter = text[at];
    if (letter === "'") quoted = !quoted;
    if (quoted) continue;
    if (letter === "(") depth += 1;
    if (letter === ")") depth -= 1;
    if (depth === 0 && text.startsWith(separator, at)) {
      parts.push(text.slice(from, at));
      from = at + separator.length;
    }
  }
  return [...parts, text.slice(from)];
}

function unwrap(text: string): string {
  const inner = text.slice(1, -1);
  const is_wrapped = text.startsWith("(") && text.endsWith(")") && isBalanced(inner);
  return is_wrapped ? unwrap(inner) : text;
}

function isBalanced(text: string): boolean {
  let depth = 0;
  for (const letter of text) {
    if (letter === "(") depth += 1;
    if (letter === ")") depth -= 1;
    if (depth < 0) return false;
  }
  return depth === 0;
}
