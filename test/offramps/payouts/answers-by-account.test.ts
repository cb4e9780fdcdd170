import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createSandboxChain } from "../../../src/partners/chain/sandbox.ts";
import { newId } from "../../../src/platform/ids.ts";
import { createScriptedBank, type ScriptedBank } from "../../harness/scripted-bank.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { advance, findFault, good, openStory, type Story, settle } from "../story.ts";

let server: TestServer;
let bank: ScriptedBank;
beforeAll(async () => {
  bank = createScriptedBank();
  bank.manner = "is_silent";
  server = await startTestServer({
    environment: { SLIPROAD_DOCUMENTS: "never" },
    partners: (core) => ({ chain: createSandboxChain(core), bank: bank.port }),
  });
});
afterAll(() => server.close());
afterEach(async () => expect(await findFault(server)).toBeNull());

const idOf = (story: Story) => `${story.offramp_id.replaceAll("-", "")}001`;

describe("answers of several accounts in one page", () => {
  /** One more than the accounts for which answers are applied at a time. */
  const FORGED = 5;

  async function openAccount(): Promise<TestServer> {
    const { account_id, key } = await server.addAccount(`Other ${newId(new Date())}`);
    const call: TestServer["call"] = (method, path, body, options) =>
      server.call(method, path, body, { ...options, key });
    return { ...server, account_id, key, call };
  }

  async function openSilentPayout(account: TestServer): Promise<Story> {
    const story = await openStory(account);
    good(await story.execute());
    await story.waitForStatus("sending_fiat");
    return story;
  }

  const change = (stories: readonly Story[], by: number) =>
    server.db.database.query(
      "update ledger_balances set balance = balance + $1 where ledger_account = any($2)",
      [by, stories.map((story) => `payout_pending:${story.offramp_id}`)],
    );
  const findFailures = () =>
    server.db.database.query("select from tasks where kind = 'read-bank' and attempts > 0");

  it("are applied while those of some accounts cannot be, which are applied later", async () => {
    const forged: Story[] = [];
    for (let count = 0; count < FORGED; count += 1) {
      forged.push(await openSilentPayout(await openAccount()));
    }
    const account = await openAccount();
    const [first, second] = [await openSilentPayout(account), await openSilentPayout(account)];
    await settle(server);
    await change(forged, 1);
    for (const story of [...forged, first]) bank.say(idOf(story), "booked");
    await first.waitForStatus("fiat_sent");
    bank.say(idOf(second), "booked");
    await second.waitForStatus("fiat_sent");
    await settle(server);
    expect(await findFailures()).toEqual([]);
    for (const story of forged) expect((await story.show()).status).toBe("sending_fiat");
    await change(forged, -1);
    await advance(server, 2_000);
    for (const story of forged) await story.waitForStatus("fiat_sent");
  });

  it("are applied while somebody holds locks of one of the accounts", async () => {
    const held = await openSilentPayout(await openAccount());
    const other = await openSilentPayout(await openAccount());
    await settle(server);
    await server.db.database.transaction(async (tx) => {
      await tx.query("select from offramps where id = $1 for update", [held.offramp_id]);
      bank.say(idOf(held), "booked");
      await waitFor(async () => (await findWaiting()).length > 0);
      bank.say(idOf(other), "booked");
      await other.waitForStatus("fiat_sent");
      expect((await held.show()).status).toBe("sending_fiat");
    });
    await held.waitForStatus("fiat_sent");
    expect(await findFailures()).toEqual([]);
  });

  const findWaiting = () =>
    server.db.database.query(
      `select from pg_stat_activity where datname = current_database()
         and wait_event_type = 'Lock' and query like '%offramps%'`,
    );
});
