import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { addMember } from "../approvals/proposal-fixture.ts";
import { runCommand } from "../harness/command-line.ts";
import { addUser } from "../harness/ramp.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { findFault, good, openStory, settle } from "../offramps/story.ts";

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_DOCUMENTS: "never" } });
  Object.assign(environment, {
    ...{ DATABASE_URL: server.db.url, SLIPROAD_DATA_DIR: server.data_dir },
  });
});
afterAll(() => server.close());

/** Of the commands. */
const environment: Record<string, string> = {};
const run = (...args: string[]) => runCommand(args, environment);

async function runGood(...args: string[]) {
  const { code, stdout, stderr } = await run(...args, "--json");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout);
}

/** Each command with the beginning of its error. */
async function expectRefused(...cases: [error: string, ...args: string[]][]): Promise<void> {
  const ended = await Promise.all(cases.map(([, ...args]) => run(...args)));
  expect(ended.map(({ code }) => code)).toEqual(cases.map(() => 1));
  for (const [at, [error]] of cases.entries()) expect(ended[at]!.stderr).toContain(error);
}

describe("sliproad limits", () => {
  const DAY = ["--scope", "account", "--window", "day"];

  it("sets a limit, which the API then shows", async () => {
    const { account_id } = server;
    const set = ["limits", "set", ...DAY, "--account", account_id];
    expect(await runGood(...set, "--amount", "2500.50", "--count", "3")).toEqual({
      limit: {
        ...{ account_id, user_id: null, scope: "account", window: "day" },
        ...{ amount_max: 2500.5, count_max: 3 },
      },
      proposal: null,
    });
    const { limits } = good(await server.call("GET", "/limits"));
    expect(limits).toMatchObject([{ scope: "account", amount_max: 2500.5, count_max: 3 }]);
  });

  it("removes a limit without an amount and a number", async () => {
    expect((await runGood("limits", "list")).limits).toHaveLength(1);
    await runGood("limits", "set", ...DAY, "--account", server.account_id);
    expect((await run("limits", "list")).stdout).toBe("None.\n");
    expect(good(await server.call("GET", "/limits")).limits).toEqual([]);
  });

  it("names the option that is wrong and how to write it", async () => {
    const set = ["limits", "set", ...DAY] as const;
    await expectRefused(
      ["--amount must be an amount in usd", ...set, "--amount", "1,000"],
      ["--amount must be an amount in usd", ...set, "--amount", "-5"],
      ["--count must be a number", ...set, "--count", "many"],
      ["--window must be single", "limits", "set", "--scope", "payout", "--window", "day"],
      ["There is no account Nobody", ...set, "--account", "Nobody", "--amount", "1"],
      ["--user needs --account", ...set, "--user", crypto.randomUUID()],
      ["--user must be a user's id", ...set, "--account", server.account_id, "--user", "me"],
      ["scope", "limits", "set", "--scope", "galaxy", "--window", "day"],
    );
    expect((await runGood("limits", "list")).limits).toEqual([]);
  });
});

describe("sliproad accounts freeze", () => {
  it("stops what leaves until the account is unfrozen", async () => {
    const { account_id, key } = await server.addAccount("Held Ltd");
    const user_id = await addUser(server, key);
    const target = ["--account", "Held Ltd", "--reason", "reported"];
    expect(await runGood("accounts", "freeze", ...target)).toEqual({
      account: { id: account_id, name: "Held Ltd", frozen: true },
    });
    const refund = { token: "usdc", chain: "polygon", amount: 5, address: `0x${"1".repeat(40)}` };
    const ask = () => server.call("POST", `/users/${user_id}/refunds`, { refund }, { key });
    const codes = async () => (await ask()).body.errors.map(({ code }: { code: string }) => code);
    expect(await codes()).toContain("on_hold");
    expect((await run("accounts", "unfreeze", ...target)).stdout).toContain("can pay again");
    expect(await codes()).not.toContain("on_hold");
  });

  it("needs an account that exists and a reason", async () => {
    await expectRefused(
      ["There is no account Nobody", "accounts", "freeze", "--account", "Nobody", "--reason", "x"],
      ["--reason", "accounts", "freeze", "--account", server.account_id],
      ["--account", "accounts", "unfreeze", "--reason", "x"],
    );
  });
});

describe("sliproad accounts set", () => {
  it("changes the approval amount at once while one person can vote, then by approval", async () => {
    const { account_id, key } = await server.addAccount("Careful Ltd");
    const set = ["accounts", "set", "--account", account_id];
    const above = (usd: string) => runGood(...set, "--approval-above", usd);
    expect(await above("50")).not.toHaveProperty("proposal");
    const ada = await addMember(server, "admin", account_id);
    const operator = await addMember(server, "admin");
    const { id } = (await above("1000000")).proposal;
    const shown = good(await server.call("GET", `/proposals/${id}`, undefined, { key })).proposal;
    expect(shown.details).toContainEqual({
      label: "Approval amount",
      value: "50 usd → 1000000 usd",
    });
    await ada.confirm(id);
    const amount = async () => {
      const [row] = await server.db.database.query<{ approval_above_usd: bigint }>(
        "select approval_above_usd from account_controls where account_id = $1",
        [account_id],
      );
      return row!.approval_above_usd;
    };
    await settle(server);
    expect(await amount()).toBe(5000n);
    await operator.confirm(id);
    await settle(server);
    expect(await amount()).toBe(100_000_000n);
    await expectRefused(
      ["--approval-above must be an amount", ...set, "--approval-above", "much"],
      ["Set at least one of", ...set],
    );
  });
});

describe("sliproad exposure", () => {
  it("lists what has to be bought, and records a conversion once", async () => {
    const story = await openStory(server, [{ amount: 1000 }]);
    await story.execute();
    await story.waitForStatus("fiat_sent");
    const eur = async () =>
      (await runGood("exposure", "list")).exposures.find(
        ({ currency }: { currency: string }) => currency === "eur",
      );
    expect(await eur()).toMatchObject({ amount: "1004", amount_max_usd: null });
    const trade = ["exposure", "convert", "--bought", "400:eur", "--sold", "465:usdc"];
    const named = [...trade, "--reference", "trade-1", "--reason", "hedge"];
    await runGood(...named);
    expect(await eur()).toMatchObject({ amount: "604" });
    await expectRefused(["trade-1 is already recorded", ...named]);
    const file = join(server.data_dir, "risk.json");
    await writeFile(file, '{"exposure_max_usd": {"eur": "5000"}}');
    environment.SLIPROAD_MARKET_RISK_FILE = file;
    expect(await eur()).toMatchObject({ amount: "604", amount_max_usd: "5000" });
  });

  it("names the option that is wrong and how to write it", async () => {
    const convert = (bought: string, sold: string, reference = "trade-2") =>
      [
        "exposure",
        "convert",
        "--bought",
        bought,
        "--sold",
        sold,
        "--reference",
        reference,
        "--reason",
        "x",
      ] as const;
    await expectRefused(
      ["--bought must be an amount", ...convert("400", "465:usdc")],
      ["--bought must be an amount", ...convert("400.001:eur", "465:usdc")],
      ["--sold must be an amount", ...convert("400:eur", "0:usdc")],
      ["different currencies", ...convert("400:eur", "1:eur")],
      ["--reference must be", ...convert("400:eur", "465:usdc", "two words")],
    );
  });
});

it("sliproad verify finds no problems after these commands", async () => {
  await settle(server);
  expect(await findFault(server)).toBeNull();
});
