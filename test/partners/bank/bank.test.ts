import { randomUUID } from "node:crypto";
import { describe } from "vitest";
import { createSandboxBank, sandboxBankAccount } from "../../../src/partners/bank/sandbox.ts";
import { insertSandboxCredit } from "../../../src/partners/bank/sandbox-store.ts";
import { digestBeneficiary } from "../../../src/partners/sandbox-digests.ts";
import { bankSuite, type Outcome } from "./bank-suite.ts";
import { openFileBankFixture } from "./file-bank-fixture.ts";
import { playFileBank } from "./played-file-bank.ts";
import { runBankProcess } from "./run-bank-process.ts";

const INDEX_KEY = Buffer.alloc(32, 1);
const REQUESTED: Record<Outcome, string> = {
  booked: "fiat_sent",
  rejected: "failed",
  returned: "bounced",
};

describe("the sandbox's bank", () => {
  bankSuite(async () => {
    const fixture = await openFileBankFixture();
    const { database, database_url } = fixture;
    const outcomes = new Map<string, string>();
    const count = async (where: string, values: readonly unknown[]) => {
      const rows = await database.query(`select from sandbox_bank_payouts where ${where}`, values);
      return rows.length;
    };
    return {
      port: createSandboxBank({ database, index_key: INDEX_KEY }, async () => outcomes),
      instruction: fixture.instruction,
      plan: ({ end_to_end_id }, outcome) => outcomes.set(end_to_end_id, REQUESTED[outcome]),
      settle: async () => {},
      countPaid: ({ end_to_end_id, amount, currency, beneficiary }) =>
        count("end_to_end_id = $1 and amount = $2 and currency = $3 and beneficiary = $4", [
          ...[end_to_end_id, amount, currency],
          digestBeneficiary(INDEX_KEY, end_to_end_id, beneficiary),
        ]),
      countAll: () => count("true", []),
      payIn: (credit) =>
        insertSandboxCredit(database, {
          ...{ ...credit, currency: "eur", booked_at: new Date() },
          bank_account: sandboxBankAccount("eur"),
          created_by: randomUUID(),
        }),
      listReturned: async ({ key }) => {
        const rows = await database.query<{ amount: bigint }>(
          "select amount from sandbox_bank_returns where key = $1",
          [key],
        );
        return rows.map(({ amount }) => amount);
      },
      payInProcess: (instructions, killed_at) =>
        runBankProcess(database_url, null, instructions, killed_at),
      // Each is a process of its own; `npm run soak` tries every call.
      calls_between_kills: process.env.LONG_TESTS ? 1 : 3,
      close: fixture.close,
    };
  });
});

describe("a bank that takes files", () => {
  bankSuite(playFileBank);
});
