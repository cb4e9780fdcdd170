import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { recordCredits } from "../../src/onramps/deposits/record-credits.ts";
import { findDeposit, listLines } from "../../src/onramps/deposits/store.ts";
import { fundOnramp } from "../../src/onramps/fund-onramp.ts";
import { READ_CREDITS_TASK } from "../../src/onramps/task-kinds.ts";
import type { ChainPort } from "../../src/partners/chain/port.ts";
import { createSandboxChain } from "../../src/partners/chain/sandbox.ts";
import type { Database } from "../../src/platform/db/database.ts";
import { eraseUser } from "../harness/erase-user.ts";
import { atEveryCommit } from "../harness/mortal.ts";
import { createScriptedBank } from "../harness/scripted-bank.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { lastPrices, openSteps } from "../harness/steps.ts";
import { findFault, good } from "../offramps/story.ts";
import { act, credit, openOnramp } from "./story.ts";

let server: TestServer;
const bank = createScriptedBank();
const sent = new Map<string, number>();

/** Counts real transfers: the key is what makes a second call harmless. */
function countingChain(chain: ChainPort, onSent: () => void = () => {}): ChainPort {
  return {
    ...chain,
    send: async (request) => {
      const answer = await chain.send(request);
      sent.set(request.key, (sent.get(request.key) ?? 0) + 1);
      onSent();
      return answer;
    },
  };
}

beforeAll(async () => {
  server = await startTestServer({
    partners: (core) => ({ chain: createSandboxChain(core), bank: bank.port }),
  });
  // The test itself is the worker.
  await server.app.worker.stop();
});
afterAll(() => server.close());

async function runWith(database: Database): Promise<void> {
  const { core } = server;
  const chain = countingChain(createSandboxChain(core));
  const steps = await openSteps(core, { chain, bank: bank.port }, database);
  // The bank is read every second; the clock does not move here.
  await core.database.query("update tasks set due_at = created_at where kind = $1", [
    READ_CREDITS_TASK,
  ]);
  await steps.runAll();
  steps.close();
}

async function countBankLines(): Promise<number> {
  const { deposits } = good(await server.call("GET", "/deposits?limit=100"));
  return deposits.length;
}

const setKyc = (user_id: string, status: string) =>
  server.call("PATCH", `/sandbox/users/${user_id}/kycs`, { kyc: { status } });

const erase = (user_id: string) =>
  eraseUser(server.core, { account_id: server.account_id, user_id });

