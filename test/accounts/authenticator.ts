import { Secret, TOTP } from "otpauth";
import { expect } from "vitest";
import type { HttpVisitor } from "../harness/http-visitor.ts";

export const ENROL = "/dashboard/security/second-factor";

/**
 * An authenticator app with one key. `code()` is that of the current step, with which a test sets
 * it up, `code(1)` that of the next, which is accepted as well and was not used: each stays valid
 * for at least 30 seconds, however the test falls into the steps of the clock.
 */
export type Authenticator = { code(steps?: number): string };

export function authenticatorOf(base32: string): Authenticator {
  const totp = new TOTP({ secret: Secret.fromBase32(base32.replaceAll(" ", "")) });
  return { code: (steps = 0) => totp.generate({ timestamp: Date.now() + steps * 30_000 }) };
}

/** Sets up a second factor on the page, which the visitor may open. */
export async function enrol(visitor: HttpVisitor) {
  const page = await visitor.get(ENROL);
  expect(page.statusCode).toBe(200);
  const app = authenticatorOf(/Key: <code>([A-Z2-7 ]+)<\/code>/.exec(page.body)![1]!);
  const seed = /name="seed" value="([^"]+)"/.exec(page.body)![1]!;
  const done = await visitor.post(ENROL, { seed, code: app.code(), next: "/dashboard" });
  expect(done.statusCode).toBe(200);
  const codes = [...done.body.matchAll(/<code>([0-9A-Z-]{29})<\/code>/g)].map(([, code]) => code!);
  return { app, seed, codes };
}
