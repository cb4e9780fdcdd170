import { digestBeneficiary, isPartOf, type SandboxDeps } from "../sandbox-digests.ts";
import { assertSamePayment } from "./known-payment.ts";
import type { BankAnswer, BankCoordinates, BankPort, Instruction } from "./port.ts";
import { traceNumber, uetrOf } from "./proofs.ts";
import {
  insertSandboxPayouts,
  insertSandboxReturn,
  listSandboxAnswers,
  listSandboxCredits,
  listSandboxPayouts,
} from "./sandbox-store.ts";

export const SANDBOX_OUTCOMES = ["fiat_sent", "bounced", "failed", "stuck"] as const;
type SandboxOutcome = (typeof SANDBOX_OUTCOMES)[number];

/** The answers of the sandbox bank, in order, for each outcome that can be requested. */
const SCRIPTS: Record<SandboxOutcome, readonly BankAnswer["kind"][]> = {
  fiat_sent: ["booked"],
  bounced: ["booked", "returned"],
  failed: ["rejected"],
  stuck: [],
};

const INVENTED_BANK = {
  bank_name: "Sandbox Bank (fictitious)",
  bank_address: "1 Invented Street, Nowhere",
  bank_beneficiary_name: "Sliproad Sandbox",
};

/** Invented numbers with valid check digits, so that forms accept them. */
const SANDBOX_ACCOUNTS: Readonly<Record<string, BankCoordinates>> = {
  usd: {
    bank_account_number: "9900012345",
    bank_routing_number: "999999992",
    bank_iban: null,
    bank_swift_bic: "SLIPUS00XXX",
    ...INVENTED_BANK,
  },
  eur: {
    bank_account_number: null,
    bank_routing_number: null,
    bank_iban: "LT069999900000012345",
    bank_swift_bic: "SLIPLT00XXX",
    ...INVENTED_BANK,
  },
};

export function sandboxCoordinates(currency: string): BankCoordinates | null {
  return Object.hasOwn(SANDBOX_ACCOUNTS, currency) ? SANDBOX_ACCOUNTS[currency]! : null;
}

/** Our account at the sandbox bank that receives a currency. */
export function sandboxBankAccount(currency: string): string {
  return `sandbox-${currency}`;
}

/** The requested outcomes, by end-to-end id; all others are paid. */
export type FindOutcomes = (
  instructions: readonly Instruction[],
) => Promise<ReadonlyMap<string, string>>;

/** A simulated bank: it pays everything at once unless another outcome is requested. */
export function createSandboxBank(
  { database: session, index_key }: SandboxDeps,
  findOutcomes: FindOutcomes = async () => new Map(),
): BankPort {
  return {
    submit: async (instructions) => {
      const requested = await findOutcomes(instructions);
      const scripts = instructions.map((instruction) => {
        const wanted = requested.get(instruction.end_to_end_id);
        const outcome = SANDBOX_OUTCOMES.find((known) => known === wanted) ?? "fiat_sent";
        const { end_to_end_id } = instruction;
        const beneficiary = digestBeneficiary(index_key, end_to_end_id, instruction.beneficiary);
        return { instruction, beneficiary, outcome, kinds: SCRIPTS[outcome] };
      });
      // Each once, and none known before.
      if ((await insertSandboxPayouts(session, scripts)) === scripts.length) return;
      // Afterwards, when nobody can change it any more; repeating what was right does no harm.
      const ids = instructions.map(({ end_to_end_id }) => end_to_end_id);
      const known = new Map(
        (await listSandboxPayouts(session, ids)).map((row) => [row.end_to_end_id, row]),
      );
      for (const { instruction, beneficiary } of scripts) {
        const paid = known.get(instruction.end_to_end_id)!;
        const is_same = paid.beneficiary === null || isPartOf(beneficiary, paid.beneficiary);
        assertSamePayment(instruction, paid, is_same);
      }
    },
    listAnswers: async (cursor, limit) => {
      const rows = await listSandboxAnswers(session, cursor, limit);
      const last = rows.at(-1);
      const answers = rows.map(({ number: _, ...answer }) => ({
        ...answer,
        bank_account: answer.kind === "rejected" ? null : sandboxBankAccount(answer.currency),
        paid_from: sandboxBankAccount(answer.currency),
        trace_number: answer.currency === "usd" ? traceNumber(answer.end_to_end_id) : null,
        uetr: uetrOf(answer.end_to_end_id),
        reasons: [],
      }));
      return { answers, cursor: last ? String(last.number) : cursor };
    },
    payingAccount: ({ currency }) => sandboxBankAccount(currency),
    coordinatesFor: sandboxCoordinates,
    listCredits: async (cursor, limit) => {
      const rows = await listSandboxCredits(session, cursor, limit);
      const last = rows.at(-1);
      const credits = rows.map(({ number: _, ...credit }) => credit);
      return { credits, cursor: last ? String(last.number) : cursor };
    },
    returnCredit: async (request) => {
      await insertSandboxReturn(session, request);
      return "booked";
    },
  };
}