describe("a process that ends at any commit", { timeout: 90_000 }, () => {
  it("of a return from an onramp: given back once, the ledger is right", async () => {
    await atEveryCommit(server.core.database, async (run, round) => {
      const onramp = await openOnramp(server);
      await setKyc(onramp.user_id, "suspended");
      bank.receive(credit(server, { text: onramp.code }));
      await runWith(server.core.database);
      const { deposits } = good(await server.call("GET", "/deposits?status=matched"));
      const { id } = deposits[0];
      good(await act(server, id, "return"));
      await run(runWith);
      // A user with nothing open may be erased, even in the middle of this.
      await erase(onramp.user_id);
      await runWith(server.core.database);
      const { deposit } = good(await server.call("GET", `/deposits/${id}`));
      expect(deposit.status, round).toBe("returned");
      expect([...bank.returns.keys()].filter((key) => key.includes(id))).toHaveLength(1);
    });
    // A fault of any of these rounds would still be there.
    expect(await findFault(server)).toBeNull();
  });

  it("between the two sides of a match, with the user erased: the deposit stays matched", async () => {
    const onramp = await openOnramp(server);
    bank.receive(credit(server, { text: onramp.code }));
    const { core } = server;
    const deps = {
      ...core,
      bank: bank.port,
      chain: countingChain(createSandboxChain(core)),
      operator_id: server.account_id,
      prices: { currentPrices: () => lastPrices(core.database) },
      rate_slippage_basis_points: 50,
    };
    await recordCredits(deps, core.clock);
    const { deposits } = good(await server.call("GET", "/deposits?status=matching"));
    const row = await findDeposit(core.database, server.account_id, deposits[0].id);
    expect(await fundOnramp(deps, row!, core.clock.now())).toEqual({ taken: 100_400n });
    good(
      await server.call("PATCH", `/sandbox/onramps/${onramp.id}`, {
        onramp: { status: "crypto_sent" },
      }),
    );
    expect(await erase(onramp.user_id)).toBe(true);
    await runWith(core.database);
    const { deposit } = good(await server.call("GET", `/deposits/${row!.id}`));
    expect(deposit.status).toBe("matched");
    expect(await findFault(server)).toBeNull();
  });

  it("of a deposit and its delivery: credited once, sent once, the ledger is right", async () => {
    const commits = await atEveryCommit(server.core.database, async (run, round) => {
      const onramp = await openOnramp(server);
      const lines = await countBankLines();
      bank.receive(credit(server, { text: onramp.code }));
      await run(runWith);
      await runWith(server.core.database);
      expect(await onramp.show(), round).toMatchObject({
        status: "crypto_sent",
      });
      expect(await countBankLines()).toBe(lines + 1);
    });
    // A fault of any of these rounds would still be there.
    expect(await findFault(server)).toBeNull();
    // Reading the bank, the two sides of the match, the steps of the delivery.
    expect(commits).toBeGreaterThanOrEqual(5);
    const sends = await server.db.database.query(
      "select key from sandbox_sends where key like 'onramp:%'",
    );
    const delivered = await server.db.database.query(
      "select id from onramps where status = 'crypto_sent'",
    );
    expect(sends).toHaveLength(delivered.length);
    expect(sent.size).toBeGreaterThan(0);
  });

  it("of a return: sent back once, the ledger is right", async () => {
    await atEveryCommit(server.core.database, async (run, round) => {
      const line = credit(server, { text: "to be sent back" });
      bank.receive(line);
      await runWith(server.core.database);
      const { deposits } = good(await server.call("GET", "/deposits?status=unmatched"));
      const { id } = deposits[0];
      good(await act(server, id, "return"));
      await run(runWith);
      await runWith(server.core.database);
      const { deposit } = good(await server.call("GET", `/deposits/${id}`));
      expect(deposit.status, round).toBe("returned");
      expect([...bank.returns.keys()].filter((key) => key.includes(id))).toHaveLength(1);
    });
    // A fault of any of these rounds would still be there.
    expect(await findFault(server)).toBeNull();
  });
});

describe("two lines of the bank that contradict each other", { timeout: 90_000 }, () => {
  it("are never both dismissed once both are posted", async () => {
    const { core } = server;
    const line = credit(server, { text: "nobody's", amount: 1_000n });
    bank.receive(line);
    bank.receive({ ...line, amount: 100_400n });
    await runWith(core.database);
    const listed = await listLines(core.database, server.account_id, line, 10);
    const conflict = listed.find((row) => row.is_conflict)!;
    // Two deposits for one onramp: the conflict is posted, comes second, and waits again.
    const onramp = await openOnramp(server);
    bank.receive(credit(server, { text: onramp.code }));
    const deps = { ...core, bank: bank.port, operator_id: server.account_id };
    await recordCredits(deps, core.clock);
    good(await act(server, conflict.id, "match", { onramp_id: onramp.id }));
    await runWith(core.database);
    const { deposit } = good(await server.call("GET", `/deposits/${conflict.id}`));
    expect(deposit).toMatchObject({ status: "unmatched", reason: "double" });
    expect(await findFault(server)).toBeNull();

    // The match decided about both: the other line was dismissed with it.
    const after = await listLines(core.database, server.account_id, line, 10);
    expect(after.map(({ status }) => status).sort()).toEqual(["dismissed", "unmatched"]);
    await Promise.all(listed.map(({ id }) => act(server, id, "dismiss")));
    for (const { id } of listed) {
      expect((await act(server, id, "dismiss")).body.error_code).toBe("invalid_transition");
    }
    expect(await findFault(server)).toBeNull();
  });
});
