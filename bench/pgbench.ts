import { execFile } from "node:child_process";
import { access, constants, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import type { Database } from "../src/platform/db/database.ts";
import type { Target } from "./payers.ts";

/** Writes the rows of single offramps, one transaction each, as fast as a client in C can. */
export type Pgbench = {
  /** Offramps per second. */
  runFor(targets: readonly Target[], seconds: number): Promise<number>;
  /** This many offramps for each target. */
  runTimes(targets: readonly Target[], transactions: number): Promise<void>;
};

/** The lengths in bytes of the sealed values in a single offramp's rows. */
export type Lengths = { answer: number; details: number; body: number };

const THREADS = 2;
/** A conservative estimate. */
const CONNECTED_PER_SECOND = 64;
const DEBIAN = "/usr/lib/postgresql";
const run = promisify(execFile);

/** Null when there is no pgbench on this machine. */
export async function findPgbench(
  database: Database,
  database_url: string,
  lengths: Lengths,
): Promise<Pgbench | null> {
  const binary = await findBinary();
  if (!binary) return null;
  const url = await addUser(database, database_url);
  const runWith = async (targets: readonly Target[], length: string[]) => {
    await placeTargets(database, targets);
    const directory = await mkdtemp(join(tmpdir(), "sliproad-pgbench-"));
    try {
      const script = join(directory, "create-offramp.sql");
      await writeFile(script, scriptOf(lengths));
      const clients = String(targets.length);
      const fixed = ["-n", "-M", "prepared", "-j", String(THREADS), "-D", "is_placed=0"];
      const args = [...fixed, "-c", clients, ...length, "-f", script];
      const { stdout } = await run(binary, [...args, url]);
      if (!/^number of failed transactions: 0 /m.test(stdout)) throw new Error(stdout);
      return stdout;
    } finally {
      await rm(directory, { recursive: true });
    }
  };
  return {
    runFor: async (targets, seconds) => {
      // The time to connect counts in the length, but not in the rate.
      const length = Math.ceil(seconds) + Math.ceil(targets.length / CONNECTED_PER_SECOND);
      const stdout = await runWith(targets, ["-T", String(length)]);
      const rate = /^tps = ([\d.]+) \(without initial connection time\)$/m.exec(stdout)?.[1];
      if (rate === undefined) throw new Error(`pgbench reported no rate: ${stdout}`);
      return Number(rate);
    },
    runTimes: async (targets, transactions) => {
      await runWith(targets, ["-t", String(transactions)]);
    },
  };
}

async function findBinary(): Promise<string | null> {
  const versions = await readdir(DEBIAN).catch(() => []);
  const directories = [
    ...(process.env.PATH ?? "").split(delimiter),
    ...versions.toSorted((a, b) => Number(b) - Number(a)).map((v) => join(DEBIAN, v, "bin")),
  ];
  for (const directory of directories) {
    const binary = join(directory, "pgbench");
    const is_there = await access(binary, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (is_there) return binary;
  }
  return null;
}

/** A database user whose password is checked quickly: 256 logins would otherwise take seconds. */
async function addUser(database: Database, database_url: string): Promise<string> {
  const url = new URL(database_url);
  url.username = "bench";
  url.password = crypto.randomUUID();
  await database.transaction(async (tx) => {
    await tx.query("set local scram_iterations = 1");
    await tx.query(`create role bench superuser login password '${url.password}'`);
  });
  return url.href;
}

/** Which quote each pgbench client adds to; each reads it once and keeps it in variables. */
async function placeTargets(database: Database, targets: readonly Target[]): Promise<void> {
  await database.query("drop table if exists bench_targets");
  await database.query(
    `create table bench_targets as
     select number::int - 1 as client, account_id, user_id, api_key_id, quote_id,
       payment_detail_id
     from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::uuid[]) with ordinality
       as t (account_id, user_id, api_key_id, quote_id, payment_detail_id, number)`,
    [
      targets.map((target) => target.account_id),
      targets.map((target) => target.user_id),
      targets.map((target) => target.api_key_id),
      targets.map((target) => target.quote_id),
      targets.map((target) => target.payment_detail_id),
    ],
  );
}

/** Stands in for ciphertext and hashes: the same length, without the cost of computing them. */
const bytes = (length: number) => `decode(repeat('5a', ${length}), 'hex')`;

/**
 * The statements of the baseline's transaction. Ids come from uuidv7(), so that the indexes grow at
 * their end as they do under the service.
 */
const scriptOf = (lengths: Lengths) => `
\\if :is_placed
\\else
select account_id, user_id, api_key_id, quote_id, payment_detail_id from bench_targets
  where client = :client_id \\gset
\\set is_placed 1
\\endif
begin;
select id as key_id, uuidv7() as command_id, uuidv7() as offramp_id, uuidv7() as event_id,
  sha256(uuid_send(gen_random_uuid())) as idempotency_index
  from api_keys where account_id = :account_id and id = :api_key_id and revoked_at is null \\gset
select id, request_hash, subject_id, answer from commands
  where account_id = :account_id and idempotency_index = :idempotency_index::bytea;
select * from quotes where account_id = :account_id and id = :quote_id for no key update;
select account_id, id, user_id, status, details, created_at, updated_at from payment_details
  where account_id = :account_id and id = :payment_detail_id;
insert into commands
  (account_id, id, idempotency_index, request_hash, subject_id, answer, created_at)
  values (:account_id, :command_id, :idempotency_index::bytea, ${bytes(32)}, :user_id,
    ${bytes(lengths.answer)}, now());
insert into offramps (account_id, id, user_id, quote_id, payment_detail_id, status,
  destination_amount, destination_currency, rails, rate, fee, token_amount, token_fee, details,
  document_status, document_source, deposit_token, deposit_token_chain, reference_index,
  created_at, updated_at)
  values (:account_id, :offramp_id, :user_id, :quote_id, :payment_detail_id, 'initiated',
    12550, 'eur', 'local', 0.86, 51, 146511628, 593024, ${bytes(lengths.details)}, null, null, 'usdc',
    'polygon', sha256(uuid_send(gen_random_uuid())), now(), now());
update quotes set token_amount = token_amount + 146511628, token_fees = token_fees + 593024,
  offramp_count = offramp_count + 1, updated_at = now()
  where account_id = :account_id and id = :quote_id;
insert into events (account_id, id, name, record_id, sequence, from_status, to_status, facts,
  subject_id, body, actor, created_at, mac)
  values (:account_id, :event_id, 'offramp_update', :offramp_id, 1, null, 'initiated',
    ${bytes(32)}, :user_id, ${bytes(lengths.body)}, 'api_key:' || :api_key_id, now(), ${bytes(17)});
insert into seal_pending (account_id, log, entry_id, digest, mac, noted_at)
  values (:account_id, 'events', :event_id, ${bytes(32)}, ${bytes(17)}, now());
commit;
`;
