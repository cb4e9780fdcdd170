import { createHash, createHmac } from "node:crypto";
import {
  closeSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  statSync,
  writeSync,
} from "node:fs";
import { createServer, type Server } from "node:net";
import { dirname } from "node:path";
import { SignerUnavailable } from "./port.ts";

/** One signed action. `action` is its text: two are the same if their texts are. */
export type JournalEntry = {
  at: Date;
  chain_id: number;
  from: string;
  nonce: number;
  action: string;
  /** Of a payment; null for what stays in our addresses. */
  reference: string | null;
};

/*
 * What was signed, one line of JSON each, in a file that only grows. A line is on the disk before
 * the signature leaves the signer. A crash can leave half a line at the end: its signature never
 * left, so it is cut off. Any other line that the signer did not write stops the start.
 */
export type Journal = {
  entries: readonly JournalEntry[];
  /** Throws SignerUnavailable; nothing may be signed then. */
  append(entry: JournalEntry): void;
  close(): Promise<void>;
};

const OWNER_ONLY = 0o600;
const NEWLINE = 10;

/** Creates an empty journal; throws if there is one. */
export function createJournal(path: string): void {
  const file = openSync(path, "wx", OWNER_ONLY);
  fsyncSync(file);
  closeSync(file);
  // Else a crash of the machine could lose the new file with all that is written to it.
  const directory = openSync(dirname(path), "r");
  fsyncSync(directory);
  closeSync(directory);
}

/** Throws the end of a sentence about the file. */
export async function openJournal(path: string, key: Buffer): Promise<Journal> {
  const file = openFile(path);
  const { dev, ino } = fstatSync(file);
  let lock: Server | null = null;
  try {
    lock = await lockFile(`${dev}:${ino}`);
    const content = readFileSync(path);
    let size = content.lastIndexOf(NEWLINE) + 1;
    const entries = readLines(content.subarray(0, size), key);
    if (size < content.length) ftruncateSync(file, size);
    let problem: string | null = null;

    const write = (line: Buffer) => {
      const written = writeSync(file, line);
      if (written < line.length) throw new Error("the disk is full");
      fsyncSync(file);
      // The lock is not enough: another machine may have the same file. Whoever sees a line of
      // another process signs nothing, and the other one sees ours.
      const { ino: named } = statSync(path);
      if (fstatSync(file).size !== size + line.length || named !== ino) {
        throw new Error("another process writes it, or it was replaced");
      }
      size += line.length;
    };
    return {
      entries,
      append: (entry) => {
        if (problem === null) {
          try {
            return write(Buffer.from(`${JSON.stringify(toLine(entry, key))}\n`));
          } catch (error) {
            problem = (error as Error).message;
          }
        }
        // After a failed write nobody knows what the file has: a restart reads it.
        throw new SignerUnavailable(
          `The signer's journal ${path} cannot be written (${problem}); restart the signer.`,
        );
      },
      close: async () => {
        closeSync(file);
        lock?.close();
      },
    };
  } catch (error) {
    closeSync(file);
    lock?.close();
    throw error;
  }
}

function openFile(path: string): number {
  try {
    // "a+" would create it: without its journal a signer would sign a nonce twice.
    statSync(path);
    return openSync(path, "a+");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(code === "ENOENT" ? "does not exist" : `cannot be opened (${code})`);
  }
}

/**
 * A name that the kernel gives to one process and frees when it ends, however it ends. Only Linux
 * has it; elsewhere the check at each write must do.
 */
async function lockFile(identity: string): Promise<Server | null> {
  if (process.platform !== "linux") return null;
  const name = createHash("sha256").update(identity).digest("hex");
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const is_taken = error.code === "EADDRINUSE";
      reject(is_taken ? new Error("is used by another signer; only one may use it") : error);
    });
    server.listen(`\0sliproad-signer-${name}`, resolve);
  });
  return server.unref();
}

type Line = Omit<JournalEntry, "at"> & { at: string; mac: string };

function toLine(entry: JournalEntry, key: Buffer): Line {
  const { at, chain_id, from, nonce, action, reference } = entry;
  const line = { at: at.toISOString(), chain_id, from, nonce, action, reference };
  return { ...line, mac: createHmac("sha256", key).update(JSON.stringify(line)).digest("hex") };
}

function readLines(content: Buffer, key: Buffer): JournalEntry[] {
  const lines = content.toString("utf8").split("\n").slice(0, -1);
  return lines.map((text, at) => {
    const entry = readLine(text, key);
    if (entry) return entry;
    throw new Error(
      `is damaged or belongs to another key: line ${at + 1} was not written by this signer`,
    );
  });
}

function readLine(text: string, key: Buffer): JournalEntry | null {
  try {
    const { at, ...rest } = JSON.parse(text) as Line;
    const entry = { ...rest, at: new Date(at) };
    return JSON.stringify(toLine(entry, key)) === text ? entry : null;
  } catch {
    return null;
  }
}
