import { closeSync, openSync, readSync } from "node:fs";
import { StartupError } from "../startup-error.ts";

const BYTES_MAX = 64 * 1024;

export function secretFileName(setting_name: string): string {
  return `${setting_name}_FILE`;
}

/**
 * The content of a file with one secret, without the newline at its end. The path may also name a
 * pipe; the content never becomes part of an error message.
 */
export function readSecretFile(name: string, path: string): string {
  let bytes: Buffer;
  try {
    bytes = readAtMost(path, BYTES_MAX + 1);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new StartupError(`${name} points to ${path}, which cannot be read (${code}).`);
  }
  if (bytes.length > BYTES_MAX) {
    throw new StartupError(`${name} points to ${path}, which is larger than ${BYTES_MAX} bytes.`);
  }
  const text = bytes.toString("utf8").replace(/\r?\n$/, "");
  if (text === "") throw new StartupError(`${name} points to ${path}, which is empty.`);
  return text;
}

function readAtMost(path: string, bytes_max: number): Buffer {
  const buffer = Buffer.alloc(bytes_max);
  const handle = openSync(path, "r");
  try {
    let length = 0;
    while (length < bytes_max) {
      const read = readSync(handle, buffer, length, bytes_max - length, null);
      if (read === 0) break;
      length += read;
    }
    return buffer.subarray(0, length);
  } finally {
    closeSync(handle);
  }
}
