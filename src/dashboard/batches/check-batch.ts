import { createHash } from "node:crypto";
import { minorDigits } from "../../catalogue/currencies.ts";
import { totalProblems } from "../../offramps/quotes/model.ts";
import { findOfframps, openOfframps } from "../../offramps/store.ts";
import type { PaymentDetail } from "../../payment-details/model.ts";
import { hashPayee } from "../../payment-details/payee.ts";
import { findPaymentDetails, toPaymentDetails } from "../../payment-details/store.ts";
import { DAY_MS } from "../../platform/durations.ts";
import { firstIdAt, isId } from "../../platform/ids.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { minorToText } from "../../platform/money.ts";
import type { CurrentPrices } from "../../prices/price-book.ts";
import {
  clearanceProblems,
  deactivationProblems,
  holdProblems,
  type KycEnforcement,
} from "../../users/clearance.ts";
import { findKycs } from "../../users/kyc-store.ts";
import { inParts } from "./batch-turns.ts";
import {
  type CellProblem,
  type JudgedRow,
  judgeRow,
  type KnownPayees,
  type ReadRow,
  type RowDeps,
  readRow,
} from "./judge-row.ts";
import type { Batch } from "./model.ts";
import { findSameFile, listPastPayoutIds, listPayeeIds } from "./store.ts";

export type CheckDeps = RowDeps &
  Pick<ModuleCore, "database" | "clock" | "keyring"> & {
    prices: CurrentPrices;
    kyc_enforcement: KycEnforcement;
  };

/** About the batch as a whole. */
type BatchNote = Omit<CellProblem, "cell">;

export type CheckedBatch = {
  rows: JudgedRow[];
  notes: BatchNote[];
  /** Of the rows that are not excluded. */
  sums: { currency: string; amount: string; count: number }[];
  token_amount: string;
  is_ready: boolean;
  /** Of everything that is shown: what is created must be what somebody saw. */
  digest: string;
};

const DUPLICATE_MS = 30 * DAY_MS;
const PAST_PAYOUTS_MAX = 5_000;
/** How often one account number is considered: every row is compared with each of them. */
const SAME_NUMBER_MAX = 20;
/** Records that are read and decrypted at once. */
const RECORDS_AT_ONCE = 100;
const TOKEN_DIGITS = 6;

/** The checks of creation, for every row, without creating anything. */
export async function checkBatch(deps: CheckDeps, batch: Batch): Promise<CheckedBatch> {
  const now = deps.clock.now();
  const today = now.toISOString().slice(0, 10);
  const read = await inParts(batch.content.rows, (row) => readRow(deps, batch, row, today));
  const [known, current] = await Promise.all([
    loadPayees(deps, batch, read),
    deps.prices.currentPrices(now),
  ]);
  const prices = "stale" in current ? null : current;
  const rows = await inParts(read, (one) => judgeRow(deps, batch, one, known, prices));
  await markDuplicates(deps, batch, rows, known, now);
  const included = rows.filter(({ read: { row } }) => !row.is_excluded);
  const notes = [
    ...(prices ? [] : [error("unavailable", "Current rates are not available; try again later.")]),
    ...(await noteUser(deps, batch, included)),
    ...(await noteFile(deps, batch)),
    ...totalProblems({ offramp_count: included.length, token_amount: tokenSum(included) }).map(
      asError,
    ),
  ];
  const is_blocked = notes.some(
    ({ severity }) =>
      severity === "error" || (severity === "duplicate" && !batch.content.is_file_acknowledged),
  );
  return {
    rows,
    notes,
    ...sumUp(included),
    is_ready: included.length > 0 && !is_blocked && included.every(isReady),
    digest: digestOf(batch, rows),
  };
}

/** Nothing is wrong with it, and what looks like a duplicate is acknowledged. */
export function isReady({ read: { row }, problems }: JudgedRow): boolean {
  return problems.every(
    ({ severity }) => severity === "warning" || (severity === "duplicate" && row.is_acknowledged),
  );
}

async function loadPayees(
  { database, keyring }: CheckDeps,
  batch: Batch,
  read: readonly ReadRow[],
): Promise<KnownPayees> {
  const { account_id, user_id } = batch;
  const indexes = [...new Set(read.flatMap(({ payee_index }) => payee_index ?? []))];
  const named = read.flatMap(({ row: { cells } }) => cells.payment_detail_id ?? []).filter(isId);
  const found = await listPayeeIds(
    database,
    batch,
    indexes.map((hex) => Buffer.from(hex, "hex")),
    SAME_NUMBER_MAX,
  );
  const ids = [...new Set([...found.map(({ id }) => id), ...named])];
  const keys = await keyring.openUserKeys(database, [batch]);
  const by_id = new Map<string, PaymentDetail>();
  for (const some of split(ids, RECORDS_AT_ONCE)) {
    const wanted = some.map((id) => ({ account_id, id }));
    for (const detail of toPaymentDetails(await findPaymentDetails(database, wanted), keys)) {
      if (detail.user_id === user_id) by_id.set(detail.id, detail);
    }
  }
  const by_index = new Map<string, PaymentDetail[]>();
  for (const { id, payee_index } of found) {
    const hex = payee_index.toString("hex");
    const detail = by_id.get(id);
    if (detail) by_index.set(hex, [...(by_index.get(hex) ?? []), detail]);
  }
  return { by_id, by_index };
}

