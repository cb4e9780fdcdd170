import { buffer } from "node:stream/consumers";
import type {
  IdentityApplication,
  IdentityOutcome,
  IdentityPort,
  IdentityResult,
} from "../../src/partners/identity/port.ts";

/** A vendor that answers when the test decides: at once, later, twice, or not at all. */
export type ScriptedIdentity = IdentityPort & {
  /** The submitted applications, in order, with the bytes of their files. */
  received: { application: IdentityApplication; files: Map<string, Buffer> }[];
  /** How often `submit` was called, including calls that were made to fail. */
  calls(): number;
  /** What `submit` returns at once; null: nothing yet. */
  atOnce: IdentityOutcome | null;
  failNext(times: number): void;
  /** Adds a result to the list, permanently. */
  tell(result: IdentityResult): void;
};

export function createScriptedIdentity(): ScriptedIdentity {
  const reported: IdentityResult[] = [];
  const known = new Map<string, IdentityResult[]>();
  let calls = 0;
  let failures = 0;
  const identity: ScriptedIdentity = {
    received: [],
    calls: () => calls,
    atOnce: null,
    failNext: (times) => {
      failures = times;
    },
    tell: (result) => {
      reported.push(result);
      known.get(result.application_id)?.push(result);
    },
    submit: async (application) => {
      calls += 1;
      if (failures > 0) {
        failures -= 1;
        throw new Error("the vendor is away");
      }
      const { account_id, application_id } = application;
      const before = known.get(application_id);
      if (before) return before;
      const files = new Map<string, Buffer>();
      for (const file of application.files) {
        files.set(file.slot, await buffer(await file.read()));
      }
      identity.received.push({ application, files });
      const outcome = identity.atOnce;
      const comment = outcome === "retry_required" ? "Take the picture again." : null;
      const results = outcome
        ? [{ account_id, application_id, result_id: `r-${application_id}`, outcome, comment }]
        : [];
      known.set(application_id, results);
      return results;
    },
    listResults: async (cursor, limit) => {
      const from = Number(cursor ?? 0);
      const results = reported.slice(from, from + limit);
      return { results, cursor: results.length > 0 ? String(from + results.length) : cursor };
    },
  };
  return identity;
}
