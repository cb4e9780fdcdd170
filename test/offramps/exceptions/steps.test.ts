import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import {
  applyDecision,
  askToResolve,
  type StepDeps,
} from "../../../src/offramps/exceptions/decide-in-steps.ts";
import { findDecision } from "../../../src/offramps/exceptions/decision-store.ts";
import { createOfframpRenderer } from "../../../src/offramps/render.ts";
import { createSandboxChain } from "../../../src/partners/chain/sandbox.ts";
import { runOnce } from "../../../src/platform/commands/run-once.ts";
import { HOUR_MS } from "../../../src/platform/durations.ts";
import { FIRST_ID, newId } from "../../../src/platform/ids.ts";
import { STORED_PRICES } from "../../../src/prices/price-book.ts";
import { createScriptedBank, type ScriptedBank } from "../../harness/scripted-bank.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { advance, findFault, good, settle } from "../story.ts";

// Runs with one account per transaction (test/tenancy/account-files.ts).
let server: TestServer;
let bank: ScriptedBank;
let tenant: { account_id: string; key: string };
let deps: StepDeps;

beforeAll(async () => {
  bank = createScriptedBank();
  server = await startTestServer({
    partners: (core) => ({ chain: createSandboxChain(core), bank: bank.port }),
  });
  tenant = await server.addAccount("Tenant");
  const { core } = server;
  const renderer = createOfframpRenderer(() => "http://127.0.0.1", core.clock);
  deps = { ...core, renderer, reroute_ms: HOUR_MS, prices: STORED_PRICES };
});
afterAll(() => server.close());
afterEach(async () => expect(await findFault(server)).toBeNull());

/** Money in suspense in another account than the operator's. */
async function sayException(): Promise<string> {
  const { account_id } = tenant;
  const { bank_reference } = bank.say(newId(new Date()).replaceAll("-", ""), "booked", {
    account_id,
  });
  await advance(server, 2_000);
  const { bank_exceptions } = good(await server.call("GET", "/bank_exceptions?status=open"));
  const found = bank_exceptions.find(
    (one: { bank_reference: string }) => one.bank_reference === bank_reference,
  );
  expect(found).toMatchObject({ account_id, status: "open" });
  return found.id;
}

function commandFor(exception_id: string) {
  const { clock } = server.core;
  const input = { exception_id, resolution: "dismiss", offramp_id: null } as const;
  return {
    ...{ id: newId(clock.now()), account_id: server.account_id, credential_id: FIRST_ID },
    input: { ...input, reason: "Not ours", problems: [] },
    idempotency: null,
    actor: "command line" as const,
  };
}

/** The first step, after which the process stops; the task is due an hour later. */
async function ask(exception_id: string) {
  const { database, clock } = server.core;
  const command = commandFor(exception_id);
  const verdict = await database.transaction(async (tx) => {
    const done = await runOnce(tx, askToResolve(deps), command, clock.now());
    tx.write(
      `update tasks set due_at = due_at + interval '1 hour'
       where account_id = $1 and record_id = $2`,
      [server.account_id, command.id],
    );
    return done;
  });
  expect(verdict).toHaveProperty("output");
  return { account_id: server.account_id, id: command.id };
}

const show = async (id: string) => {
  const { bank_exceptions } = good(await server.call("GET", "/bank_exceptions"));
  return bank_exceptions.find((one: { id: string }) => one.id === id);
};
const entriesOf = (id: string) =>
  server.db.database.query<{ account_id: string; action: string }>(
    "select account_id, action from audit_entries where record = $1",
    [`bank_exception:${id}`],
  );
const countDecisions = async () =>
  (await server.db.database.query("select from exception_decisions")).length;

it("answers with the outcome, and the same request again with the same answer", async () => {
  const id = await sayException();
  const body = { resolution: "dismiss", reason: "Not ours" };
  const options = { headers: { "Idempotency-Key": newId(new Date()) } };
  const resolve = () => server.call("POST", `/bank_exceptions/${id}/resolve`, body, options);
  const [first, second] = [await resolve(), await resolve()];
  expect(first.status, first.text).toBe(200);
  expect(first.body.bank_exception).toMatchObject({ id, status: "resolved" });
  expect(second.text).toBe(first.text);
  const other = await server.call("POST", `/bank_exceptions/${id}/resolve`, body);
  expect(other.status).toBe(422);
  await waitFor(async () => (await countDecisions()) === 0);
  expect(await entriesOf(id)).toEqual([
    { account_id: server.account_id, action: "bank_exception.dismiss" },
  ]);
});

/** The task does what is left. */
async function goOn() {
  await advance(server, HOUR_MS);
  await settle(server);
  await waitFor(async () => (await countDecisions()) === 0);
}

it("is applied and noted by the task if the process stops after the first step", async () => {
  const id = await sayException();
  await ask(id);
  expect(await show(id)).toMatchObject({ status: "open" });
  await goOn();
  expect(await show(id)).toMatchObject({ status: "resolved", resolution: "dismiss" });
  expect(await entriesOf(id)).toHaveLength(1);
});

it("is applied once if the process stops after the second step", async () => {
  const id = await sayException();
  const decision = (await findDecision(server.core.database, await ask(id)))!;
  const first = await applyDecision(deps, decision);
  expect(first).toHaveProperty("answer");
  expect(await applyDecision(deps, decision)).toEqual(first);
  expect(await entriesOf(id)).toEqual([]);
  await goOn();
  expect(await show(id)).toMatchObject({ status: "resolved" });
  expect(await entriesOf(id)).toHaveLength(1);
});

it("of two decisions on an exception one is applied, the other refused for good", async () => {
  const id = await sayException();
  const { database } = server.core;
  const one = (await findDecision(database, await ask(id)))!;
  const two = (await findDecision(database, await ask(id)))!;
  expect(await applyDecision(deps, two)).toHaveProperty("answer");
  const refused = await applyDecision(deps, one);
  expect(refused).toHaveProperty("refused");
  expect(await applyDecision(deps, one)).toEqual(refused);
  await goOn();
  expect(await entriesOf(id)).toHaveLength(1);
});
