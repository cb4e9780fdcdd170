import { afterAll, beforeAll, expect, it } from "vitest";
import { checkProposals, checkProposalsTask } from "../../src/approvals/check-proposals.ts";
import { runProposalKind } from "../../src/approvals/model.ts";
import { PAY_QUOTE } from "../../src/offramps/quotes/late-payees.ts";
import { enqueueTasks } from "../../src/platform/tasks/tasks.ts";
import { createWorker } from "../../src/platform/tasks/worker.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { SILENT } from "../harness/task-fixture.ts";
import { waitFor } from "../harness/wait-for.ts";
import { advance, good, openStory, type Story, settle } from "../offramps/story.ts";
import {
  addMember,
  shownIn,
  showProposal,
  type TestMember,
  waitForEnd,
} from "./proposal-fixture.ts";

/** One more than is described with the command. */
const PAYOUTS = 501;
const environment = { SLIPROAD_APPROVAL_ABOVE_USD: "100", SLIPROAD_DOCUMENTS: "never" };

/** Only the second has a worker. */
let quiet: TestServer;
let server: TestServer;
let members: TestMember[];
let story: Story;

beforeAll(async () => {
  quiet = await startTestServer({ environment, without_worker: true });
  members = [await addMember(quiet, "admin"), await addMember(quiet, "approver")];
  story = await openStory(quiet, Array(500).fill({ amount: 1 }));
  good(await story.add(story.quote_id, Array(PAYOUTS - 500).fill({ amount: 2 })));
});
afterAll(async () => {
  await quiet.close();
});

const detail = async (id: string, wanted: string) => {
  const { details } = await showProposal(quiet, id);
  return details.find(({ label }: { label: string }) => label === wanted)?.value;
};

it("is described by a task, and nobody can confirm it before", async () => {
  const { proposal_id: id } = good(await story.execute()).approval;
  const proposal = await showProposal(quiet, id);
  expect(proposal.summary).toBe(`Pay ${PAYOUTS} payouts of a quote, 502 eur.`);
  expect(await detail(id, "To")).toBe("Its payouts are still being listed.");
  const [first, second] = members;
  expect(shownIn(await first!.open(), id)).toMatchObject({ digest: "" });
  expect((await first!.confirm(id, "")).statusCode).toBe(422);
  expect((await showProposal(quiet, id)).confirmations).toBe(0);

  server = await startTestServer({ environment, beside: quiet });
  await waitFor(async () => /more: see the list/.test(await detail(id, "And")));
  expect(await detail(id, "To")).toMatch(/: 2 eur by local/);

  // It is read again at most every five seconds, however many documents come.
  await story.upload();
  expect(await detail(id, "Documents")).toBe(`0 of ${PAYOUTS}`);
  await advance(server, 5_000);
  expect(await detail(id, "Documents")).toBe(`1 of ${PAYOUTS}`);

  expect((await first!.confirm(id)).statusCode).toBe(200);
  expect((await second!.confirm(id)).statusCode).toBe(200);
  expect((await waitForEnd(quiet, id)).status).toBe("done");
  await story.waitForStatus("fiat_sent", story.offramp_ids.at(-1));
});

it("a proposal is compared with its payouts while others have locked the quote", async () => {
  const small = await openStory(server, [{ amount: 200 }]);
  const { proposal_id: id } = good(await small.execute()).approval;
  const { account_id, core, db } = server;
  const kind = runProposalKind(PAY_QUOTE);
  await settle(server);
  await db.database.transaction(async (tx) => {
    await tx.query("select from quotes where id = $1 for update", [small.quote_id]);
    await db.database.transaction(async (other) => {
      enqueueTasks(other, kind, [{ account_id, id }], core.clock.now());
    });
    const text = "select from tasks where kind = $1";
    await waitFor(async () => (await db.database.query(text, [kind])).length === 0);
  });
  expect((await showProposal(quiet, id)).status).toBe("pending");
});

it("a proposal has one check that waits, however often its record changes", async () => {
  // Without a worker nothing is done of it.
  await server.close();
  const { account_id, core, db } = quiet;
  const small = await openStory(quiet, [{ amount: 200 }]);
  const { proposal_id: id } = good(await small.execute()).approval;
  const kind = runProposalKind(PAY_QUOTE);
  for (let round = 0; round < 3; round += 1) {
    const record = { account_id, id: small.quote_id };
    await db.database.transaction(async (tx) => checkProposals(tx, [record], core.clock.now()));
    const worker = createWorker({
      ...{ database: core.database, clock: core.clock, log: SILENT },
      handlers: [checkProposalsTask(core)],
    });
    worker.start();
    await waitFor(async () => (await countTasks("check-proposals")) === 0);
    await worker.stop();
  }
  expect(await countTasks(kind)).toBe(1);
  expect((await showProposal(quiet, id)).status).toBe("pending");
});

async function countTasks(kind: string): Promise<number> {
  return (await quiet.db.database.query("select from tasks where kind = $1", [kind])).length;
}
