import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { findActiveKeys } from "../../../src/accounts/api-key-store.ts";
import { createExecutor } from "../../../src/platform/commands/executor.ts";
import type { UseCase } from "../../../src/platform/commands/use-case.ts";
import type { Database, Transaction } from "../../../src/platform/db/database.ts";
import { Refusal } from "../../../src/platform/errors.ts";
import { openNoteFixture } from "../../harness/note-fixture.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";

const ANSWER_BYTES = 600_000;
const RECORD_BYTES = 500_000;
const LOADED_BYTES = 4_000_000;

let server: TestServer;
let sets: number[];
let recorded: number[];
let statements: string[];
type Submit = (input: number, key: string) => Promise<{ body: string; replayed: boolean }>;
let submitTo: (use_case: UseCase<number, null, number>) => Submit;
let submit: Submit;

/** A command of a few bytes that is answered with many. */
const answerMuch: UseCase<number, null, number> = {
  name: "answer-much",
  rows: () => 1,
  load: async (_tx, commands) => {
    sets.push(commands.length);
    return null;
  },
  decide: (_loaded, { input }) =>
    input < 0 ? { refusal: new Refusal("record_invalid") } : { output: input, subject: null },
  record: (_tx, _loaded, accepted) => {
    recorded.push(...accepted.map(({ output }) => output));
  },
  render: (input) => JSON.stringify({ input, text: "x".repeat(ANSWER_BYTES) }),
};

beforeAll(async () => {
  server = await startTestServer();
  const { database, clock, keyring } = server.core;
  const caller = await (await openNoteFixture(server.core)).callerOf(server);
  const executor = createExecutor({
    ...{ clock, keyring, across_accounts: true, afterCommit: () => {} },
    database: noting(database),
    findActiveCredentials: findActiveKeys,
  });
  submitTo = (use_case) => {
    const run = executor.register(use_case);
    return (input, key) => {
      const hash = (text: string) => createHash("sha256").update(text).digest();
      const idempotency = { index: hash(key), request_hash: hash(String(input)) };
      return run({ ...caller, input, bytes: 10, idempotency });
    };
  };
  submit = submitTo(answerMuch);
});
afterAll(() => server.close());

function noting(database: Database): Database {
  const query = (tx: Transaction) => (text: string, values?: readonly unknown[]) => {
    statements.push(text);
    return tx.query(text, values);
  };
  return {
    ...database,
    transaction: (work, options) =>
      database.transaction(
        (tx) => work({ ...tx, query: query(tx) as Transaction["query"] }),
        options,
      ),
  };
}

const readAnswers = () =>
  statements.filter((text) => text.includes("select id, answer from commands"));
const inputs = Array.from({ length: 20 }, (_, at) => at);

it("are written a megabyte at a time: the other commands of the set wait for the next", async () => {
  [sets, recorded, statements] = [[], [], []];
  const answers = await Promise.all(inputs.map((input) => submit(input, `key ${input}`)));
  expect(answers.map(({ body }) => JSON.parse(body).input)).toEqual(inputs);
  expect(recorded.toSorted((a, b) => a - b)).toEqual(inputs);
  // The first is a set of its own, the others wait meanwhile: they were all there at first.
  expect(Math.max(...sets)).toBeGreaterThan(10);
  const transactions = await server.core.database.query<{ bytes: number }>(
    `select sum(octet_length(answer))::int as bytes from commands
     where octet_length(answer) > $1 group by xmin::text`,
    [ANSWER_BYTES],
  );
  expect(transactions.length).toBeGreaterThanOrEqual(inputs.length / 2);
  expect(Math.max(...transactions.map(({ bytes }) => bytes))).toBeLessThan(2.1 * ANSWER_BYTES);
});

it("are replayed a megabyte at a time, and none is read to refuse a key that was reused", async () => {
  statements = [];
  const replayed = await Promise.all(inputs.map((input) => submit(input, `key ${input}`)));
  expect(replayed.map(({ body }) => JSON.parse(body).input)).toEqual(inputs);
  expect(replayed.every((answer) => answer.replayed)).toBe(true);
  expect(readAnswers().length).toBeGreaterThanOrEqual(inputs.length / 2);
  statements = [];
  const refused = await Promise.allSettled(
    inputs.map((input) => submit(input + 1, `key ${input}`)),
  );
  for (const one of refused) {
    expect(one).toMatchObject({ status: "rejected", reason: { code: "idempotency_key_reused" } });
  }
  expect(readAnswers()).toEqual([]);
});

it("a refusal between large answers is given, and takes nothing from the others", async () => {
  const some = [100, -1, 101, -2, 102, 103];
  const settled = await Promise.allSettled(some.map((input) => submit(input, `key ${input}`)));
  const statuses = settled.map(({ status }) => status);
  const [done, refused] = ["fulfilled", "rejected"];
  expect(statuses).toEqual([done, refused, done, refused, done, done]);
});

it("a new command beside large replays is answered in the same set", async () => {
  [sets, recorded] = [[], []];
  // A batcher of its own: nothing is noted of how many fitted into the sets before.
  const again = submitTo(answerMuch);
  const replays = [...inputs, ...inputs].map((input) => again(input, `key ${input}`));
  const fresh = again(500, "key 500");
  let answered = 0;
  for (const replay of replays) void replay.then(() => (answered += 1));
  expect((await fresh).replayed).toBe(false);
  // Two sets had begun with one replay each; this one answers two, and the new command.
  expect(answered).toBeLessThan(10);
  await Promise.all(replays);
});

/** Commands of a few bytes that name records of half a megabyte each; most are refused. */
const changeMuch: UseCase<number, null, number> = {
  ...answerMuch,
  name: "change-much",
  weigh: async (_tx, commands) => new Map(commands.map(({ id }) => [id, RECORD_BYTES])),
  decide: (_loaded, { input }) =>
    input === 0 ? { output: input, subject: null } : { refusal: new Refusal("record_invalid") },
  render: String,
};

it("what is loaded has a limit too, whatever is answered, and nothing is loaded to replay", async () => {
  [sets, recorded] = [[], []];
  const change = submitTo(changeMuch);
  await change(0, "heavy");
  const refused = await Promise.allSettled(
    inputs.map((input) => change(input + 1, `heavy ${input}`)),
  );
  expect(new Set(refused.map(({ status }) => status))).toEqual(new Set(["rejected"]));
  expect(sets.reduce((sum, count) => sum + count)).toBe(1 + inputs.length);
  expect(Math.max(...sets)).toBe(LOADED_BYTES / RECORD_BYTES);
  sets = [];
  expect((await change(0, "heavy")).replayed).toBe(true);
  await expect(change(1, "heavy")).rejects.toMatchObject({ code: "idempotency_key_reused" });
  expect(sets).toEqual([]);
});
