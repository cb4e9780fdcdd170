import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { text } from "node:stream/consumers";
import { DecryptionError, describePlace, type Place } from "./cipher.ts";
import type { MasterKeys } from "./key-port.ts";

/** Distinguishes keys of the service from our own. */
const PREFIX = "kms:";
const DIGEST_BYTES = 32;
const TIMEOUT_MS = 10_000;
const COMMANDS_AT_ONCE_MAX = 8;

/**
 * A key management service, called through a program that the operator provides. The program gets
 * one JSON object on its standard input and prints one on its standard output:
 *
 *     { "action": "current" }                                      → { "key_id" }
 *     { "action": "wrap", "key_id", "plaintext": <base64> }        → { "ciphertext": <base64> }
 *     { "action": "unwrap", "key_id", "ciphertext": <base64> }     → { "plaintext": <base64> }
 *
 * Any exit code but 0 is a failure. We bind the place ourselves: not every service can.
 */
export function openKmsCommand(path: string): MasterKeys {
  const run = limited((request: object) => runCommand(path, request));
  return {
    currentId: async () => PREFIX + readText(await run({ action: "current" }), "key_id"),
    has: async (key_id) => isKmsKey(key_id),
    wrap: async (key_id, place, key) => {
      const plaintext = Buffer.concat([digestOf(place), key]).toString("base64");
      const answer = await run({ action: "wrap", key_id: ownId(key_id), plaintext });
      return Buffer.from(readText(answer, "ciphertext"), "base64");
    },
    unwrap: async (key_id, place, wrapped) => {
      const ciphertext = wrapped.toString("base64");
      const answer = await run({ action: "unwrap", key_id: ownId(key_id), ciphertext });
      const plaintext = Buffer.from(readText(answer, "plaintext"), "base64");
      if (!plaintext.subarray(0, DIGEST_BYTES).equals(digestOf(place))) {
        throw new DecryptionError(`moved or wrapped by another key: ${describePlace(place)}`);
      }
      return plaintext.subarray(DIGEST_BYTES);
    },
  };
}

export function isKmsKey(key_id: string): boolean {
  return key_id.startsWith(PREFIX);
}

function ownId(key_id: string): string {
  return key_id.slice(PREFIX.length);
}

function digestOf(place: Place): Buffer {
  return createHash("sha256").update(describePlace(place)).digest();
}

async function runCommand(path: string, request: object): Promise<unknown> {
  const child = spawn(path, { stdio: ["pipe", "pipe", "pipe"], timeout: TIMEOUT_MS });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  // The program may end without reading its input.
  child.stdin.on("error", () => {});
  child.stdin.end(JSON.stringify(request));
  try {
    const [printed, complaint, code] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      ended,
    ]);
    if (code !== 0) throw new Error(complaint.trim().slice(0, 200) || `it exited with ${code}`);
    return JSON.parse(printed);
  } catch (error) {
    // Its output may be a key: quote only standard error.
    const is_unread = error instanceof SyntaxError;
    const reason = is_unread ? "it did not print JSON" : (error as Error).message;
    throw new Error(`SLIPROAD_KMS_COMMAND failed: ${reason}`, is_unread ? {} : { cause: error });
  }
}

function readText(answer: unknown, name: string): string {
  const value = (answer as Record<string, unknown> | null)?.[name];
  if (typeof value === "string" && value !== "") return value;
  throw new Error(`SLIPROAD_KMS_COMMAND failed: its output has no ${name}`);
}

/** Accounts are opened in sets: limits how many processes run at once. */
function limited<Input, Output>(work: (input: Input) => Promise<Output>) {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (input: Input): Promise<Output> => {
    if (running >= COMMANDS_AT_ONCE_MAX) {
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else running += 1;
    try {
      return await work(input);
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
}
