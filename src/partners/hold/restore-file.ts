import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { StartupError } from "../../platform/startup-error.ts";

/** A small file outside the database, which counts what has left of an installation. */
export type RestoreFile = {
  path: string;
  /** Null if there is no file. Throws a sentence about a file that cannot be used. */
  read(): bigint | null;
  /** On the disk when it returns. */
  write(count: bigint): void;
};

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
      return found.count;
    },
    write: (count) => {
      try {
        const text = JSON.stringify({ installation_id, count: String(count) });
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

function parse(text: string): { installation_id: string; count: bigint } | null {
  try {
    const { installation_id, count } = JSON.parse(text) as Record<string, unknown>;
    if (typeof installation_id !== "string" || !/^\d{1,18}$/.test(String(count))) return null;
    return { installation_id, count: BigInt(String(count)) };
  } catch {
    return null;
  }
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
