import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eraseUser } from "../../harness/erase-user.ts";
import { revokeKey } from "../../harness/note-fixture.ts";
import { type Answer, startTestServer, type TestServer } from "../../harness/server.ts";
import { waitFor } from "../../harness/wait-for.ts";

// Two servers that share only the database.
let first: TestServer;
let second: TestServer;
beforeAll(async () => {
  first = await startTestServer();
  second = await startTestServer({ beside: first });
});
afterAll(async () => {
  await second.close();
  await first.close();
});

let people = 0;
function person(changes: Record<string, unknown> = {}) {
  people += 1;
  return {
    user: {
      beneficiary_type: "individual",
      email: `person${people}@example.com`,
      first_name: "Invented",
      last_name: "Person",
      ...changes,
    },
  };
}

type Sending = { key?: string | null; idempotency_key?: string; raw?: string };

function create(server: TestServer, body: unknown, sending: Sending = {}): Promise<Answer> {
  const { key, idempotency_key, raw } = sending;
  return server.call("POST", "/users", body, {
    ...(key === undefined ? {} : { key }),
    ...(raw === undefined ? {} : { raw }),
    ...(idempotency_key === undefined ? {} : { headers: { "idempotency-key": idempotency_key } }),
  });
}

function isReplayed(answer: Answer): boolean {
  return answer.headers.get("idempotent-replayed") === "true";
}

async function countUsers(): Promise<number> {
  const [row] = await first.db.database.query<{ count: bigint }>("select count(*) from users");
  return Number(row!.count);
}

function idsOf(answers: readonly Answer[]): string[] {
  return [...new Set(answers.map((answer) => answer.body.user.id))];
}

