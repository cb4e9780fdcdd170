import { afterAll, beforeAll, expect, it } from "vitest";
import { findActiveKeys } from "../../../src/accounts/api-key-store.ts";
import { type Core, openCore } from "../../../src/app/open-app.ts";
import { type Answer, createExecutor } from "../../../src/platform/commands/executor.ts";
import type { Idempotency } from "../../../src/platform/commands/use-case.ts";
import { createUsers } from "../../../src/users/create-users.ts";
import { checkUser } from "../../../src/users/model.ts";
import { updateUsers } from "../../../src/users/update-users.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { waitFor } from "../../harness/wait-for.ts";

const COMMANDS = 40;
const ROUNDS = 3;

let server: TestServer;
let cores: Core[];
let caller: { account_id: string; credential_id: string };
beforeAll(async () => {
  server = await startTestServer();
  cores = [server.core, await openCore(server.core.config, server.db.url)];
  const { account_id, db } = server;
  const [key] = await db.database.query<{ id: string }>("select id from api_keys");
  caller = { account_id, credential_id: key!.id };
});
afterAll(() => server.close());

it("two processes that write the same records in opposite orders never deadlock", async () => {
  for (const table of ["commands", "users"]) await slowDown(table);
  const processes = cores.map(openProcess);
  for (let round = 0; round < ROUNDS; round += 1) {
    const creations = Array.from({ length: COMMANDS }, (_, number) => ({
      email: `round${round}x${number}@example.com`,
      idempotency: {
        index: Buffer.from([round, (number * 37) % 256]),
        request_hash: Buffer.from([number]),
      },
    }));
    // With keys: one process creates the user, the other replays that answer.
    const created = await inOppositeOrders(creations, (item, at) => processes[at]!.create(item));
    const ids = new Set(created.map((answer) => JSON.parse(answer.body).user.id as string));
    expect(ids.size).toBe(COMMANDS);
    expect(created.filter((answer) => answer.replayed)).toHaveLength(COMMANDS);

    // Without keys: one process creates the user, the other is refused because the e-mail is taken.
    const bare = creations.map(({ email }) => ({ email: `bare.${email}`, idempotency: null }));
    const results = await inOppositeOrders(bare, (item, at) =>
      processes[at]!.create(item).catch((error) => error.code),
    );
    expect(results.filter((result) => result === "record_not_unique")).toHaveLength(COMMANDS);

    const changed = await inOppositeOrders([...ids], (id, at) => processes[at]!.update(id));
    expect(changed).toHaveLength(2 * COMMANDS);
  }
  await cores[1]!.database.close();
  await server.app.close();
  expect(await countDeadlocks()).toBe(0n);
});

type Creation = { email: string; idempotency: Idempotency | null };

/** What a separate process would run, with its own connections and caches. */
function openProcess(core: Core) {
  const { keyring, index_key, catalogue } = core;
  const executor = createExecutor({
    ...core,
    across_accounts: true,
    findActiveCredentials: findActiveKeys,
    afterCommit: () => {},
  });
  const submitCreate = executor.register(createUsers(keyring, index_key));
  const submitUpdate = executor.register(updateUsers(catalogue, keyring, index_key));
  const today = core.clock.now().toISOString().slice(0, 10);
  return {
    create: ({ email, idempotency }: Creation): Promise<Answer> => {
      const user = { beneficiary_type: "individual", email, first_name: "A", last_name: "B" };
      const { fields } = checkUser(catalogue, user, today, []);
      return submitCreate({ ...caller, input: { fields, problems: [] }, bytes: 100, idempotency });
    },
    update: (user_id: string): Promise<Answer> => {
      const input = { user_id, change: { city: "Opposite" }, problems: [] };
      return submitUpdate({ ...caller, input, bytes: 100, idempotency: null });
    },
  };
}

/** All at once: the first commands of each process run alone, the rest in one batch. */
async function inOppositeOrders<Item, Result>(
  items: readonly Item[],
  run: (item: Item, process: 0 | 1) => Promise<Result>,
): Promise<Result[]> {
  return Promise.all([
    ...items.map((item) => run(item, 0)),
    ...items.toReversed().map((item) => run(item, 1)),
  ]);
}

/** Makes every row take a millisecond, so that two batches overlap while they are written. */
async function slowDown(table: string): Promise<void> {
  await server.db.database.query(
    `create or replace function slow_down() returns trigger language plpgsql
       as 'begin perform pg_sleep(0.001); return new; end';
     create trigger slow_down before insert or update on ${table}
       for each row execute function slow_down()`,
  );
}

/** Counted by PostgreSQL itself; a connection reports its counts when it ends. */
async function countDeadlocks(): Promise<bigint> {
  const { database } = server.db;
  await waitFor(async () => {
    const [row] = await database.query<{ others: bigint }>(
      `select count(*) as others from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid()
         and backend_type = 'client backend'`,
    );
    return row!.others === 0n;
  });
  const [row] = await database.query<{ deadlocks: bigint }>(
    "select deadlocks from pg_stat_database where datname = current_database()",
  );
  return row!.deadlocks;
}
