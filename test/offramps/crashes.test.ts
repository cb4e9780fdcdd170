import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { runProposalKind } from "../../src/approvals/model.ts";
import { lapseProposalTask } from "../../src/approvals/tasks.ts";
import { payQuoteTask } from "../../src/offramps/quotes/approval-task.ts";
import { PAY_QUOTE } from "../../src/offramps/quotes/late-payees.ts";
import { createOfframpRenderer } from "../../src/offramps/render.ts";
import {
  FAIL_LAPSED_TASK,
  READ_BANK_TASK,
  WATCH_CHAINS_TASK,
} from "../../src/offramps/task-kinds.ts";
import { createSandboxChain } from "../../src/partners/chain/sandbox.ts";
import type { Database } from "../../src/platform/db/database.ts";
import { DAY_MS, HOUR_MS } from "../../src/platform/durations.ts";
import { addMember, type TestMember } from "../approvals/proposal-fixture.ts";
import { atEveryCommit } from "../harness/mortal.ts";
import { createScriptedBank } from "../harness/scripted-bank.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { openSteps } from "../harness/steps.ts";
import { findFault, good, openStory, type Story } from "./story.ts";

let server: TestServer;
let ada: TestMember;
let ben: TestMember;
const bank = createScriptedBank();

beforeAll(async () => {
  server = await startTestServer({
    environment: { SLIPROAD_DOCUMENTS: "never", SLIPROAD_APPROVAL_ABOVE_USD: "1000" },
    partners: (core) => ({ chain: createSandboxChain(core), bank: bank.port }),
  });
  ada = await addMember(server, "admin");
  ben = await addMember(server, "approver");
  // The test itself is the worker.
  await server.app.worker.stop();
});
afterAll(() => server.close());
// A fault of any round would still be there.
afterEach(async () => expect(await findFault(server)).toBeNull());

async function runWith(database: Database, ...only: string[]): Promise<void> {
  const { core } = server;
  const chain = createSandboxChain(core);
  const renderer = createOfframpRenderer(() => "http://127.0.0.1", core.clock);
  const more = [
    payQuoteTask({ ...core, policy: core.config, database, renderer }),
    lapseProposalTask({ ...core, database }),
  ];
  const steps = await openSteps(core, { chain, bank: bank.port }, database, more);
  // Partners are read every second; not every test moves the clock.
  await core.database.query("update tasks set due_at = created_at where kind = any($1)", [
    [WATCH_CHAINS_TASK, READ_BANK_TASK],
  ]);
  if (only.length === 0) await steps.runAll();
  for (const kind of only) while (await steps.run(kind));
  steps.close();
}
const runAll = () => runWith(server.core.database);

/** The number of events and of ledger entries that an offramp has. */
async function countTraces(offramp_id: string) {
  const [row] = await server.db.database.query<{ failures: number; entries: number }>(
    `select (select count(*)::int from events
         where record_id = $1 and to_status = 'failed') as failures,
       (select count(*)::int from ledger_entries where key like '%' || $1 || '%') as entries`,
    [offramp_id],
  );
  return row!;
}

/** How often the bank was given each payout of this story. */
const instructed = (story: Story) =>
  story.offramp_ids.map(
    (id) => [...bank.known.keys()].filter((key) => key.startsWith(id.replaceAll("-", ""))).length,
  );

/** An executed and paid quote of 1700 eur that waits for approval. */
async function openProposal() {
  const story = await openStory(server, [{ amount: 900 }, { amount: 800 }]);
  const total = await story.total();
  const { proposal_id } = good(await story.execute()).approval;
  await runAll();
  expect((await story.show()).status).toBe("ongoing_checks");
  return { story, total, proposal_id: proposal_id as string };
}

const statusOf = async (proposal_id: string) =>
  good(await server.call("GET", `/proposals/${proposal_id}`)).proposal.status;

describe("a process that ends at any commit", { timeout: 90_000 }, () => {
  it("of a confirmed payment: the payouts are made once", async () => {
    const commits = await atEveryCommit(server.core.database, async (run, round) => {
      const { story, proposal_id } = await openProposal();
      await ada.confirm(proposal_id);
      await ben.confirm(proposal_id);
      await run((database) => runWith(database, runProposalKind(PAY_QUOTE)));
      await runAll();
      expect(await statusOf(proposal_id), round).toBe("done");
      for (const id of story.offramp_ids) {
        expect((await story.show(id)).status, round).toBe("fiat_sent");
      }
      expect(instructed(story), round).toEqual([1, 1]);
      expect(await story.owed(), round).toBe(0);
    });
    expect(commits).toBeGreaterThanOrEqual(1);
  });

  it.each(["rejected", "lapsed"] as const)(
    "of a %s payment: every offramp fails once, and the deposit is owed once",
    async (end) => {
      const commits = await atEveryCommit(server.core.database, async (run, round) => {
        const { story, total, proposal_id } = await openProposal();
        if (end === "rejected") await ben.reject(proposal_id);
        else await server.core.clock.advance(3 * DAY_MS + 1);
        const kinds = ["lapse-proposal", runProposalKind(PAY_QUOTE)];
        await run((database) => runWith(database, ...kinds));
        await runAll();
        expect(await statusOf(proposal_id), round).toBe(end);
        for (const id of story.offramp_ids) {
          expect((await story.show(id)).status, round).toBe("failed");
          expect(await countTraces(id), round).toEqual({ failures: 1, entries: 2 });
        }
        expect(instructed(story), round).toEqual([0, 0]);
        expect(await story.owed(), round).toBe(total);
      });
      expect(commits).toBeGreaterThanOrEqual(2);
    },
  );

  it("of the failure after 72 h behind a gate: it gives back the whole deposit once", async () => {
    const commits = await atEveryCommit(server.core.database, async (run, round) => {
      await server.core.clock.advance(DAY_MS);
      const story = await openStory(server, [{ amount: 500 }]);
      const total = await story.total();
      good(await story.execute());
      const path = `/users/${story.user_id}/payment_details/${story.payment_detail_id}`;
      good(await server.call("PATCH", `${path}/deactivate`));
      await runAll();
      expect((await story.show()).status, round).toBe("ongoing_checks");
      await server.core.clock.advance(72 * HOUR_MS + 1);
      await run((database) => runWith(database, FAIL_LAPSED_TASK));
      await runAll();
      expect((await story.show()).status, round).toBe("failed");
      expect(await countTraces(story.offramp_id), round).toEqual({ failures: 1, entries: 2 });
      expect(instructed(story), round).toEqual([0]);
      expect(await story.owed(), round).toBe(total);
    });
    expect(commits).toBeGreaterThanOrEqual(1);
  });

  it("of the failure 72 h after a return: it gives back what came back, once", async () => {
    const commits = await atEveryCommit(server.core.database, async (run, round) => {
      await server.core.clock.advance(DAY_MS);
      const story = await openStory(server, [{ amount: 500 }]);
      good(await story.execute());
      await runAll();
      bank.say(`${story.offramp_id.replaceAll("-", "")}001`, "returned", { amount: 43_000n });
      await runAll();
      expect((await story.show()).status, round).toBe("bounced");
      await server.core.clock.advance(72 * HOUR_MS + 1);
      await run((database) => runWith(database, FAIL_LAPSED_TASK));
      await runAll();
      expect((await story.show()).status, round).toBe("failed");
      expect((await countTraces(story.offramp_id)).failures, round).toBe(1);
      // 430 eur at 0.86 eur for a token.
      expect(await story.owed(), round).toBe(500);
    });
    expect(commits).toBeGreaterThanOrEqual(1);
  });
});
