import { TOKEN_DIGITS } from "../../catalogue/chains.ts";
import { type EntryLine, ledgerDigits } from "../../ledger/model.ts";
import { listEntriesById } from "../../ledger/store.ts";
import type { Session } from "../../platform/db/database.ts";
import { firstIdAt } from "../../platform/ids.ts";
import { minorToText } from "../../platform/money.ts";
import type { ExportKind, ExportTerms } from "./model.ts";
import {
  type IdRange,
  listApprovalRows,
  listAuditBetween,
  listDepositRows,
  listEntryIdsBetween,
  listPayoutRows,
} from "./row-store.ts";

/** A row of an export: texts by column. No personal data, which erasing a person must erase. */
export type ExportRow = Readonly<Record<string, string | null>>;

type Source = {
  columns: readonly string[];
  /** A page of records, and the id of its last one; a record can become several rows. */
  read: (session: Session, range: IdRange) => Promise<{ last_id?: string; rows: ExportRow[] }>;
};

const PAGE_RECORDS = 1_000;

/** The rows of an export in order of the records' ids, read page by page. */
export async function* readRows(
  session: Session,
  account_id: string,
  { kind, period_from, period_to }: ExportTerms,
): AsyncGenerator<ExportRow[]> {
  const below_id = firstIdAt(period_to);
  for (let from_id = firstIdAt(period_from); ; ) {
    const range = { account_id, from_id, below_id, limit: PAGE_RECORDS };
    const { last_id, rows } = await SOURCES[kind].read(session, range);
    if (last_id === undefined) return;
    yield rows;
    from_id = nextId(last_id);
  }
}

export function exportColumns(kind: ExportKind): readonly string[] {
  return SOURCES[kind].columns;
}

const SOURCES: Record<ExportKind, Source> = {
  payouts: {
    columns: [
      ...["offramp_id", "created_at", "updated_at", "status", "currency", "amount", "fee", "rail"],
      ...["rate", "token", "chain", "token_amount", "user_id", "quote_id", "payment_detail_id"],
      ...["invoice_id", "funded_at", "attempt", "end_to_end_id", "returned_amount"],
    ],
    read: async (session, range) =>
      onePerRecord(await listPayoutRows(session, range), (row) => {
        const currency = row.destination_currency;
        return {
          offramp_id: row.id,
          created_at: row.created_at.toISOString(),
          updated_at: row.updated_at.toISOString(),
          status: row.status,
          currency,
          amount: amountText(row.destination_amount, currency),
          fee: amountText(row.fee, currency),
          rail: row.rails,
          rate: row.rate,
          token: row.deposit_token,
          chain: row.deposit_token_chain,
          token_amount: minorToText(row.token_amount, TOKEN_DIGITS),
          user_id: row.user_id,
          quote_id: row.quote_id,
          payment_detail_id: row.payment_detail_id,
          invoice_id: row.invoice_id,
          funded_at: row.funded_at?.toISOString() ?? null,
          attempt: String(row.attempt),
          end_to_end_id: row.end_to_end_id,
          returned_amount:
            row.returned_amount === null ? null : amountText(row.returned_amount, currency),
        };
      }),
  },
  ledger: {
    columns: [
      ...["entry_id", "created_at", "kind", "key", "line"],
      ...["ledger_account", "currency", "debit", "credit"],
    ],
    read: async (session, range) => {
      const ids = await listEntryIdsBetween(session, range);
      const entries = await listEntriesById(session, range.account_id, ids);
      const rows = entries.flatMap(({ id, created_at, kind, key, lines }) =>
        lines.map((line, index) => ({
          entry_id: id,
          created_at: created_at.toISOString(),
          kind,
          key,
          line: String(index + 1),
          ...toColumns(line),
        })),
      );
      return pageOf(ids.at(-1), rows);
    },
  },
  deposits: {
    columns: [
      ...["deposit_id", "created_at", "source", "received_at", "currency", "amount", "chain"],
      ...["tx_id", "log_index", "sender", "bank_reference", "status"],
      ...["user_id", "quote_id", "onramp_id"],
    ],
    read: async (session, range) =>
      onePerRecord(await listDepositRows(session, range), (row) => ({
        deposit_id: row.id,
        created_at: row.created_at.toISOString(),
        source: row.source,
        received_at: row.received_at.toISOString(),
        currency: row.currency,
        amount: amountText(row.amount, row.currency),
        chain: row.chain,
        tx_id: row.tx_id,
        log_index: row.log_index === null ? null : String(row.log_index),
        sender: row.sender,
        bank_reference: row.bank_reference,
        status: row.status,
        user_id: row.user_id,
        quote_id: row.quote_id,
        onramp_id: row.onramp_id,
      })),
  },
  audit_log: {
    columns: ["id", "at", "actor", "action", "record", "reason", "detail"],
    read: async (session, range) =>
      onePerRecord(await listAuditBetween(session, range), (row) => ({
        ...row,
        at: row.at.toISOString(),
      })),
  },
  approvals: {
    columns: [
      ...["proposal_id", "created_at", "updated_at", "kind", "record_id", "amount_usd"],
      ...["proposed_by", "status", "outcome", "votes"],
    ],
    read: async (session, range) =>
      onePerRecord(await listApprovalRows(session, range), ({ id, votes, ...row }) => ({
        proposal_id: id,
        ...row,
        created_at: row.created_at.toISOString(),
        updated_at: row.updated_at.toISOString(),
        votes: votes
          .map((vote) => `${vote.verdict} by member:${vote.person_id} at ${vote.created_at}`)
          .join("; "),
      })),
  },
};

function onePerRecord<Record extends { id: string }>(
  records: readonly Record[],
  toRow: (record: Record) => ExportRow,
) {
  return pageOf(records.at(-1)?.id, records.map(toRow));
}

function pageOf(last_id: string | undefined, rows: ExportRow[]) {
  return last_id === undefined ? { rows } : { last_id, rows };
}

/** Both above zero: a spreadsheet takes a text that begins with a minus for a formula. */
function toColumns({ ledger_account, currency, amount }: EntryLine) {
  return {
    ledger_account,
    currency,
    debit: amount > 0n ? amountText(amount, currency) : null,
    credit: amount < 0n ? amountText(-amount, currency) : null,
  };
}

function amountText(amount: bigint, currency: string): string {
  return minorToText(amount, ledgerDigits(currency));
}

function nextId(id: string): string {
  const next = (BigInt(`0x${id.replaceAll("-", "")}`) + 1n).toString(16).padStart(32, "0");
  return next.replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/, "$1-$2-$3-$4-$5");
}
