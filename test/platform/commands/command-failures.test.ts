import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openNoteFixture, revokeKey, type Stage } from "../../harness/note-fixture.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

describe("one command of a batch", () => {
  it("whose key was revoked is refused in the transaction, the others are not", async () => {
    const notes = await openNoteFixture(server.core);
    const revoked = await server.addAccount("Revoked in a batch");
    const healthy = await server.addAccount("Not revoked");
    const [gone, good] = await Promise.all([notes.callerOf(revoked), notes.callerOf(healthy)]);
    await revokeKey(server, revoked.account_id);
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, (_, index) =>
        notes.submit(index % 2 === 0 ? good : gone, `revoked ${index}`),
      ),
    );
    for (const [index, result] of results.entries()) {
      if (index % 2 === 0) expect(result.status).toBe("fulfilled");
      else expect(result).toMatchObject({ reason: { code: "unauthorized" } });
    }
    expect(Math.max(...notes.batches)).toBe(18);
    expect(await notes.list("revoked %")).toHaveLength(10);
  });

  it.each<Stage>(["load", "decide", "render", "record", "value", "write"])(
    "that fails in %s hurts only itself",
    async (stage) => {
      const notes = await openNoteFixture(server.core);
      const caller = await notes.callerOf(server);
      const texts = Array.from({ length: 12 }, (_, index) =>
        index === 7 ? `poison ${stage}` : `${stage} ${index}`,
      );
      const results = await Promise.allSettled(texts.map((text) => notes.submit(caller, text)));
      for (const [index, result] of results.entries()) {
        if (index === 7) expect(result).toMatchObject({ status: "rejected" });
        else {
          const value = { body: JSON.stringify({ note: texts[index] }), replayed: false };
          expect(result).toEqual({ status: "fulfilled", value });
        }
      }
      expect(Math.max(...notes.batches)).toBe(10);
      expect(await notes.list(`${stage} %`)).toHaveLength(11);
      expect(await notes.list("poison %")).toEqual([]);
    },
  );

  it("that is refused does not affect the others", async () => {
    const notes = await openNoteFixture(server.core);
    const caller = await notes.callerOf(server);
    const texts = Array.from(
      { length: 12 },
      (_, index) => `${index === 5 ? "bad" : "fine"} ${index}`,
    );
    const results = await Promise.allSettled(texts.map((text) => notes.submit(caller, text)));
    expect(results.map((result) => result.status === "fulfilled")).toEqual(
      texts.map((text) => text.startsWith("fine")),
    );
    expect(results[5]).toMatchObject({ reason: { code: "record_invalid" } });
    expect(Math.max(...notes.batches)).toBe(10);
  });

  it("that repeatedly violates a unique key fails alone", async () => {
    const notes = await openNoteFixture(server.core);
    const caller = await notes.callerOf(server);
    const texts = ["0", "1", "2", "same", "3", "same", "4"].map((text) => `unique ${text}`);
    const results = await Promise.allSettled(texts.map((text) => notes.submit(caller, text)));
    expect(results.filter((result) => result.status === "rejected")).toHaveLength(1);
    expect(results[5]).toMatchObject({ reason: { code: "23505" } });
    expect((await notes.list("unique %")).map((row) => row.text).sort()).toEqual(
      [...new Set(texts)].sort(),
    );
  });
});

describe("equal commands with one idempotency key", () => {
  it("wait for the first answer and then read it together, without a conflict", async () => {
    const notes = await openNoteFixture(server.core);
    const caller = await notes.callerOf(server);
    const idempotency = { index: Buffer.alloc(32, 1), request_hash: Buffer.alloc(32, 2) };
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => notes.submit(caller, "one note", idempotency)),
    );
    expect(answers.filter((answer) => answer.replayed)).toHaveLength(19);
    expect(notes.batches).toEqual([1, 1, 1, 17]);
    expect(await notes.list("one note")).toHaveLength(1);
  });

  it("run one after the other as long as they are refused", async () => {
    const notes = await openNoteFixture(server.core);
    const caller = await notes.callerOf(server);
    const idempotency = { index: Buffer.alloc(32, 3), request_hash: Buffer.alloc(32, 4) };
    const results = await Promise.allSettled(
      ["bad", "bad", "good"].map((text) => notes.submit(caller, text, idempotency)),
    );
    expect(results.map((result) => result.status)).toEqual(["rejected", "rejected", "fulfilled"]);
    expect(notes.batches).toEqual([1, 1, 1]);
  });
});

describe("a transaction", () => {
  it("accepts no statement after its end, when its connection may serve another", async () => {
    const { database } = server.core;
    const late = await database.transaction(async (tx) => tx);
    await expect(late.query("select 1")).rejects.toThrow("after the end");
    expect(() => late.write("select 1", [])).toThrow("after the end");
  });

  it("with an ignored failed statement is not reported as committed", async () => {
    const { database } = server.core;
    const result = database.transaction(async (tx) => {
      await tx.query("select 1 / 0").catch(() => {});
      tx.write("select $1::integer", [1]);
    });
    await expect(result).rejects.toThrow();
  });
});
