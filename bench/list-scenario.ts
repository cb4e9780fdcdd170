import { READ_ALL } from "../src/platform/db/database.ts";
import { seal } from "../src/platform/encryption/cipher.ts";
import { firstIdAt } from "../src/platform/ids.ts";
import type { Bench } from "./creation-scenarios.ts";
import { runLoad } from "./load.ts";
import type { Contender, Scenario } from "./measure.ts";
import { addPayers, addTargets, creation, type Payer, post, type Target } from "./payers.ts";

const FEW = 1_000;
const MANY = 1_000_000;
const PAGE = 25;
const CONNECTIONS = 8;
const OFFRAMPS_PER_QUOTE = 5_000;
/** The number of rows that must decrypt: those shown, and some to spare. */
const OPENED = 100;

type Listed = { rows: number; user_id: string; api_key: string; middle_id: string };

/** A page for a user with a thousand offramps, compared to one with a million. */
export async function listOfframpPages(bench: Bench): Promise<Scenario> {
  const { stage, accounts } = bench;
  const payers = await addPayers(stage.service.url, accounts.slice(0, 1), 2);
  const [few, many] = await addTargets(stage.service.url, payers);
  const lists = [await fill(bench, few!, FEW), await fill(bench, many!, MANY)] as const;
  await stage.core.database.connection((session) => session.query("analyze offramps"));
  return comparePages(bench, "offramps", lists);
}

/** The same for onramps. */
export async function listOnrampPages(bench: Bench): Promise<Scenario> {
  const { stage, accounts } = bench;
  const [few, many] = await addPayers(stage.service.url, accounts.slice(0, 1), 2);
  const lists = [
    await fillOnramps(bench, few!, FEW),
    await fillOnramps(bench, many!, MANY),
  ] as const;
  await stage.core.database.connection((session) => session.query("analyze onramps"));
  return comparePages(bench, "onramps", lists);
}

function comparePages(
  bench: Bench,
  resource: "offramps" | "onramps",
  lists: readonly [Listed, Listed],
): Scenario {
  const at = (list: Listed, is_deep: boolean) => pageReader(bench, resource, list, is_deep);
  const [first_few, first_many, deep_few, deep_many] = [
    at(lists[0], false),
    at(lists[1], false),
    at(lists[0], true),
    at(lists[1], true),
  ];
  const ratio = (name: string, top: Contender, bottom: Contender) => ({
    name: `list of ${resource}: ${name} at ${MANY} rows / at ${FEW}`,
    top: top.name,
    bottom: bottom.name,
    bar: { at_most: 1.5 },
  });
  return {
    name: `list-${resource}`,
    contenders: [first_few, first_many, deep_few, deep_many],
    ratios: [ratio("first page", first_many, first_few), ratio("middle", deep_many, deep_few)],
  };
}

function pageReader(
  { stage, seconds }: Bench,
  resource: string,
  list: Listed,
  is_deep: boolean,
): Contender {
  const cursor = is_deep ? `&starting_after=${list.middle_id}` : "";
  const path = `/users/${list.user_id}/${resource}?limit=${PAGE}${cursor}`;
  return {
    name: `${is_deep ? "middle" : "first page"} of ${list.rows}`,
    unit: "ms a request",
    run: async () => {
      await assertPage(stage.service.url, resource, path, list.api_key);
      const shot = { method: "GET", path, api_key: list.api_key } as const;
      const load = await runLoad(stage.service.url, Array(CONNECTIONS).fill(shot), seconds);
      const latency_ms = { p50: load.p50_ms, p95: load.p95_ms, p99: load.p99_ms };
      return { value: load.mean_ms, latency_ms };
    },
  };
}

async function assertPage(
  url: string,
  resource: string,
  path: string,
  api_key: string,
): Promise<void> {
  const headers = { authorization: `Bearer ${api_key}` };
  const answer = await fetch(`${url}${path}`, { headers });
  const body = (await answer.json()) as Record<string, { id: string }[]>;
  const is_whole = body[resource]?.length === PAGE && body.has_more;
  if (!is_whole) throw new Error(`${path}: not a whole page`);
}

/**
 * Creates the user's offramps with SQL, one per millisecond until now, as copies of one created
 * through the API. Only the rows to be shown are sealed with the user's key; the others have filler
 * of the same length, which a list never reads.
 */
async function fill(bench: Bench, target: Target, rows: number): Promise<Listed> {
  const { stage } = bench;
  const { database } = stage.core;
  await runLoad(stage.service.url, [creation(target, 1)], 0);
  const first_ms = Date.now() - rows;
  await database.transaction(async (tx) => {
    // The referenced quotes exist; checking a million references would take minutes.
    await tx.query("set local session_replication_role = replica");
    const from = [target.account_id, target.quote_id, first_ms];
    await tx.query(COPY_QUOTES, [...from, Math.ceil(rows / OFFRAMPS_PER_QUOTE) - 1]);
    await tx.query(COPY_OFFRAMPS, [...from, rows - 1]);
  }, READ_ALL);
  const middle_id = firstIdAt(new Date(first_ms + rows / 2));
  for (const below_id of [firstIdAt(new Date(first_ms + rows + 1)), middle_id]) {
    await sealBelow(bench, target, "offramps", below_id, JSON.stringify(DETAILS));
  }
  return { ...target, rows, middle_id };
}

