import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { KnownCredentials } from "../../src/platform/http/known-credentials.ts";
import { newId } from "../../src/platform/ids.ts";
import {
  makeCredential,
  makeDeviceName,
  readAccount,
  readDeviceAccount,
} from "../../src/platform/named-credentials.ts";

const INDEX_KEY = randomBytes(32);
const ACCOUNT = newId(new Date());
const KINDS = ["sk_test_", "sk_live_", ""];

/** As after a restart: the key is the same, and nothing was seen yet. */
const open = () => new KnownCredentials(Buffer.from(INDEX_KEY));

it.each(KINDS)(
  "a process that has not seen it names the account of %j and a credential",
  (kind) => {
    expect(open().accountOf(makeCredential(INDEX_KEY, ACCOUNT, kind))).toBe(ACCOUNT);
  },
);

it("each has 256 random bits", () => {
  const all = Array.from({ length: 100 }, () => makeCredential(INDEX_KEY, ACCOUNT));
  const random = all.map((text) => Buffer.from(text, "base64url").toString("hex", 0, 32));
  expect(new Set(random).size).toBe(100);
});

it.each(KINDS)("with any other character or prefix than those of %j it names nobody", (kind) => {
  const text = makeCredential(INDEX_KEY, ACCOUNT, kind);
  for (let at = 0; at < text.length; at += 1) {
    const other = text[at] === "a" ? "b" : "a";
    const altered = `${text.slice(0, at)}${other}${text.slice(at + 1)}`;
    expect(readAccount(INDEX_KEY, altered), String(at)).toBeUndefined();
  }
  const bare = text.slice(kind.length, kind.length + 76);
  for (const prefix of KINDS) {
    if (prefix !== kind) expect(readAccount(INDEX_KEY, `${prefix}${bare}`)).toBeUndefined();
  }
  for (const altered of [text.slice(1), text.slice(0, -1), `${text}a`, `${text}\n`, ""]) {
    expect(readAccount(INDEX_KEY, altered)).toBeUndefined();
  }
  expect(readAccount(randomBytes(32), text)).toBeUndefined();
});

it("what authentication said comes before what a credential says", () => {
  const known = open();
  const text = makeCredential(INDEX_KEY, ACCOUNT);
  const other = newId(new Date());
  // A session that works in another account than the one of the sign-in.
  known.note(text, other);
  expect(known.accountOf(text)).toBe(other);
  known.note(text, ACCOUNT);
  expect(known.accountOf(text)).toBe(ACCOUNT);
  // Ended: whoever has it must not use up what the account may have under way.
  known.note(text, undefined);
  expect(known.accountOf(text)).toBeUndefined();
});

it("a key that the operator chose is known once it was looked up", () => {
  const known = open();
  expect(known.accountOf("chosen by the operator")).toBeUndefined();
  known.note("chosen by the operator", ACCOUNT);
  expect(known.accountOf("chosen by the operator")).toBe(ACCOUNT);
  known.note("chosen by the operator", undefined);
  expect(known.accountOf("chosen by the operator")).toBeUndefined();
});

it("what a known browser keeps is no credential, and no credential names a browser's account", () => {
  const name = makeDeviceName(INDEX_KEY, ACCOUNT);
  expect(readDeviceAccount(INDEX_KEY, name)).toBe(ACCOUNT);
  expect(readAccount(INDEX_KEY, name)).toBeUndefined();
  for (const kind of KINDS) {
    const text = makeCredential(INDEX_KEY, ACCOUNT, kind);
    expect(readDeviceAccount(INDEX_KEY, text)).toBeUndefined();
    expect(readDeviceAccount(INDEX_KEY, text.slice(kind.length, kind.length + 76))).toBeUndefined();
  }
});
