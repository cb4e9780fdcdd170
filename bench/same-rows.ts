import type { Database } from "../src/platform/db/database.ts";
import { type LoadResult, runLoad } from "./load.ts";
import { type Account, addPayers, addTargets, creation, type Target } from "./payers.ts";
import type { Lengths, Pgbench } from "./pgbench.ts";
import type { Stage } from "./stage.ts";

const TARGETS = 4;
const SECONDS = 0.2;

/** What one offramp writes: rows by table, and the shape of each. */
type Traces = Record<string, string[]>;

/**
 * Runs before any measurement: the service, the baseline and pgbench must write the same rows, or
 * their figures are not comparable.
 */
export async function assertSameRows(
  { core, service, baseline }: Stage,
  pgbench: Pgbench | null,
  account: Account,
): Promise<void> {
  const newTargets = async () =>
    addTargets(service.url, await addPayers(service.url, [account], TARGETS));
  const created = async (url: string) => {
    const targets = await newTargets();
    const load = await runLoad(
      url,
      targets.map((target) => creation(target, 1)),
      SECONDS,
    );
    await assertCounted(core.database, targets, load, 1);
    return tracesOf(core.database, targets);
  };
  const expected = await created(service.url);
  assertEqual("the baseline", expected, await created(baseline.url));
  if (!pgbench) return;
  const targets = await newTargets();
  await pgbench.runTimes(targets, 5);
  assertEqual("pgbench", expected, await tracesOf(core.database, targets));
}

/** The lengths of the sealed values that the service writes for a single offramp. */
export async function readLengths({ core, service }: Stage, account: Account): Promise<Lengths> {
  const targets = await addTargets(service.url, await addPayers(service.url, [account], 1));
  await runLoad(service.url, [creation(targets[0]!, 1)], 0);
  const [row] = await core.database.query<Lengths>(
    `select octet_length(commands.answer) as answer, octet_length(offramps.details) as details,
       octet_length(events.body) as body
     from offramps join events on events.record_id = offramps.id
     join commands on commands.subject_id = offramps.user_id and idempotency_index is not null
     where offramps.user_id = $1`,
    [targets[0]!.user_id],
  );
  return row!;
}

/** Every counted response must have its offramps in the database. */
export async function assertCounted(
  database: Database,
  targets: readonly Target[],
  load: LoadResult,
  items: number,
): Promise<void> {
  const [row] = await database.query<{ counted: bigint; there: bigint }>(
    `select coalesce(sum(offramp_count), 0)::bigint as counted,
       (select count(*) from offramps where quote_id = any($2::uuid[])
          and account_id = any($1::uuid[])) as there
     from quotes where account_id = any($1::uuid[]) and id = any($2::uuid[])`,
    [targets.map((target) => target.account_id), targets.map((target) => target.quote_id)],
  );
  const answered = BigInt(load.answered * items);
  if (row?.counted !== answered || row.there !== answered) {
    throw new Error(`${answered} offramps were acknowledged, ${row?.there} are there`);
  }
}

/** Rows per offramp, in every table that creation may write to. */
async function tracesOf(database: Database, targets: readonly Target[]): Promise<Traces> {
  const user_ids = targets.map((target) => target.user_id);
  const rows = await database.query<{ table: string; row: Record<string, unknown> }>(
    `with mine as (select * from offramps where user_id = any($1::uuid[])),
       event_rows as (select * from events where subject_id = any($1::uuid[])
         and name = 'offramp_update')
     select 'offramps' as "table", to_jsonb(mine) as row from mine
     union all select 'commands', to_jsonb(c) from commands c
       where subject_id = any($1::uuid[]) and octet_length(idempotency_index) = 32
     union all select 'events', to_jsonb(event_rows) from event_rows
     union all select 'sealed', jsonb_build_object('entry_id', id) from (
       select entry_id as id from seal_pending
       -- Where the sealer puts the entries of pgbench, which cannot make their MACs.
       union all select entry_id from seal_rejected
       union all select unnest(entry_ids) from seal_blocks where log = 'events') s
       where id in (select id from event_rows)
     union all select 'tasks', to_jsonb(t) from tasks t
       where record_id in (select id from mine)`,
    [user_ids],
  );
  const offramps = rows.filter((row) => row.table === "offramps").length;
  if (offramps === 0) throw new Error("nothing was written");
  const traces: Traces = {};
  for (const table of ["offramps", "commands", "events", "sealed", "tasks"]) {
    const own = rows.filter((row) => row.table === table);
    traces[table] = [
      `${own.length / offramps} rows an offramp`,
      ...new Set(own.map((entry) => shapeOf(entry.row))),
    ];
  }
  return traces;
}

/** Which columns are set, and how long their values are; times and small numbers may vary. */
function shapeOf(row: Record<string, unknown>): string {
  const columns = Object.entries(row).map(([name, value]) => {
    const is_text = typeof value === "string" && !name.endsWith("_at");
    return `${name}: ${is_text ? value.length : value === null ? "null" : typeof value}`;
  });
  return columns.join(", ");
}

function assertEqual(who: string, expected: Traces, found: Traces): void {
  for (const [table, shapes] of Object.entries(expected)) {
    const wanted = shapes.join("\n");
    const got = found[table]!.join("\n");
    if (wanted === got) continue;
    throw new Error(
      `${who} writes other rows than the service to ${table}:\n${got}\ninstead of\n${wanted}`,
    );
  }
}
