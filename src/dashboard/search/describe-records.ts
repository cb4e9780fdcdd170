import { minorDigits } from "../../catalogue/currencies.ts";
import { findOfframps } from "../../offramps/store.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { minorToText } from "../../platform/money.ts";
import { nameDetails, nameUsers } from "../names.ts";
import { type Found, KINDS } from "./store.ts";

/** A record, as a line of the results. */
export type Hit = Found & { title: string; note: string };

const WORDS: Readonly<Record<Found["kind"], string>> = {
  payout: "Payout",
  person: "Person",
  bank_account: "Bank account",
  quote: "Quote",
  onramp: "Onramp",
  refund: "Refund",
  invoice: "Invoice",
  request: "Request",
};
/** What belongs to no person. */
const NAMELESS: ReadonlySet<Found["kind"]> = new Set(["invoice", "request"] as const);

/** What each of these is, for people; without those whose person was erased. */
export async function describeRecords(
  deps: Pick<ModuleCore, "database" | "keyring">,
  account_id: string,
  found: readonly Found[],
): Promise<Hit[]> {
  const idsOf = (kind: Found["kind"]) =>
    found.filter((one) => one.kind === kind).map(({ id }) => id);
  const keys = idsOf("payout").map((id) => ({ account_id, id }));
  const payouts = keys.length > 0 ? await findOfframps(deps.database, keys) : [];
  const detail_ids = [
    ...idsOf("bank_account"),
    ...payouts.map(({ payment_detail_id }) => payment_detail_id),
  ];
  const user_ids = found.flatMap(({ user_id }) => user_id ?? []);
  const [users, details] = await Promise.all([
    nameUsers(deps, account_id, user_ids),
    nameDetails(deps, account_id, detail_ids),
  ]);
  const payerOf = ({ user_id }: Found) => (user_id && users[user_id]?.name) ?? "";
  const amounts = new Map(
    payouts.map((payout) => {
      const { destination_currency: currency, destination_amount, payment_detail_id } = payout;
      const amount = minorToText(destination_amount, minorDigits(currency)!);
      const payee = details[payment_detail_id]?.holder ?? "";
      return [payout.id, [`${amount} ${currency}`, payee] as const];
    }),
  );
  const describe = (one: Found): readonly [title: string, note: string] => {
    const detail = details[one.id];
    if (one.kind === "payout") return amounts.get(one.id) ?? ["", ""];
    if (one.kind === "person") return [payerOf(one), ""];
    if (one.kind === "bank_account" && detail) {
      return [`${detail.holder}, ${detail.bank} ··${detail.account}`, payerOf(one)];
    }
    return [`${WORDS[one.kind]} of ${payerOf(one)}`, `…${one.id.slice(-8)}`];
  };
  const order = (one: Found) => KINDS.indexOf(one.kind);
  return found
    .toSorted((a, b) => order(a) - order(b))
    .filter((one) => NAMELESS.has(one.kind) || payerOf(one) !== "")
    .map((one) => {
      const short = `${WORDS[one.kind]} …${one.id.slice(-8)}`;
      const [title, note] = NAMELESS.has(one.kind) ? [short, ""] : describe(one);
      return { ...one, title, note };
    });
}
