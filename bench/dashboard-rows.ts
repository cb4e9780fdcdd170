import { hashReference } from "../src/offramps/model.ts";
import { READ_ALL } from "../src/platform/db/database.ts";
import { seal } from "../src/platform/encryption/cipher.ts";
import { firstIdAt } from "../src/platform/ids.ts";
import type { Bench } from "./creation-scenarios.ts";
import { runLoad } from "./load.ts";
import { type Account, addPayers, addTargets, creation } from "./payers.ts";

/** An account with this many payouts, and what its rare ones have in common. */
export type FilledAccount = Account & {
  rows: number;
  middle_id: string;
  user_id: string;
  rare_user_id: string;
  rare_payment_detail_id: string;
};

export const RARE_REFERENCE = "Rent, November";
export const RARE_AMOUNT = "9999.99";
/** So many payouts have each rare property, however many the account has. */
const RARE = 50;
const OPENED = 200;
const LAST_KIND = 10;
const RARE_USER = 7;
const DETAILS = {
  reference: RARE_REFERENCE,
  metadata: { order: "A-1042", team: "payroll" },
  submitted_url: null,
};

/**
 * Fills an account with copies of one payout, one per millisecond until now. Rare properties are
 * spread over all of them, so that a search without an index would read the whole table. What is
 * shown is sealed with its user's key; the others have filler of the same length.
 */
export async function fillAccount(
  bench: Bench,
  account: Account,
  rows: number,
): Promise<FilledAccount> {
  const { core, service } = bench.stage;
  const { database, index_key } = core;
  const [payer, rare] = await addPayers(service.url, [account], 2);
  const [target] = await addTargets(service.url, [payer!]);
  await runLoad(service.url, [creation(target!, 1)], 0);
  const { account_id, quote_id, user_id } = target!;
  const first_ms = Date.now() - rows;
  await database.transaction(async (tx) => {
    // What is referenced exists; checking a million references would take minutes.
    await tx.query("set local session_replication_role = replica");
    await tx.query(COPY_PAYOUTS, [
      ...[account_id, quote_id, first_ms, rows - 1, stepOf(rows)],
      ...[rare!.user_id, rare!.payment_detail_id],
      hashReference(index_key, account_id, RARE_REFERENCE),
    ]);
  }, READ_ALL);
  const middle_id = firstIdAt(new Date(first_ms + rows / 2));
  const filled = {
    ...{ ...account, rows, middle_id, user_id },
    ...{ rare_user_id: rare!.user_id, rare_payment_detail_id: rare!.payment_detail_id },
  };
  await sealShown(bench, filled, first_ms);
  return filled;
}

async function sealShown({ stage }: Bench, filled: FilledAccount, first_ms: number): Promise<void> {
  const { database, keyring } = stage.core;
  const { account_id, user_id, rare_user_id } = filled;
  const subjects = [user_id, rare_user_id].map((subject_id) => ({ account_id, subject_id }));
  const keys = await keyring.openSubjects(database, subjects);
  const rows = shownNumbers(filled.rows).map((number) => ({
    id: idOf(first_ms + number, number),
    user_id: number % stepOf(filled.rows) === RARE_USER ? rare_user_id : user_id,
  }));
  const sealed = rows.map((row) => {
    const place = { account_id, table: "offramps", column: "details", record_id: row.id };
    const key = keys.get(account_id, row.user_id)!;
    return seal(key, 1, place, Buffer.from(JSON.stringify(DETAILS)));
  });
  await database.query(
    `update offramps set details = t.details from unnest($2::uuid[], $3::bytea[]) as t (id, details)
     where offramps.account_id = $1 and offramps.id = t.id`,
    [account_id, rows.map((row) => row.id), sealed],
  );
}

/** Which copies have the same rare property, or none. */
function stepOf(rows: number): number {
  return Math.floor(rows / RARE);
}

/** The copies that a page may show: the newest, those before the middle, and all rare ones. */
function shownNumbers(rows: number): number[] {
  const before = (end: number) =>
    Array.from({ length: Math.min(OPENED, end) }, (_, at) => end - 1 - at);
  const kinds = Array.from({ length: LAST_KIND }, (_, at) => at + 1);
  const rare = kinds.flatMap((kind) =>
    Array.from({ length: RARE }, (_, at) => kind + at * stepOf(rows)),
  );
  return [...new Set([...before(rows), ...before(rows / 2), ...rare])];
}

/** An id in the program's format: the time in milliseconds, then a unique number. */
function idOf(ms: number, number: number): string {
  const [time, rest] = [ms, number].map((part) => part.toString(16).padStart(12, "0"));
  return `${time}70008000${rest}`.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** The kind of a copy says which rare property it has; its id is that of `idOf`. */
const COPY_PAYOUTS = `
  insert into offramps (account_id, id, user_id, quote_id, payment_detail_id, status,
    status_message, destination_amount, destination_currency, rails, rate, fee, deposit_token,
    deposit_token_chain, token_amount, token_fee, details, reference_index, created_at, updated_at)
  select account_id,
    (lpad(to_hex($3::bigint + number), 12, '0') || '70008000'
      || lpad(to_hex(number), 12, '0'))::uuid,
    case kind when 7 then $6::uuid else user_id end, quote_id,
    case kind when 8 then $7::uuid else payment_detail_id end,
    case kind when 1 then 'bounced' when 2 then 'ongoing_checks' when 3 then 'failed'
      when 6 then 'bounced' else 'fiat_sent' end,
    case kind when 2 then 'The deposit is short by 1 usdc.' end,
    case kind when 10 then 999999 else 1000 + number % 500000 end,
    case when kind in (4, 6) then 'mad' when kind % 2 = 0 then 'eur' else 'usd' end,
    case kind when 5 then 'wire' else 'local' end,
    rate, fee, deposit_token, deposit_token_chain, token_amount, token_fee, details,
    case kind when 9 then $8::bytea end,
    to_timestamp(($3::bigint + number) / 1000.0), to_timestamp(($3::bigint + number) / 1000.0)
  from offramps, lateral (select number, number % $5::bigint as kind
    from generate_series(0, $4::bigint) as number) as copies
  where account_id = $1 and quote_id = $2`;
