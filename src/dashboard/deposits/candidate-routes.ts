import Type from "typebox";
import { findAccountById } from "../../accounts/store.ts";
import { minorDigits } from "../../catalogue/currencies.ts";
import { findDepositCodes } from "../../onramps/deposits/deposit-code.ts";
import { findDeposit, openDeposits } from "../../onramps/deposits/store.ts";
import type { FiatDeposit } from "../../onramps/model.ts";
import { findCodes, findOnramps, findOwners, type OnrampRow } from "../../onramps/store.ts";
import type { Session } from "../../platform/db/database.ts";
import { assertFound, Refusal } from "../../platform/errors.ts";
import type { AddRoute } from "../../platform/http/route.ts";
import { isId } from "../../platform/ids.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { minorToText } from "../../platform/money.ts";
import { closedObject } from "../../platform/schema-parts.ts";
import { nameOfUser } from "../../users/model.ts";
import { findUsers, openUsers } from "../../users/store.ts";
import { listUnpaidOnramps } from "./store.ts";

type CandidateDeps = Pick<ModuleCore, "database" | "keyring" | "operator_id">;

/** Of the nearest amounts below and above. */
const EACH_MAX = 10;
const SEARCH_LENGTH_MAX = 200;
const CandidateQuery = closedObject({
  /** A deposit code, in any spelling, or an onramp's id. */
  search: Type.Optional(Type.String({ maxLength: SEARCH_LENGTH_MAX })),
});

/** What an unmatched deposit may be for, the likeliest first. */
export function addCandidatesRoute(addRoute: AddRoute, deps: CandidateDeps): void {
  const { database, keyring } = deps;
  addRoute({
    method: "GET",
    path: "/dashboard/api/deposits/:deposit_id/candidates",
    operation: "listDepositCandidates",
    summary: "List the onramps that a deposit may be for",
    description:
      "Of all accounts: those of about its amount, or the one with this code or id. Only the " +
      "operator has deposits.",
    tag: "Dashboard",
    members_only: true,
    query: CandidateQuery,
    answer: Type.Unknown(),
    errors: [],
    handle: async ({ caller: { account_id }, params, query, problems }) => {
      if (problems.length > 0) throw Refusal.of(problems);
      const id = params.deposit_id;
      const row = isId(id) ? await findDeposit(database, account_id, id) : undefined;
      assertFound(row, "deposit_id", problems);
      const [deposit] = await openDeposits(database, keyring, [row]);
      const search = query.search?.trim();
      const onramps = search
        ? await searchCandidates(database, deposit!, search)
        : await listCandidates(database, deposit!);
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

/** By code or id; only what this deposit can pay. */
async function searchCandidates(
  session: Session,
  { currency }: FiatDeposit,
  search: string,
): Promise<OnrampRow[]> {
  const owners = isId(search)
    ? await findOwners(session, [search.toLowerCase()])
    : await findCodes(
        session,
        findDepositCodes(search).map(({ code }) => code),
      );
  const keys = owners.map(({ account_id, onramp_id: id }) => ({ account_id, id }));
  const found = await findOnramps(session, keys);
  return found.filter(
    ({ status, fiat_currency }) => status === "initiated" && fiat_currency === currency,
  );
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
