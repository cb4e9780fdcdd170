import type { Transaction } from "../../../platform/db/database.ts";
import type { AccountEntry, PaymentIds } from "../report.ts";
import { type BookableSum, listBookableSums } from "./ach/ach-store.ts";
import type { FindPayments, KnownPayment } from "./match-entry.ts";
import type { BookedLine, FileBankAccount } from "./model.ts";
import { listPaymentsById, listPaymentsOfFiles } from "./report-store.ts";
import { openAchReturns, openTakenBack } from "./uncertain-credits.ts";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** Trace numbers, and our ids in NACHA files. */
const ACH_IDS = /\b(?:\d{15}|SR[0-9A-Z]{13})\b/g;
/** Banks book a NACHA file between the day before its effective date and some days after it. */
const BOOKED_DAYS_BEFORE = 1;
const BOOKED_DAYS_AFTER = 4;

type Named = PaymentIds & Partial<Pick<AccountEntry, "transaction_id" | "text">>;

/** The payments that these items can be about. */
export async function openFinder(
  tx: Transaction,
  items: readonly Named[],
  more_messages: readonly string[] = [],
): Promise<FindPayments> {
  const uetrs = items.map(({ uetr }) => uetr).filter((uetr) => UUID.test(uetr ?? ""));
  const messages = items.flatMap((item) => [item.message_id, item.batch_id]);
  const [by_id, of_files] = [
    await listPaymentsById(
      tx,
      present(items.flatMap((item) => [...fieldIds(item), ...textIds(item)])),
      present(uetrs),
    ),
    await listPaymentsOfFiles(tx, present([...messages, ...more_messages])),
  ];
  const files = Map.groupBy(of_files, ({ message_id }) => message_id);
  const named = new Map<string, KnownPayment>();
  // In the order of their numbers: a trace that was given out twice is the later payment's.
  for (const payment of by_id) {
    const { end_to_end_id, uetr, short_id, trace_number } = payment;
    for (const id of present([end_to_end_id, uetr, short_id, trace_number])) {
      named.set(id, payment);
    }
  }
  return {
    byIds: (item) => {
      const find = (ids: readonly (string | null)[]) => [
        ...new Set(ids.flatMap((id) => named.get(id ?? "") ?? [])),
      ];
      const found = find([...fieldIds(item), item.uetr?.toLowerCase() ?? null]);
      // Callers write a part of the text: what they name must not hide the payment itself.
      return found.length > 0 ? found : find(textIds(item));
    },
    ofFile: (message_id) => files.get(message_id) ?? [],
  };
}

/** The same for lines of accounts, which can also be sums of NACHA files. */
export async function openLineFinder(
  tx: Transaction,
  accounts: readonly FileBankAccount[],
  lines: readonly BookedLine[],
): Promise<FindPayments> {
  const sums = new Map<string, { is_booked_by_sum: boolean; sums: BookableSum[] }>();
  for (const { name, routes } of accounts) {
    const route = routes.find(({ scheme }) => scheme === "ach");
    const debits = lines.filter((line) => line.bank_account === name && line.kind === "booked");
    const days = debits.flatMap(({ booked_on }) => booked_on ?? []).sort();
    if (route?.scheme !== "ach" || days.length === 0) continue;
    const amounts = debits.map(({ amount }) => amount);
    const period = { from: addDays(days[0]!, -BOOKED_DAYS_AFTER), to: addDays(days.at(-1)!, 1) };
    const { is_booked_by_sum } = route.origination;
    sums.set(name, {
      is_booked_by_sum,
      sums: await listBookableSums(tx, name, amounts, period),
    });
  }
  const messages = [...sums.values()].flatMap((of) => of.sums.map((one) => one.message_id));
  const finder = await openFinder(tx, lines, messages);
  return {
    ...finder,
    bySum: takeSums(sums),
    isTakenBack: await openTakenBack(tx, lines),
    isAchReturn: await openAchReturns(tx, accounts, lines),
  };
}

/** A sum that a line has taken is not another line's. */
function takeSums(
  sums: ReadonlyMap<string, { is_booked_by_sum: boolean; sums: BookableSum[] }>,
): NonNullable<FindPayments["bySum"]> {
  const taken: BookableSum[] = [];
  const isTaken = (sum: BookableSum) =>
    taken.some(
      ({ message_id, batch_number }) =>
        message_id === sum.message_id &&
        (batch_number === null || sum.batch_number === null || batch_number === sum.batch_number),
    );
  return ({ bank_account, amount, currency, booked_on }) => {
    const of_account = sums.get(bank_account);
    if (!of_account || booked_on === null || currency !== "usd") {
      return { is_booked_by_sum: false, sums: [] };
    }
    const fitting = of_account.sums.filter(
      (sum) =>
        sum.amount === amount &&
        !isTaken(sum) &&
        booked_on >= addDays(sum.execution_date, -BOOKED_DAYS_BEFORE) &&
        booked_on <= addDays(sum.execution_date, BOOKED_DAYS_AFTER),
    );
    if (of_account.is_booked_by_sum && fitting.length === 1) taken.push(fitting[0]!);
    return { is_booked_by_sum: of_account.is_booked_by_sum, sums: fitting };
  };
}

function fieldIds({ end_to_end_id, instruction_id, transaction_id = null }: Named) {
  return [end_to_end_id, instruction_id, transaction_id];
}

function textIds({ text = "" }: Named): string[] {
  return text.match(ACH_IDS) ?? [];
}

function addDays(day: string, days: number): string {
  return Temporal.PlainDate.from(day).add({ days }).toString();
}

function present(texts: readonly (string | null)[]): string[] {
  return [...new Set(texts.filter((text) => text !== null))];
}