describe("a request with an Idempotency-Key", () => {
  it("sent 50 times at once to two servers creates one record and 50 equal answers", async () => {
    const before = await countUsers();
    const body = person();
    const idempotency_key = randomUUID();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        create(index % 2 === 0 ? first : second, body, { idempotency_key }),
      ),
    );
    expect(answers.map((answer) => answer.status)).toEqual(Array(50).fill(200));
    expect(new Set(answers.map((answer) => answer.text)).size).toBe(1);
    expect(answers.filter(isReplayed)).toHaveLength(49);
    expect(await countUsers()).toBe(before + 1);
  });

  it("gets the first answer byte for byte, even after the record has changed", async () => {
    const body = person();
    const idempotency_key = randomUUID();
    const created = await create(first, body, { idempotency_key });
    await first.call("PATCH", `/users/${created.body.user.id}`, { user: { city: "Elsewhere" } });
    const again = await create(second, body, { idempotency_key });
    expect(isReplayed(created)).toBe(false);
    expect(isReplayed(again)).toBe(true);
    expect(again.text).toBe(created.text);
  });

  it("is the same request whatever the order of the keys in its JSON", async () => {
    const idempotency_key = randomUUID();
    const created = await create(first, undefined, {
      idempotency_key,
      raw: `{"user":{"beneficiary_type":"individual","email":"order@example.com",
        "first_name":"A","last_name":"B","metadata":{"one":"1","two":"2"}}}`,
    });
    const again = await create(first, undefined, {
      idempotency_key,
      raw: `{ "user": { "metadata": {"two":"2","one":"1"}, "last_name":"B", "first_name":"A",
        "email":"order@example.com", "beneficiary_type":"individual" } }`,
    });
    expect(created.status).toBe(200);
    expect(isReplayed(again)).toBe(true);
    expect(again.text).toBe(created.text);
  });

  it("is 409 idempotency_key_reused with another body, path or method", async () => {
    const idempotency_key = randomUUID();
    const body = person();
    const created = await create(first, body, { idempotency_key });
    const before = await countUsers();
    const other_body = await create(second, person(), { idempotency_key });
    const other_path = await first.call("PATCH", `/users/${created.body.user.id}`, body, {
      headers: { "idempotency-key": idempotency_key },
    });
    for (const answer of [other_body, other_path]) {
      expect(answer.status).toBe(409);
      expect(answer.body.error_code).toBe("idempotency_key_reused");
    }
    expect(await countUsers()).toBe(before);
  });

  it("frees its key when refused, for another request too", async () => {
    const idempotency_key = randomUUID();
    const refused = await create(first, person({ email: null }), { idempotency_key });
    expect(refused.status).toBe(400);
    const created = await create(second, person(), { idempotency_key });
    expect(created.status).toBe(200);
    expect(isReplayed(created)).toBe(false);
  });

  it("succeeds although a refused one runs at the same time", async () => {
    const idempotency_key = randomUUID();
    const body = person();
    const answers = await Promise.all([
      create(first, person({ email: null }), { idempotency_key }),
      ...Array.from({ length: 5 }, () => create(first, body, { idempotency_key })),
    ]);
    const created = answers.filter((answer) => answer.status === 200);
    expect(idsOf(created)).toHaveLength(1);
    expect([400, 409]).toContain(answers[0]!.status);
    expect(created).toHaveLength(5);
  });

  it("is replayed only to authorized callers", async () => {
    const idempotency_key = randomUUID();
    const body = person();
    expect((await create(first, body, { idempotency_key })).status).toBe(200);
    for (const key of [null, `${first.key}x`]) {
      const answer = await create(first, body, { idempotency_key, key });
      expect(answer.status).toBe(401);
      expect(answer.text).not.toContain(body.user.email);
    }
  });

  it("has a key that other accounts can use independently", async () => {
    const other = await first.addAccount("Idempotency neighbour");
    const idempotency_key = randomUUID();
    const body = person();
    const created = await create(first, body, { idempotency_key });
    const theirs = await create(second, body, { idempotency_key, key: other.key });
    expect(theirs.status).toBe(200);
    expect(isReplayed(theirs)).toBe(false);
    expect(theirs.body.user.id).not.toBe(created.body.user.id);
  });

  it("stores neither its key nor its answer as clear text", async () => {
    const idempotency_key = "visible-idempotency-key";
    const body = person({ email: "visible@example.com", first_name: "Visiblename" });
    await create(first, body, { idempotency_key });
    const rows = await first.db.database.query<{ row: string; answer: Buffer | null }>(
      "select commands::text as row, answer from commands",
    );
    const bytes = Buffer.concat(rows.map((row) => row.answer ?? Buffer.alloc(0)));
    const hex = rows.map((row) => row.row).join();
    for (const secret of [idempotency_key, "visible@example.com", "Visiblename"]) {
      expect(bytes.includes(secret)).toBe(false);
      expect(hex).not.toContain(secret);
      expect(hex).not.toContain(Buffer.from(secret).toString("hex"));
    }
  });

  it("loses its stored answer when the person is erased", async () => {
    const idempotency_key = randomUUID();
    const body = person();
    const created = await create(first, body, { idempotency_key });
    const key = { account_id: first.account_id, user_id: created.body.user.id };
    expect(await eraseUser(first.core, key)).toBe(true);
    const again = await create(second, body, { idempotency_key });
    expect(again.status).toBe(200);
    expect(isReplayed(again)).toBe(false);
    expect(again.body.user.id).not.toBe(created.body.user.id);
  });

  it.each([
    ["empty", ""],
    ["longer than 255 characters", "k".repeat(256)],
    ["not ASCII", "clé"],
    ["holding a tab", "a\tb"],
  ])("is 422 when the key is %s", async (_what, idempotency_key) => {
    const answer = await create(first, person(), { idempotency_key });
    expect(answer.status).toBe(422);
    expect(answer.body.error_code).toBe("record_invalid");
    expect(answer.body.errors[0].field).toBe("Idempotency-Key");
  });

  it.each([
    ["one character", "~"],
    ["255 characters", "k".repeat(255)],
    ["blanks and signs", 'a key, with "signs" & blanks'],
  ])("may have a key of %s", async (_what, idempotency_key) => {
    const body = person();
    const created = await create(first, body, { idempotency_key });
    expect(created.status).toBe(200);
    expect((await create(second, body, { idempotency_key })).text).toBe(created.text);
  });
});

