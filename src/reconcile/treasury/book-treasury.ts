import { recordAudit } from "../../accounts/audit.ts";
import type { By } from "../../accounts/model.ts";
import type { ControlledChange } from "../../approvals/controlled-change.ts";
import type { Description } from "../../approvals/model.ts";
import { isToken } from "../../catalogue/chains.ts";
import { ledgerDigits, type NewEntry } from "../../ledger/model.ts";
import { postEntries } from "../../ledger/post-entries.ts";
import { listEntriesByKey } from "../../ledger/store.ts";
import {
  bankFee,
  bankOpened,
  bankTransfer,
  fiatDepositKept,
} from "../../ledger/treasury-postings.ts";
import { changeDeposit } from "../../onramps/deposits/move-deposits.ts";
import { type FiatDepositRow, lockDeposits, updateDeposits } from "../../onramps/deposits/store.ts";
import type { Session, Transaction } from "../../platform/db/database.ts";
import { Refusal } from "../../platform/errors.ts";
import { minorToText } from "../../platform/money.ts";
import { signedAmount, type TreasuryBooking, type WaitingLine } from "./model.ts";
import { lockWaitingLine, updateLineToTreasury } from "./treasury-store.ts";

/**
 * Books the operator's own money as statements show it: opening balances, lines of statements, and
 * credits that no user paid. Where two people can vote, it is a proposal: whoever took money from
 * an account could else book it as a transfer.
 */
export const treasuryChange: ControlledChange<TreasuryBooking> = {
  kind: "book-treasury",
  why: "The operator's own money is booked only with two members.",
  summaryOf: (booking) =>
    booking.what === "opening"
      ? `Book the opening balance of the bank account ${booking.bank_account}.`
      : booking.what === "line"
        ? `Book line-${booking.number} of a bank statement as a ${booking.as}.`
        : `Keep the deposit ${booking.id} as the operator's own money.`,
  describe: async (session, account_id, booking) =>
    describe(booking, await prepare(session, account_id, booking)),
  apply: async (tx, account_id, booking, by, now) => {
    const prepared = await prepare(tx, account_id, booking);
    if (prepared.line) updateLineToTreasury(tx, prepared.line.number);
    if (prepared.deposit) {
      updateDeposits(tx, [changeDeposit(prepared.deposit, { status: "kept", reason: null }, now)]);
    }
    postEntries(tx, prepared.entry.lines.length > 0 ? [prepared.entry] : [], now);
    audit(tx, account_id, prepared, by, now);
  },
};

type Prepared = {
  record: string;
  entry: NewEntry;
  currency: string;
  amount: bigint;
  line?: WaitingLine;
  deposit?: FiatDepositRow;
};

async function prepare(
  session: Session,
  account_id: string,
  booking: TreasuryBooking,
): Promise<Prepared> {
  if (booking.what === "opening") return prepareOpening(session, account_id, booking);
  return booking.what === "line"
    ? prepareLine(session, account_id, booking)
    : prepareDeposit(session, account_id, booking.id);
}

async function prepareOpening(
  session: Session,
  account_id: string,
  { bank_account, currency, ...given }: Extract<TreasuryBooking, { what: "opening" }>,
): Promise<Prepared> {
  const booked = await findOpened(session, account_id, { bank_account, currency });
  const amount = BigInt(given.amount) - booked.amount;
  if (amount === 0n) refuse(`The opening balance of ${bank_account} is booked already.`);
  const entry = bankOpened({
    account_id,
    bank_account,
    currency,
    amount,
    number: booked.count + 1,
  });
  return { record: `bank_account:${bank_account}`, entry, currency, amount };
}

/** An earlier statement can come later: then the rest is booked too. */
async function findOpened(
  session: Session,
  account_id: string,
  account: { bank_account: string; currency: string },
): Promise<{ amount: bigint; count: number }> {
  const numbers = Array.from({ length: OPENINGS_MAX }, (_, index) => index + 1);
  const keys = numbers.map(
    (number) => bankOpened({ account_id, ...account, amount: 1n, number }).key,
  );
  const entries = await listEntriesByKey(session, account_id, keys);
  const amount = entries.reduce(
    (sum, { lines }) =>
      sum + lines.filter((line) => line.ledger_account !== "treasury").reduce(addAmount, 0n),
    0n,
  );
  if (entries.length === OPENINGS_MAX) refuse("Its opening balance was corrected too often.");
  return { amount, count: entries.length };
}

const OPENINGS_MAX = 20;
const addAmount = (sum: bigint, { amount }: { amount: bigint }) => sum + amount;

async function prepareLine(
  session: Session,
  account_id: string,
  { number, as }: Extract<TreasuryBooking, { what: "line" }>,
): Promise<Prepared> {
  const line = await lockWaitingLine(session, number);
  if (!line)
    return refuse(`There is no open line-${number}: it does not exist, or is booked already.`);
  const { bank_account, currency, entry_key, part } = line;
  const amount = signedAmount(line);
  const post = as === "fee" ? bankFee : bankTransfer;
  const entry = post({
    ...{ account_id, bank_account, currency, amount },
    line: `${entry_key}-${part}`,
  });
  return { record: `bank_item:line-${number}`, entry, currency, amount, line };
}

/** Money that names a user, or that came with a user's, is never the operator's. */
async function prepareDeposit(session: Session, account_id: string, id: string): Promise<Prepared> {
  const [deposit] = await lockDeposits(session, account_id, [id]);
  if (!deposit) return refuse(`There is no deposit ${id}.`);
  const { status, reason, onramp_id, currency, amount, is_posted } = deposit;
  if (status !== "unmatched" || !is_posted || isToken(currency)) {
    refuse(`The deposit ${id} is ${status}: only an unmatched credit of a bank can be kept.`);
  }
  if (onramp_id !== null || (reason !== "no_code" && reason !== "unknown_code")) {
    refuse(`The deposit ${id} is a user's, or a part of one: match it or return it.`);
  }
  const entry = fiatDepositKept({ account_id, id, currency, amount });
  return { record: `deposit:${id}`, entry, currency, amount, deposit };
}

function describe(booking: TreasuryBooking, prepared: Prepared): Description {
  const { record, currency, amount, line, deposit } = prepared;
  const account = line?.bank_account ?? deposit?.bank_account;
  return {
    details: [
      ["Record", record],
      ["Amount", `${minorToText(amount, ledgerDigits(currency))} ${currency}`],
      ...(account ? ([["Bank account", account]] as const) : []),
      ...(line ? ([["Booked on", line.booked_on ?? "no date"]] as const) : []),
      ...(booking.what === "line" ? ([["Booked as", booking.as]] as const) : []),
    ],
    state: [],
  };
}

function audit(
  tx: Transaction,
  account_id: string,
  { record, entry, currency, amount }: Prepared,
  by: By,
  now: Date,
): void {
  const detail = { entry: entry.key, kind: entry.kind, amount: `${amount} ${currency}` };
  recordAudit(tx, { account_id, ...by, action: "treasury.book", record, detail }, now);
}

function refuse(message: string): never {
  throw Refusal.of([{ field: "treasury", code: "invalid_transition", message }]);
}
