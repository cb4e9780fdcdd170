import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import {
  IDENTITY_OUTCOMES,
  type IdentityApplication,
  type IdentityPort,
} from "../../src/partners/identity/port.ts";

/** The guarantees of every identity adapter. */
export function testIdentityAdapter(name: string, open: () => Promise<IdentityPort>): void {
  describe(`identity adapter ${name}`, () => {
    it("answers only about the application that it received", async () => {
      const port = await open();
      const application = newApplication();
      for (const result of await port.submit(application)) {
        expect(result.account_id).toBe(application.account_id);
        expect(result.application_id).toBe(application.application_id);
        expect(IDENTITY_OUTCOMES).toContain(result.outcome);
        expect(result.result_id).not.toBe("");
      }
    });

    it("recognizes an application: the same results under the same ids", async () => {
      const port = await open();
      const application = newApplication();
      const first = await port.submit(application);
      expect(await port.submit(application)).toEqual(first);
    });

    it("lists results from the beginning, in pages, and keeps the cursor at the end", async () => {
      const port = await open();
      await port.submit(newApplication());
      await port.submit(newApplication());
      const seen: string[] = [];
      let cursor: string | null = null;
      for (let pages = 0; pages < 100; pages += 1) {
        const page = await port.listResults(cursor, 1);
        expect(page.results.length).toBeLessThanOrEqual(1);
        seen.push(...page.results.map((one) => `${one.application_id} ${one.result_id}`));
        if (page.results.length === 0) {
          expect(page.cursor).toBe(cursor);
          break;
        }
        cursor = page.cursor;
      }
      expect(new Set(seen).size).toBe(seen.length);
    });
  });
}

export function newApplication(): IdentityApplication {
  return {
    account_id: crypto.randomUUID(),
    application_id: crypto.randomUUID(),
    user_id: crypto.randomUUID(),
    beneficiary_type: "individual",
    identity: { first_name: "Marisol", last_name: "Inventada" },
    files: [
      { slot: "selfie", type: "png", read: async () => Readable.from([Buffer.from("picture")]) },
    ],
  };
}
