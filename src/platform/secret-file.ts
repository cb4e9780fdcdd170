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
 * Makes a file that only its owner may read, unless it is there already. Of several processes that
 * start at once, one makes it and all then read the same: nobody ever sees half of it.
 */
export function makeSecretFile(path: string, text: string): void {
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

/** Some file systems know no hard links; there the copy at least refuses to overwrite. */
function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (!["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"].includes(code ?? "")) throw error;
    copyFileSync(from, to, constants.COPYFILE_EXCL);
  }
}

/** Without it a power failure could forget the file, and with it everything it encrypts. */
function syncDirectory(directory: string): void {
  if (process.platform === "win32") return;
  const handle = openSync(directory, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
