import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  copyFileSync,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";

/**
 * Creates a file that only its owner may read, unless it exists. If several processes start at
 * once, one creates it and all read the same content: none ever reads a partial file.
 */
export function createSecretFile(path: string, text: string): void {
  throughTemporary(path, text, (temporary) => {
    try {
      linkOrCopy(temporary, path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  });
}

export function replaceSecretFile(path: string, text: string): void {
  throughTemporary(path, text, (temporary) => renameSync(temporary, path));
}

function throughTemporary(path: string, text: string, place: (temporary: string) => void): void {
  const temporary = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    writeFileSync(temporary, text, { mode: 0o600, flush: true });
    place(temporary);
  } finally {
    rmSync(temporary, { force: true });
  }
  syncDirectory(dirname(path));
}

/** Some file systems have no hard links; there the copy at least refuses to overwrite. */
function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (!["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"].includes(code ?? "")) throw error;
    copyFileSync(from, to, constants.COPYFILE_EXCL);
  }
}

/** Without it a power failure could lose the file, and with it all data encrypted with it. */
export function syncDirectory(directory: string): void {
  if (process.platform === "win32") return;
  const handle = openSync(directory, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
