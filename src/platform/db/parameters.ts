import { binaryArray, bytesArray, isBytesArray, textArray } from "./plain-array.ts";

/**
 * Does early what the driver would do while sending: a value that cannot be converted to JSON must
 * fail here, not between two writes that are already being sent together with COMMIT.
 */
export function toParameter(value: unknown): unknown {
  if (Array.isArray(value)) {
    if (isBytesArray(value)) return bytesArray(value);
    return binaryArray(value) ?? textArray(value) ?? value.map(toParameter);
  }
  const is_plain = typeof value === "object" && value !== null && !isScalarObject(value);
  return is_plain ? JSON.stringify(value) : value;
}

function isScalarObject(value: object): boolean {
  return value instanceof Date || ArrayBuffer.isView(value);
}
