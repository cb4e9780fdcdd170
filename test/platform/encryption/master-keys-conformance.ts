import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import type { MasterKeys } from "../../../src/platform/encryption/key-port.ts";

const PLACE = { account_id: "a", table: "account_keys", column: "wrapped", record_id: "a" };

/** The guarantees of every owner of a master key. */
export function testMasterKeys(open: () => MasterKeys): void {
  it("unwraps what it wrapped, also after it was opened again", async () => {
    const keys = open();
    const key_id = await keys.currentId();
    const key = randomBytes(32);
    const wrapped = await keys.wrap(key_id, PLACE, key);
    expect(wrapped.includes(key)).toBe(false);
    expect(await open().unwrap(key_id, PLACE, wrapped)).toEqual(key);
    expect(await keys.has(key_id)).toBe(true);
    expect(await open().currentId()).toBe(key_id);
  });

  it("unwraps nothing for another place", async () => {
    const keys = open();
    const key_id = await keys.currentId();
    const wrapped = await keys.wrap(key_id, PLACE, randomBytes(32));
    for (const other of [{ account_id: "b" }, { record_id: "b" }, { table: "subject_keys" }]) {
      await expect(keys.unwrap(key_id, { ...PLACE, ...other }, wrapped)).rejects.toThrow();
    }
  });

  it("unwraps nothing that was changed", async () => {
    const keys = open();
    const key_id = await keys.currentId();
    const wrapped = await keys.wrap(key_id, PLACE, randomBytes(32));
    wrapped[wrapped.length - 1]! ^= 1;
    await expect(keys.unwrap(key_id, PLACE, wrapped)).rejects.toThrow();
  });

  it("refuses a key that it does not have", async () => {
    const keys = open();
    await expect(keys.wrap("kms:unknown", PLACE, randomBytes(32))).rejects.toThrow();
    await expect(keys.unwrap("unknown", PLACE, randomBytes(80))).rejects.toThrow();
  });

  it("wraps twenty keys at once", async () => {
    const keys = open();
    const key_id = await keys.currentId();
    const given = Array.from({ length: 20 }, () => randomBytes(32));
    const wrapped = await Promise.all(given.map((key) => keys.wrap(key_id, PLACE, key)));
    const back = await Promise.all(wrapped.map((bytes) => keys.unwrap(key_id, PLACE, bytes)));
    expect(back).toEqual(given);
  });
}
