import { isToken } from "../catalogue/chains.ts";
import { minorDigits } from "../catalogue/currencies.ts";
import { hasForbiddenCharacters, textOf } from "../catalogue/text.ts";
import { recordCredits } from "../onramps/deposits/record-credits.ts";
import { type BankLine, findLine, listLines, openDeposits } from "../onramps/deposits/store.ts";
import { ONRAMP_STATUSES } from "../onramps/model.ts";
import { renderDeposit, renderOnramp } from "../onramps/render.ts";
import { FiatDepositAnswer, OnrampAnswer } from "../onramps/schemas.ts";
import { sandboxBankAccount } from "../partners/bank/sandbox.ts";
import { existsCreditOfAnother, insertSandboxCredit } from "../partners/bank/sandbox-store.ts";
import { notFound, type Problem, Refusal } from "../platform/errors.ts";
import type { AddRoute } from "../platform/http/route.ts";
import { Problems } from "../platform/problems.ts";
import { readAmount, readCode } from "../prices/read-values.ts";
import { forceOnrampStatus, type OnrampForceDeps } from "./force-onramp-status.ts";
import { nameOnce } from "./name-once.ts";
import { noPath, readStatus } from "./read-status.ts";
import { DepositBody, OnrampStatusBody } from "./schemas.ts";

export type OnrampSandboxDeps = OnrampForceDeps & { wake: () => void };

const TAG = "Sandbox";
const TEXT_LENGTH_MAX = 140;
const REFERENCE_LENGTH_MAX = 64;
/** Of one reference, with different amounts. */
const LINES_MAX = 100;
/** Ten digits before the point: sums and differences of them are exact in JSON. */
const AMOUNT_MAX = 1_000_000_000_000n;

export function addOnrampSandboxRoutes(addRoute: AddRoute, deps: OnrampSandboxDeps): void {
  addForceRoute(addRoute, deps);
  addDepositRoute(addRoute, deps);
}

function addForceRoute(addRoute: AddRoute, deps: OnrampSandboxDeps): void {
  addRoute({
    method: "PATCH",
    path: "/sandbox/onramps/:onramp_id",
    operation: "setSandboxOnramp",
    stores_nothing: true,
    summary: "Set the status of an onramp",
    description:
      "Moves the onramp through every state up to the requested one. Pays it if needed; every " +
      "step posts its ledger entries. Holds and approval apply.",
    tag: TAG,
    body: OnrampStatusBody,
    body_example: { onramp: { status: "crypto_sent" } },
    answer: OnrampAnswer,
    errors: ["invalid_transition", "on_hold"],
    handle: async ({ caller, params, body, problems }) => {
      const found = new Problems(problems);
      const status = readStatus("onramp", ONRAMP_STATUSES, body.onramp?.status, found);
      const key = { account_id: caller.account_id, id: params.onramp_id };
      const forced = await forceOnrampStatus(deps, key, status ?? null);
      if (forced === undefined) throw Refusal.of([...found.list, notFound("onramp_id")]);
      if (!status) throw Refusal.of(found.list);
      if (forced === null) throw Refusal.of([noPath("onramp.status")]);
      deps.wake();
      return renderOnramp(forced);
    },
  });
}

function addDepositRoute(addRoute: AddRoute, deps: OnrampSandboxDeps): void {
  const { database, keyring, clock, operator_id, wake } = deps;
  addRoute({
    method: "POST",
    path: "/sandbox/deposits",
    operation: "createSandboxDeposit",
    stores_nothing: true,
    summary: "Create a bank deposit",
    description:
      "Simulates a fiat deposit at the bank. The same `bank_reference` with the same amount is " +
      "the same deposit.",
    tag: TAG,
    body: DepositBody,
    body_example: {
      deposit: { amount: 1004, currency: "usd", deposit_message: "5JTB-EPJR-HBME" },
    },
    answer: FiatDepositAnswer,
    errors: ["currency_not_supported", "value_too_long"],
    handle: async ({ caller: { account_id }, body, problems, command }) => {
      const now = clock.now();
      const name = `SANDBOX-${nameOnce(command(null), now)}`;
      const credit = checkDeposit(body.deposit, problems, { now, name });
      const known = await listLines(database, operator_id, credit, LINES_MAX);
      const isOfAnother = async () =>
        account_id !== operator_id &&
        (known.some((line) => isPaidToAnother(line, account_id)) ||
          (await existsCreditOfAnother(database, account_id, credit)));
      if (await isOfAnother()) throw Refusal.of([REFERENCE_TAKEN]);
      const isSame = (line: BankLine) =>
        line.amount === credit.amount && line.currency === credit.currency;
      if (known.length === LINES_MAX && !known.some(isSame)) throw Refusal.of([REFERENCE_FULL]);
      await insertSandboxCredit(database, { ...credit, created_by: account_id });
      // Another account may have used it at the same time.
      if (await isOfAnother()) throw Refusal.of([REFERENCE_TAKEN]);
      await recordCredits(deps, clock);
      wake();
      const row = await findLine(database, operator_id, credit);
      const [deposit] = await openDeposits(database, keyring, row ? [row] : []);
      return renderDeposit(deposit!);
    },
  });
}

/** All accounts share the sandbox's bank: a known reference would show whose deposit it is. */
function isPaidToAnother(line: { onramp_account_id: string | null }, account_id: string): boolean {
  return line.onramp_account_id !== null && line.onramp_account_id !== account_id;
}

const REFERENCE_FULL: Problem = {
  field: "deposit.bank_reference",
  code: "record_invalid",
  message: `Send another reference: ${LINES_MAX} deposits with other amounts have this one.`,
};

const REFERENCE_TAKEN: Problem = {
  field: "deposit.bank_reference",
  code: "record_invalid",
  message: "Send another reference: this one is in use.",
};

function checkDeposit(
  input: Record<string, unknown> | undefined,
  problems: readonly Problem[],
  { now, name }: { now: Date; name: string },
) {
  const found = new Problems(problems).within("deposit");
  const currency = readCode(found, "currency", input?.currency);
  const is_fiat =
    currency !== undefined && minorDigits(currency) !== undefined && !isToken(currency);
  if (currency !== undefined && !is_fiat) {
    found.report("currency", "currency_not_supported", "Send a currency code such as usd.");
  }
  // Most problems of an amount do not depend on the currency.
  const amount = readAmount(found, "amount", input?.amount, is_fiat ? currency : "usd");
  if (amount !== undefined && amount > AMOUNT_MAX) {
    found.report("amount", "record_invalid", "Send a smaller amount.");
  }
  const text = textOf(input?.deposit_message);
  const bank_reference = textOf(input?.bank_reference) || name;
  const limits = [
    ["deposit_message", text, TEXT_LENGTH_MAX],
    ["bank_reference", bank_reference, REFERENCE_LENGTH_MAX],
  ] as const;
  for (const [field, value, length_max] of limits) {
    if (value.length > length_max) {
      found.report(field, "value_too_long", `Send at most ${length_max} characters.`);
    } else if (hasForbiddenCharacters(value)) {
      found.report(field, "record_invalid", "Remove NUL characters and invalid Unicode.");
    }
  }
  if (found.list.length > 0 || amount === undefined || currency === undefined) {
    throw Refusal.of(found.list);
  }
  const payer_name = "Sandbox Payer (invented)";
  const bank_account = sandboxBankAccount(currency);
  return { bank_account, bank_reference, amount, currency, text, payer_name, booked_at: now };
}
