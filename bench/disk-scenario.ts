import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DAY_MS, SECOND_MS } from "../src/platform/durations.ts";
import { signingKey } from "../src/platform/sealing/seal.ts";
import { signingSeed } from "../src/platform/sealing/signing-seed.ts";
import { type Archived, archiveRecords } from "../src/retention/archives/archive-records.ts";
import { trimEvents } from "../src/webhooks/trim-events.ts";
import type { Bench } from "./creation-scenarios.ts";
import { figure, type Judged, judge } from "./measure.ts";
import { createAndPay, type PayKind, preparePayers } from "./payout-scenario.ts";
import { addReceiver } from "./webhook-scenarios.ts";

const RUNS = 2;
const KIND: PayKind = { accounts: 1, payouts: 2_000, has_documents: false };
const BYTES_MAX = 5_000;
const SHOWN_MIN_BYTES = 10;
/** The simulated partners have tables of their own, which a real installation does not fill. */
const OF_PARTNERS = /^sandbox_/;

type Sizes = Map<string, number>;

/**
 * How many bytes a payout takes in every table and index, from its creation to `fiat_sent`, with a
 * webhook for each of its events: when it is paid, and after what is kept for a time has gone.
 */
export async function disk(bench: Bench, say: (text: string) => void): Promise<Judged[]> {
  const { database, clock } = bench.stage.core;
  const account = bench.accounts.at(-1)!;
  const untilDelivered = await addReceiver(bench, account);
  const payers = await preparePayers(bench, [account], KIND);
  const empty = await sizesOf(bench, "vacuum full");
  let grown = new Map<string, number>();
  for (let run = 0; run < RUNS; run += 1) {
    const before = await sizesOf(bench, "vacuum");
    await createAndPay(bench, payers, KIND);
    await untilDelivered();
    grown = growth(before, await sizesOf(bench, "vacuum"), KIND.payouts);
  }
  const paid = growth(empty, await sizesOf(bench, "vacuum full"), RUNS * KIND.payouts);
  show("paid", paid, say);
  // What happens when the time has come, here at once.
  const days = { event_retention_days: 90, delivery_retention_days: 30 };
  const later = new Date(clock.now().getTime() + 100 * DAY_MS);
  const archived = await archiveOld(bench, days, later, say);
  await trimEvents({ database, retention: "archive", ...days }, later);
  // The next day's run: events whose places in the list were deleted meanwhile.
  const rest = await archiveOld(bench, days, later, say);
  await database.query("delete from commands where idempotency_index is null");
  const kept = growth(empty, await sizesOf(bench, "vacuum full"), RUNS * KIND.payouts);
  show("after retention", kept, say);
  return [
    judge("disk: bytes a payout, with space for reuse", [sumOf(grown)]),
    judge("disk: bytes a payout", [sumOf(paid)]),
    judge("disk: bytes a payout after retention", [sumOf(kept)], { at_most: BYTES_MAX }),
    judge("disk: bytes a payout in archived files", [
      (archived.bytes + rest.bytes) / (RUNS * KIND.payouts),
    ]),
  ];
}

/** With as much in the database as if it was deleted: an archive adds a few rows. */
async function archiveOld(
  { stage }: Bench,
  config: { event_retention_days: number; delivery_retention_days: number },
  now: Date,
  say: (text: string) => void,
): Promise<Archived> {
  const { database } = stage.core;
  const key = signingKey(signingSeed(stage.core.config));
  const directory = await mkdtemp(join(tmpdir(), "sliproad-archives-"));
  try {
    const begun_ms = performance.now();
    const archived = await archiveRecords({ database, config, key }, { directory, now });
    const { rows, files } = archived;
    const seconds = (performance.now() - begun_ms) / SECOND_MS;
    say(`disk, archived: ${rows} rows in ${files} files in ${seconds.toFixed(1)} s`);
    return archived;
  } finally {
    await rm(directory, { recursive: true });
  }
}

function show(when: string, sizes: Sizes, say: (text: string) => void): void {
  for (const [name, bytes] of [...sizes].sort(([, a], [, b]) => b - a)) {
    if (bytes >= SHOWN_MIN_BYTES) say(`disk, ${when}: ${figure(bytes).padStart(6)} bytes ${name}`);
  }
}

function growth(before: Sizes, after: Sizes, payouts: number): Sizes {
  return new Map(
    [...after].map(([name, bytes]) => [name, (bytes - (before.get(name) ?? 0)) / payouts]),
  );
}

function sumOf(sizes: Sizes): number {
  return [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
}

/** What every table and index has on disk; large values are part of their table. */
async function sizesOf({ stage }: Bench, vacuum: "vacuum" | "vacuum full"): Promise<Sizes> {
  const { database } = stage.core;
  await database.connection((session) => session.query(vacuum));
  const rows = await database.query<{ name: string; bytes: bigint }>(
    `select relname as name,
       case relkind when 'r' then pg_table_size(oid) else pg_relation_size(oid) end as bytes
     from pg_class where relkind in ('r', 'i') and relnamespace = 'public'::regnamespace`,
  );
  const counted = rows.filter(({ name }) => !OF_PARTNERS.test(name));
  return new Map(counted.map(({ name, bytes }) => [name, Number(bytes)]));
}
