import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { isId } from "../../platform/ids.ts";
import { StartupError } from "../../platform/startup-error.ts";

/** A block that was sealed: a database without it is an older one. */
export type Anchor = { account_id: string; log: string; number: string; hash: string };

/** What has left, and the block that was sealed last; null: none since a hold. */
type Known = { count: bigint; anchor: Anchor | null };

/** A small file outside the database, which says how far an installation has come. */
export type RestoreFile = {
  path: string;
  /** Null if there is no file. Throws a sentence about a file that cannot be used. */
  read(): Known | null;
  /** On the disk when it returns. */
  write(known: Known): void;
};

/** Never more digits than fit into a bigint. */
const NUMBER = /^\d{1,18}$/;
const SETTING = "SLIPROAD_RESTORE_CHECK_FILE";

export function openRestoreFile(path: string, installation_id: string): RestoreFile {
  return {
    path,
    read: () => {
      const text = readText(path);
      if (text === null) return null;
      const found = parse(text);
      if (!found) throw new StartupError(`${SETTING}: ${path} is not such a file.`);
      if (found.installation_id !== installation_id) {
        throw new StartupError(`${SETTING}: ${path} belongs to another database.`);
      }
      return { count: found.count, anchor: found.anchor };
    },
    write: ({ count, anchor }) => {
      try {
        const said = { installation_id, count: String(count), ...(anchor ? { anchor } : {}) };
        const text = JSON.stringify(said);
        writeSynced(path, `${text}\n`);
      } catch (error) {
        throw new StartupError(`${SETTING}: ${path} cannot be written (${codeOf(error)}).`);
      }
    },
  };
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw new StartupError(`${SETTING}: ${path} cannot be read (${codeOf(error)}).`);
  }
}

function parse(text: string): (Known & { installation_id: string }) | null {
  try {
    const { installation_id, count, anchor } = JSON.parse(text) as Record<string, unknown>;
    if (typeof installation_id !== "string" || !NUMBER.test(String(count))) return null;
    if (anchor !== undefined && !isAnchor(anchor)) return null;
    return { installation_id, count: BigInt(String(count)), anchor: anchor ?? null };
  } catch {
    return null;
  }
}

function isAnchor(read: unknown): read is Anchor {
  const { account_id, log, number, hash } = (read ?? {}) as Partial<Record<string, unknown>>;
  const is_text = [account_id, log, number, hash].every((field) => typeof field === "string");
  return is_text && isId(String(account_id)) && NUMBER.test(String(number));
}

/** Whole, or not at all: a crash leaves the earlier file. */
function writeSynced(path: string, text: string): void {
  const temporary_path = `${path}.${process.pid}.tmp`;
  const file = openSync(temporary_path, "w", 0o640);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(temporary_path, path);
  const directory = openSync(dirname(path), "r");
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

function codeOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code ?? message;
}
