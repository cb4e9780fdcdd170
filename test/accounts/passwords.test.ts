import { expect, test } from "vitest";
import { hashPassword, verifyPassword } from "../../src/accounts/sign-in/passwords.ts";
import { contextOfNetwork, runFor } from "../../src/platform/db/caller-context.ts";

test("a hash is salted and verifies with accents typed in any Unicode form", async () => {
  const password_hash = await hashPassword("schlüssel-bund");
  expect(await hashPassword("schlüssel-bund")).not.toBe(password_hash);
  expect(await verifyPassword(password_hash, "schlu\u0308ssel-bund")).toBe(true);
  expect(await verifyPassword(password_hash, "schluessel-bund")).toBe(false);
  expect(await verifyPassword(null, "schlüssel-bund")).toBe(false);
});

const ofNetwork = <Result>(network: string, work: () => Result) =>
  runFor(contextOfNetwork(network), work);

test("strangers wait in a bounded queue, of which a network has its share", async () => {
  const askFrom = (network: string, count: number) =>
    ofNetwork(network, () => Array.from({ length: count }, () => verifyPassword(null, "x")));
  const outcomes = await Promise.allSettled([
    ...askFrom("192.0.2.0", 40),
    ...askFrom("198.51.100.0", 10),
  ]);
  const refused = outcomes.flatMap(({ status }, at) => (status === "rejected" ? [at] : []));
  expect(refused).toEqual([32, 33, 34, 35, 36, 37, 38, 39]);
  expect(outcomes[32]).toMatchObject({ reason: { code: "unavailable", retry_after_seconds: 5 } });
  expect(await verifyPassword(null, "x")).toBe(false);
});

test("accounts take turns, and all strangers are one more", async () => {
  const ended: string[] = [];
  const tryAs = async (turn: string | null) => {
    await verifyPassword(null, "x", turn);
    ended.push(turn ?? "stranger");
  };
  const flood = [
    ...Array.from({ length: 40 }, () => tryAs("flooding")),
    ...Array.from({ length: 12 }, () => tryAs(null)),
  ];
  await Promise.all([tryAs("other"), tryAs("other"), tryAs("third")]);
  // Of the flood and of strangers about as many, and those that had begun.
  expect(ended.length).toBeLessThanOrEqual(14);
  expect(ended).toContain("stranger");
  await Promise.all(flood);
});
