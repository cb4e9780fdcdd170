import Type from "typebox";
import { findAccountById } from "../../accounts/store.ts";
import { minorDigits } from "../../catalogue/currencies.ts";
import { findDepositCodes } from "../../onramps/deposits/deposit-code.ts";
import { findDeposit, openDeposits } from "../../onramps/deposits/store.ts";
import type { FiatDeposit } from "../../onramps/model.ts";
import { findOnramps, type OnrampRow } from "../../onramps/store.ts";
import type { Session } from "../../platform/db/database.ts";
import { assertFound } from "../../platform/errors.ts";
import type { AddRoute } from "../../platform/http/route.ts";
import { isId } from "../../platform/ids.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { minorToText } from "../../platform/money.ts";
import { nameOfUser } from "../../users/model.ts";
import { findUsers, openUsers } from "../../users/store.ts";
import { listUnpaidOnramps } from "./store.ts";

type CandidateDeps = Pick<ModuleCore, "database" | "keyring" | "operator_id">;

const EACH_MAX = 4;

/** What an unmatched deposit may be for, the likeliest first. */
export function addCandidatesRoute(addRoute: AddRoute, deps: CandidateDeps): void {
  const { database, keyring } = deps;
  addRoute({
    method: "GET",
    path: "/dashboard/api/deposits/:deposit_id/candidates",
    operation: "listDepositCandidates",
    summary: "List the onramps that a deposit may be for",
    description: "Of all accounts. Only the operator has deposits.",
    tag: "Dashboard",
    members_only: true,
    answer: Type.Unknown(),
    errors: [],
    handle: async ({ caller: { account_id }, params, problems }) => {
      const id = params.deposit_id;
      const row = isId(id) ? await findDeposit(database, account_id, id) : undefined;
      assertFound(row, "deposit_id", problems);
      const [deposit] = await openDeposits(database, keyring, [row]);
      const onramps = await listCandidates(database, deposit!);
      const candidates = await Promise.all(
        onramps.map((onramp) => describe(deps, database, deposit!, onramp)),
      );
      return JSON.stringify({ candidates: candidates.sort(byLikelihood) });
    },
  });
}

/** The one that the transfer names, and those of about its amount. */
async function listCandidates(session: Session, deposit: FiatDeposit): Promise<OnrampRow[]> {
  const { onramp_account_id: account_id, onramp_id: id } = deposit;
  const [named, near] = await Promise.all([
    account_id && id ? findOnramps(session, [{ account_id, id }]) : [],
    listUnpaidOnramps(session, deposit, EACH_MAX),
  ]);
  const unpaid = named.filter(({ status }) => status === "initiated");
  return [...unpaid, ...near.filter((onramp) => onramp.id !== unpaid[0]?.id)];
}

type Candidate = Awaited<ReturnType<typeof describe>>;

async function describe(
  { keyring }: CandidateDeps,
  session: Session,
  deposit: FiatDeposit,
  onramp: OnrampRow,
) {
  const { account_id, user_id, deposit_amount, deposit_message } = onramp;
  const [users, account] = await Promise.all([
    findUsers(session, [{ account_id, user_id }]),
    findAccountById(session, account_id),
  ]);
  const [user] = await openUsers(session, keyring, users);
  const difference = deposit.amount - deposit_amount;
  return {
    onramp_id: onramp.id,
    person: user ? nameOfUser(user) : null,
    account: account?.name ?? null,
    amount: minorToText(deposit_amount, minorDigits(onramp.fiat_currency)!),
    difference: minorToText(difference, minorDigits(onramp.fiat_currency)!),
    code: deposit_message,
    /** Its code stands in the text of the transfer. */
    is_named: findDepositCodes(deposit.details.text).some(({ code }) => code === deposit_message),
    created_at: onramp.created_at,
  };
}

function byLikelihood(one: Candidate, other: Candidate): number {
  if (one.is_named !== other.is_named) return one.is_named ? -1 : 1;
  return Math.abs(Number(one.difference)) - Math.abs(Number(other.difference));
}