/** Marks rows that repeat another one, or a payout of the last days. */
async function markDuplicates(
  deps: CheckDeps,
  batch: Batch,
  rows: readonly JudgedRow[],
  known: KnownPayees,
  now: Date,
): Promise<void> {
  const past = await loadPastPayouts(deps, batch, rows, known, now);
  const seen = new Map<string, number>();
  for (const judged of rows) {
    const { row } = judged.read;
    const key = payoutKey(deps, judged);
    if (row.is_excluded || key === null) continue;
    const first = seen.get(key);
    const mark = (code: string, message: string) =>
      judged.problems.push({ cell: "amount", severity: "duplicate", code, message });
    if (first !== undefined) {
      mark("duplicate_row", `Row ${first} pays the same account the same amount and reference.`);
    } else {
      seen.set(key, row.n);
      const at = past.get(key);
      if (at)
        mark("duplicate_payout", `A payout of ${day(at)} has this account, amount, reference.`);
    }
  }
}

async function loadPastPayouts(
  deps: CheckDeps,
  batch: Batch,
  rows: readonly JudgedRow[],
  known: KnownPayees,
  now: Date,
): Promise<Map<string, Date>> {
  const detail_ids = [...known.by_id.keys()];
  if (detail_ids.length === 0) return new Map();
  const amounts = new Set(rows.flatMap(({ read }) => read.item.destination_amount ?? []));
  const from_id = firstIdAt(new Date(now.getTime() - DUPLICATE_MS));
  const keys = await listPastPayoutIds(
    deps.database,
    batch,
    { detail_ids, amounts: [...amounts].map(String), from_id, now },
    PAST_PAYOUTS_MAX,
  );
  const past = new Map<string, Date>();
  for (const some of split(keys, RECORDS_AT_ONCE)) {
    const found = await findOfframps(deps.database, some);
    for (const { offramp } of await openOfframps(deps.database, deps.keyring, found)) {
      const detail = known.by_id.get(offramp.payment_detail_id);
      if (!detail) continue;
      const { destination_amount, destination_currency, details, created_at } = offramp;
      const payee = indexOf(deps, detail);
      const key = [payee, destination_currency, destination_amount, details.reference ?? ""];
      past.set(key.join(" "), created_at);
    }
  }
  return past;
}

function split<One>(list: readonly One[], size: number): One[][] {
  const parts = Math.ceil(list.length / size);
  return Array.from({ length: parts }, (_, at) => list.slice(at * size, (at + 1) * size));
}

function payoutKey(deps: CheckDeps, { read, payee }: JudgedRow): string | null {
  const { item } = read;
  if (!payee || item.destination_amount === null) return null;
  const index = "known" in payee ? indexOf(deps, payee.known) : read.payee_index;
  if (!index) return null;
  const { destination_currency, destination_amount, reference } = item;
  return [index, destination_currency, destination_amount, reference ?? ""].join(" ");
}

function indexOf({ index_key, catalogue }: CheckDeps, detail: PaymentDetail): string {
  return hashPayee(index_key, catalogue, detail)?.toString("hex") ?? detail.id;
}

async function noteUser(
  { database, kyc_enforcement }: CheckDeps,
  { account_id, user_id }: Batch,
  included: readonly JudgedRow[],
): Promise<BatchNote[]> {
  const kyc = (await findKycs(database, [{ account_id, user_id }])).get(account_id, user_id);
  if (!kyc) return [error("record_not_found", "The payer does not exist any more.")];
  const notes = deactivationProblems(kyc, "user_id").map(asError);
  if (kyc_enforcement !== "off") {
    const routes = included.flatMap(({ priced }) => priced ?? []);
    const swift = routes.find(({ rails }) => rails === "swift");
    const [first] = swift ? [swift] : routes;
    const [problem] = clearanceProblems(kyc, first?.currency ?? null, first?.rails ?? null, "");
    const isRefused = kyc_enforcement === "payment_detail";
    if (problem) notes.push({ ...asError(problem), severity: isRefused ? "error" : "warning" });
  }
  const holds = holdProblems(kyc, "user_id").map(asError);
  return [...notes, ...holds.map((note) => ({ ...note, severity: "warning" as const }))];
}

async function noteFile({ database }: CheckDeps, batch: Batch): Promise<BatchNote[]> {
  const same = await findSameFile(database, batch);
  if (!same) return [];
  const message = `Payouts of the same file were created on ${day(same.created_at)}.`;
  return [{ severity: "duplicate", code: "duplicate_file", message }];
}

function sumUp(included: readonly JudgedRow[]): Pick<CheckedBatch, "sums" | "token_amount"> {
  const by_currency = new Map<string, { minor: bigint; count: number }>();
  for (const { read } of included) {
    const { destination_currency: currency, destination_amount: amount } = read.item;
    if (currency === null || amount === null) continue;
    const { minor, count } = by_currency.get(currency) ?? { minor: 0n, count: 0 };
    by_currency.set(currency, { minor: minor + amount, count: count + 1 });
  }
  const sums = [...by_currency].map(([currency, { minor, count }]) => {
    return { currency, amount: minorToText(minor, minorDigits(currency)!), count };
  });
  return { sums, token_amount: minorToText(tokenSum(included), TOKEN_DIGITS) };
}

function tokenSum(included: readonly JudgedRow[]): bigint {
  return included.reduce((sum, { priced }) => sum + (priced?.token_amount ?? 0n), 0n);
}

function digestOf(batch: Batch, rows: readonly JudgedRow[]): string {
  const { user_id, deposit_token, deposit_token_chain } = batch;
  const shown = rows.map(({ read: { row }, payee }) => [
    row,
    payee && "known" in payee ? payee.known.id : null,
  ]);
  const text = JSON.stringify([user_id, deposit_token, deposit_token_chain, shown]);
  return createHash("sha256").update(text).digest("hex");
}

function error(code: string, message: string): BatchNote {
  return { severity: "error", code, message };
}

function asError({ code, message }: { code: string; message: string }): BatchNote {
  return error(code, message);
}

function day(at: Date): string {
  return at.toISOString().slice(0, 10);
}
