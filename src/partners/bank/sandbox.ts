import type { Session } from "../../platform/db/database.ts";
import type { BankAnswer, BankPort } from "./port.ts";
import { traceNumber, uetrOf } from "./proofs.ts";
import { insertSandboxPayouts, listSandboxAnswers } from "./sandbox-store.ts";

export const SANDBOX_OUTCOMES = ["fiat_sent", "bounced", "failed", "stuck"] as const;
export type SandboxOutcome = (typeof SANDBOX_OUTCOMES)[number];

/** What the bank of the sandbox answers, in order, for each outcome that can be asked for. */
const SCRIPTS: Record<SandboxOutcome, readonly BankAnswer["kind"][]> = {
  fiat_sent: ["booked"],
  bounced: ["booked", "returned"],
  failed: ["rejected"],
  stuck: [],
};

/** A bank that we play ourselves: it pays everything at once unless asked for something else. */
export function createSandboxBank(session: Session): BankPort {
  return {
    submit: async (instructions) => {
      const scripts = instructions.map((instruction) => {
        const wanted = SANDBOX_OUTCOMES.find((known) => known === instruction.sandbox_outcome);
        const outcome = wanted ?? "fiat_sent";
        return { instruction, outcome, kinds: SCRIPTS[outcome] };
      });
      await insertSandboxPayouts(session, scripts);
    },
    listAnswers: async (cursor, limit) => {
      const rows = await listSandboxAnswers(session, cursor, limit);
      const last = rows.at(-1);
      const answers = rows.map(({ number: _, ...answer }) => ({
        ...answer,
        trace_number: answer.currency === "usd" ? traceNumber(answer.end_to_end_id) : null,
        uetr: uetrOf(answer.end_to_end_id),
      }));
      return { answers, cursor: last ? String(last.number) : cursor };
    },
  };
}
