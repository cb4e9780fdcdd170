import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { EVERY, type LimitRule } from "../../src/limits/model.ts";
import { setLimit } from "../../src/limits/set-limit.ts";
import { addOwedUser } from "../approvals/proposal-fixture.ts";
import { addPaymentDetail, addQuote, execute } from "../harness/ramp.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";

let directory: string;
let server: TestServer;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "sliproad-spread-"));
  const path = join(directory, "risk.json");
  writeFileSync(path, JSON.stringify({ spread_basis_points: { usd: 1_000 } }));
  server = await startTestServer({
    environment: {
      SLIPROAD_MARKET_RISK_FILE: path,
      SLIPROAD_DOCUMENTS: "never",
      SLIPROAD_TRAVEL_RULE_ABOVE_USD: "95",
    },
  });
});
afterAll(async () => {
  await server.close();
  rmSync(directory, { recursive: true });
});

async function limit(wanted: Pick<LimitRule, "scope" | "time_window" | "amount_max">) {
  const { database, clock } = server.core;
  const by = { operator_id: server.account_id, actor: "command line", reason: "test" } as const;
  const rule = { account_id: server.account_id, user_id: EVERY, count_max: null, ...wanted };
  await database.transaction(async (tx) => setLimit(tx, rule, by, clock.now()));
}

const usedBy = async (user_id: string) =>
  (await server.call("GET", `/limits?user_id=${user_id}`)).body.limits.find(
    ({ scope }: { scope: string }) => scope === "user",
  ).used;

it("with a spread on usd, tokens that leave count with their whole value", async () => {
  await limit({ scope: "user", time_window: "day", amount_max: 300_00n });
  const { user_id, refund } = await addOwedUser(server, 1_000);
  const onramp = (destination_amount: number) =>
    server.call("POST", `/users/${user_id}/onramps`, {
      onramp: {
        destination_amount,
        crypto_currency: "usdc",
        crypto_rails: "polygon",
        destination_address: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
        fiat_currency: "usd",
        fiat_rails: "ach_push",
      },
    });
  expect((await refund(300.01)).status).toBe(422);
  expect((await refund(100)).status).toBe(200);
  expect(await usedBy(user_id)).toBe(100);
  expect((await onramp(200.01)).status).toBe(422);
  expect((await onramp(100)).status).toBe(200);
  expect(await usedBy(user_id)).toBe(200);
  expect((await refund(100.01)).status).toBe(422);
  expect((await refund(100)).status).toBe(200);
  const records = await waitFor(async () => {
    const { travel_records } = (await server.call("GET", "/travel_records")).body;
    return travel_records.length === 2 && travel_records;
  });
  expect(records).toMatchObject([{ amount_usd: 100 }, { amount_usd: 100 }]);
});

it("a payout counts with what is paid out", async () => {
  await limit({ scope: "payout", time_window: "single", amount_max: 90_00n });
  const { user_id } = await addOwedUser(server, 1);
  const payment_detail_id = await addPaymentDetail(server, user_id, "usd");
  const pay = async (destination_amount: number) => {
    const quote_id = await addQuote(server, user_id);
    const offramp = { payment_detail_id, destination_amount, destination_currency: "usd" };
    const path = `/users/${user_id}/quotes/${quote_id}/offramps`;
    await server.call("POST", path, { offramps: [offramp] });
    return execute(server, user_id, quote_id);
  };
  // 90 usd cost 100 usdc and the fee.
  expect((await pay(90.01)).status).toBe(422);
  expect((await pay(90)).status).toBe(200);
  expect(await usedBy(user_id)).toBe(90);
});
