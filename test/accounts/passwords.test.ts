import { expect, test } from "vitest";
import { hashPassword, verifyPassword } from "../../src/accounts/sign-in/passwords.ts";

test("a hash is salted and verifies with accents typed in any Unicode form", async () => {
  const password_hash = await hashPassword("schlüssel-bund");
  expect(await hashPassword("schlüssel-bund")).not.toBe(password_hash);
  expect(await verifyPassword(password_hash, "schlu\u0308ssel-bund")).toBe(true);
  expect(await verifyPassword(password_hash, "schluessel-bund")).toBe(false);
  expect(await verifyPassword(null, "schlüssel-bund")).toBe(false);
});

test("a password waits in a bounded queue, and a full queue refuses", async () => {
  const outcomes = await Promise.allSettled(
    Array.from({ length: 70 }, () => verifyPassword(null, "x")),
  );
  const refused = outcomes.filter(({ status }) => status === "rejected");
  expect(refused).toHaveLength(2);
  expect(refused[0]).toMatchObject({ reason: { code: "unavailable", retry_after_seconds: 5 } });
  expect(await verifyPassword(null, "x")).toBe(false);
});

test("people who are known come before strangers, and have places of their own", async () => {
  const ended: string[] = [];
  const tryAs = async (who: string, is_known: boolean) => {
    await verifyPassword(null, "x", is_known);
    ended.push(who);
  };
  const flood = Array.from({ length: 70 }, () => tryAs("stranger", false));
  flood.map((one) => one.catch(() => {}));
  await tryAs("known", true);
  // Those that had begun, four, may have ended before.
  expect(ended.length).toBeLessThanOrEqual(9);
  expect(
    (await Promise.allSettled(flood)).filter(({ status }) => status === "rejected").length,
  ).toBe(2);
});