const DETAILS = {
  reference: "Invoice 2026-0042",
  metadata: { order: "A-1042", team: "payroll" },
  submitted_url: null,
};
const ADDRESS = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed";

async function fillOnramps(bench: Bench, payer: Payer, rows: number): Promise<Listed> {
  const { stage } = bench;
  const { database } = stage.core;
  const { account_id, user_id } = payer;
  await post(stage.service.url, payer, `/sandbox/users/${user_id}/kycs`, APPROVED, "PATCH");
  const { onramp } = await post(stage.service.url, payer, `/users/${user_id}/onramps`, {
    onramp: {
      destination_amount: 1000,
      crypto_currency: "usdc",
      crypto_rails: "polygon",
      destination_address: ADDRESS,
      fiat_currency: "usd",
      fiat_rails: "wire",
    },
  });
  const first_ms = Date.now() - rows;
  await database.transaction(async (tx) => {
    await tx.query("set local session_replication_role = replica");
    await tx.query(COPY_ONRAMPS, [account_id, onramp.id, first_ms, rows - 1]);
  }, READ_ALL);
  const middle_id = firstIdAt(new Date(first_ms + rows / 2));
  for (const below_id of [firstIdAt(new Date(first_ms + rows + 1)), middle_id]) {
    await sealBelow(bench, payer, "onramps", below_id, ADDRESS);
  }
  return { ...payer, rows, middle_id };
}

const APPROVED = { kyc: { status: "approved" } };

async function sealBelow(
  { stage }: Bench,
  target: { account_id: string; user_id: string },
  table: "offramps" | "onramps",
  below_id: string,
  details: string,
): Promise<void> {
  const { database, keyring } = stage.core;
  const { account_id, user_id } = target;
  const keys = await keyring.openSubjects(database, [{ account_id, subject_id: user_id }]);
  const key = keys.get(account_id, user_id)!;
  const rows = await database.query<{ id: string }>(
    `select id from ${table} where account_id = $1 and user_id = $2 and id < $3
     order by id desc limit $4`,
    [account_id, user_id, below_id, OPENED],
  );
  const sealed = rows.map(({ id }) => {
    const place = { account_id, table, column: "details", record_id: id };
    return seal(key, 1, place, Buffer.from(details));
  });
  await database.query(
    `update ${table} set details = t.details
     from unnest($2::uuid[], $3::bytea[]) as t (id, details)
     where ${table}.account_id = $1 and ${table}.id = t.id`,
    [account_id, rows.map((row) => row.id), sealed],
  );
}

/** Ids in the program's format: the time in milliseconds, then a unique number. */
const idOf = (ms: string, number: string) =>
  `(lpad(to_hex(${ms}), 12, '0') || '70008000' || lpad(to_hex(${number}), 12, '0'))::uuid`;

const COPY_QUOTES = `
  insert into quotes (account_id, id, user_id, deposit_token, deposit_token_chain,
    deposit_address, price_version_id, expires_at, offramp_count, created_at, updated_at)
  select account_id, ${idOf("$3::bigint", "number")}, user_id, deposit_token,
    deposit_token_chain, deposit_address || number, price_version_id, expires_at,
    ${OFFRAMPS_PER_QUOTE}, created_at, updated_at
  from quotes, generate_series(0, $4::bigint) number
  where account_id = $1 and id = $2`;

const COPY_OFFRAMPS = `
  insert into offramps (account_id, id, user_id, quote_id, payment_detail_id, status,
    destination_amount, destination_currency, rails, rate, fee, deposit_token, deposit_token_chain,
    token_amount, token_fee, details, created_at, updated_at)
  select account_id, ${idOf("$3::bigint + number", "number")}, user_id,
    ${idOf("$3::bigint", `number / ${OFFRAMPS_PER_QUOTE}`)}, payment_detail_id, status,
    destination_amount, destination_currency, rails, rate, fee, deposit_token, deposit_token_chain,
    token_amount, token_fee, details, created_at, updated_at
  from offramps, generate_series(0, $4::bigint) number
  where account_id = $1 and quote_id = $2`;

const COPY_ONRAMPS = `
  insert into onramps (account_id, id, user_id, status, crypto_currency, crypto_rails,
    destination_amount, details, fiat_currency, fiat_rails, rate, fee, deposit_amount,
    price_version_id, deposit_instructions, deposit_message, created_at, updated_at)
  select account_id, ${idOf("$3::bigint + number", "number")}, user_id, status, crypto_currency,
    crypto_rails, destination_amount, details, fiat_currency, fiat_rails, rate, fee,
    deposit_amount, price_version_id, deposit_instructions, deposit_message, created_at,
    updated_at
  from onramps, generate_series(0, $4::bigint) number
  where account_id = $1 and id = $2`;
