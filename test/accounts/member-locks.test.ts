import { afterAll, beforeAll, expect, test } from "vitest";
import { createMember } from "../../src/accounts/create-member.ts";
import { insertMember, lockMembers } from "../../src/accounts/store.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ without_worker: true });
});
afterAll(() => server?.close());

async function addPersonElsewhere(): Promise<string> {
  const { account_id } = server;
  const { database, index_key, clock } = server.core;
  const email = `${crypto.randomUUID()}@example.test`;
  const by = { actor: "command line", reason: "set up by a test" } as const;
  const { person_id } = await database.transaction((tx) =>
    createMember(tx, index_key, { account_id, email, role: "developer", ...by }, clock.now()),
  );
  return person_id;
}

test("whoever waited while a member was added does not deadlock with whoever came later", async () => {
  const { database, clock } = server.core;
  const { account_id } = await server.addAccount("Grows");
  const people = [await addPersonElsewhere(), await addPersonElsewhere()];
  // Members are locked by their ids: the one that only the last transaction sees is its first.
  const [added, first] = people.sort();
  const rest = { account_id, role: "admin", votes_from: null, joined_at: null } as const;
  const member = (person_id: string) => ({ ...rest, person_id, created_at: clock.now() });
  await database.transaction(async (tx) => insertMember(tx, member(first!)));
  const isOneWaiting = async () => {
    const waiting = await database.query(
      "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    );
    return waiting.length === 1;
  };
  const count = async (locked: ReturnType<typeof lockMembers>) => (await locked).length;

  const isWaited = Promise.withResolvers<void>();
  const isNextWaiting = Promise.withResolvers<void>();
  const hasLock = Promise.withResolvers<void>();
  const adds = database.transaction(async (tx) => {
    await lockMembers(tx, account_id);
    hasLock.resolve();
    insertMember(tx, member(added!));
    await isWaited.promise;
  });
  await hasLock.promise;
  const locksTwice = database.transaction(async (tx) => {
    await lockMembers(tx, account_id);
    await isNextWaiting.promise;
    return count(lockMembers(tx, account_id));
  });
  await waitFor(isOneWaiting);
  isWaited.resolve();
  await adds;
  await waitFor(async () => !(await isOneWaiting()));
  const locksLater = database.transaction((tx) => count(lockMembers(tx, account_id)));
  await waitFor(isOneWaiting);
  isNextWaiting.resolve();
  expect(await Promise.all([locksTwice, locksLater])).toEqual([2, 2]);
});