describe("many commands at once on two servers", () => {
  it("give every account its own answers only", async () => {
    const accounts = await Promise.all(
      Array.from({ length: 8 }, async (_, index) => ({
        name: `marked${index}`,
        ...(await first.addAccount(`Marked ${index}`)),
      })),
    );
    const calls = Array.from({ length: 40 }, (_, number) =>
      accounts.map(async ({ name, key }) => {
        const marker = `${name}-${number}`;
        // The same e-mail addresses and idempotency keys in every account.
        const body = person({ email: `same${number}@example.com`, last_name: marker });
        const keyed = number % 2 === 0 ? { idempotency_key: `same ${number}` } : {};
        const answer = await create(number % 3 === 0 ? first : second, body, { key, ...keyed });
        expect(answer.status).toBe(200);
        expect(answer.body.user.last_name).toBe(marker);
        return { name, id: answer.body.user.id as string };
      }),
    );
    const created = await Promise.all(calls.flat());
    expect(new Set(created.map(({ id }) => id)).size).toBe(8 * 40);
    for (const { name, key } of accounts) {
      const list = await second.call("GET", "/users?limit=100", undefined, { key });
      const own = created.filter((one) => one.name === name).map(({ id }) => id);
      const listed: { id: string; last_name: string }[] = list.body.users;
      expect(new Set(listed.map(({ id }) => id))).toEqual(new Set(own));
      for (const { last_name } of listed) expect(last_name.startsWith(`${name}-`)).toBe(true);
    }
  });

  it("that change one record are all applied, none lost", async () => {
    const created = await create(first, person());
    const changes = ["city", "state", "postcode", "address_line1", "address_line2"].flatMap(
      (field) => [0, 1, 2, 3].map(() => ({ [field]: `new ${field}` })),
    );
    const path = `/users/${created.body.user.id}`;
    const answers = await Promise.all(
      changes.map((user, index) => [first, second][index % 2]!.call("PATCH", path, { user })),
    );
    expect(answers.map((answer) => answer.status)).toEqual(changes.map(() => 200));
    const shown = await first.call("GET", path);
    expect(shown.body.user).toMatchObject(Object.assign({}, ...changes));
  });

  it("for one unique value: one succeeds, the others are refused", async () => {
    const before = await countUsers();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        create([first, second][index % 2]!, person({ email: "wanted@example.com" })),
      ),
    );
    const refused = answers.filter((answer) => answer.status !== 200);
    expect(refused).toHaveLength(19);
    for (const { body } of refused) expect(body.error_code).toBe("record_not_unique");
    expect(await countUsers()).toBe(before + 1);
  });
});

describe("a revoked key", () => {
  it("writes nothing from that moment on, even on a server that cached it", async () => {
    const { account_id, key } = await first.addAccount("Revoked");
    const idempotency_key = randomUUID();
    const body = person();
    // The second server has the key cached now, and may use the cache for a second when reading.
    expect((await create(second, body, { key, idempotency_key })).status).toBe(200);
    await revokeKey(first, account_id);
    const before = await countUsers();
    for (const sending of [{ key }, { key, idempotency_key }]) {
      const refused = await create(second, sending.idempotency_key ? body : person(), sending);
      expect(refused.status).toBe(401);
      expect(refused.body.error_code).toBe("unauthorized");
    }
    expect(await countUsers()).toBe(before);
    await waitFor(
      async () => (await second.call("GET", "/users", undefined, { key })).status === 401,
      5_000,
    );
  });
});
