import { expect, it } from "vitest";
import { Shares } from "../../src/platform/shares.ts";

function takeAll(shares: Shares, account_id: string, amount?: number): void {
  while (shares.take(account_id, amount));
}

it("one account uses half, or its part where that is less", () => {
  const [half, quarter] = [new Shares(1_000), new Shares(1_000, 250)];
  for (const shares of [half, quarter]) takeAll(shares, "a");
  expect([half.of("a"), quarter.of("a")]).toEqual([500, 250]);
});

it("however many accounts take all they can, again and again, the next one finds a share", () => {
  const shares = new Shares(1_000, 250);
  const greedy = Array.from({ length: 10 }, (_, at) => `greedy ${at}`);
  // What they use ends after a while, and they take again.
  for (let round = 0; round < 1_000; round += 1) {
    for (const account_id of greedy) {
      takeAll(shares, account_id);
      for (let ended = 0; ended < 20 && shares.of(account_id) > 0; ended += 1) {
        shares.leave(account_id);
      }
    }
  }
  for (const account_id of greedy) takeAll(shares, account_id);
  takeAll(shares, "other");
  expect(shares.of("other")).toBeGreaterThanOrEqual(20);
});

it("counts amounts; what is larger than everything is taken alone", () => {
  const shares = new Shares(100);
  expect(shares.take("a", 1_000)).toBe(true);
  expect(shares.take("b")).toBe(false);
  shares.leave("a", 1_000);
  expect(shares.take("a", 40)).toBe(true);
  expect(shares.take("a", 10)).toBe(true);
  expect(shares.take("a", 1)).toBe(false);
  // The first of another account needs only to fit.
  expect(shares.take("b", 45)).toBe(true);
  expect(shares.take("b", 5)).toBe(false);
  expect(shares.sum).toBe(95);
  shares.clear();
  expect([shares.sum, shares.of("a")]).toEqual([0, 0]);
});
