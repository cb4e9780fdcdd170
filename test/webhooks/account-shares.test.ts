import { expect, it } from "vitest";
import { AccountShares } from "../../src/webhooks/delivery/account-shares.ts";

it("ten accounts whose endpoints hang leave long sets to the others", () => {
  const [long_max, own_max] = [500, 125];
  const shares = new AccountShares(own_max);
  const taken: string[] = [];
  const free = () => long_max - taken.length;
  for (let account = 0; account < 10; account += 1) {
    const endpoint = { account_id: `greedy ${account}` };
    while (free() > 0 && !shares.isUsedUp(endpoint, free())) {
      shares.begin([endpoint]).take();
      taken.push(endpoint.account_id);
    }
  }
  expect(taken.filter((account_id) => account_id === "greedy 0")).toHaveLength(own_max);
  expect(free()).toBeGreaterThan(0);
  expect(shares.isUsedUp({ account_id: "other" }, free())).toBe(false);
});
