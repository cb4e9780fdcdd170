import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openNoteRoom, revokeKey, type Stage } from "../harness/note-room.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

describe("one command of a batch", () => {
  it("whose key was revoked is refused in the transaction, its neighbours in the batch are not", async () => {
    const notes = await openNoteRoom(server);
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
      const notes = await openNoteRoom(server);
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

  it("that is refused leaves the others whole", async () => {
    const notes = await openNoteRoom(server);
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

  it("that violates a unique key again and again fails alone", async () => {
    const notes = await openNoteRoom(server);
    const caller = await notes.callerOf(server);
    const texts = ["u 0", "u 1", "u 2", "u same", "u 3", "u same", "u 4"];
    const results = await Promise.allSettled(texts.map((text) => notes.submit(caller, text)));
    expect(results.filter((result) => result.status === "rejected")).toHaveLength(1);
    expect(results[5]).toMatchObject({ reason: { code: "23505" } });
    expect((await notes.list("u %")).map((row) => row.text).sort()).toEqual(
      [...new Set(texts)].sort(),
    );
  });
});

describe("a transaction", () => {
  it("takes no statement after its end, when its connection may be another's", async () => {
    const { database } = server.core;
    const late = await database.transaction(async (tx) => tx);
    await expect(late.query("select 1")).rejects.toThrow("after the end");
    expect(() => late.write("select 1", [])).toThrow("after the end");
  });

  it("whose failed statement was overlooked is not taken for committed", async () => {
    const { database } = server.core;
    const result = database.transaction(async (tx) => {
      await tx.query("select 1 / 0").catch(() => {});
      tx.write("select $1::integer", [1]);
    });
    await expect(result).rejects.toThrow();
  });
});
