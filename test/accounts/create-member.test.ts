import { afterAll, beforeAll, expect, test } from "vitest";
import { createMember, type NewMember } from "../../src/accounts/create-member.ts";
import { hashEmail, openEmail } from "../../src/accounts/person-email.ts";
import { findPerson } from "../../src/accounts/store.ts";
import { type AccessServer, startAccessServer } from "./access-server.ts";

const EMAIL = "ada@example.test";

let server: AccessServer;
let first_id: string;
let second_id: string;

beforeAll(async () => {
  server = await startAccessServer({ public_url: "http://127.0.0.1:4000" });
  first_id = await server.addAccount("first", true);
  second_id = await server.addAccount("second");
});

afterAll(() => server.close());

function create(changes: Partial<NewMember>) {
  const { database, index_key, clock } = server.deps;
  const input: NewMember = {
    account_id: first_id,
    email: EMAIL,
    password_hash: "first hash",
    role: "admin",
    actor: "command line",
    reason: "asked by phone",
    ...changes,
  };
  return database.transaction((tx) => createMember(tx, index_key, input, clock.now()));
}

test("a person can be a member of several accounts and keeps the first password", async () => {
  const { database, index_key } = server.deps;
  const first = await create({});
  const changes = { email: " ADA@example.TEST", password_hash: "second hash", role: "approver" };
  const second = await create({ account_id: second_id, ...changes } as Partial<NewMember>);
  expect(second).toMatchObject({ person_id: first.person_id, role: "approver" });
  const person = await findPerson(database, hashEmail(index_key, EMAIL));
  expect(person?.password_hash).toBe("first hash");
  expect(openEmail(index_key, person!.id, person!.email)).toBe(EMAIL);
  const entries = await database.query(
    "select account_id, actor, record, reason, detail from audit_entries order by id",
  );
  const entry = { actor: "command line", record: `person:${person!.id}`, reason: "asked by phone" };
  expect(entries).toEqual([
    { ...entry, account_id: first_id, detail: '{"role":"admin"}' },
    { ...entry, account_id: second_id, detail: '{"role":"approver"}' },
  ]);
});

test("the id of a person tells an inviting account nothing about when they were created", async () => {
  const { person_id } = await create({ email: "new@example.test" });
  // Of random bits; ids of version 7 begin with a time.
  expect(person_id[14]).toBe("4");
});

test("422 when the person is already a member", async () => {
  await expect(create({ role: "developer" })).rejects.toMatchObject({
    code: "record_not_unique",
    status: 422,
  });
});

test.each([
  ...["ada", "@example.test", "a b@example.test", `${"a".repeat(250)}@b.test`, ""],
  ...["ada@@example.test", "ada@example@test", "ada@-example.test", "ada@example-.test"],
])("422 for %j, which is not an e-mail address", async (email) => {
  await expect(create({ email })).rejects.toMatchObject({ code: "record_invalid", status: 422 });
});

// Mail servers ignore the dot: the owner of one mailbox would be a second member, and vote twice.
test.each([
  ...["ada@example.test.", "ada@.example.test", "ada@example..test", "ada@."],
  ...["ada.@example.test", ".ada@example.test", "a..da@example.test"],
])("422 for %j, which has a dot too many", async (email) => {
  await expect(create({ email })).rejects.toMatchObject({ code: "record_invalid", status: 422 });
});

test.each([
  "a.d.a@example.test",
  "ada+1@mail.example.test",
  "root@localhost",
  "a@xn--bcher-kva.ch",
])("%j is an e-mail address", async (email) => {
  await expect(create({ email })).resolves.toMatchObject({ role: "admin" });
});
